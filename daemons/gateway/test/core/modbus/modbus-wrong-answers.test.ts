/** Whatever goes wrong on a line: never a wrong value, and each fault is counted by its kind. */
import t from 'tap'
import { crc16 } from '#kit/pure/crc16.ts'
import type { Utterance } from '../../../../../scripts/sim/modbus-device.ts'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { type ModbusRequest, sealed } from '../../../wire/modbus-request.ts'
import { type ModbusLine, type ModbusLineSetup, modbusLine } from './modbus-line.ts'

/** A unit whose every answer is one more than the last, which shows which answer a caller got. */
function countingUnit(unitId: number) {
  let turn = 0
  return simulatedUnit({ unitId, input: () => [turn++, 0, 0, 0], holding: [11, 22, 33, 44], coils: [0, 0, 0, 0] })
}

const read = { unitId: 5, fc: 4, address: 0, quantity: 2 }

/** The answers to requests in turn; after the list, the plain reply at once. */
function script(...turns: ((reply: Uint8Array, request: ModbusRequest) => Utterance[])[]): ModbusLineSetup['say'] {
  let turn = 0
  return (reply, request) => turns[turn++]?.(reply, request) ?? [{ afterMs: 0, bytes: reply }]
}

const after = (afterMs: number) => (bytes: Uint8Array) => [{ afterMs, bytes }]
const silence = () => []

function counts(line: ModbusLine, ...names: string[]): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, line.count(name)]))
}

t.test('a unit that does not answer is a modbus_timeout with the unit and the milliseconds waited', async (t) => {
  const line = await modbusLine({ units: [countingUnit(5)], say: silence })
  const { fault } = await line.askNow(read)
  t.equal(fault?.code, 'modbus_timeout')
  t.match(fault?.details, { unitId: 5, fc: 4, waitedMs: 300 })
  t.match(fault?.message, /^Unit 5 did not answer to Read Input Registers within 300 ms\.$/)
  t.match(line.errors, [{ code: 'modbus_timeout', unitId: 5 }])
  t.strictSame(counts(line, 'timeouts', 'unitsHeld'), { timeouts: 1, unitsHeld: 1 })
})

for (const lateMs of [302, 303, 305, 320, 350, 400, 500, 700, 900, 1100, 1250])
  t.test(`a reply ${lateMs} ms late is not the answer of the next read of the same size`, async (t) => {
    const line = await modbusLine({ units: [countingUnit(5)], say: script(after(lateMs + 5)) })
    const first = line.ask(read)
    const second = line.ask(read)
    await line.clock.run(3000)
    t.equal(first.outcome?.fault?.code, 'modbus_timeout')
    t.strictSame(second.outcome?.answer?.values, [1, 0])
    t.strictSame(counts(line, 'lateReplies', 'unitsHeld'), { lateReplies: 1, unitsHeld: 0 })
    t.match(line.frames.find(({ decoded }) => (decoded as { kind: string }).kind === 'late')?.decoded, {
      values: [0, 0],
    })
  })

t.test('a unit is free at once when its late reply arrives', async (t) => {
  const line = await modbusLine({ units: [countingUnit(5)], say: script(after(400)) })
  line.ask(read)
  const second = line.ask(read)
  await line.clock.run(420)
  t.strictSame(second.outcome?.answer?.values, [1, 0])
})

t.test('after two timeouts one late reply does not free the unit: the other is still owed', async (t) => {
  // The first answer comes during the quarantine of the fence, the answer to the fence 200 ms later.
  const line = await modbusLine({ units: [countingUnit(5)], say: script(after(1900), after(900)) })
  const asked = [line.ask(read), line.ask(read), line.ask(read)]
  await line.clock.run(6000)
  t.equal(asked[0]?.outcome?.fault?.code, 'modbus_timeout')
  t.equal(asked[1]?.outcome?.fault?.code, 'modbus_timeout')
  t.strictSame(asked[2]?.outcome?.answer?.values, [1, 0], 'the second was never sent')
  t.match(asked[1]?.outcome?.fault?.message, /still owes an answer that could be mistaken/)
  t.equal(line.count('lateReplies'), 2)
})

t.test('a late reply in pieces across the next transaction breaks neither', async (t) => {
  const pieces = (reply: Uint8Array) => [
    { afterMs: 340, bytes: reply.slice(0, 2) },
    { afterMs: 30, bytes: reply.slice(2, 5) },
    { afterMs: 30, bytes: reply.slice(5) },
  ]
  const line = await modbusLine({ units: [countingUnit(5), countingUnit(6)], say: script(pieces) })
  const first = line.ask(read)
  await line.clock.run(335)
  const other = line.ask({ ...read, unitId: 6 })
  await line.clock.run(400)
  t.equal(first.outcome?.fault?.code, 'modbus_timeout')
  t.strictSame(other.outcome?.answer?.values, [0, 0])
  t.equal(line.count('lateReplies'), 1)
})

t.test('other units are served while one is held back, and its late reply counts as late, not as noise', async (t) => {
  const say = script(after(340), after(50))
  const line = await modbusLine({ units: [countingUnit(5), countingUnit(6)], say })
  const first = line.ask(read)
  const held = line.ask(read)
  const other = line.ask({ ...read, unitId: 6 })
  await line.clock.run(400)
  t.equal(first.outcome?.fault?.code, 'modbus_timeout')
  t.strictSame(other.outcome?.answer?.values, [0, 0])
  await line.clock.run(100)
  t.strictSame(held.outcome?.answer?.values, [1, 0])
  t.strictSame(counts(line, 'lateReplies', 'noiseBytes', 'wrongUnit'), { lateReplies: 1, noiseBytes: 0, wrongUnit: 0 })
})

t.test('a late exception is late too', async (t) => {
  const late = (_: Uint8Array) => [{ afterMs: 500, bytes: sealed([5, 0x84, 6]) }]
  const line = await modbusLine({ units: [countingUnit(5)], say: script(late) })
  line.ask(read)
  const second = line.ask(read)
  await line.clock.run(2000)
  t.strictSame(second.outcome?.answer?.values, [2, 0])
  t.equal(line.count('fences'), 1, 'a read of another length has shown that no values follow the exception')
  t.equal(line.count('lateReplies'), 1)
})

t.test('a request to a unit that is held back beyond its deadline expires, and says why', async (t) => {
  const line = await modbusLine({
    units: [countingUnit(5)],
    say: silence,
    settings: { request_deadline_ms: 1000, quarantine_ms: 5000 },
  })
  line.ask(read)
  await line.clock.run(320)
  const held = line.ask(read)
  await line.clock.run(1000)
  t.equal(held.outcome?.fault?.code, 'modbus_expired')
  t.match(held.outcome?.fault?.message, /unit 5 waited \d+ ms and was not sent: the unit is held back/)
  t.equal(line.count('expired'), 1)
})

t.test('a deadline shorter than a transaction still lets a request have its turn', async (t) => {
  const line = await modbusLine({
    units: [countingUnit(5)],
    say: after(400),
    settings: { request_deadline_ms: 100, response_timeout_ms: 500 },
  })
  t.strictSame((await line.askNow(read)).answer?.values, [0, 0])
})

for (const callers of [3, 24])
  t.test(`${callers} callers at once each get their own answer`, async (t) => {
    const units = [1, 2, 3].map((unitId) =>
      simulatedUnit({ unitId, holding: Array.from({ length: 100 }, (_, at) => unitId * 1000 + at) }),
    )
    const line = await modbusLine({ units, say: (bytes) => [{ afterMs: 7, bytes }] })
    const bodies = Array.from({ length: callers }, (_, at) => ({
      unitId: 1 + (at % 3),
      fc: 3,
      address: at,
      quantity: 2,
    }))
    const asked = bodies.map((body) => line.ask(body))
    await line.clock.run(2000)
    for (const [at, { unitId, address }] of bodies.entries())
      t.strictSame(asked[at]?.outcome?.answer?.values, [unitId * 1000 + address, unitId * 1000 + address + 1])
    t.equal(line.count('requests'), callers)
  })

t.test('a request to a full queue is refused with the time to retry', async (t) => {
  const line = await modbusLine({ units: [countingUnit(5)], settings: { queue: 2 } })
  const asked = [read, read, read].map((body) => line.ask(body))
  await line.clock.run(500)
  t.equal(asked[2]?.outcome?.fault?.code, 'queue_full')
  t.match(asked[2]?.outcome?.fault?.details, { retryAfterMs: 300 })
  t.ok(asked[1]?.outcome?.answer)
  t.equal(line.count('queueFull'), 1)
})

const damaged = (reply: Uint8Array) => {
  const bytes = reply.slice()
  bytes[4] = (bytes[4] ?? 0) ^ 0x10
  return [{ afterMs: 5, bytes }]
}
const rubbish: [string, (reply: Uint8Array, request: ModbusRequest) => Utterance[], string, string][] = [
  ['a wrong checksum', damaged, 'crcErrors', 'modbus_bad_reply'],
  [
    'another unit, right checksum',
    () => [{ afterMs: 5, bytes: sealed([6, 4, 4, 0, 9, 0, 9]) }],
    'wrongUnit',
    'modbus_timeout',
  ],
  ['another unit, exception', () => [{ afterMs: 5, bytes: sealed([6, 0x84, 2]) }], 'wrongUnit', 'modbus_timeout'],
  [
    'another function',
    () => [{ afterMs: 5, bytes: sealed([5, 3, 4, 0, 9, 0, 9]) }],
    'wrongFunction',
    'modbus_bad_reply',
  ],
  ['too few registers', () => [{ afterMs: 5, bytes: sealed([5, 4, 2, 0, 9]) }], 'shortFrames', 'modbus_bad_reply'],
  [
    'too many registers',
    () => [{ afterMs: 5, bytes: sealed([5, 4, 6, 0, 9, 0, 9, 0, 9]) }],
    'longFrames',
    'modbus_bad_reply',
  ],
  ['a reply cut off', (reply) => [{ afterMs: 5, bytes: reply.slice(0, 6) }], 'shortFrames', 'modbus_bad_reply'],
  ['noise alone', () => [{ afterMs: 5, bytes: Uint8Array.of(0, 255, 0) }], 'noiseBytes', 'modbus_bad_reply'],
]

for (const [what, say, counter, code] of rubbish)
  t.test(`${what} is no answer, is counted as ${counter}, and the next answer is right`, async (t) => {
    const line = await modbusLine({ units: [countingUnit(5)], say: script(say) })
    const { fault } = await line.askNow(read)
    t.equal(fault?.code, code)
    t.equal(line.count(counter), counter === 'noiseBytes' ? 3 : 1)
    const next = await line.askNow(read)
    t.strictSame(next.answer?.values, [1, 0])
    t.equal(line.count('fences'), 1, 'a read of something else has shown that nothing older is to come')
  })

t.test('the right reply after a frame of another unit is accepted', async (t) => {
  const say = (reply: Uint8Array) => [
    { afterMs: 5, bytes: Uint8Array.from([...sealed([6, 4, 4, 0, 9, 0, 9]), ...reply]) },
  ]
  const line = await modbusLine({ units: [countingUnit(5)], say: script(say) })
  t.strictSame((await line.askNow(read)).answer?.values, [0, 0])
  t.equal(line.count('wrongUnit'), 1)
})

for (const [what, noise, expected] of [
  ['bytes that begin no frame', [0, 255, 0], { noiseBytes: 3, shortFrames: 0 }],
  ['bytes that look like a longer frame', [9, 4, 200], { noiseBytes: 3, shortFrames: 0 }],
  ['the head of the very reply', [5, 4, 4, 0], { noiseBytes: 0, shortFrames: 1 }],
] as const)
  t.test(`a reply after ${what} is accepted once silence follows`, async (t) => {
    const say = (reply: Uint8Array) => [{ afterMs: 5, bytes: Uint8Array.from([...noise, ...reply]) }]
    const line = await modbusLine({ units: [countingUnit(5)], say: script(say) })
    t.strictSame((await line.askNow(read)).answer?.values, [0, 0])
    t.strictSame(counts(line, 'noiseBytes', 'shortFrames'), expected)
  })

t.test('noise after a reply and between transactions is counted and harms nothing', async (t) => {
  const say = (reply: Uint8Array) => [{ afterMs: 5, bytes: Uint8Array.from([...reply, 0, 0]) }]
  const line = await modbusLine({ units: [countingUnit(5)], say: script(say) })
  t.strictSame((await line.askNow(read)).answer?.values, [0, 0])
  line.line.arrive(Uint8Array.of(255, 1, 2))
  await line.clock.run(200)
  t.strictSame((await line.askNow(read)).answer?.values, [1, 0])
  t.equal(line.count('noiseBytes'), 5)
})

t.test('a reply inside a damaged longer frame is not accepted', async (t) => {
  const inside = sealed([5, 4, 4, 0, 9, 0, 9])
  const outer = Uint8Array.from([6, 65, ...inside, 1, 2])
  const line = await modbusLine({ units: [countingUnit(5)], say: script(() => [{ afterMs: 5, bytes: outer }]) })
  t.equal((await line.askNow(read)).fault?.code, 'modbus_bad_reply')
})

for (const pauseMs of [0, 1, 5, 30, 60])
  t.test(`a reply in single bytes ${pauseMs} ms apart is accepted`, async (t) => {
    const say = (reply: Uint8Array) => [...reply].map((byte) => ({ afterMs: pauseMs, bytes: Uint8Array.of(byte) }))
    const line = await modbusLine({ units: [countingUnit(5)], say: script(say) })
    t.strictSame((await line.askNow(read)).answer?.values, [0, 0])
  })

t.test('an answer that trickles in without end is abandoned at its limit', async (t) => {
  const say = () =>
    Array.from({ length: 200 }, (_, at) => ({ afterMs: 90, bytes: Uint8Array.of([5, 4, 200][at] ?? 1) }))
  const line = await modbusLine({ units: [countingUnit(5)], say: script(say) })
  const asked = line.ask({ ...read, quantity: 100 })
  await line.clock.run(3000)
  t.equal(asked.outcome?.fault?.code, 'modbus_bad_reply')
})

t.test('a line that is never silent is distinguished from a unit that does not answer', async (t) => {
  const line = await modbusLine({ units: [countingUnit(5)] })
  const babble = line.clock.every(2, () => line.line.arrive(Uint8Array.of(0)))
  await line.clock.run(2)
  const asked = line.ask(read)
  await line.clock.run(1000)
  babble.cancel()
  t.equal(asked.outcome?.fault?.code, 'modbus_line_busy')
  t.equal(line.count('requests'), 0)
})

t.test('2.5.1.1 the line is silent for 3.5 characters before each request', async (t) => {
  const line = await modbusLine({ units: [countingUnit(5)], baud: 1200, say: after(200) })
  line.ask(read)
  line.ask(read)
  await line.clock.run(1000)
  const sentAtMs = line.frames
    .filter(({ direction }) => direction === 'tx')
    .map(({ monotonicUs }) => monotonicUs / 1000)
  const heardAtMs = line.frames
    .filter(({ direction }) => direction === 'rx')
    .map(({ monotonicUs }) => monotonicUs / 1000)
  t.equal((sentAtMs[1] ?? 0) - (heardAtMs[0] ?? 0), 33, '32.08 ms at 1200 bits per second, in whole milliseconds')
})

t.test('the checksum used here is the one of the standard', async (t) => {
  t.equal(crc16(Uint8Array.of(2, 7)), 0x1241)
})

t.test('a frame inside a longer one is not the late answer of a request that was asked twice', async (t) => {
  const inside = Buffer.concat([Buffer.of(3, 65), sealed([1, 3, 4, 0xee, 0xee, 0xee, 0xee]), Buffer.of(1, 2)])
  const said: (Uint8Array | undefined)[] = [sealed([1, 0x83, 6]), undefined, sealed([1, 0x83, 6]), inside]
  let turn = 0
  const on = await modbusLine({
    units: [simulatedUnit({ unitId: 1, holding: [10, 11, 12, 13] })],
    say: (reply) => [{ afterMs: turn % 2 === 0 ? 0 : 280, bytes: said[turn++] ?? reply }],
  })
  t.match(await on.askNow({ unitId: 1, fc: 3, address: 0, quantity: 2 }), { fault: { code: 'modbus_exception' } })
  t.match(await on.askNow({ unitId: 1, fc: 3, address: 2, quantity: 2 }), { fault: { code: 'modbus_bad_reply' } })
  t.equal(on.count('strayFrames'), 1, 'it is counted')
  t.match(await on.askNow({ unitId: 1, fc: 3, address: 2, quantity: 2 }), { answer: { values: [12, 13] } })
})
