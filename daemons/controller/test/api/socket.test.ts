/** Tests of api/socket.ts and api/socket-calls.ts. */
import { text } from 'node:stream/consumers'
import t from 'tap'
import { WebSocket } from 'ws'
import { until } from '#kit/test/until.ts'
import type { FakeHouse } from '../fake-house.ts'
import { harbourHouse } from '../harbour-house.ts'
import { serveUi } from '../ui-server.ts'

type Said = Record<string, unknown> & { type: string; id?: unknown; status?: number }

/** One client, with all that it has heard. */
function clientOf(socket: WebSocket) {
  const heard: Said[] = []
  const closed = new Promise<[number, string]>((resolve) =>
    socket.on('close', (code, why) => resolve([code, String(why)])),
  )
  const refused = new Promise<unknown>((resolve) => {
    socket.on('open', () => resolve('open'))
    socket.on('unexpected-response', (_, reply) => {
      resolve(text(reply).then((body) => [reply.statusCode, JSON.parse(body).error]))
    })
    socket.on('error', () => {})
  })
  socket.on('message', (data) => heard.push(JSON.parse(String(data))))
  let last = 0
  async function next(type: string, from = 0): Promise<Said> {
    const find = () => heard.slice(from).find((message) => message.type === type)
    await until(`a message ${type}`, () => find() !== undefined)
    return find() as Said
  }
  async function ask(type: string, fields: object = {}): Promise<Said> {
    await refused
    const id = ++last
    socket.send(JSON.stringify({ id, type, ...fields }))
    await until(`the answer to ${type}`, () => heard.some((message) => message.type === 'answer' && message.id === id))
    return heard.find((message) => message.type === 'answer' && message.id === id) as Said
  }
  return { socket, heard, closed, refused, next, ask }
}

async function here(
  t: { teardown(run: () => unknown): void },
  username: 'ada' | 'sam' = 'ada',
  change?: (house: FakeHouse) => void,
) {
  const house = harbourHouse()
  Object.assign(house.people.get('sam') ?? {}, { code: undefined })
  change?.(house)
  const served = await serveUi(t, house)
  const browser = served.visitor()
  const password = house.people.get(username)?.password
  await browser.call('POST', '/ui/sign-in', { username, password })
  const dial = (query = '', headers: Record<string, string> = { origin: served.url }) => {
    const socket = new WebSocket(`${served.url.replace('http', 'ws')}/ws${query}`, { headers })
    t.teardown(() => socket.terminate())
    return clientOf(socket)
  }
  const ticket = async () => `?ticket=${(await browser.call('POST', '/ui/ticket')).body.ticket}`
  const signedIn = async () => dial(await ticket())
  return { ...served, house, browser, dial, ticket, signedIn, credentials: { username, password } }
}

t.test('tells changes of the zones that the user may see, and of no others', async (t) => {
  const { house, signedIn } = await here(t)
  const client = await signedIn()
  t.match(await client.ask('subscribe', { zones: true, attributes: [1, 5] }), { status: 200, body: { success: true } })
  t.match(await client.next('beat'), { pending: null })
  house.report(5, { volume: 99 })
  house.report(1, { level: 42 })
  for (const hear of house.attributeListeners) for (const id of [1, 2, 5]) hear(id)
  const { zones } = await client.next('zones')
  t.match(zones, [{ id: 1, values: { level: 42, state: 'on' } }])
  t.equal((zones as unknown[]).length, 1)
  t.strictSame((await client.next('attributes')).attributes, [{ id: 1, value: '1' }])
  await client.ask('unsubscribe')
  const from = client.heard.length
  house.report(1, { level: 43 })
  await client.ask('me')
  t.equal(client.heard.slice(from).filter(({ type }) => type !== 'answer').length, 0)
})

t.test('tells the present state where a subscription asks for it', async (t) => {
  const { signedIn } = await here(t)
  const client = await signedIn()
  await client.ask('subscribe', { zones: [1, 5], devices: true, snapshot: true })
  t.match(await client.next('zones'), { zones: [{ id: 1 }] })
  t.match((await client.next('devices')).devices, [
    { id: 1, state: 'online' },
    { id: 2 },
    { id: 3, state: 'offline' },
    { id: 4 },
  ])
})

t.test('tells elevated sessions how many changes are pending', async (t) => {
  const { signedIn } = await here(t, 'sam')
  const client = await signedIn()
  await client.ask('subscribe', { zones: true })
  t.match(await client.next('beat'), { pending: 0 })
})

t.test('opens with a ticket of a session, once, and for pages of this controller', async (t) => {
  const { dial, ticket, browser, house } = await here(t)
  const used = await ticket()
  t.equal(await dial(used).refused, 'open')
  t.same(await dial(used).refused, [401, 'unauthorized'])
  t.match(house.records[0], {
    requestType: 'socket',
    path: '/ws',
    status: 401,
    reason: 'invalid_session',
    granted: false,
  })
  t.same(await dial('?ticket=').refused, [401, 'unauthorized'])
  t.same(await dial(await ticket(), { origin: 'https://evil.example' }).refused, [403, 'foreign_origin'])
  const late = await ticket()
  await browser.call('POST', '/ui/sign-out')
  t.same(await dial(late).refused, [401, 'unauthorized'], 'a ticket dies with its session')
})

t.test('opens with a bearer token in either header, and with no other', async (t) => {
  const { dial, house } = await here(t)
  house.sessions.set('T1', 'ada')
  const heads: Record<string, string>[] = [{ authorization: 'Bearer T1' }, { 'svc-api-token': 'T1' }]
  for (const headers of heads) t.match(await dial('', headers).ask('me'), { status: 200, body: { username: 'ada' } })
  t.same(await dial('', { authorization: 'Bearer T2' }).refused, [401, 'unauthorized'])
})

t.test('somebody signs in over the socket, and again with the token that he got', async (t) => {
  const { dial, credentials, house } = await here(t)
  const client = dial()
  t.match(await client.ask('me'), { status: 401, body: { error: 'not_signed_in' } })
  t.match(await client.ask('login', { ...credentials, password: 'wrong' }), {
    status: 200,
    body: { error: 'invalid_credential' },
  })
  t.match(await client.ask('login', {}), { status: 200, body: { error: 'missing_credential' } })
  const { body } = await client.ask('login', credentials)
  const { token, expires } = body as Record<string, unknown>
  t.match(body, { username: 'ada', elevated: false, expires: 3_600_000 })
  t.match(await client.ask('command', { body: { zone_id: 1, level: 4 } }), { status: 200, body: { success: true } })
  t.same(house.asked, [{ what: 'command', by: 'ada', body: { zone_id: 1, level: 4 } }])
  t.ok(expires)
  const again = dial()
  t.match(await again.ask('login', { token: 'unknown' }), { status: 401, body: { error: 'invalid_session' } })
  t.match(await again.ask('login', { token }), { status: 200, body: { username: 'ada' } })
  await again.ask('logout')
  t.same(await client.closed, [1008, 'signed out'], 'the session ends wherever it is used')
  t.match(await again.ask('me'), { status: 401 })
  const said = house.records
    .filter(({ path }) => path === '/ws/login')
    .map(({ reason, username }) => [reason, username])
  t.same(said.toReversed(), [
    ['invalid_credential', 'ada'],
    ['missing_credential', null],
    [null, 'ada'],
    ['invalid_session', null],
    [null, 'ada'],
  ])
  t.notOk(JSON.stringify(house.records).includes(String(token)))
})

t.test('each request needs its function, and answers with the rules of REST', async (t) => {
  const { signedIn, house } = await here(t)
  const client = await signedIn()
  const requests = {
    macro: { body: { macro_id: 5 } },
    query: { entity: 'zone', query: '_limit=2' },
    subscribe: { zones: true },
    set_attribute: { attribute_id: 1, value: 'x' },
    write: { rows: { zone: [{ id: 1, name: 'x' }] } },
  }
  for (const [type, fields] of Object.entries(requests)) {
    t.match(await client.ask(type, fields), { status: 200 }, type)
    const ada = house.people.get('ada')
    const before = ada?.functions
    Object.assign(ada ?? {}, { functions: before?.filter((name) => name !== type) })
    t.match(await client.ask(type, fields), { status: 403, body: { error: 'unauthorized' } }, `${type} without it`)
    t.match(house.records[0], { path: `/ws/${type}`, reason: 'role_denied', granted: false, username: 'ada' })
    Object.assign(ada ?? {}, { functions: before })
  }
  t.match(await client.ask('query', { entity: 'zone' }), { body: [{ id: 1 }] })
  t.same(house.read[0], { by: 'ada', entity: 'zone', query: '_limit=2' })
  t.match(house.written, [
    { attribute_id: 1, value: 'x' },
    { rows: { zone: [{ id: 1, name: 'x' }] }, remove: {} },
  ])
})

t.test('a subscription ends when the roles do not allow it any more, and the socket stays', async (t) => {
  const { signedIn, house } = await here(t)
  const client = await signedIn()
  await client.ask('subscribe', { zones: true })
  Object.assign(house.people.get('ada') ?? {}, { functions: ['query'] })
  house.report(1, { level: 1 })
  t.match(await client.next('ended'), { error: 'unauthorized' })
  t.match(await client.ask('me'), { status: 200 })
  t.notOk(client.heard.some(({ type }) => type === 'zones'))
})

t.test('ends at sign-out and when the account is disabled, subscribed or not', async (t) => {
  for (const isSubscribed of [true, false]) {
    const { signedIn, browser, house } = await here(t)
    const [first, second] = [await signedIn(), await signedIn()]
    for (const client of [first, second])
      await client.ask(isSubscribed ? 'subscribe' : 'me', isSubscribed ? { zones: true } : {})
    if (isSubscribed) await browser.call('POST', '/ui/sign-out')
    else Object.assign(house.people.get('ada') ?? {}, { isDisabled: true })
    for (const client of [first, second]) t.same(await client.closed, [1008, 'signed out'])
  }
})

t.test('1 Authentication 5 is judged by where it is opened, not by where its ticket was requested', async (t) => {
  const { dial, ticket, signedIn, house, url } = await here(t, 'ada', ({ parts }) => {
    const { sessionOf } = parts.socket.people
    parts.originOf = ({ headers }) => ({ clientIp: '', isRemote: headers.via !== undefined, isLocal: false })
    parts.socket.people.sessionOf = (token, from, isUse) => (from.isRemote ? undefined : sessionOf(token, from, isUse))
  })
  t.same(await dial(await ticket(), { origin: url, via: 'the tunnel' }).refused, [401, 'unauthorized'])
  t.equal(await (await signedIn()).refused, 'open')
  t.ok(house)
})

t.test('opens as many for one session and one account as are allowed, and still some for others', async (t) => {
  const { dial, ticket, signedIn, visitor, house } = await here(t)
  const mine = [await signedIn(), await signedIn(), await signedIn()]
  for (const client of mine) await client.ask('me')
  t.same(await dial(await ticket()).refused, [503, 'too_many_sockets'], 'three of a session')
  const other = visitor()
  await other.call('POST', '/ui/sign-in', { username: 'ada', password: house.people.get('ada')?.password })
  const another = async () => dial(`?ticket=${(await other.call('POST', '/ui/ticket')).body.ticket}`)
  await (await another()).ask('me')
  t.same(await (await another()).refused, [503, 'too_many_sockets'], 'four of an account')
  const guest = dial()
  t.match(await guest.ask('login', { username: 'ada', password: house.people.get('ada')?.password }), {
    status: 503,
    body: { error: 'too_many_sockets' },
  })
  t.match(await guest.ask('login', { username: 'sam', password: house.people.get('sam')?.password }), {
    body: { username: 'sam' },
  })
  mine[0]?.socket.close()
  await mine[0]?.closed
  t.equal(await dial(await ticket()).refused, 'open', 'one that is closed makes room')
})

t.test('many that are opened, or sign in, at the same moment are no more than are allowed', async (t) => {
  const { dial, ticket, credentials } = await here(t)
  const tickets = []
  for (let at = 0; at < 8; at++) tickets.push(await ticket())
  const opened = tickets.map((query) => dial(query))
  const isKept = ({ refused, closed, ask }: (typeof opened)[number]) =>
    Promise.race([refused.then((how) => how === 'open' && ask('me').then(() => true)), closed.then(() => false)])
  t.equal((await Promise.all(opened.map(isKept))).filter(Boolean).length, 3, 'three of a session')
  const guests = [dial(), dial(), dial()]
  for (const guest of guests) await guest.refused
  const told = await Promise.all(guests.map((guest) => guest.ask('login', credentials)))
  t.equal(told.filter(({ status }) => status === 200).length, 1, 'four of an account')
})

t.test('strangers have few sockets, and not for long', async (t) => {
  const { dial, house } = await here(t, 'ada', ({ parts }) => {
    parts.limits.signInMs = 300
  })
  const strangers = []
  for (let at = 0; at < 4; at++) {
    const client = dial()
    await client.refused
    strangers.push(client)
  }
  t.same(await strangers[0]?.closed, [1013, 'others want to sign in'], 'the oldest makes room for the newest')
  t.same(await strangers[3]?.closed, [1008, 'nobody has signed in'])
  t.ok(house)
})

t.test('what is no message is told why, and whoever goes on with it is let go', async (t) => {
  const { signedIn } = await here(t)
  const client = await signedIn()
  await client.refused
  const deep = '['.repeat(5000)
  const said: [string | Buffer, RegExp][] = [
    ['{', /message/],
    [deep, /nesting deeper than 64/],
    [Buffer.from([0, 1, 2]), /binary/],
    ['{"type":"subscripe"}', /nearest is subscribe/],
    ['{"type":"me","id":{}}', /id is a whole number/],
  ]
  for (const [at, [message, why]] of said.entries()) {
    client.socket.send(message)
    await until('an answer', () => client.heard.length > at)
    t.match(client.heard[at], { type: 'answer', id: null, status: 400, body: { error: 'bad_message', message: why } })
  }
  t.equal((await client.closed)[0], 1008)
})

t.test('fields that are wrong or unknown are named', async (t) => {
  const { signedIn, house } = await here(t)
  const client = await signedIn()
  for (const [type, fields, field] of [
    ['query', { entity: 7 }, 'entity'],
    ['query', { entity: 'zone', querry: '' }, 'querry'],
    ['subscribe', { zones: 'all' }, 'zones'],
    ['set_attribute', { attribute_id: 1 }, 'value'],
    ['write', { rows: [] }, 'rows'],
    ['login', { user: 'ada' }, 'user'],
  ] as const) {
    const { body, status } = await client.ask(type, fields)
    t.match([status, body], [400, { error: 'bad_fields', fields: [{ field }] }], `${type} ${field}`)
  }
  t.match(house.records[0], { path: '/ws/login', reason: 'bad_fields' })
  t.match(await client.ask('subscribe', {}), { status: 400, body: { error: 'bad_message' } })
  t.match(await client.ask('subscribe', { zones: [1, 2], devices: [3, 4] }), { body: { message: /at most 3/ } })
  t.match(await client.ask('set_attribute', { attribute_id: 1, name: 'x', value: 1 }), { status: 400 })
})

t.test('a message that is too long, and a flood of messages, end the socket of their sender alone', async (t) => {
  const { signedIn } = await here(t)
  const other = await signedIn()
  const long = await signedIn()
  await long.refused
  long.socket.send('x'.repeat(1_000_000))
  t.equal((await long.closed)[0], 1009)
  const flood = await signedIn()
  await flood.refused
  for (let at = 0; at < 400; at++) flood.socket.send(`{"type":"me","id":${at}}`)
  t.equal((await flood.closed)[0], 1008)
  t.match(flood.heard.filter(({ status }) => status === 429)[0], { body: { error: 'slow_down' } })
  t.ok(flood.heard.length < 120, `${flood.heard.length} answers`)
  t.match(await other.ask('me'), { status: 200 })
})

t.test('requests under way are bounded for one socket and one account', async (t) => {
  const answers: (() => void)[] = []
  const { signedIn } = await here(t, 'ada', ({ parts }) => {
    parts.control.command = () =>
      new Promise((resolve) =>
        answers.push(() => resolve({ status: 200, body: { json: { success: true } }, reason: null })),
      )
  })
  const [one, two] = [await signedIn(), await signedIn()]
  await Promise.all([one.refused, two.refused])
  const asked = [one, one, one, one, one, two, two].map((client) => client.ask('command', { body: {} }))
  await until('some wait', () => answers.length === 5)
  t.match(await asked[4], { status: 503, body: { error: 'busy' } }, 'the fifth of a socket')
  t.match(await asked[6], { status: 503, body: { error: 'busy' } }, 'the sixth of an account')
  for (const answer of answers) answer()
  for (const at of [0, 1, 2, 3, 5]) t.match(await asked[at], { status: 200 })
})

t.test('a request that cannot be recorded is not carried out', async (t) => {
  const { signedIn, house } = await here(t)
  const client = await signedIn()
  house.parts.audit.takes = () => false
  t.match(await client.ask('command', { body: { zone_id: 1 } }), { status: 500, body: { error: 'audit_unavailable' } })
  t.same(house.asked, [])
  t.match(await client.ask('query', { entity: 'zone' }), { status: 200 })
})

t.test('a fault of the program is told as such, and nothing of it', async (t) => {
  const { signedIn } = await here(t, 'ada', ({ parts }) => {
    parts.control.command = async () => {
      throw new Error('/var/lib/secret')
    }
  })
  const client = await signedIn()
  const answer = await client.ask('command', { body: {} })
  t.match(answer, { status: 500, body: { error: 'internal' } })
  t.notOk(JSON.stringify(answer).includes('secret'))
})

t.test('an answer that fits no socket is refused, and asked for again in parts', async (t) => {
  const { signedIn } = await here(t, 'ada', ({ parts }) => {
    parts.socket.answerData = () => ({ status: 200, body: { text: `"${'x'.repeat(2_000_000)}"` }, reason: null })
  })
  const client = await signedIn()
  t.match(await client.ask('query', { entity: 'zone' }), { status: 503, body: { error: 'too_much_unsent' } })
  t.match(await client.ask('me'), { status: 200 })
})

t.test('hearing does not count as use, asking does: an idle session is signed out with its page open', async (t) => {
  const uses: unknown[] = []
  const { signedIn } = await here(t, 'ada', ({ parts }) => {
    const { sessionOf } = parts.socket.people
    parts.socket.people.sessionOf = (token, from, isUse) => {
      uses.push(isUse)
      return sessionOf(token, from, isUse)
    }
  })
  const client = await signedIn()
  await client.ask('subscribe', { zones: true })
  await client.next('beat')
  const from = client.heard.length
  uses.splice(0)
  await client.next('beat', from)
  t.ok(uses.length > 0)
  t.ok(uses.every((isUse) => isUse === false))
  await client.ask('me')
  t.ok(uses.includes(true))
})

t.test('whoever has to change the password may do nothing else, and goes on with the new one', async (t) => {
  const { signedIn, house, browser, dial } = await here(t)
  const client = await signedIn()
  await client.ask('subscribe', { zones: true })
  Object.assign(house.people.get('ada') ?? {}, { mustChange: true })
  house.report(1, { level: 1 })
  await client.next('ended')
  for (const [type, fields] of [
    ['command', { body: { zone_id: 1, level: 4 } }],
    ['query', { entity: 'zone' }],
    ['subscribe', { zones: true }],
    ['unsubscribe', {}],
  ] as const)
    t.match(await client.ask(type, fields), { status: 403, body: { error: 'password_change_required' } }, type)
  t.match(house.records[0], { reason: 'password_change_required', granted: false })
  t.match(await browser.call('GET', '/ui/zones'), { status: 403, body: { error: 'password_change_required' } })
  t.equal((await browser.call('POST', '/ui/ticket')).status, 403)
  t.match(await browser.call('GET', '/ui/me'), { status: 200, body: { must_change_password: true } })
  t.match(await client.ask('password', { current: 'wrong', password: 'a new front desk' }), { status: 403 })
  t.match(await client.ask('password', { current: 'front desk', password: 'short' }), {
    status: 400,
    body: { error: 'bad_fields' },
  })
  const { body } = await client.ask('password', { current: 'front desk', password: 'a new front desk' })
  t.match(body, { success: true, must_change_password: false, username: 'ada' })
  t.match(await client.ask('query', { entity: 'zone' }), { status: 200 }, 'the socket goes on')
  t.equal((await browser.call('GET', '/ui/me')).status, 401, 'what the old password began has ended')
  t.match(await dial().ask('login', { token: (body as { token: string }).token }), { status: 200 })
  t.notOk(JSON.stringify(house.records).includes('front desk'))
})

t.test('the page changes the own password, and goes on under a new cookie', async (t) => {
  const { browser, signedIn, house } = await here(t)
  const other = await signedIn()
  await other.ask('me')
  const change = (current: string, password: string) => browser.call('POST', '/ui/password', { current, password })
  t.match(await change('wrong', 'a new front desk'), {
    status: 403,
    body: { error: 'invalid_credential', fields: [{ field: 'current' }] },
  })
  t.match(await change('front desk', 'short'), { status: 400, body: { error: 'bad_fields' } })
  const before = browser.cookies.get('svc_controller')
  t.match(await change('front desk', 'a new front desk'), { status: 200, body: { success: true } })
  t.not(browser.cookies.get('svc_controller'), before)
  t.same(await other.closed, [1008, 'signed out'])
  t.match(await browser.call('GET', '/ui/me'), { status: 200 })
  t.match(
    house.records.filter(({ path }) => path === '/ui/password').map(({ reason }) => reason),
    [null, 'bad_fields', 'invalid_credential'],
  )
})
