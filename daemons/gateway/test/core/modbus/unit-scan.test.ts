/** A scan of a Modbus line: which units are there. */
import t, { type Test } from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import type { ScanFace } from '../../../core/bus/scan-run.ts'
import type { UnitState } from '../../../core/bus/unit-health.ts'
import type { ModbusScanJob } from '../../../core/modbus/master.ts'
import { type ModbusLine, type ModbusLineSetup, modbusLine } from './modbus-line.ts'

const plan = { from: 1, to: 10, fc: 3, address: 0 }

/** Units 3, 5 and 8: 5 has no register 0 and refuses, 8 takes 450 ms. */
async function lineOf(setup: ModbusLineSetup = {}) {
  const on = await modbusLine({
    units: [
      simulatedUnit({ unitId: 3, holding: [1] }),
      simulatedUnit({ unitId: 5, coils: [1] }),
      simulatedUnit({ unitId: 8, holding: [1] }),
    ],
    say: (bytes, { unitId }) => [{ afterMs: unitId === 8 ? 450 : 20, bytes }],
    ...setup,
  })
  const scan = on.adapter.faces?.scan as ScanFace<ModbusScanJob>
  return { on, scan }
}

function states(on: ModbusLine): [number, UnitState][] {
  return (on.adapter.faces?.units?.list() ?? []).map(({ unitId, state }) => [unitId, state])
}

async function ended({ on, scan }: Awaited<ReturnType<typeof lineOf>>): Promise<ModbusScanJob> {
  for (let left = 2000; left > 0 && scan.job().state === 'running'; left--) await on.clock.run(50)
  return scan.job()
}

t.test('finds units that answer, that refuse, and that answer too late', async (t) => {
  const both = await lineOf()
  const startedAt = both.on.clock.epochMs()
  t.match(both.scan.start(plan), {
    ...plan,
    state: 'running',
    asked: 0,
    total: 10,
    found: [],
    startedAt,
    endedAt: null,
  })
  const job = await ended(both)
  t.match(job, { state: 'done', asked: 10, total: 10, current: null, etaMs: null, fault: null })
  t.match(job.found, [
    { unitId: 3, exception: null },
    { unitId: 5, exception: { code: 1, name: 'Illegal Function' } },
    { unitId: 8, exception: null },
  ])
  const tookMs = job.found.map((one) => one.tookMs ?? 0)
  t.ok(tookMs.slice(0, 2).every((ms) => ms > 10 && ms < 25))
  t.ok((tookMs[2] ?? 0) > 440)
  t.ok((job.endedAt ?? 0) > startedAt + 7 * 300)
})

t.test('the last number has time for a late reply before the scan is done', async (t) => {
  const both = await lineOf()
  both.scan.start({ ...plan, from: 8, to: 8 })
  t.match(await ended(both), { state: 'done', found: [{ unitId: 8 }] })
})

t.test('numbers that no unit has are neither listed nor blamed', async (t) => {
  const both = await lineOf()
  both.scan.start({ ...plan, to: 247 })
  t.equal((await ended(both)).asked, 247)
  t.strictSame(states(both.on), [
    [3, 'well'],
    [5, 'well'],
    [8, 'slow'],
  ])
  t.strictSame(both.on.errors, [])
  t.equal(both.on.count('timeouts'), 0)
  t.equal(both.on.count('scanUnanswered'), 245)
})

t.test('says how far it is, and how long it will still take', async (t) => {
  const { on, scan } = await lineOf({ units: [] })
  scan.start({ ...plan, to: 100 })
  await on.clock.run(3300)
  const { asked, current, etaMs } = scan.job()
  t.equal(asked, 10)
  t.equal(current, 11)
  t.ok(Math.abs((etaMs ?? 0) - 90 * 315) < 3000)
})

t.test('a cancelled scan sends nothing more, and keeps what it found', async (t) => {
  const { on, scan } = await lineOf()
  scan.start(plan)
  await on.clock.run(1200)
  const { asked } = scan.job()
  t.match(scan.cancel(), {
    state: 'cancelled',
    asked,
    current: null,
    found: [{ unitId: 3 }, { unitId: 5 }],
    fault: null,
  })
  const sent = on.line.written.length
  await on.clock.run(15_000)
  t.equal(on.line.written.length, sent)
  t.match(scan.cancel(), { state: 'cancelled' }, 'once is enough')
  t.equal(on.count('waiting'), 0)
  t.equal(on.clock.pending(), 0)
})

t.test('a scan that waits for a gap is withdrawn when it is cancelled', async (t) => {
  const { on, scan } = await lineOf({ hooks: { idleMs: () => 0 } })
  scan.start(plan)
  await on.clock.run(100)
  t.equal(on.count('waiting'), 1)
  scan.cancel()
  t.equal(on.count('waiting'), 0)
  await on.clock.run(10_000)
  t.equal(on.line.written.length, 0)
})

t.test('a second scan is refused while one runs, and can begin when it is over', async (t) => {
  const both = await lineOf()
  both.scan.start(plan)
  t.throws(() => both.scan.start(plan), { code: 'scan_running' })
  both.scan.cancel()
  both.scan.start({ ...plan, from: 3, to: 3 })
  t.match(await ended(both), { state: 'done', total: 1, found: [{ unitId: 3 }] })
})

for (const [title, fault, code] of [
  ['is closed', undefined, 'line_closed'],
  ['is lost', new Fault('line_gone', 'the device is gone'), 'line_gone'],
] as const)
  t.test(`a scan fails when its line ${title}`, async (t: Test) => {
    const { on, scan } = await lineOf()
    scan.start(plan)
    await on.clock.run(1200)
    await on.adapter.detach(fault)
    t.match(scan.job(), { state: 'failed', fault: { code }, found: [{ unitId: 3 }, { unitId: 5 }] })
    await on.clock.run(60_000)
    t.equal(on.clock.pending(), 0)
    t.throws(() => scan.start(plan), { code: 'line_closed' })
  })

t.test('without a scan there is none to read or cancel, and a range must begin before its end', async (t) => {
  const { scan } = await lineOf()
  t.throws(() => scan.job(), { code: 'no_scan' })
  t.throws(() => scan.cancel(), { code: 'no_scan' })
  t.throws(() => scan.start({ ...plan, from: 11 }), { code: 'bad_fields', details: { fields: [{ field: 'from' }] } })
})

t.test('a line that never has room for a scan fails it in the end, with the reason', async (t) => {
  const settings = { queue: 4, queue_reserve: 1, scan_tries: 2, background_wait_ms: 500 }
  const { on, scan } = await lineOf({ settings, say: () => [] })
  const fill = () => on.ask({ unitId: 9, fc: 3, address: 0, quantity: 1 })
  for (let n = 0; n < 5; n++) fill()
  on.clock.every(100, fill)
  scan.start(plan)
  await on.clock.run(400)
  t.equal(scan.job().state, 'running', 'it is tried again')
  await on.clock.run(700)
  t.match(scan.job(), { state: 'failed', asked: 0, fault: { code: 'queue_full' } })
})

t.test('a silent unit is scanned too, and is no longer silent when it answers', async (t) => {
  let isDead = true
  const both = await lineOf({
    say: (bytes) => (isDead ? [] : [{ afterMs: 20, bytes }]),
    settings: { breaker_failures: 1 },
  })
  await both.on.askNow({ unitId: 3, fc: 3, address: 0, quantity: 1 })
  t.strictSame(states(both.on), [[3, 'silent']])
  isDead = false
  both.scan.start({ ...plan, from: 3, to: 3 })
  t.match(await ended(both), { found: [{ unitId: 3 }] })
  t.strictSame(states(both.on), [[3, 'well']])
})

t.test('a scan of 247 numbers does not disturb the rhythm of polls to ten units', async (t) => {
  const unitIds = Array.from({ length: 10 }, (_, at) => at + 1)
  const sentMs = new Map<number, number[]>()
  let nextMs = 0
  const { on, scan } = await lineOf({
    baud: 9600,
    units: unitIds.map((unitId) => simulatedUnit({ unitId, holding: [1, 2] })),
    hooks: { idleMs: () => nextMs - on.clock.monotonicMs() },
    say(bytes, { unitId, quantity }) {
      if (quantity === 2) sentMs.set(unitId, [...(sentMs.get(unitId) ?? []), on.clock.monotonicMs()])
      return [{ afterMs: 40, bytes }]
    },
  })
  const poll = () => {
    nextMs = on.clock.monotonicMs() + 1000
    for (const unitId of unitIds)
      void on.adapter.asker.ask({ unitId, fc: 3, address: 0, quantity: 2 }, { priority: 'poll' })
  }
  poll()
  on.clock.every(1000, poll)
  scan.start({ ...plan, to: 247 })
  await on.clock.run(400_000)
  t.match(scan.job(), { state: 'done', asked: 247, found: { length: 10 } })
  t.equal(sentMs.size, unitIds.length, 'all were polled')
  for (const times of sentMs.values()) {
    t.ok(times.length > 300)
    const off = times.slice(1).filter((ms, at) => Math.abs(ms - (times[at] ?? 0) - 1000) > 100)
    t.strictSame(off, [])
  }
})
