/** Tests of auth/sign-in-limiter.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { PasswordTry } from '../../auth/sign-in-limiter.ts'
import { signInRows } from '../../pure/memory-plan.ts'
import { limiterHere } from '../auth/limiter-here.ts'
import { heapBytesOf, rowOf } from '../heap.ts'

const RIGHT = 'right'
const rows = signInRows({ workers: 'workers', queue: 'queue', table: 'table', homes: 'homes' })

/** A limiter whose passwords are texts; while it is held back, every verification waits. */
function deskOf(bounds: Parameters<typeof limiterHere>[0] = {}) {
  const here = limiterHere(bounds)
  const { clock, limiter } = here
  const looked: string[] = []
  let gate: Promise<void> | undefined
  let open = () => {}

  /** Tries a password. @returns how it ended, and how long that took */
  async function attempt(address: string, account: string, password: string, more: Partial<PasswordTry> = {}) {
    const beganMs = clock.monotonicMs()
    const end = (how: boolean | string) => ({ how, tookMs: clock.monotonicMs() - beganMs })
    const who = { address, account }
    const verify = async () => {
      looked.push(`${address} ${password}`)
      await gate
      return password === RIGHT
    }
    return limiter.judge({ ...who, verify, ...more }).then(
      (isRight) => {
        if (isRight) limiter.succeeded(who)
        return end(isRight)
      },
      (fault) => {
        if (fault instanceof Fault) return end(fault.code)
        throw fault
      },
    )
  }

  /** Tries it and lets time pass until it is answered. */
  async function tried(address: string, account: string, password: string) {
    const asked = attempt(address, account, password)
    await clock.run(5000)
    return asked
  }

  return {
    ...here,
    looked,
    attempt,
    tried,
    holdBack() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      open = resolve
    },
    async letGo() {
      gate = undefined
      open()
      await clock.run(0)
    },
  }
}

/** Lets a network guess until its answers are delayed as long as possible. */
async function guess(desk: ReturnType<typeof deskOf>, address: string, account = 'anna', times = 12) {
  for (let i = 0; i < times; i++) await desk.tried(address, account, `wrong ${i}`)
}

t.test('from the last free try on a wrong password is answered later and later, up to a limit', async (t) => {
  const desk = deskOf()
  const took: number[] = []
  for (let i = 0; i < 11; i++) took.push((await desk.tried('192.0.2.1', 'anna', `wrong ${i}`)).tookMs)
  t.same(took, [0, 0, 0, 0, 250, 500, 1000, 2000, 4000, 5000, 5000])
})

t.test('a right one is answered at once, whatever came before, and resets the delay', async (t) => {
  const desk = deskOf()
  await guess(desk, '192.0.2.1')
  t.same(await desk.tried('192.0.2.1', 'anna', RIGHT), { how: true, tookMs: 0 })
  t.same(await desk.tried('192.0.2.1', 'anna', 'a slip'), { how: false, tookMs: 0 })
})

t.test('wrong ones are forgotten after a quiet while', async (t) => {
  const desk = deskOf()
  await guess(desk, '192.0.2.1')
  desk.clock.advance(600_000)
  t.equal((await desk.tried('192.0.2.1', 'anna', 'x')).tookMs, 0)
})

t.test(
  'one network does not slow down others; an account that many guess at is answered late everywhere',
  async (t) => {
    const desk = deskOf()
    await guess(desk, '192.0.2.1')
    t.equal((await desk.tried('198.51.100.1', 'anna', 'x')).tookMs, 0)
    for (let i = 2; i < 8; i++) await desk.tried(`192.0.2.${i}`, 'anna', 'x')
    t.ok((await desk.tried('198.51.100.2', 'anna', 'x')).tookMs >= 250)
    t.same(await desk.tried('198.51.100.3', 'anna', RIGHT), { how: true, tookMs: 0 })
  },
)

t.test('signing in between guesses at another account gains no extra guess', async (t) => {
  const desk = deskOf()
  for (let i = 0; i < 10; i++) {
    await desk.tried('192.0.2.1', 'anna', `wrong ${i}`)
    await desk.tried('192.0.2.1', 'viewer', RIGHT)
  }
  t.equal((await desk.tried('192.0.2.1', 'anna', 'x')).tookMs, 5000)
})

t.test('a whole IPv6 /64 is one network, and a mapped IPv4 is that IPv4', async (t) => {
  const desk = deskOf()
  for (let i = 0; i < 6; i++) await desk.tried(`2001:db8::${i + 1}`, `user${i}`, 'x')
  t.ok((await desk.tried('2001:db8::ffff', 'else', 'x')).tookMs > 0)
  t.equal((await desk.tried('2001:db8:0:1::1', 'else', 'x')).tookMs, 0)
  for (let i = 0; i < 6; i++) await desk.tried(i % 2 ? '192.0.2.1' : '::ffff:192.0.2.1', `more${i}`, 'x')
  t.ok((await desk.tried('192.0.2.1', 'another', 'x')).tookMs > 0)
})

t.test(
  'a network has a limited number of places: its further tries wait in a queue, and nobody else does',
  async (t) => {
    const desk = deskOf({ places: 2 })
    await guess(desk, '192.0.2.1')
    desk.looked.length = 0
    const guesses = ['a', 'b', 'c', 'd'].map((text) => desk.attempt('192.0.2.1', 'anna', text))
    await desk.clock.run(0)
    t.same(desk.looked, ['192.0.2.1 a', '192.0.2.1 b'])
    t.match(await desk.attempt('198.51.100.1', 'anna', RIGHT), { how: true, tookMs: 0 })
    await desk.clock.run(5000)
    t.same(desk.looked.slice(-2), ['192.0.2.1 c', '192.0.2.1 d'])
    await desk.clock.run(5000)
    t.same(
      (await Promise.all(guesses)).map(({ tookMs }) => tookMs),
      [5000, 5000, 10_000, 10_000],
    )
  },
)

t.test('a try whose client hangs up before the verification is dropped; after it the place stays taken', async (t) => {
  const desk = deskOf({ places: 1 })
  await guess(desk, '192.0.2.1')
  desk.looked.length = 0
  const hangUps = [new AbortController(), new AbortController()]
  const guesses = hangUps.map(({ signal }, i) => desk.attempt('192.0.2.1', 'anna', `guess ${i}`, { signal }))
  await desk.clock.run(0)
  for (const hangUp of hangUps) hangUp.abort()
  const right = desk.attempt('192.0.2.1', 'anna', RIGHT)
  await desk.clock.run(5000)
  t.match(await right, { how: true, tookMs: 5000 })
  t.same(desk.looked, ['192.0.2.1 guess 0', '192.0.2.1 right'])
  t.match(await Promise.all(guesses), [{ how: false }, { how: 'client_gone' }])
  const gone = await desk.attempt('192.0.2.1', 'anna', RIGHT, { signal: AbortSignal.abort() })
  t.equal(gone.how, 'client_gone')
})

t.test(
  'the clean network of an owner comes before two hundred that guess, however many tries they have waiting',
  async (t) => {
    const desk = deskOf({ queue: 1000 })
    const guessers = Array.from({ length: 200 }, (_, i) => `203.0.113.${i}`)
    for (const address of guessers) await desk.tried(address, 'anna', 'x')
    desk.looked.length = 0
    desk.holdBack()
    for (const address of guessers) for (const text of ['a', 'b']) void desk.attempt(address, 'anna', text)
    await desk.clock.run(0)
    const right = desk.attempt('198.51.100.1', 'anna', RIGHT)
    await desk.letGo()
    t.match(await right, { how: true, tookMs: 0 })
    // At most the one that was under way and the one that had waited longest.
    t.ok(desk.looked.indexOf('198.51.100.1 right') <= 2, desk.looked.slice(0, 5).join())
  },
)

t.test('networks without a wrong try take turns by the wider networks they belong to', async (t) => {
  const desk = deskOf({ queue: 1000 })
  desk.holdBack()
  for (let i = 0; i < 200; i++) void desk.attempt(`203.0.113.${i}`, 'anna', 'a')
  for (let i = 0; i < 200; i++) void desk.attempt(`2001:db8:0:${i.toString(16)}::1`, 'anna', 'a')
  const right = desk.attempt('198.51.100.1', 'anna', RIGHT)
  await desk.letGo()
  t.match(await right, { how: true })
  t.ok(desk.looked.indexOf('198.51.100.1 right') <= 4, `${desk.looked.indexOf('198.51.100.1 right')}`)
})

t.test(
  'with twelve that guess from an owner’s own address, the known owner comes first, or waits a bounded turn',
  async (t) => {
    const desk = deskOf()
    t.match(await desk.tried('192.0.2.1', 'anna', RIGHT), { how: true })
    await guess(desk, '192.0.2.1', 'bob')
    desk.looked.length = 0
    desk.holdBack()
    for (let i = 0; i < 40; i++) void desk.attempt('192.0.2.1', i % 2 ? 'bob' : `user${i}`, `guess ${i}`)
    await desk.clock.run(0)
    const right = desk.attempt('192.0.2.1', 'anna', RIGHT)
    await desk.letGo()
    t.match(await right, { how: true, tookMs: 0 })
    t.ok(desk.looked.indexOf('192.0.2.1 right') <= 2)
    const other = desk.attempt('192.0.2.1', 'carl', RIGHT)
    for (let i = 0; i < 4; i++) await desk.clock.run(5000)
    t.match(await other, { how: true })
  },
)

t.test('of one network, the accounts take turns', async (t) => {
  const desk = deskOf({ places: 2 })
  await guess(desk, '192.0.2.1')
  desk.looked.length = 0
  for (let i = 0; i < 20; i++) void desk.attempt('192.0.2.1', 'anna', `guess ${i}`)
  await desk.clock.run(0)
  const right = desk.attempt('192.0.2.1', 'bob', RIGHT)
  await desk.clock.run(5000)
  t.match(await right, { how: true, tookMs: 5000 })
})

t.test(
  'the network with most waiting makes room: no flood from one network causes a refusal for another',
  async (t) => {
    const desk = deskOf({ queue: 10, queueOfOne: 8 })
    desk.holdBack()
    const flood = Array.from({ length: 12 }, (_, i) => desk.attempt('192.0.2.1', 'anna', `guess ${i}`))
    const others = [2, 3, 4].map((i) => desk.attempt(`192.0.2.${i}`, 'anna', RIGHT))
    await desk.letGo()
    for (let i = 0; i < 4; i++) await desk.clock.run(5000)
    t.same(
      (await Promise.all(others)).map(({ how }) => how),
      [true, true, true],
    )
    const ends = (await Promise.all(flood)).map(({ how }) => how)
    t.equal(ends.filter((how) => how === 'slow_down').length, 3, 'its own queue was full')
    t.ok(ends.includes('busy'), 'and it made room for the others')
  },
)

t.test('if one account fills the queue of its network, another still gets in', async (t) => {
  const desk = deskOf({ queueOfOne: 4 })
  desk.holdBack()
  const flood = Array.from({ length: 8 }, (_, i) => desk.attempt('192.0.2.1', 'anna', `guess ${i}`))
  const bob = desk.attempt('192.0.2.1', 'bob', RIGHT)
  await desk.letGo()
  t.match(await bob, { how: true })
  t.equal((await Promise.all(flood)).filter(({ how }) => how === 'slow_down').length, 4)
})

t.test('with two workers, one is reserved for those that have not been guessing', async (t) => {
  const desk = deskOf({ workers: 2 })
  await guess(desk, '192.0.2.1')
  desk.looked.length = 0
  desk.holdBack()
  for (const text of ['a', 'b', 'c']) void desk.attempt('192.0.2.1', 'anna', text)
  void desk.attempt('198.51.100.1', 'anna', RIGHT)
  await desk.clock.run(0)
  t.same(desk.looked, ['192.0.2.1 a', '198.51.100.1 right'])
  await desk.letGo()
})

t.test('a guesser is not kept waiting for ever by others', async (t) => {
  const desk = deskOf()
  await guess(desk, '192.0.2.1')
  desk.holdBack()
  void desk.attempt('198.51.100.1', 'anna', RIGHT)
  const right = desk.attempt('192.0.2.1', 'bob', RIGHT)
  for (let i = 2; i < 60; i++) void desk.attempt(`198.51.100.${i}`, 'anna', RIGHT)
  desk.looked.length = 0
  await desk.letGo()
  t.match(await right, { how: true })
  t.ok(desk.looked.indexOf('192.0.2.1 right') <= 4)
})

t.test('known credentials are let in without a verification, even past a full queue at home', async (t) => {
  const desk = deskOf({ places: 1 })
  const known = { isKnown: () => true }
  t.match(await desk.attempt('192.0.2.1', 'anna', 'known', known), { how: true })
  await guess(desk, '192.0.2.1')
  desk.looked.length = 0
  for (const text of ['a', 'b', 'c']) void desk.attempt('192.0.2.1', 'anna', text, { isKnown: () => false })
  t.match(await desk.attempt('192.0.2.1', 'anna', 'known', known), { how: true, tookMs: 0 })
  t.notOk(desk.looked.includes('192.0.2.1 known'))
})

t.test('failed quick checks of known credentials are few: a guesser at home that hangs up gains little', async (t) => {
  const clock = fakeClock()
  const { limiter } = limiterHere({ clock, places: 2 })
  const who = { address: '192.0.2.1', account: 'anna' }
  limiter.succeeded(who)
  let looks = 0
  for (let i = 0; i < 200; i++) {
    const hangUp = new AbortController()
    const isKnown = () => {
      looks++
      return false
    }
    const verify = () => new Promise<boolean>(() => {})
    void limiter.judge({ ...who, signal: hangUp.signal, isKnown, verify }).catch(() => {})
    hangUp.abort()
  }
  // Eight at once, and one more by the only try that had its turn.
  t.equal(looks, 9)
})

t.test('a wrong code waits like a wrong password, and takes a place', async (t) => {
  const desk = deskOf({ places: 1 })
  const who = { address: '192.0.2.1', account: 'anna' }
  for (let i = 0; i < 12; i++) {
    void desk.limiter.failed(who)
    await desk.clock.run(5000)
  }
  void desk.limiter.failed(who)
  const right = desk.attempt('192.0.2.1', 'anna', RIGHT)
  await desk.clock.run(5000)
  t.match(await right, { how: true, tookMs: 5000 })
})

t.test('a new password of a signed-in user comes before strangers, and frees its place if it fails', async (t) => {
  const desk = deskOf()
  desk.holdBack()
  for (let i = 0; i < 20; i++) void desk.attempt(`192.0.2.${i}`, 'anna', 'x')
  const hashed = desk.limiter.within(async () => desk.looked.length)
  await desk.letGo()
  t.ok((await hashed) <= 3)
  await t.rejects(
    desk.limiter.within(async () => Promise.reject(new Fault('bad', 'no'))),
    { code: 'bad' },
  )
  const verify = async () => Promise.reject(new Fault('bad_password_hash', 'damaged'))
  for (let i = 0; i < 20; i++)
    t.match(await desk.attempt('198.51.100.1', 'anna', 'x', { verify }), { how: 'bad_password_hash' })
  t.match(await desk.attempt('198.51.100.1', 'anna', RIGHT), { how: true, tookMs: 0 })
})

t.test('no more entries are remembered than the table holds', async (t) => {
  const desk = deskOf({ table: 2 })
  await guess(desk, '192.0.2.1')
  for (let i = 0; i < 3; i++) await desk.tried(`198.51.100.${i}`, `user${i}`, 'x')
  t.equal((await desk.tried('192.0.2.1', 'anna', 'x')).tookMs, 0)
})

t.test('remembered wrong sign-ins take no more memory than their row says, however long the names are', async (t) => {
  const table = 300
  const bytes = await heapBytesOf(async () => {
    const { limiter } = limiterHere({ table, freeTries: 1000 })
    for (let at = 0; at < 2 * table; at++) {
      const account = Buffer.from(`${at} ${'ж'.repeat(20_000)}`).toString()
      await limiter.judge({ address: `10.0.${at >> 8}.${at & 255}`, account, verify: async () => false })
    }
    return limiter
  })
  const row = rowOf(rows, 'wrong sign-ins', { table, homes: 0 })
  t.ok(bytes < row.allBytes, `${bytes / table} bytes each, of ${row.allBytes / table}`)
})

t.test('waiting sign-ins take no more memory than their row says', async (t) => {
  const queue = 300
  const never = new Promise<boolean>(() => {})
  let refused = 0
  const bytes = await heapBytesOf(async () => {
    refused = 0
    const { limiter } = limiterHere({ queue, queueOfOne: queue })
    const held: unknown[] = [limiter]
    for (let at = 0; at < 2 * queue + 1; at++) {
      // A longer one is part of its request, which its connection holds.
      const account = `${at} ${'ж'.repeat(128)}`
      const { signal } = new AbortController()
      const address = `10.0.${at >> 8}.${at & 255}`
      const judged = limiter.judge({ address, account, signal, isKnown: () => false, verify: () => never })
      held.push(judged.catch(() => refused++))
    }
    await new Promise(setImmediate)
    return held
  })
  t.equal(refused, queue, 'filled to the bound')
  t.ok(bytes < rowOf(rows, 'sign-ins that wait', { queue }).allBytes, `${bytes / queue} bytes each`)
})
