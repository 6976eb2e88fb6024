/** A line with noise: the state of its units, and how often it changes. */
import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { type UnitFaults, withFaults } from '../../../../../scripts/sim/unit-faults.ts'
import { type ModbusLine, modbusLine, settingsWith } from './modbus-line.ts'
import { ask, askNow, unit } from './modbus-unit-line.ts'

const MINUTE_MS = 60_000
const WINDOW = settingsWith().noisy_window

/** Unit 1 has these faults, unit 2 none. Each answer differs from the one before. */
async function noisyLine(faults: UnitFaults, seed: number): Promise<ModbusLine> {
  const clock = fakeClock()
  let said = 0
  const counting = (unitId: number) =>
    simulatedUnit({ unitId, holding: () => Array.from({ length: 20 }, () => said++ & 0xffff) })
  return await modbusLine({ clock, units: [withFaults({ unit: counting(1), faults, clock, seed }), counting(2)] })
}

/** Polls unit 1 five times a second, unit 2 once. */
async function poll(on: ModbusLine, forMs: number): Promise<void> {
  for (let ms = 0; ms < forMs; ms += 200) {
    ask(on, 'poll', 1)
    if (ms % 1000 === 0) ask(on, 'poll', 2)
    await on.clock.run(200)
  }
}

/** How often the state changed, not counting the first answer. */
function changes(on: ModbusLine, unitId: number): number {
  return on.told.unit.filter((one) => one.unitId === unitId && one.previous !== 'unknown').length
}

t.test('a unit that loses 16 of 100 answers is reported as noisy once within ten minutes', async (t) => {
  const on = await noisyLine({ damageChance: 0.16 }, 1)
  await poll(on, 10 * MINUTE_MS)
  t.ok(on.count('badReplies') > 100)
  t.comment(`${unit(on)?.replies} answers, ${on.count('badReplies')} damaged`)
  t.match(unit(on), { state: 'noisy', lately: { exchanges: 100, missing: 0 } })
  t.equal(changes(on, 1), 1)
  t.match(on.told.unit.at(-1), {
    state: 'noisy',
    previous: 'well',
    message: /^Unit 1 is noisy: \d+ of its last \d+ answers were damaged\. Look at the cable, the termination/,
    lately: { missing: 0, twice: 0 },
  })
  t.match(unit(on, 2), { state: 'well', lately: { exchanges: 100, damaged: 0, missing: 0 } })
  t.equal(changes(on, 2), 0, 'the other unit is well all the time')
  t.same(on.adapter.faces?.units?.states(), { noisy: 1, well: 1 })
})

t.test('once the cable is mended the unit is well again within a hundred exchanges', async (t) => {
  const faults: UnitFaults = { damageChance: 0.16 }
  const on = await noisyLine(faults, 2)
  await poll(on, MINUTE_MS)
  t.equal(unit(on)?.state, 'noisy')
  faults.damageChance = 0
  await on.clock.run(3000)
  const before = unit(on)?.requests ?? 0
  while (unit(on)?.state === 'noisy' && (unit(on)?.requests ?? 0) < 2 * WINDOW + before) await askNow(on, 'poll')
  t.equal(unit(on)?.state, 'well')
  t.ok((unit(on)?.requests ?? 0) - before <= WINDOW, `${(unit(on)?.requests ?? 0) - before} exchanges`)
  t.equal(on.told.unit.at(-1)?.message, 'Unit 1 is well again: all of its last 100 answers came whole.')
})

t.test('a unit that misses requests is noisy too, and becomes silent when it dies', async (t) => {
  const lossy = { isDead: false }
  const on = await noisyLine(lossy, 3)
  for (let n = 0; n < 60; n++) {
    lossy.isDead = n % 5 === 4
    await askNow(on, 'poll')
    await on.clock.run(1200)
  }
  t.match(unit(on), { state: 'noisy' })
  t.match(on.told.unit.at(-1)?.message, /requests|answers did not come\. Look at the cable, .* whether two units/)
  lossy.isDead = true
  let asked = 0
  for (; unit(on)?.state === 'noisy' && asked < 100; asked++) {
    await askNow(on, 'operator')
    await on.clock.run(1200)
  }
  t.equal(unit(on)?.state, 'silent')
  t.ok(asked >= 3 && asked <= 20, `after ${asked}`)
  lossy.isDead = false
  // After this it owes no answer any more.
  await on.clock.run(2 * MINUTE_MS)
  await askNow(on, 'operator')
  t.equal(unit(on)?.state, 'noisy', 'back, and as noisy as before')
})

t.test('a unit whose answers come twice is reported as such', async (t) => {
  const on = await modbusLine({
    units: [simulatedUnit({ unitId: 1, holding: [10, 20, 30] })],
    say: (bytes) => [
      { afterMs: 1, bytes },
      { afterMs: 60, bytes },
    ],
  })
  for (let n = 0; n < 12; n++) {
    await askNow(on, 'poll', 1, n % 3)
    await on.clock.run(500)
  }
  t.match(unit(on), { state: 'noisy', lately: { damaged: 0, missing: 0 } })
  t.ok((unit(on)?.copies ?? 0) >= 5)
  t.match(
    on.told.unit.at(-1)?.message,
    /\d+ of its last \d+ answers came twice\. A repeater, an echo of the adapter or a second master/,
  )
  t.equal(changes(on, 1), 1)
})

t.test('however much is damaged, the state does not change with single answers', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 50 }), fc.nat(1e6), async (percent, seed) => {
      const on = await noisyLine({ damageChance: percent / 100 }, seed)
      await poll(on, MINUTE_MS)
      t.comment(`${percent} %: ${changes(on, 1)} changes`)
      return changes(on, 1) <= (percent === 0 ? 0 : 3) && changes(on, 2) === 0
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 8), seed: 16, endOnFailure: true },
  )
})
