/** Units that are silent, and how they are tried again. */
import t from 'tap'
import { ask, askNow, silence, unit, unitLine } from './modbus-unit-line.ts'

t.test('three requests in a row without an answer make a unit silent, and each change is reported', async (t) => {
  const both = await unitLine()
  const { on } = both
  await askNow(on, 'poll')
  await silence(both)
  t.match(unit(on), {
    state: 'silent',
    requests: 4,
    timeouts: 3,
    lastError: { code: 'modbus_timeout', message: /Unit 1 did not answer/ },
  })
  t.match(on.told.unit, [
    { unitId: 1, state: 'well', previous: 'unknown', message: 'Unit 1 answers.' },
    { unitId: 1, state: 'silent', previous: 'well', message: /3 requests in a row/ },
  ])
  t.equal(on.told.unit.length, 2)
})

t.test('polls and background work for a silent unit fail at once and name the next try', async (t) => {
  const both = await unitLine()
  const { on } = both
  await silence(both)
  const sent = on.line.written.length
  const inMs = (unit(on)?.nextTryAt ?? 0) - on.clock.epochMs()
  t.ok(inMs > 7000 && inMs <= 10_000)
  for (const priority of ['poll', 'background'] as const) {
    const refused = on.adapter.asker.ask({ unitId: 1, fc: 3, address: 0, quantity: 1 }, { priority })
    await t.rejects(refused, {
      code: 'modbus_unit_silent',
      details: { unitId: 1, nextTryAt: unit(on)?.nextTryAt, retryAfterMs: inMs },
    })
  }
  t.equal(on.line.written.length, sent, 'nothing went out')
  t.equal(on.count('refusedSilent'), 2)
  t.equal(await askNow(on, 'poll', 2), 10, 'other units are asked')
})

t.test('requests that wait for a unit fail when it becomes silent, but not those of an operator', async (t) => {
  const { on, far } = await unitLine({ settings: { breaker_failures: 1, quarantine_ms: 1000 } })
  far.isDead = true
  const asked = (['operator', 'operator', 'poll', 'background'] as const).map((priority) => ask(on, priority))
  await on.clock.run(400)
  t.strictSame(
    asked.map(({ came }) => came),
    ['modbus_timeout', undefined, 'modbus_unit_silent', 'modbus_unit_silent'],
  )
  await on.clock.run(2000)
  t.equal(asked[1]?.came, 'modbus_timeout', 'it was the probe')
})

t.test("an operator's request goes to a silent unit and closes the breaker when it is answered", async (t) => {
  const both = await unitLine()
  const { on, far } = both
  await askNow(on, 'poll')
  await silence(both)
  t.equal(await askNow(on, 'operator'), 'modbus_timeout')
  await on.clock.run(2000)
  far.isDead = false
  t.equal(await askNow(on, 'operator', 1, 99), 'modbus_exception', 'an exception is an answer')
  t.equal(unit(on)?.state, 'well')
  t.equal(await askNow(on, 'poll'), 10)
  t.match(on.told.unit.at(-1), { state: 'well', previous: 'silent', message: 'Unit 1 answers again.' })
})

t.test('while an operator probes, the unit is probing and polls are refused', async (t) => {
  const both = await unitLine()
  const { on } = both
  await silence(both)
  await on.clock.run(20_000)
  const silentSince = unit(on)?.stateSince
  const probe = ask(on, 'operator')
  await on.clock.run(50)
  t.equal(unit(on)?.state, 'probing')
  t.equal(await askNow(on, 'poll'), 'modbus_unit_silent')
  await on.clock.run(300)
  t.equal(probe.came, 'modbus_timeout')
  t.match(unit(on), { state: 'silent', stateSince: silentSince }, 'still silent since the same time')
  t.equal(on.told.unit.length, 2, 'a probe that fails is no news')
})

t.test('a silent unit is tried again by a poll, after waits that double up to their limit', async (t) => {
  const both = await unitLine({ settings: { breaker_retry_ms: 10_000, breaker_retry_max_ms: 30_000 } })
  const { on } = both
  await silence(both)
  const probesAtMs: number[] = []
  for (let n = 0; n < 1100; n++) {
    const sent = on.line.written.length
    ask(on, 'poll')
    await on.clock.run(100)
    if (on.line.written.length > sent) probesAtMs.push(on.clock.monotonicMs())
  }
  const wentMs = probesAtMs.map((atMs, n) => Math.round((atMs - (probesAtMs[n - 1] ?? 0)) / 1000))
  t.strictSame(wentMs.slice(1), [20, 30, 30])
})

t.test('an operator who tries in between does not postpone the next try', async (t) => {
  const both = await unitLine()
  const { on } = both
  await silence(both)
  const nextTryAt = unit(on)?.nextTryAt
  for (let n = 0; n < 3; n++) {
    await askNow(on, 'operator')
    await on.clock.run(1100)
  }
  t.equal(unit(on)?.nextTryAt, nextTryAt)
})

t.test('when the next try is due, one poll goes as the probe and the others are refused', async (t) => {
  const both = await unitLine()
  const { on } = both
  await silence(both)
  await on.clock.run(10_000)
  const asked = [ask(on, 'poll'), ask(on, 'poll'), ask(on, 'background')]
  await on.clock.run(1)
  t.strictSame(
    asked.map(({ came }) => came),
    [undefined, 'modbus_unit_silent', 'modbus_unit_silent'],
  )
  await on.clock.run(400)
  t.equal(asked[0]?.came, 'modbus_timeout')
})

t.test('a probe that leaves the queue unsent makes way for the next', async (t) => {
  let idleMs = Number.POSITIVE_INFINITY
  const both = await unitLine({ hooks: { idleMs: () => idleMs } })
  const { on, far } = both
  await silence(both)
  await on.clock.run(10_000)
  idleMs = 0
  const first = ask(on, { priority: 'poll', deadlineMs: 600 })
  await on.clock.run(700)
  t.equal(first.came, 'modbus_expired')
  far.isDead = false
  const second = ask(on, { priority: 'poll', deadlineMs: 600 })
  idleMs = 1000
  await on.clock.run(100)
  t.equal(second.came, 10)
})

t.test('requests that expire one after another cannot put off the probe of a unit for ever', async (t) => {
  const both = await unitLine({ hooks: { idleMs: () => 0 } })
  const { on } = both
  await silence(both)
  await on.clock.run(10_000)
  const sent = on.line.written.length
  for (let n = 0; n < 11; n++) {
    ask(on, { priority: 'poll', deadlineMs: 100 })
    await on.clock.run(500)
  }
  t.equal(on.line.written.length, sent + 1, 'tried once background_wait_ms is over')
})

t.test('of many silent units one is probed at a time', async (t) => {
  const { on } = await unitLine({ say: () => [], settings: { breaker_failures: 1, quarantine_ms: 100 } })
  for (const unitId of [1, 2, 3]) await askNow(on, 'poll', unitId)
  await on.clock.run(11_000)
  const asked = [1, 2, 3].map((unitId) => ask(on, 'poll', unitId))
  await on.clock.run(10)
  t.strictSame(
    asked.map(({ came }) => came),
    [undefined, 'modbus_unit_silent', 'modbus_unit_silent'],
  )
  await on.clock.run(400)
  t.equal(asked[0]?.came, 'modbus_timeout')
  const next = [1, 2].map((unitId) => ask(on, 'poll', unitId))
  await on.clock.run(10)
  t.strictSame([next[0]?.came, next[1]?.came], ['modbus_unit_silent', undefined], 'the next in turn')
})
