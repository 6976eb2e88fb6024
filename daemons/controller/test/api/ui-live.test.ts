/** Tests of api/ui-zone-routes.ts. */
import { text } from 'node:stream/consumers'
import t from 'tap'
import { WebSocket } from 'ws'
import type { ZoneMessage } from '../../core/live/zone-feed.ts'
import { harbourHouse } from '../harbour-house.ts'
import { serveUi } from '../ui-server.ts'

async function here(t: { teardown(run: () => unknown): void }, username: 'ada' | 'sam' = 'ada') {
  const house = harbourHouse()
  Object.assign(house.people.get('sam') ?? {}, { code: undefined })
  const served = await serveUi(t, house)
  const browser = served.visitor()
  await browser.call('POST', '/ui/sign-in', { username, password: house.people.get(username)?.password })
  const dial = (ticket: unknown, headers: Record<string, string> = { origin: served.url }) => {
    const socket = new WebSocket(`${served.url.replace('http', 'ws')}/ui/live?ticket=${ticket}`, { headers })
    t.teardown(() => socket.terminate())
    return socket
  }
  const ticket = async () => (await browser.call('POST', '/ui/ticket')).body.ticket
  return { ...served, house, browser, dial, ticket }
}

/** The next message of a type. */
function hear<Type extends ZoneMessage['type']>(socket: WebSocket, type: Type) {
  return new Promise<Extract<ZoneMessage, { type: Type }>>((resolve) => {
    socket.on('message', (data) => {
      const message = JSON.parse(String(data))
      if (message.type === type) resolve(message)
    })
  })
}

const closed = (socket: WebSocket) =>
  new Promise<[number, string]>((resolve) => socket.on('close', (code, reason) => resolve([code, String(reason)])))

const refusal = (socket: WebSocket) =>
  new Promise<unknown>((resolve) => {
    socket.on('open', () => resolve('open'))
    socket.on('unexpected-response', (_, reply) => {
      resolve(text(reply).then((body) => [reply.statusCode, JSON.parse(body).error]))
    })
    socket.on('error', () => {})
  })

t.test('sends changes of the zones that the user may see, and of no others', async (t) => {
  const { house, dial, ticket } = await here(t)
  const socket = dial(await ticket())
  t.match(await hear(socket, 'beat'), { pending: null })
  const heard = hear(socket, 'zones')
  house.report(5, { volume: 99 })
  house.report(1, { level: 42 })
  const { zones } = await heard
  t.match(zones, [{ id: 1, values: { level: 42, state: 'on' } }])
  t.equal(zones.length, 1)
})

t.test('tells elevated sessions how many changes are pending', async (t) => {
  const { dial, ticket } = await here(t, 'sam')
  t.match(await hear(dial(await ticket()), 'beat'), { pending: 0 })
})

t.test('opens with a ticket of a session, once, and for pages of this controller', async (t) => {
  const { dial, ticket, browser, house } = await here(t)
  const used = await ticket()
  t.equal(await refusal(dial(used)), 'open')
  t.same(await refusal(dial(used)), [401, 'unauthorized'])
  t.same(await refusal(dial('')), [401, 'unauthorized'])
  t.same(await refusal(dial(await ticket(), { origin: 'https://evil.example' })), [403, 'foreign_origin'])
  const late = await ticket()
  await browser.call('POST', '/ui/sign-out')
  t.same(await refusal(dial(late)), [401, 'unauthorized'], 'a ticket dies with its session')
  t.equal((await browser.call('POST', '/ui/ticket')).status, 401)
  t.match(house.records[0], { path: '/ui/ticket', reason: 'invalid_session' })
})

t.test('ends at sign-out, at once', async (t) => {
  const { dial, ticket, browser } = await here(t)
  const socket = dial(await ticket())
  await hear(socket, 'beat')
  const end = closed(socket)
  await browser.call('POST', '/ui/sign-out')
  t.same(await end, [1008, 'signed out'])
})

t.test('1 Authentication 4 ends on its own when the account is disabled', async (t) => {
  const { dial, ticket, house } = await here(t)
  const socket = dial(await ticket())
  await hear(socket, 'beat')
  const end = closed(socket)
  Object.assign(house.people.get('ada') ?? {}, { isDisabled: true })
  t.same(await end, [1008, 'signed out'])
})

t.test('1 Authentication 5 is judged by where it is opened, not by where its ticket was requested', async (t) => {
  const { dial, ticket, house, url } = await here(t)
  const { parts } = house
  const { sessionOf } = parts.people
  parts.originOf = ({ headers }) => ({ clientIp: '', isRemote: headers.via !== undefined, isLocal: false })
  parts.people.sessionOf = (token, from, isUse) => (from.isRemote ? undefined : sessionOf(token, from, isUse))
  const away = { origin: url, via: 'the tunnel' }
  t.same(await refusal(dial(await ticket(), away)), [401, 'unauthorized'])
  const socket = dial(await ticket())
  t.ok(await hear(socket, 'beat'))
})

t.test('opens as many for one session as are allowed, and still opens some for other sessions', async (t) => {
  const { dial, ticket, visitor, house } = await here(t)
  const mine = []
  for (let at = 0; at < 3; at++) {
    const socket = dial(await ticket())
    await hear(socket, 'beat')
    mine.push(socket)
  }
  t.same(await refusal(dial(await ticket())), [401, 'unauthorized'])
  const other = visitor()
  await other.call('POST', '/ui/sign-in', { username: 'sam', password: house.people.get('sam')?.password })
  t.ok(await hear(dial((await other.call('POST', '/ui/ticket')).body.ticket), 'beat'))
  const gone = closed(mine[0] as WebSocket)
  mine[0]?.close()
  await gone
  t.ok(await hear(dial(await ticket()), 'beat'), 'one that is closed makes room')
})

t.test('does not open for a token of the REST surface', async (t) => {
  const { dial } = await here(t)
  const socket = dial('', { authorization: 'Bearer rest' })
  t.same(await closed(socket), [1008, 'opened without a ticket of this page'])
})

t.test('accepts nothing from its client', async (t) => {
  const { dial, ticket } = await here(t)
  const socket = dial(await ticket())
  await hear(socket, 'beat')
  const end = closed(socket)
  socket.send('{"type":"command"}')
  t.equal((await end)[0], 1008)
})

t.test('an open socket does not count as use: an idle session is signed out with its page open', async (t) => {
  const { dial, ticket, house } = await here(t)
  const { people } = house.parts
  const { sessionOf } = people
  const socket = dial(await ticket())
  await hear(socket, 'beat')
  const uses: unknown[] = []
  people.sessionOf = (token, from, isUse) => {
    uses.push(isUse)
    return sessionOf(token, from)
  }
  await hear(socket, 'beat')
  t.ok(uses.length > 0)
  t.ok(uses.every((isUse) => isUse === false))
})
