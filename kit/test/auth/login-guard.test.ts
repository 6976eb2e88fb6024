/** Tests of auth/login-guard.ts and auth/slow-down.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/fault.ts'
import { createLoginGuard } from '../../auth/login-guard.ts'
import { createSlowDown } from '../../auth/slow-down.ts'

function bounds(keys = {}) {
  const clock = fakeClock()
  return { clock, freeTries: 5, waitMs: 1000, waitMaxMs: 300_000, table: 16, ...keys }
}

/** Milliseconds to wait, 0 where the attempt was let through. */
function tryWrong(guard: ReturnType<typeof createLoginGuard>, address: string, account: string): number {
  try {
    guard.attempt(address, account)
    return 0
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'slow_down') return Number(fault.details?.retryAfterMs)
    throw fault
  }
}

t.test('lets five wrong logins through, then doubles the wait up to its bound', async (t) => {
  const by = bounds()
  const slow = createSlowDown(by)
  const waits: number[] = []
  for (let i = 0; i < 16; i++) {
    waits.push(slow.check('a'))
    by.clock.advance(slow.check('a'))
    slow.failed('a')
  }
  const seconds = [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
  t.same(
    waits,
    seconds.map((wait) => wait * 1000),
  )
})

t.test('two hundred wrong logins at once: five are looked at, and it ends', async (t) => {
  const by = bounds()
  const guard = createLoginGuard(by)
  const waits = Array.from({ length: 200 }, () => tryWrong(guard, '192.0.2.1', 'anna'))
  t.equal(waits.filter((wait) => wait === 0).length, 5)
  t.equal(Math.max(...waits), 1000)
  by.clock.advance(1000)
  t.equal(tryWrong(guard, '192.0.2.1', 'anna'), 0)
})

t.test('two hundred wrong logins in a row never make a wait longer than its bound', async (t) => {
  const by = bounds()
  const guard = createLoginGuard(by)
  for (let i = 0; i < 200; i++) by.clock.advance(tryWrong(guard, '192.0.2.1', 'anna'))
  t.ok(tryWrong(guard, '192.0.2.1', 'anna') <= 300_000)
  by.clock.advance(300_000)
  const attempt = guard.attempt('192.0.2.1', 'anna')
  attempt.succeeded()
  t.equal(tryWrong(guard, '192.0.2.1', 'anna'), 0)
})

t.test('counts by account from whatever address, and by address for whatever account', async (t) => {
  const guard = createLoginGuard(bounds())
  for (let i = 0; i < 5; i++) t.equal(tryWrong(guard, `192.0.2.${i}`, 'anna'), 0)
  t.equal(tryWrong(guard, '192.0.2.99', 'anna'), 1000)
  for (let i = 0; i < 5; i++) t.equal(tryWrong(guard, '198.51.100.7', `user${i}`), 0)
  t.equal(tryWrong(guard, '198.51.100.7', 'else'), 1000)
})

t.test('counts a whole IPv6 /64 as one address, and mapped IPv4 as IPv4', async (t) => {
  const guard = createLoginGuard(bounds())
  for (let i = 0; i < 5; i++) tryWrong(guard, `2001:db8::${i + 1}`, `user${i}`)
  t.equal(tryWrong(guard, '2001:db8::ffff', 'else'), 1000)
  t.equal(tryWrong(guard, '2001:db8:0:1::1', 'else'), 0)
  for (let i = 0; i < 5; i++) tryWrong(guard, i % 2 ? '192.0.2.1' : '::ffff:192.0.2.1', `more${i}`)
  t.equal(tryWrong(guard, '192.0.2.1', 'another'), 1000)
})

t.test('a stranger who keeps guessing does not keep the owner out', async (t) => {
  const by = bounds()
  const guard = createLoginGuard(by)
  guard.attempt('192.0.2.1', 'anna').succeeded()
  for (let i = 0; i < 50; i++) tryWrong(guard, `198.51.100.${i}`, 'anna')
  t.ok(tryWrong(guard, '203.0.113.1', 'anna') > 0)
  t.equal(tryWrong(guard, '192.0.2.1', 'anna'), 0)
})

t.test('one address that keeps guessing does not keep the owner out of an address never seen before', async (t) => {
  const by = bounds()
  const guard = createLoginGuard(by)
  for (let waitMs = 0; waitMs < 60_000; waitMs = tryWrong(guard, '198.51.100.7', 'anna')) by.clock.advance(waitMs)
  t.equal(tryWrong(guard, '203.0.113.1', 'anna'), 0)
})

t.test('forgets a key that was quiet for twice the longest wait', async (t) => {
  const by = bounds()
  const slow = createSlowDown(by)
  for (let i = 0; i < 20; i++) slow.failed('a')
  by.clock.advance(600_000)
  slow.failed('a')
  t.equal(slow.check('a'), 0)
})

t.test('remembers no more keys than its table holds', async (t) => {
  const slow = createSlowDown(bounds({ table: 2 }))
  for (let i = 0; i < 5; i++) slow.failed('a')
  slow.failed('b')
  t.equal(slow.check('a'), 1000)
  slow.failed('c')
  t.equal(slow.check('a'), 0)
})

t.test('an attempt whose password was never looked at is given back, and only that one', async (t) => {
  const guard = createLoginGuard(bounds())
  for (let i = 0; i < 50; i++) guard.attempt('192.0.2.1', 'anna').abandoned()
  for (let i = 0; i < 4; i++) t.equal(tryWrong(guard, '192.0.2.1', 'anna'), 0)
  guard.attempt('192.0.2.1', 'anna').abandoned()
  t.equal(tryWrong(guard, '192.0.2.1', 'anna'), 0)
  t.equal(tryWrong(guard, '192.0.2.1', 'anna'), 1000)
  t.equal(tryWrong(guard, '203.0.113.1', 'anna'), 1000, 'the account has its five wrong ones as well')
})

t.test('giving back what was forgotten meanwhile changes nothing', async (t) => {
  const slow = createSlowDown(bounds())
  slow.unfailed('a')
  t.equal(slow.failed('a'), 1)
})

t.test(
  'who signs in as himself between guesses at another is slowed down, also at that one’s own address',
  async (t) => {
    const by = bounds()
    const guard = createLoginGuard(by)
    const from = '192.0.2.1'
    guard.attempt(from, 'anna').succeeded()
    let guesses = 0
    for (let times = 0; times < 100; times++) {
      if (tryWrong(guard, from, 'anna') === 0) guesses++
      guard.attempt(from, 'viewer').succeeded()
    }
    t.equal(guesses, 5)
  },
)
