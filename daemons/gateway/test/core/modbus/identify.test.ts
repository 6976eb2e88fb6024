/** What a unit is: by its own words, by codes of its maker, or by values that are plausible. */
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import { climateSensor } from '../../../../../scripts/sim/climate-sensor.ts'
import { energyMeter } from '../../../../../scripts/sim/energy-meter.ts'
import { type SimulatedUnit, simulatedUnit, type UnitTables } from '../../../../../scripts/sim/modbus-unit.ts'
import type { ScanFace } from '../../../core/bus/scan-run.ts'
import { identifyUnit, type UnitIdentity } from '../../../core/modbus/identify.ts'
import type { ModbusScanJob } from '../../../core/modbus/master.ts'
import { createModbusRtu } from '../../../core/modbus/protocol.ts'
import { defaultLimits } from '../../../core/modbus/settings.ts'
import { createTemplateFiles } from '../../../io/state-files.ts'
import type { ModbusRequest } from '../../../wire/modbus-request.ts'
import { act } from '../act.ts'
import { modbusLine } from './modbus-line.ts'
import { modbusCodec } from './rtu.ts'

const templates = await createTemplateFiles(join(import.meta.dirname, '../../../templates'), fakeClock()).list()

const protocol = createModbusRtu(modbusCodec)

/** Asks a unit without a line between. @param asked gets each request */
function identify(unit: SimulatedUnit, limits = {}, asked: ModbusRequest[] = []): Promise<UnitIdentity> {
  const ask = async (request: ModbusRequest) => {
    asked.push(request)
    return protocol.openReply(protocol.seal(request), unit.answer(request))
  }
  return identifyUnit({ unitId: unit.unitId, ask, templates, limits: { ...defaultLimits, ...limits } })
}

/** Words of a text, as a device has it in its registers. */
function wordsOf(text: string): number[] {
  const bytes = [...Buffer.from(text.padEnd(40, '\0'), 'latin1')]
  return Array.from({ length: 20 }, (_, at) => ((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0))
}

function holdingAt(tables: Record<number, number[]>): number[] {
  const words: number[] = []
  for (const [address, some] of Object.entries(tables))
    for (const [at, one] of some.entries()) words[Number(address) + at] = one
  return words
}

const sdm630: UnitTables = {
  unitId: 9,
  holding: holdingAt({ 64514: [112] }),
  input: () => holdingAt({ 0: [0x4366, 0x199a] }),
}

t.test('what a unit says of itself is certain, and cleaned', async (t) => {
  const identity = ['  Acme\0\0 Ltd\n', 'X-1', 'V'.repeat(90), 'http://not.asked']
  const found = await identify(simulatedUnit({ unitId: 5, holding: [1], identity }))
  t.match(found, {
    kind: 'said',
    candidates: [],
    tried: 'It answered function 43/14; 0 of 0 devices were compared by 0 reads.',
  })
  t.strictSame(found.objects, [
    { id: 0, name: 'VendorName', value: 'Acme Ltd' },
    { id: 1, name: 'ProductCode', value: 'X-1' },
    { id: 2, name: 'MajorMinorRevision', value: 'V'.repeat(48) },
  ])
})

t.test('a drive is found by the product code that it says, which stays a guess', async (t) => {
  const found = await identify(simulatedUnit({ unitId: 5, identity: ['Schneider Electric', 'ATV320U15N4B', '0302'] }))
  t.match(found, {
    kind: 'said',
    candidates: [{ template: 'schneider-atv320', signs: 1, fit: 1, by: 'codes' }],
  })
})

t.test('a code of its maker makes a device possible, and shuts out those with plausible values alone', async (t) => {
  const found = await identify(simulatedUnit(sdm630))
  t.match(found, { kind: 'possible', objects: [], candidates: [{ template: 'eastron-sdm630', signs: 2, fit: 2 }] })
  t.equal(found.candidates.length, 1)
  t.match(
    found.tried,
    /^It refused function 43\/14 with exception 1, Illegal Function; \d+ of \d+ devices were compared/,
  )
  const dark = await identify(simulatedUnit({ ...sdm630, input: () => [0, 0] }))
  t.match(dark.candidates, [{ template: 'eastron-sdm630', signs: 2, fit: 1, by: 'codes' }], 'a meter without voltage')
})

t.test('texts in registers are codes too', async (t) => {
  const holding = holdingAt({ 49: wordsOf('iEM3155'), 69: wordsOf('Schneider Electric') })
  t.match(await identify(simulatedUnit({ unitId: 5, holding })), {
    candidates: [{ template: 'schneider-iem3155', signs: 2, fit: 2, by: 'codes' }],
  })
})

t.test('plausible values make a device possible where no code is known', async (t) => {
  const clock = fakeClock()
  const { answer, unitId } = energyMeter(1, clock)
  // Without its own words.
  const mute = {
    unitId,
    answer: (request: ModbusRequest) => (request.fc === 43 ? simulatedUnit({ unitId }) : { answer }).answer(request),
  }
  t.match(await identify(mute), {
    kind: 'possible',
    candidates: [{ template: 'eastron-sdm120', signs: 2, fit: 2, by: 'values' }],
  })
  t.match(await identify(climateSensor(3, clock)), { candidates: [{ template: 'xy-md02', by: 'values' }] })
})

t.test('a unit that fits nothing is unknown, with what was tried', async (t) => {
  const found = await identify(simulatedUnit({ unitId: 7, coils: [1] }))
  t.match(found, { kind: 'unknown', objects: [], candidates: [] })
  t.match(found.tried, /exception 1.*; (\d+) of \1 devices were compared by \d+ reads\.$/)
})

t.test('no register is asked twice, and nothing is written', async (t) => {
  const asked: ModbusRequest[] = []
  await identify(simulatedUnit(sdm630), {}, asked)
  const keys = asked.map(({ fc, address, quantity }) => `${fc} ${address} ${quantity}`)
  t.equal(new Set(keys).size, keys.length)
  t.ok(asked.every(({ fc }) => [3, 4, 43].includes(fc)))
  t.ok(asked.length <= 1 + defaultLimits.identify_reads)
})

t.test('the reads of a unit are bounded', async (t) => {
  const asked: ModbusRequest[] = []
  const found = await identify(simulatedUnit({ unitId: 7 }), { identify_reads: 3 }, asked)
  t.equal(asked.length, 4)
  t.match(found.tried, /by 3 reads, which is as many as modbus\.identify_reads allows\.$/)
})

t.test('a unit that says it has more to say for ever is asked so often and no more', async (t) => {
  const asked: ModbusRequest[] = []
  const identity = Array.from({ length: 200 }, () => 'x')
  await identify(simulatedUnit({ unitId: 7, identity }), { identify_replies: 2, identify_reads: 0 }, asked)
  t.equal(asked.filter(({ fc }) => fc === 43).length, 2)
})

t.test('whatever a unit has in its registers, it is never more than possible without its own words', async (t) => {
  const word = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }),
    fc.constantFrom(0, 112, 340, 0x4366, 0x4248, 0x4232, 0x3320),
  )
  const unit = fc.record({ holding: fc.array(word, { maxLength: 400 }), input: fc.array(word, { maxLength: 400 }) })
  const outcomes: Promise<boolean>[] = []
  holds(
    t,
    fc.property(unit, ({ holding, input }) => {
      const asked: ModbusRequest[] = []
      const found = identify(simulatedUnit({ unitId: 4, holding, input: () => input }), {}, asked)
      outcomes.push(
        found.then(({ kind, candidates }) => {
          const isRight = candidates.every(({ fit, signs }) => fit > 0 && fit <= signs) && candidates.length <= 4
          return kind !== 'said' && (kind === 'possible') === candidates.length > 0 && isRight
        }),
      )
      return true
    }),
  )
  t.ok((await Promise.all(outcomes)).every(Boolean))
})

// On a line.

async function lineOf(units: SimulatedUnit[], isMute = false) {
  const say = (bytes: Uint8Array) => (isMute ? [] : [{ afterMs: 20, bytes }])
  const on = await modbusLine({ units, say, hooks: { templates: async () => templates } })
  return { on, scan: on.adapter.faces?.scan as ScanFace<ModbusScanJob> }
}

t.test('a scan asks the units that it found what they are, where it is asked to', async (t) => {
  const units = [simulatedUnit({ unitId: 3, identity: ['Acme', 'X-1', '2'] }), simulatedUnit(sdm630)]
  const { on, scan } = await lineOf(units)
  t.match(scan.start({ from: 3, to: 9, identify: true }), { identify: true, found: [] })
  for (let left = 2000; left > 0 && scan.job().state === 'running'; left--) await on.clock.run(50)
  t.match(scan.job(), {
    state: 'done',
    asked: 7,
    current: null,
    found: [
      { unitId: 3, exception: { code: 1 }, identity: { kind: 'said', objects: [{ value: 'Acme' }, {}, {}] } },
      { unitId: 9, identity: { kind: 'possible', candidates: [{ template: 'eastron-sdm630' }] } },
    ],
  })
  t.match(scan.start({ from: 3, to: 3 }), { identify: false })
  for (let left = 200; left > 0 && scan.job().state === 'running'; left--) await on.clock.run(50)
  t.match(scan.job().found, [{ unitId: 3, identity: null }])
})

t.test('a scan that is cancelled while it asks what units are keeps those it knows', async (t) => {
  const { on, scan } = await lineOf([
    simulatedUnit({ unitId: 3, identity: ['Acme', 'X-1', '2'] }),
    simulatedUnit(sdm630),
  ])
  scan.start({ from: 3, to: 9, identify: true })
  for (let left = 5000; left > 0 && !scan.job().found.some(({ identity }) => identity); left--) await on.clock.run(5)
  t.match(scan.job(), { state: 'running', asked: 7, total: 7, etaMs: null })
  scan.cancel()
  const sent = on.line.written.length
  await on.clock.run(20_000)
  t.ok(on.line.written.length <= sent + 1, 'what was out runs to its end')
  t.match(scan.job(), { state: 'cancelled', found: [{ identity: { kind: 'said' } }, { unitId: 9, identity: null }] })
  t.equal(on.clock.pending(), 0)
})

t.test('one unit is asked on request; one that is silent is asked a few questions and no more', async (t) => {
  const one = await lineOf([simulatedUnit(sdm630)])
  const asking = act(one.on.adapter, 'identify', { unitId: 9 }) as Promise<UnitIdentity>
  await one.on.clock.run(20_000)
  t.match(await asking, { unitId: 9, kind: 'possible' })
  const mute = await lineOf([], true)
  const vain = act(mute.on.adapter, 'identify', { unitId: 9 }) as Promise<UnitIdentity>
  await mute.on.clock.run(60_000)
  t.match(await vain, {
    kind: 'unknown',
    tried: /^It did not answer function 43\/14; .*until it did not answer any more\.$/,
  })
  t.equal(mute.on.line.written.length, defaultLimits.identify_silent)
})

t.test('a caller who leaves ends it, and a closed line is said', async (t) => {
  const { on } = await lineOf([simulatedUnit(sdm630)])
  const leaver = new AbortController()
  const left = on.adapter.actions?.identify?.({ unitId: 9 }, leaver.signal).catch((fault: Fault) => fault)
  await on.clock.run(30)
  leaver.abort()
  await on.clock.run(5000)
  t.match(await left, { code: 'modbus_withdrawn' })
  t.ok(on.line.written.length < 4)
  const closed = (act(on.adapter, 'identify', { unitId: 9 }) as Promise<unknown>).catch((fault: Fault) => fault)
  await on.adapter.detach()
  t.match(await closed, { code: 'line_closed' })
})
