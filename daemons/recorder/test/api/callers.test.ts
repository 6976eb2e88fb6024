import t from 'tap'
import { createTokenStore } from '#kit/auth/credentials.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Caller, Knock } from '#kit/http/route.ts'
import { createUserList } from '#kit/pure/users.ts'
import { createCallers, recorderDialect, wholeFence } from '../../api/callers.ts'
import { type AccountRecord, firstAccount, type SessionHolder } from '../../core/access/accounts.ts'
import { createTokenBook } from '../../core/access/tokens.ts'

const TEXT = `prc_${'a'.repeat(43)}`
const ada = firstAccount({ username: 'ada', passwordHash: 'h' }, { id: 'a', createdAt: 0 })
const guard: AccountRecord = { ...ada, id: 'g', username: 'guard', role: 'viewer', cameras: ['c1'] }

function stage() {
  const clock = fakeClock(1000)
  const list = createUserList<AccountRecord>([ada, guard], async () => {})
  const sessions = createTokenStore<SessionHolder>({ clock, lifeMs: 60_000, kind: 'sliding', max: 8 })
  const make = () => ({ id: 't', text: TEXT, hash: `digest of ${TEXT}` })
  const tokens = createTokenBook({ clock, records: [], most: 8, save: async () => {}, make })
  const callers = createCallers({ clock, accounts: list, sessions, tokens, digest: (text) => `digest of ${text}` })
  const knock = (given: Partial<Knock>): Knock => ({
    ...{ authorization: undefined, headers: {}, method: 'GET', remoteAddress: '10.0.0.7' },
    ...given,
  })
  const by = (given: Partial<Knock>) => callers.callerOf(knock(given))
  const replace = (one: AccountRecord, change: Partial<AccountRecord>) =>
    list.change((all) => all.map((other) => (other.id === one.id ? { ...other, ...change } : other)))
  return { by, callers, clock, list, replace, tokens }
}

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

t.test('A.authentication.1 a token is taken as bearer, as the password of basic, and from the address', async (t) => {
  const { by, tokens } = stage()
  await tokens.mint(guard, { name: 'wall' })
  const seen = { name: 'guard by token wall', role: 'viewer', isKey: true }
  t.match(by({ authorization: `Bearer ${TEXT}` }), seen)
  t.match(by({ authorization: basic('', TEXT) }), seen)
  t.match(by({ authorization: basic('whoever', TEXT) }), seen)
  t.match(by({ queryToken: TEXT }), seen)
  t.equal(by({ authorization: basic(TEXT, '') }), undefined, 'as the user')
  t.equal(by({ authorization: `Bearer ${TEXT}x` }), undefined)
  t.equal(by({ authorization: `Bearer ${TEXT.toUpperCase()}` }), undefined)
})

t.test('A.authentication.3 a header that was not issued here is ignored: what else is sent counts', async (t) => {
  const { by, callers, tokens } = stage()
  await tokens.mint(guard, { name: 'wall' })
  const { token } = callers.begin(ada)
  for (const authorization of ['Bearer foreign', basic('ada', 'secret'), 'Negotiate abc', 'nonsense']) {
    t.match(by({ authorization, queryToken: TEXT }), { name: 'guard by token wall' }, authorization)
    t.match(by({ authorization, headers: { cookie: `svc_session=${token}` } }), { name: 'ada' }, authorization)
    t.equal(by({ authorization }), undefined, authorization)
  }
})

t.test('a read-only token is refused every write, whatever the route', async (t) => {
  const { by, tokens } = stage()
  await tokens.mint(ada, { name: 'wall', readOnly: true })
  const authorization = `Bearer ${TEXT}`
  t.match(by({ authorization, method: 'HEAD' }), { role: 'admin' })
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    t.throws(() => by({ authorization, method }), { code: 'read_only_token' }, method)
})

t.test('a write by the cookie carries what the sign-in gave, and a read needs nothing', async (t) => {
  const { by, callers } = stage()
  const { csrf, token } = callers.begin(ada)
  const cookie = `other=1; svc_session=${token}`
  t.match(by({ headers: { cookie } }), { name: 'ada', role: 'admin' })
  t.match(by({ headers: { cookie, 'x-csrf-token': csrf }, method: 'POST' }), { name: 'ada' })
  t.equal(callers.csrfOf({ cookie }), csrf)
  for (const wrong of [undefined, '', token, callers.begin(ada).csrf])
    t.throws(() => by({ headers: { cookie, 'x-csrf-token': wrong }, method: 'DELETE' }), { code: 'csrf_missing' })
})

t.test('a cookie that comes with a page of another origin counts for nothing', async (t) => {
  const { by, callers } = stage()
  const cookie = `svc_session=${callers.begin(ada).token}`
  const host = '10.0.0.1:3133'
  t.match(by({ headers: { cookie, host, origin: 'http://10.0.0.1:3133' } }), { name: 'ada' })
  for (const other of [{ origin: 'http://10.0.0.1:3132' }, { origin: 'null' }, { 'sec-fetch-site': 'same-site' }])
    t.equal(by({ headers: { cookie, host, ...other } as Knock['headers'] }), undefined, JSON.stringify(other))
})

t.test('a session ends with its password, its account and its time, and an ended account has no token', async (t) => {
  const { by, callers, clock, list, replace, tokens } = stage()
  await tokens.mint(guard, { name: 'wall' })
  const cookieOf = (account: AccountRecord) => ({ headers: { cookie: `svc_session=${callers.begin(account).token}` } })
  const [first, second] = [cookieOf(ada), cookieOf(guard)]
  await replace(ada, { passwordHash: 'other' })
  t.equal(by(first), undefined)
  await replace(guard, { expiresAt: clock.epochMs() + 10 })
  t.match(by(second), { name: 'guard' })
  clock.advance(10)
  t.same([by(second), by({ queryToken: TEXT })], [undefined, undefined])
  await replace(guard, { expiresAt: null })
  t.ok(by({ queryToken: TEXT }))
  await list.change((all) => all.filter(({ id }) => id !== 'g'))
  t.equal(by({ queryToken: TEXT }), undefined)
})

t.test('what was opened ends with a revocation, with fewer rights, and with the session', async (t) => {
  const { by, callers, replace, tokens } = stage()
  await tokens.mint(guard, { name: 'wall' })
  const open = () => by({ queryToken: TEXT }) as Caller
  const before = open()
  t.ok(callers.isStillSignedIn(before))
  await replace(guard, { cameras: [] })
  t.notOk(callers.isStillSignedIn(before))
  const after = open()
  t.same([callers.isStillSignedIn(after), callers.accountOf(after).cameras], [true, []], 'the token itself stands')
  await tokens.revoke('t')
  t.notOk(callers.isStillSignedIn(after))
  const cookie = `svc_session=${callers.begin(ada).token}`
  const page = by({ headers: { cookie } }) as Caller
  t.ok(callers.isStillSignedIn(page))
  callers.end({ cookie })
  t.notOk(callers.isStillSignedIn(page))
})

t.test('measurements are for accounts that see all cameras', async (t) => {
  const { by, callers, tokens } = stage()
  await tokens.mint(guard, { name: 'wall' })
  const fence = wholeFence(callers)
  const place = { method: 'GET', path: '/metrics', params: {}, remoteAddress: '' }
  const caller = by({ queryToken: TEXT }) as Caller
  t.throws(() => fence.check(caller, place), { code: 'forbidden' })
  t.doesNotThrow(() => fence.check(caller, { ...place, path: '/api/cameras' }))
})

t.test('players are asked for a password where they open an address, and browsers never', async (t) => {
  const said = (path: string, headers = {}) => recorderDialect.challenge({ path, headers })
  t.match(said('/api/cameras/c1/playback.mp4', { 'user-agent': 'Lavf/60' }), /^Basic realm=/)
  t.equal(said('/api/cameras/c1/playback.mp4', { 'user-agent': 'Mozilla/5.0' }), 'Bearer')
  t.equal(said('/api/cameras/c1/playback.mp4', { cookie: 'svc_session=old' }), 'Bearer')
  t.equal(said('/api/cameras', { 'user-agent': 'Lavf/60' }), 'Bearer')
})
