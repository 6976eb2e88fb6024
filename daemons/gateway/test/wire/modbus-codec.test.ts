/** Modbus RTU frames: the standard's worked examples, round trips, truncations, random bytes. */
import fc from 'fast-check'
import t from 'tap'
import { bytesOfHex, hexOf } from '#kit/pure/bytes.ts'
import { crc16 } from '#kit/pure/crc16.ts'
import { Fault } from '#kit/pure/fault.ts'
import { wireUs } from '#kit/pure/line.ts'
import { holds, holdsLater } from '#kit/test/holds.ts'
import { type SimulatedUnit, simulatedUnit } from '../../../../scripts/sim/modbus-unit.ts'
import { nextCut } from '../../core/bus/receiver.ts'
import {
  anyReplyLength,
  checkReply,
  describeReply,
  describeRequest,
  replyFlaw,
  replyLength,
} from '../../wire/modbus-reply.ts'
import {
  exceptionName,
  functionName,
  hasGoodCrc,
  identifyRequestFrame,
  type ModbusRequest,
  modbusFunctions,
  openIdentification,
  readModbusRequest,
  requestLength,
  sealed,
  silenceUs,
} from '../../wire/modbus-request.ts'
import { modbusRtu } from '../core/modbus/rtu.ts'

/** The frame that modbus-serial builds, and what it reads from the reply. */
function overPeer(request: ModbusRequest, answer: (frame: Uint8Array) => Uint8Array) {
  const sent = modbusRtu.seal(request)
  const { refusal, values = [] } = modbusRtu.openReply(sent, answer(sent.frame))
  if (refusal) throw refusal
  return { frame: sent.frame, values: values as readonly number[] }
}

const word = fc.integer({ min: 0, max: 65_535 })
const unitId = fc.integer({ min: 1, max: 247 })
const bit = fc.integer({ min: 0, max: 1 })

/** Every request the master is allowed to send, except 43/14. */
const anyRequest: fc.Arbitrary<ModbusRequest> = fc.oneof(
  fc.record({
    unitId,
    fc: fc.constantFrom(1, 2),
    address: fc.nat(60_000),
    quantity: fc.integer({ min: 1, max: 2000 }),
  }),
  fc.record({ unitId, fc: fc.constantFrom(3, 4), address: fc.nat(60_000), quantity: fc.integer({ min: 1, max: 125 }) }),
  fc.record({ unitId, fc: fc.constant(5), address: word, quantity: fc.constant(1), values: fc.tuple(bit) }),
  fc.record({ unitId, fc: fc.constant(6), address: word, quantity: fc.constant(1), values: fc.tuple(word) }),
  fc
    .record({
      unitId,
      fc: fc.constant(15),
      address: fc.nat(60_000),
      values: fc.array(bit, { minLength: 1, maxLength: 1968 }),
    })
    .map((request) => ({ ...request, quantity: request.values.length })),
  fc
    .record({
      unitId,
      fc: fc.constant(16),
      address: fc.nat(60_000),
      values: fc.array(word, { minLength: 1, maxLength: 123 }),
    })
    .map((request) => ({ ...request, quantity: request.values.length })),
  fc.record({ unitId, fc: fc.constant(22), address: word, quantity: fc.constant(1), andMask: word, orMask: word }),
  fc.record({
    unitId,
    fc: fc.constant(23),
    address: fc.nat(60_000),
    quantity: fc.integer({ min: 1, max: 125 }),
    writeAddress: fc.nat(60_000),
    values: fc.array(word, { minLength: 1, maxLength: 121 }),
  }),
)

/** Values that differ from place to place; computed once, since a unit is made for each draw. */
const WORDS = Array.from({ length: 65_536 }, (_, at) => (at * 40_503) & 0xffff)
const BITS = WORDS.map((value) => value & 1)

/** A unit with every address. */
function wholeUnit(id: number): SimulatedUnit {
  const words = WORDS.slice()
  return simulatedUnit({ unitId: id, coils: BITS.slice(), discreteInputs: BITS, holding: words, input: () => words })
}

t.test('Modbus over Serial Line 6.2.2: the checksum of 02 07 is 41 12 on the wire', async (t) => {
  t.equal(hexOf(sealed([0x02, 0x07])), '02 07 41 12')
  t.equal(crc16(new Uint8Array(0)), 0xffff)
})

t.test('6.3 the worked example of reading holding registers 108 to 110', async (t) => {
  const request = { unitId: 17, fc: 3, address: 107, quantity: 3 }
  const reply = sealed([17, 3, 6, 0x02, 0x2b, 0x00, 0x00, 0x00, 0x64])
  const { frame, values } = overPeer(request, () => reply)
  t.equal(hexOf(frame), '11 03 00 6B 00 03 76 87')
  t.strictSame(values, [555, 0, 100])
  t.equal(checkReply({ frame, request }, reply), null)
})

t.test('6.1 the worked example of reading coils 20 to 38: nineteen values, not twenty-four', async (t) => {
  const request = { unitId: 1, fc: 1, address: 19, quantity: 19 }
  const { values } = overPeer(request, () => sealed([1, 1, 3, 0xcd, 0x6b, 0x05]))
  t.strictSame(values, [1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1])
})

t.test('6.11, 6.12, 6.16, 6.17 the worked examples of writes', async (t) => {
  const coils = { unitId: 1, fc: 15, address: 19, quantity: 10, values: [1, 0, 1, 1, 0, 0, 1, 1, 1, 0] }
  const unit = wholeUnit(1)
  const answer = (frame: Uint8Array) => unit.answer(readModbusRequest(frame))
  t.match(hexOf(overPeer(coils, answer).frame), /^01 0F 00 13 00 0A 02 CD 01 /)
  const registers = { unitId: 1, fc: 16, address: 1, quantity: 2, values: [10, 258] }
  t.match(hexOf(overPeer(registers, answer).frame), /^01 10 00 01 00 02 04 00 0A 01 02 /)
  const mask = { unitId: 1, fc: 22, address: 4, quantity: 1, andMask: 0xf2, orMask: 0x25 }
  t.match(hexOf(overPeer(mask, answer).frame), /^01 16 00 04 00 F2 00 25 /)
  const both = { unitId: 1, fc: 23, address: 3, quantity: 6, writeAddress: 14, values: [255, 255, 255] }
  t.match(hexOf(overPeer(both, answer).frame), /^01 17 00 03 00 06 00 0E 00 03 06 00 FF 00 FF 00 FF /)
})

t.test('a frame of modbus-serial decodes to the request, and the values it reads are those of the unit', async (t) => {
  const property = fc.asyncProperty(anyRequest, async (request) => {
    const unit = wholeUnit(request.unitId)
    const other = wholeUnit(request.unitId)
    const { frame, values } = overPeer(request, (frame) => unit.answer(readModbusRequest(frame)))
    t.strictSame(readModbusRequest(frame), { ...request })
    t.equal(requestLength(frame), frame.length)
    const reply = other.answer(request)
    const sent = { frame, request }
    t.equal(checkReply(sent, reply), null)
    t.equal(replyLength(sent, reply), reply.length)
    t.equal(anyReplyLength(reply), reply.length)
    if (values.length > 0 && ![5, 6, 15, 16].includes(request.fc)) t.equal(values.length, request.quantity)
    const decoded = describeReply(reply, 'reply', sent)
    if (values.length > 0) t.strictSame(decoded.values, values, 'as we read it')
  })
  await holdsLater(t, property, { numRuns: 150 })
})

t.test('no truncation of a request or a reply passes for the whole', async (t) => {
  await holdsLater(
    t,
    fc.asyncProperty(anyRequest, async (request) => {
      const unit = wholeUnit(request.unitId)
      const { frame } = overPeer(request, (frame) => unit.answer(readModbusRequest(frame)))
      const reply = unit.answer(request)
      const sent = { frame, request }
      for (let length = 0; length < reply.length; length++)
        if (!replyFlaw(sent, reply.subarray(0, length))) t.fail(`reply cut to ${length} passes`)
      for (let length = 0; length < frame.length; length++)
        t.throws(() => readModbusRequest(frame.subarray(0, length)), Fault)
    }),
    { numRuns: 30 },
  )
})

t.test('no changed bit of a reply passes', async (t) => {
  await holdsLater(
    t,
    fc.asyncProperty(anyRequest, fc.nat(), async (request, at) => {
      const unit = wholeUnit(request.unitId)
      const { frame } = overPeer(request, (frame) => unit.answer(readModbusRequest(frame)))
      const reply = Uint8Array.from(unit.answer(request))
      const byte = (at >> 3) % reply.length
      reply[byte] = (reply[byte] ?? 0) ^ (1 << (at & 7))
      if (!replyFlaw({ frame, request }, reply)) t.fail(`bit ${at & 7} of byte ${byte} passes`)
    }),
    { numRuns: 300 },
  )
})

t.test('echoed fields of 5, 6, 15, 16 and 22 must be those asked, with a right checksum too', async (t) => {
  await holdsLater(
    t,
    fc.asyncProperty(anyRequest, fc.integer({ min: 2, max: 5 }), async (request, at) => {
      if (![5, 6, 15, 16, 22].includes(request.fc)) return
      const unit = wholeUnit(request.unitId)
      const { frame } = overPeer(request, (frame) => unit.answer(readModbusRequest(frame)))
      const body = [...unit.answer(request).subarray(0, -2)]
      body[at] = (body[at] ?? 0) ^ 1
      t.throws(() => checkReply({ frame, request }, sealed(body)), { code: 'modbus_mismatch' })
    }),
    { numRuns: 200 },
  )
})

t.test('random bytes throw only Faults, whatever opens them', async (t) => {
  const frame = bytesOfHex('05 04 00 00 00 02 71 8F')
  const sent = { frame, request: { unitId: 5, fc: 4, address: 0, quantity: 2 } }
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.uint8Array({ minLength: 2, maxLength: 250 }).map((body) => sealed(body)),
    fc.uint8Array({ maxLength: 60 }).map((body) => sealed([5, 43, 14, ...body])),
  )
  const openers: ((bytes: Uint8Array) => unknown)[] = [
    readModbusRequest,
    openIdentification,
    requestLength,
    anyReplyLength,
    (random) => checkReply(sent, random),
    (random) => checkReply({ frame, request: { ...sent.request, fc: 43, quantity: 1 } }, random),
    (random) => describeReply(random, 'stray'),
    (random) =>
      nextCut(
        random,
        {
          framing: modbusRtu,
          sent,
          owed: () => [],
          mayBeOwed: () => false,
          echo: 'unknown',
          isEchoSeen: false,
          isAmidJunk: false,
        },
        true,
      ),
  ]
  holds(
    t,
    fc.property(bytes, (random) => {
      for (const open of openers) {
        try {
          open(random)
        } catch (error) {
          if (!(error instanceof Fault)) throw error
        }
      }
    }),
    { numRuns: 1000 },
  )
})

t.test('whatever arrives, cutting continues until the bytes are used up or more are needed', async (t) => {
  const request = { unitId: 5, fc: 4, address: 0, quantity: 2 }
  const sent = { frame: bytesOfHex('05 04 00 00 00 02 71 8F'), request }
  holds(
    t,
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.boolean(), (random, isQuiet) => {
      let left = random
      for (;;) {
        const cut = nextCut(
          left,
          {
            framing: modbusRtu,
            sent,
            owed: () => [sent],
            mayBeOwed: () => false,
            echo: 'unknown',
            isEchoSeen: false,
            isAmidJunk: false,
          },
          isQuiet,
        )
        if (!cut) return
        const used = cut.skipped.length + cut.frame.length
        if (used === 0 || used > left.length) throw new Error(`a cut uses ${used} of ${left.length} bytes`)
        left = left.subarray(used)
      }
    }),
    { numRuns: 500 },
  )
})

t.test('7 an exception is five bytes of the same unit and function', async (t) => {
  const request = { unitId: 10, fc: 1, address: 0x4a1, quantity: 1 }
  const { frame } = overPeer(request, () => sealed([10, 1, 1, 0]))
  const sent = { frame, request }
  t.equal(checkReply(sent, sealed([10, 0x81, 2])), 2)
  t.throws(() => checkReply(sent, sealed([11, 0x81, 2])), { code: 'modbus_wrong_unit' })
  t.throws(() => checkReply(sent, sealed([10, 0x83, 2])), { code: 'modbus_wrong_function' })
  t.throws(() => checkReply(sent, sealed([10, 0x81, 2, 0])), { code: 'modbus_long' })
  t.equal(exceptionName(2), 'Illegal Data Address')
  t.equal(exceptionName(200), 'Unknown Exception')
})

t.test('6.21 the worked example of device identification', async (t) => {
  const request = { unitId: 1, fc: 43, address: 0, quantity: 1 }
  t.match(hexOf(identifyRequestFrame(request)), /^01 2B 0E 01 00 /)
  t.strictSame(readModbusRequest(identifyRequestFrame(request)), request)
  const maker = 'Company identification'
  const code = 'Product code XX'
  const head = [1, 0x2b, 0x0e, 1, 1, 0xff, 2, 3]
  const objects = [0, maker.length, ...Buffer.from(maker), 1, code.length, ...Buffer.from(code)]
  const reply = sealed([...head, ...objects])
  t.strictSame(openIdentification(reply), {
    conformityLevel: 1,
    nextObjectId: 2,
    objects: [
      { id: 0, name: 'VendorName', value: maker },
      { id: 1, name: 'ProductCode', value: code },
    ],
  })
  t.equal(
    checkReply({ frame: identifyRequestFrame(request), request }, reply),
    null,
    'it counts objects of later replies',
  )
  const few = sealed([1, 0x2b, 0x0e, 1, 1, 0, 0, 3, ...objects])
  t.throws(() => checkReply({ frame: identifyRequestFrame(request), request }, few), { code: 'modbus_malformed' })
})

t.test('a frame is described with the names of the standard', async (t) => {
  const request = { unitId: 3, fc: 16, address: 1, quantity: 1, values: [5] }
  t.strictSame(describeRequest(request), { kind: 'request', name: 'Write Multiple Registers', ...request })
  t.equal(functionName(0x83), 'Read Holding Registers')
  t.equal(functionName(99), 'Function 99')
  t.equal(modbusFunctions.size, 11)
})

t.test('2.5.1.1 silence is 3.5 characters, and 1750 microseconds above 19200 bits per second', async (t) => {
  t.equal(Math.round(silenceUs({ baud: 9600 })), 4010)
  t.equal(Math.round(silenceUs({ baud: 19_200 })), 2005)
  t.equal(silenceUs({ baud: 38_400 }), 1750)
  t.equal(Math.round(wireUs({ baud: 9600 }, 8)), 9167)
})

t.test('a checksum stays right when zeros follow: the length must be checked as well', async (t) => {
  const request = { unitId: 1, fc: 3, address: 0x401, quantity: 2 }
  const { frame } = overPeer(request, () => sealed([1, 3, 4, 0, 0, 0, 0]))
  const trailed = Uint8Array.from([...frame, 0])
  t.ok(hasGoodCrc(trailed))
  const sent = { frame, request }
  for (const echo of ['unknown', 'present'] as const)
    t.equal(
      nextCut(
        trailed,
        {
          framing: modbusRtu,
          sent,
          owed: () => [],
          mayBeOwed: () => false,
          echo,
          isEchoSeen: false,
          isAmidJunk: false,
        },
        false,
      )?.kind,
      'echo',
    )
})
