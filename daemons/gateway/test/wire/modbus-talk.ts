/** Random traffic of masters and units on one line, for tests of those who listen. */
import fc from 'fast-check'
import { simulatedUnit } from '../../../../scripts/sim/modbus-unit.ts'
import { type Heard, ModbusTap, type TapRules } from '../../wire/modbus-overheard.ts'
import { identifyRequestFrame, type ModbusRequest, sealed } from '../../wire/modbus-request.ts'

const word = fc.integer({ min: 0, max: 65_535 })
const bit = fc.integer({ min: 0, max: 1 })
const unitId = fc.integer({ min: 1, max: 247 })
/** Addresses whose bytes look like the byte count of a reply are frequent. */
const address = fc.oneof(
  fc.nat(0x1fff),
  fc.integer({ min: 0x0300, max: 0x03ff }),
  fc.integer({ min: 0x0200, max: 0x0c00 }),
)

/** Requests of every known function, to one of a few units. */
export const anyRequest: fc.Arbitrary<ModbusRequest> = fc
  .oneof(
    fc.record({
      fc: fc.constantFrom(1, 2),
      address,
      quantity: fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 17, max: 24 })),
    }),
    fc.record({ fc: fc.constantFrom(3, 4), address, quantity: fc.integer({ min: 1, max: 125 }) }),
    fc.record({ fc: fc.constant(5), address, quantity: fc.constant(1), values: fc.tuple(bit) }),
    fc.record({ fc: fc.constant(6), address, quantity: fc.constant(1), values: fc.tuple(word) }),
    fc.record({ fc: fc.constant(15), address, values: fc.array(bit, { minLength: 1, maxLength: 1968 }) }),
    fc.record({ fc: fc.constant(16), address, values: fc.array(word, { minLength: 1, maxLength: 123 }) }),
    fc.record({ fc: fc.constant(22), address, quantity: fc.constant(1), andMask: word, orMask: word }),
    fc.record({
      fc: fc.constant(23),
      address,
      quantity: fc.integer({ min: 1, max: 125 }),
      writeAddress: address,
      values: fc.array(word, { minLength: 1, maxLength: 121 }),
    }),
    fc.record({ fc: fc.constant(43), address: fc.constantFrom(0, 3), quantity: fc.integer({ min: 1, max: 4 }) }),
  )
  .chain((request) =>
    fc.oneof(fc.constantFrom(1, 2, 5, 16), unitId).map((unitId) => ({
      unitId,
      ...request,
      quantity: 'quantity' in request ? request.quantity : request.values.length,
    })),
  )

/** The frame of a request. */
export function frameOf(request: ModbusRequest): Uint8Array {
  const { unitId, fc, address, quantity, values = [] } = request
  const head = [unitId, fc, ...bytesOf(address)]
  if (fc === 43) return identifyRequestFrame(request)
  if (fc === 5) return sealed([...head, values[0] ? 0xff : 0, 0])
  if (fc === 6) return sealed([...head, ...bytesOf(values[0] ?? 0)])
  if (fc === 15) {
    const packed = new Array<number>(Math.ceil(quantity / 8)).fill(0)
    for (const [at, value] of values.entries()) packed[at >> 3] = (packed[at >> 3] ?? 0) | (value << (at & 7))
    return sealed([...head, ...bytesOf(quantity), packed.length, ...packed])
  }
  if (fc === 16) return sealed([...head, ...bytesOf(quantity), values.length * 2, ...values.flatMap(bytesOf)])
  if (fc === 22) return sealed([...head, ...bytesOf(request.andMask ?? 0), ...bytesOf(request.orMask ?? 0)])
  if (fc === 23)
    return sealed([
      ...head,
      ...bytesOf(quantity),
      ...bytesOf(request.writeAddress ?? 0),
      ...bytesOf(values.length),
      values.length * 2,
      ...values.flatMap(bytesOf),
    ])
  return sealed([...head, ...bytesOf(quantity)])
}

function bytesOf(word: number): number[] {
  return [word >> 8, word & 0xff]
}

/** Addresses of a unit. */
const PLACES = 0x4000
/** What units hold, each from its own place on; computed once, since a unit is made for each reply. */
const WORDS = Array.from({ length: 0x10000 + PLACES }, (_, at) => (at * 40_503) & 0xffff)
const BITS = WORDS.map((value) => (value >> 3) & 1)

/** The reply of the requested unit; `salt` chooses its values. */
export function replyOf(request: ModbusRequest, salt: number): Uint8Array {
  const first = salt & 0xffff
  const words = WORDS.slice(first, first + PLACES)
  const bits = BITS.slice(first, first + PLACES)
  const identity = ['Maker', 'Code', '1.0', 'https://example.com']
  return simulatedUnit({
    unitId: request.unitId,
    coils: bits,
    discreteInputs: [...bits],
    holding: words,
    input: () => words,
    identity,
  }).answer(request)
}

/** One request and its reply; null: the unit stays silent until its reply can no longer come. */
export interface Transaction {
  request: ModbusRequest
  frame: Uint8Array
  reply: Uint8Array | null
}

export const anyTransaction: fc.Arbitrary<Transaction> = fc
  .record({
    request: anyRequest,
    salt: fc.nat(999),
    way: fc.constantFrom('reply', 'reply', 'reply', 'exception', 'none'),
  })
  .map(({ request, salt, way }) => {
    const answers = {
      reply: () => replyOf(request, salt),
      exception: () => sealed([request.unitId, request.fc | 0x80, 1 + (salt % 6)]),
      none: () => null,
    }
    return { request, frame: frameOf(request), reply: answers[way as keyof typeof answers]() }
  })

export const rules: TapRules = { baud: 19_200, gapMs: 2, replyMs: 300, oweMs: 1000, isOwn: () => false }

/** Cuts the bytes into pieces of the given sizes, which are used over and over. */
export function pieces(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const parts: Uint8Array[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    parts.push(bytes.slice(at, at + size))
    at += size
  }
  return parts
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]))
}

/** The pairs heard, as hex of request and reply. */
export function pairsOf(heard: readonly Heard[]): [string, string][] {
  return heard.filter((one) => one.kind === 'reply').map((one) => [hex(one.sent.frame), hex(one.frame)])
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** Everything heard if these pieces come at one instant and silence follows. */
export function heardOf(parts: readonly Uint8Array[], tap = new ModbusTap(rules)): Heard[] {
  const heard = parts.flatMap((part) => tap.feed(part, 0))
  return [...heard, ...tap.silence('quiet')]
}
