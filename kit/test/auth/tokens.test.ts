/** Tests of auth/credentials.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { bearerOf, createTokenStore } from '../../auth/credentials.ts'
import { heapBytesOf } from '../heap.ts'

const HOUR_MS = 3_600_000
const anna = { name: 'anna' }
const bert = { name: 'bert' }

function store(kind: 'sliding' | 'absolute' = 'sliding', max = 100) {
  const clock = fakeClock()
  return { clock, tokens: createTokenStore<{ name: string }>({ clock, lifeMs: 12 * HOUR_MS, kind, max }) }
}

t.test('A.authentication.2 a sliding token lives twelve hours from its last use', async (t) => {
  const { clock, tokens } = store()
  const token = tokens.issue(anna)
  t.match(token, /^[A-Za-z0-9_-]{43}$/)
  for (let i = 0; i < 3; i++) {
    clock.advance(12 * HOUR_MS - 1)
    t.equal(tokens.use(token), anna)
  }
  clock.advance(12 * HOUR_MS)
  t.equal(tokens.isAlive(token), false)
  t.equal(tokens.use(token), undefined)
})

t.test('an absolute token lives from its issue, however much it is used', async (t) => {
  const { clock, tokens } = store('absolute')
  const token = tokens.issue(anna)
  clock.advance(11 * HOUR_MS)
  t.equal(tokens.use(token), anna)
  clock.advance(HOUR_MS)
  t.equal(tokens.use(token), undefined)
})

t.test('all tokens of some callers are revoked at once', async (t) => {
  const { tokens } = store()
  const [one, other, hers] = [tokens.issue(bert), tokens.issue(bert), tokens.issue(anna)]
  tokens.revokeAll(({ name }) => name === 'bert')
  t.same([one, other, hers].map(tokens.use), [undefined, undefined, anna])
})

t.test('checking whether a token is alive does not count as use', async (t) => {
  const { clock, tokens } = store()
  const token = tokens.issue(anna)
  clock.advance(11 * HOUR_MS)
  t.equal(tokens.isAlive(token), true)
  clock.advance(HOUR_MS)
  t.equal(tokens.use(token), undefined)
})

t.test('wall time that steps does not touch a token', async (t) => {
  const { clock, tokens } = store()
  const token = tokens.issue(anna)
  clock.stepEpoch(365 * 24 * HOUR_MS)
  t.equal(tokens.use(token), anna)
})

t.test('ends only one token', async (t) => {
  const { tokens } = store()
  const [one, two] = [tokens.issue(anna), tokens.issue(anna)]
  tokens.revoke(one)
  t.equal(tokens.use(one), undefined)
  t.equal(tokens.use(two), anna)
})

t.test('makes room by dropping the longest idle token of whoever holds most', async (t) => {
  const { tokens } = store('sliding', 3)
  const berts = tokens.issue(bert)
  const [one, two] = [tokens.issue(anna), tokens.issue(anna)]
  tokens.use(one)
  const three = tokens.issue(anna)
  t.same(
    [berts, one, two, three].map((token) => tokens.isAlive(token)),
    [true, true, false, true],
  )
})

t.test('filled to the bound it takes less than a kilobyte a token', async (t) => {
  const max = 1000
  const bytes = await heapBytesOf(() => {
    const { tokens } = store('sliding', max)
    for (let at = 0; at < max + 10; at++) tokens.issue({ name: `${at}`.padEnd(256, 'ж') })
    return tokens
  })
  t.ok(bytes < max * 1024, `${bytes / max} bytes a token`)
})

t.test('reads the bearer token of a header, and nothing else', async (t) => {
  t.equal(bearerOf('Bearer abc-._~+/='), 'abc-._~+/=')
  t.equal(bearerOf('bearer  abc'), 'abc')
  for (const bad of [undefined, '', 'Bearer', 'Bearer ', 'Bearer a b', 'Basic YTpi', `Bearer ${'x'.repeat(513)}`])
    t.equal(bearerOf(bad), undefined)
})

t.test('what is kept of tokens is enough after a restart, also for one that was set back in time', async (t) => {
  const { clock, tokens } = store()
  const [token, old] = [tokens.issue(anna), tokens.issue(bert)]
  clock.advance(11 * HOUR_MS)
  tokens.use(token)
  const known = tokens.kept()
  t.match(known, [{ caller: bert }, { caller: anna }], 'least recently used first')
  t.notOk(JSON.stringify(known).includes(token))
  const after = (byMs: number) => {
    const later = fakeClock(clock.epochMs() + byMs)
    return createTokenStore({ clock: later, lifeMs: 12 * HOUR_MS, kind: 'sliding', max: 100, known })
  }
  t.same([token, old].map(after(HOUR_MS).use), [anna, undefined])
  t.same([token, old].map(after(-HOUR_MS).use), [anna, bert])
  t.same([token, old].map(after(12 * HOUR_MS).use), [undefined, undefined])
  tokens.revoke(token)
  t.match(tokens.kept(), [{ caller: bert }])
  clock.advance(HOUR_MS)
  t.same(tokens.kept(), [])
})
