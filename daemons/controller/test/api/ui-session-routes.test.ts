/** Tests of api/ui-session-routes.ts and api/ui-gate.ts. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { HANDOFF_COOKIE, SESSION_COOKIE } from '../../api/ui-gate.ts'
import { harbourHouse } from '../harbour-house.ts'
import { serveUi, type Visitor } from '../ui-server.ts'

const ada = { username: 'ada', password: 'front desk' }
const sam = { username: 'sam', password: 'engine room' }

t.test('keeps the session in a cookie that no script reads, and never in the body', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  const { status, body, setCookies } = await browser.call('POST', '/ui/sign-in', ada)
  t.equal(status, 200)
  t.match(body, { signed_in: true, username: 'ada', full_name: 'Ada Lindqvist', roles: ['Staff'], elevated: false })
  const [token = ''] = house.sessions.keys()
  t.notOk(JSON.stringify(body).includes(token))
  t.same(setCookies, [`${SESSION_COOKIE}=${token}; Max-Age=3600; Path=/; HttpOnly; SameSite=Strict`])
  t.match((await browser.call('GET', '/ui/me')).body, { username: 'ada', site: { name: 'Harbour House' } })
})

t.test('tells a page who is signed in without refusing it, and strangers only the name of the site', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  const site = { name: 'Harbour House', time_zone: 'Europe/Amsterdam' }
  t.same((await browser.call('GET', '/ui/site')).body, { ...site, me: null })
  t.match(house.records[0], { granted: true, reason: null })
  await browser.call('POST', '/ui/sign-in', ada)
  t.match((await browser.call('GET', '/ui/site')).body, { ...site, me: { username: 'ada' } })
})

t.test('marks cookies as Secure if pages are served over TLS', async (t) => {
  const house = harbourHouse()
  house.parts.isSecure = true
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  for (const path of ['/ui/sign-in', '/ui/sign-out'])
    t.match((await browser.call('POST', path, ada)).setCookies[0], /; Secure$/, path)
})

t.test('1 POST /api/token answers refusals as the rules do, and leaves no cookie', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  const ask = async (body: unknown) => {
    const { status, body: answer, setCookies } = await browser.call('POST', '/ui/sign-in', body)
    t.same(setCookies, [])
    return [status, answer.error, answer.ttl_seconds]
  }
  t.same(await ask({}), [200, 'missing_credential', undefined])
  t.same(await ask({ ...ada, password: 'wrong' }), [200, 'invalid_credential', undefined])
  t.same(await ask(sam), [200, 'two_factor_auth', 300])
  t.same(await ask({ ...sam, two_factor_token: 'AAAAAA' }), [200, '2fa_mismatch', undefined])
  t.match((await browser.call('POST', '/ui/sign-in', { ...sam, two_factor_token: 'K7MPQ2' })).body, { elevated: true })
})

t.test('accepts a session only by its cookie', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  await browser.call('POST', '/ui/sign-in', ada)
  const token = browser.cookies.get(SESSION_COOKIE) ?? ''
  const stranger = visitor()
  for (const [name, value] of [
    ['authorization', `Bearer ${token}`],
    ['svc-api-token', token],
  ] as const)
    t.match(await stranger.call('GET', '/ui/me', undefined, { [name]: value }), {
      status: 401,
      body: { error: 'not_signed_in' },
    })
  for (const cookie of [`${SESSION_COOKIE}=`, `x${SESSION_COOKIE}=${token}`, `${SESSION_COOKIE}=${'a'.repeat(300)}`])
    t.equal((await stranger.call('GET', '/ui/me', undefined, { cookie })).status, 401, cookie.slice(0, 40))
  const tossed = `${SESSION_COOKIE}=${token}; ${SESSION_COOKIE}=somebody-elses`
  t.equal((await stranger.call('GET', '/ui/me', undefined, { cookie: tossed })).status, 401, 'two different cookies')
})

t.test('refuses pages of other sites, also with a good cookie, and records it', async (t) => {
  const house = harbourHouse()
  const { visitor, port } = await serveUi(t, house)
  const browser = visitor()
  await browser.call('POST', '/ui/sign-in', ada)
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `http://127.0.0.1:${port + 1}` },
    { origin: '', referer: 'https://evil.example/page', 'sec-fetch-site': 'cross-site' },
  ]
  for (const headers of foreign) {
    const { status, body } = await browser.call('POST', '/ui/command', { zone_id: 1, command: 'on' }, headers)
    t.same([status, body.error], [403, 'foreign_origin'], JSON.stringify(headers))
    t.match(house.records[0], { granted: false, status: 403, reason: 'foreign_origin', path: '/ui/command' })
  }
  t.same(house.asked, [])
  for (const path of ['/ui/sign-in', '/ui/sign-out', '/ui/handoff'])
    t.equal((await browser.call('POST', path, ada, { origin: 'https://evil.example' })).status, 403, path)
  t.equal((await browser.call('GET', '/ui/me')).status, 200, 'and the session stands')
})

t.test('1 Handoff nonce: redeems the cookie once, and clears it whatever the result', async (t) => {
  const house = harbourHouse()
  house.nonces.set('n'.repeat(48), 'ada')
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  const cleared = `${HANDOFF_COOKIE}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict`
  const handOver = (who: Visitor, headers = {}) => {
    who.cookies.set(HANDOFF_COOKIE, 'n'.repeat(48))
    return who.call('POST', '/ui/handoff', undefined, headers)
  }
  const first = await handOver(browser)
  t.match(first.body, { signed_in: true, username: 'ada' })
  t.ok(first.setCookies.includes(cleared))
  t.match((await browser.call('GET', '/ui/me')).body, { username: 'ada' })
  const other = visitor()
  const again = await handOver(other)
  t.match(again, { status: 401, body: { error: 'unauthorized' } })
  t.ok(again.setCookies.includes(cleared))
  t.same([...other.cookies], [], 'no session, and the nonce is gone')
  t.match(house.records[0], { path: '/ui/handoff', reason: 'unauthorized', granted: false })
})

t.test('says that nobody was handed over, without refusing', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  t.match(await visitor().call('POST', '/ui/handoff'), { status: 200, body: { signed_in: false } })
  t.match(house.records, [{ path: '/ui/handoff', granted: true, reason: null }])
})

t.test('ends the session at sign-out, and clears its cookie even if there was none', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  await browser.call('POST', '/ui/sign-in', ada)
  const token = browser.cookies.get(SESSION_COOKIE) ?? ''
  t.match(await browser.call('POST', '/ui/sign-out'), { status: 200, body: { success: true } })
  t.equal(browser.cookies.size, 0)
  t.match(house.records[0], { path: '/ui/sign-out', username: 'ada' })
  const thief = { cookie: `${SESSION_COOKIE}=${token}` }
  t.equal((await visitor().call('GET', '/ui/me', undefined, thief)).status, 401)
  t.equal((await visitor().call('POST', '/ui/sign-out')).status, 200)
})

t.test('ends the previous session of a page when it signs in again', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  await browser.call('POST', '/ui/sign-in', ada)
  await browser.call('POST', '/ui/sign-in', ada)
  t.equal(house.sessions.size, 1)
  await browser.call('POST', '/ui/sign-in', { ...ada, password: 'wrong' })
  t.equal(house.sessions.size, 1, 'a wrong password ends nothing')
})

t.test('refuses a disabled account at its next call', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  await browser.call('POST', '/ui/sign-in', ada)
  Object.assign(house.people.get('ada') ?? {}, { isDisabled: true })
  t.equal((await browser.call('GET', '/ui/zones')).status, 401)
  t.match(house.records[0], { reason: 'invalid_session', userId: null, path: '/ui/zones' })
})

t.test('1 Audit record: records who called what from where, and never a body', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  await browser.call('POST', '/ui/sign-in', { ...ada, password: 'wrong secret' })
  await browser.call('POST', '/ui/sign-in', ada)
  await browser.call('GET', '/ui/me')
  t.match(house.records, [
    { requestType: 'ui', method: 'GET', path: '/ui/me', status: 200, userId: 2, username: 'ada', granted: true },
    { method: 'POST', path: '/ui/sign-in', username: 'ada', granted: true, reason: null, clientIp: '127.0.0.1' },
    { method: 'POST', path: '/ui/sign-in', username: 'ada', granted: false, reason: 'invalid_credential' },
  ])
  await browser.call('POST', '/ui/sign-in', { username: 'front desk', password: 'ada' })
  t.match(house.records[0], { username: null, userId: null }, 'a text that names no account could be a password')
  t.notOk(/secret|front desk/.test(JSON.stringify(house.records)))
  t.notOk(JSON.stringify(house.records).includes([...house.sessions.keys()][0] ?? '-'))
})

t.test('answers an action only once it is recorded, and a read without waiting', async (t) => {
  const house = harbourHouse()
  const written: (() => void)[] = []
  house.parts.audit.add = () => new Promise((resolve) => written.push(resolve))
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  let isAnswered = false
  const signingIn = browser.call('POST', '/ui/sign-in', ada).then(() => {
    isAnswered = true
  })
  await until('it is to be written', () => written.length > 0)
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(isAnswered, false)
  written[0]?.()
  await signingIn
  t.equal((await browser.call('GET', '/ui/me')).status, 200, 'though its record still waits')
})

t.test('treats names of the prototype as plain names', async (t) => {
  const house = harbourHouse()
  const { visitor } = await serveUi(t, house)
  for (const username of ['__proto__', 'constructor', 'hasOwnProperty', '\u0000', 'ada\u0000'])
    t.match((await visitor().call('POST', '/ui/sign-in', { username, password: 'x' })).body, {
      error: 'invalid_credential',
    })
  for (const body of [null, [], 'text', 7]) {
    const { status } = await visitor().call('POST', '/ui/handoff', body)
    t.ok(status < 500, JSON.stringify(body))
  }
})

t.test('a call refused before its body is read is recorded too, once, and names nobody', async (t) => {
  const house = harbourHouse()
  const { url } = await serveUi(t, house)
  const post = async (body: string, headers: Record<string, string> = {}) => {
    const type = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/ui/sign-in`, { method: 'POST', body, headers: { ...type, ...headers } })
    await reply.text()
    await until('it is recorded', () => house.records.length > 0)
    return [reply.status, house.records.splice(0)]
  }
  const refused = { path: '/ui/sign-in', method: 'POST', requestType: 'ui', granted: false, userId: null }
  for (const [status, body, headers] of [
    [400, '{"username": "ada", "pass', {}],
    [413, JSON.stringify({ username: 'ada', password: 'x'.repeat(100_000) }), {}],
    [415, 'username=ada&password=x', { 'content-type': 'application/x-www-form-urlencoded' }],
  ] as [number, string, Record<string, string>][]) {
    const [seen, records] = await post(body, headers)
    t.equal(seen, status)
    t.match(records, [{ ...refused, status, reason: 'malformed_body', username: null }])
    t.equal((records as unknown[]).length, 1)
  }
  const [, records] = await post(JSON.stringify({ ...ada, password: 'wrong' }))
  t.match(records, [{ ...refused, userId: 2, reason: 'invalid_credential' }])
  t.equal((records as unknown[]).length, 1)
})

t.test(
  'the session is checked before the body: the body of a stranger is not read, whatever is wrong with it',
  async (t) => {
    const house = harbourHouse()
    const { url, visitor } = await serveUi(t, house)
    const browser = visitor()
    await browser.call('POST', '/ui/sign-in', ada)
    const cookie = `${SESSION_COOKIE}=${browser.cookies.get(SESSION_COOKIE)}`
    const bodies = ['{"zone_id": 1, "comm', JSON.stringify({ zone_id: 1, command: 'x'.repeat(100_000) })]
    for (const [method, path, of, status, error, reason] of [
      ['POST', '/ui/command', {}, 401, 'not_signed_in', 'invalid_session'],
      [
        'POST',
        '/ui/command',
        { cookie: `${SESSION_COOKIE}=${'x'.repeat(32)}` },
        401,
        'not_signed_in',
        'invalid_session',
      ],
      ['POST', '/ui/ticket', {}, 401, 'not_signed_in', 'invalid_session'],
      ['PUT', '/ui/rest', { cookie }, 403, 'not_elevated', 'elevation_denied'],
      ['POST', '/ui/command', { cookie, origin: 'http://other.example' }, 403, 'foreign_origin', 'foreign_origin'],
    ] as [string, string, Record<string, string>, number, string, string][])
      for (const body of bodies) {
        house.records.length = 0
        const reply = await fetch(url + path, { method, body, headers: { 'content-type': 'application/json', ...of } })
        t.equal(reply.status, status, `${path} ${error}`)
        t.match(await reply.json(), { error })
        await until('it is recorded', () => house.records.length > 0)
        const username = error === 'not_signed_in' ? null : 'ada'
        t.match(house.records, [{ method, path, status, reason, username, granted: false }])
        t.equal(house.records.length, 1)
      }
    t.equal((await browser.call('POST', '/ui/command', { zone_id: 1, command: 'on' })).status, 200)
  },
)

t.test('a stranger is answered before the announced body has arrived', async (t) => {
  const { port } = await serveUi(t, harbourHouse())
  const socket = connect({ port, host: '127.0.0.1' })
  t.teardown(() => socket.destroy())
  const head = [
    'POST /ui/command HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    'Content-Length: 60000',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n{`)
  const [answer] = await once(socket, 'data')
  t.match(String(answer), /^HTTP\/1.1 401 /)
})
