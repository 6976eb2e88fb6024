/** Lines that misbehave at random, with requests of every priority: a value handed up is the one the unit meant for that very request. */
import fc from 'fast-check'
import t from 'tap'
import type { Utterance } from '../../../../../scripts/sim/modbus-device.ts'
import type { SimulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { type Priority, priorities, type SeenReply } from '../../../core/bus/transactions.ts'
import type { ModbusReply } from '../../../core/modbus/protocol.ts'
import { type ModbusRequest, sealed, wordAt } from '../../../wire/modbus-request.ts'
import { type ModbusLine, modbusLine } from './modbus-line.ts'
import { promptOrNot } from './shared-line-steps.ts'

/** How one request is answered. Answers come within the response timeout and the quarantine: 1300 ms in all. */
interface Manner {
  how: 'plain' | 'silent' | 'damaged' | 'cut' | 'foreign' | 'exception' | 'short' | 'long' | 'otherFunction' | 'inside'
  delayMs: number
  noiseBefore: Uint8Array
  noiseBehind: Uint8Array
  /** Pauses between pieces; the answer is cut into one piece more. */
  pausesMs: number[]
  at: number
}

const noise = fc.oneof(
  { weight: 6, arbitrary: fc.constant(new Uint8Array(0)) },
  { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(Uint8Array.of(0), Uint8Array.of(255, 0), Uint8Array.of(1, 3, 4), Uint8Array.of(2)),
  },
)

const manner: fc.Arbitrary<Manner> = fc.record({
  how: fc.oneof(
    { weight: 6, arbitrary: fc.constant('plain' as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        ...(['silent', 'damaged', 'cut', 'foreign', 'exception', 'short', 'long', 'otherFunction', 'inside'] as const),
      ),
    },
  ),
  delayMs: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 30 }) },
    { weight: 3, arbitrary: fc.integer({ min: 280, max: 420 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 900 }) },
  ),
  noiseBefore: noise,
  noiseBehind: noise,
  pausesMs: fc.oneof(
    { weight: 2, arbitrary: fc.constant<number[]>([]) },
    { weight: 1, arbitrary: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 5 }) },
  ),
  at: fc.nat({ max: 30 }),
})

const asked = fc.record({
  unitId: fc.constantFrom(1, 1, 2),
  isWrite: fc.boolean(),
  priority: fc.constantFrom(...priorities),
  waitMs: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 1500 }) },
  ),
})

/** The bytes put on the line instead of the right reply. */
function damagedBy({ how, at }: Manner, reply: Uint8Array, { unitId, fc: code }: ModbusRequest): Uint8Array {
  const body = [...reply.subarray(0, -2)]
  switch (how) {
    case 'damaged':
      return reply.map((byte, index) => (index === at % reply.length ? byte ^ (1 << (at & 7)) : byte))
    case 'cut':
      return reply.slice(0, at % reply.length)
    case 'foreign':
      return sealed([9, ...body.slice(1)])
    case 'exception':
      return sealed([unitId, code | 0x80, 6])
    case 'short':
      return sealed([unitId, 3, 2, 0xee, 0xee])
    case 'long':
      return sealed([unitId, 3, 6, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee])
    case 'otherFunction':
      return sealed([unitId, code === 4 ? 3 : 4, 4, 0xee, 0xee, 0xee, 0xee])
    case 'inside':
      return Uint8Array.from([3, 65, ...sealed([unitId, 3, 4, 0xee, 0xee, 0xee, 0xee]), 1, 2])
    case 'silent':
      return new Uint8Array(0)
    default:
      return reply
  }
}

function utterances(manner: Manner, reply: Uint8Array, request: ModbusRequest): Utterance[] {
  const said = damagedBy(manner, reply, request)
  const bytes = Uint8Array.from([...manner.noiseBefore, ...said, ...manner.noiseBehind])
  const step = Math.ceil(bytes.length / (manner.pausesMs.length + 1)) || 1
  return [manner.delayMs, ...manner.pausesMs].map((afterMs, piece) => ({
    afterMs,
    bytes: bytes.slice(piece * step, (piece + 1) * step),
  }))
}

/**
 * Answers a read of two registers with the address it was asked for, so that each answer names its request. A fence, and
 * the read that tells an echo from an answer, ask for less and are given as much as they ask for: an answer of another
 * length would be taken for that of the next request, by any master.
 */
function namingUnit(unitId: number): SimulatedUnit {
  return {
    unitId,
    answer({ fc: code, address, quantity, values: [value = 0] = [] }) {
      if (code < 3) return sealed([unitId, code, Math.ceil(quantity / 8), ...Array(Math.ceil(quantity / 8)).fill(0x5a)])
      const words = code === 6 ? [address, value] : [address, 0xa5a5].concat(Array(quantity).fill(0)).slice(0, quantity)
      const data = words.flatMap((word) => [word >> 8, word & 0xff])
      return sealed(code === 6 ? [unitId, 6, ...data] : [unitId, code, data.length, ...data])
    },
  }
}

interface Outcome {
  values?: readonly number[]
  code?: string
}

function ask(on: ModbusLine, request: ModbusRequest, priority: Priority): { came?: Outcome } {
  const told: { came?: Outcome } = {}
  on.adapter.asker.ask(request, { priority }).then(
    (reply) => {
      told.came = { values: (reply?.values ?? request.values) as readonly number[] }
    },
    ({ code }) => {
      told.came = { code }
    },
  )
  return told
}

t.test(
  'whatever the line does, a value handed up is the one meant for that request',
  { timeout: 300_000 },
  async (t) => {
    let answers = 0
    let faults = 0
    let refusals = 0
    const property = fc.asyncProperty(
      fc.array(asked, { minLength: 2, maxLength: 8 }),
      fc.array(manner, { minLength: 12, maxLength: 12 }),
      fc.record({ hasEcho: fc.boolean(), prompt: promptOrNot }),
      fc.constantFrom(0, 200, 1000, Number.POSITIVE_INFINITY),
      async (asks, manners, { hasEcho, prompt }, idleMs) => {
        let turn = 0
        /** Addresses of writes that the unit answered with the complete right reply. */
        const meant = new Set<number>()
        const told: SeenReply<ModbusRequest, ModbusReply>[] = []
        const line = await modbusLine({
          units: [namingUnit(1), namingUnit(2)],
          hasEcho,
          prompt,
          hooks: { idleMs: () => idleMs, onReply: (seen) => void told.push(seen) },
          settings: { breaker_failures: 2, breaker_retry_ms: 1000 },
          say(reply, request) {
            const one = manners[turn++ % manners.length] as Manner
            if (one.how === 'plain') meant.add(request.address)
            return utterances(one, reply, request)
          },
        })
        const outcomes = []
        for (const [index, { unitId, isWrite, priority, waitMs }] of asks.entries()) {
          const address = 0x400 + index
          const request = isWrite
            ? { unitId, fc: 6, address, quantity: 1, values: [index] }
            : { unitId, fc: 3, address, quantity: 2 }
          outcomes.push({ address, isWrite, index, asked: ask(line, request, priority) })
          await line.clock.run(waitMs)
        }
        await line.clock.run(40_000)
        // The read that distinguishes an echo from an answer asks for one register, and is published too.
        for (const { reply, request } of told)
          if (request.quantity === 2 && !reply.refusal && wordAt(reply.frame, 3) !== request.address)
            throw new Error(`the points got ${wordAt(reply.frame, 3)}, meant was ${request.address}`)
        for (const { address, isWrite, index, asked } of outcomes) {
          const outcome = asked.came
          if (!outcome) throw new Error('a request was never answered')
          if (!outcome.values) {
            faults++
            if (outcome.code === 'modbus_unit_silent') refusals++
            continue
          }
          answers++
          const right = isWrite ? [index] : [address, 0xa5a5]
          if (JSON.stringify(outcome.values) !== JSON.stringify(right))
            throw new Error(
              `request ${index} got ${JSON.stringify(outcome.values)}, meant was ${JSON.stringify(right)}`,
            )
          if (!meant.has(address)) throw new Error(`request ${index} was confirmed, but its unit did not`)
        }
      },
    )
    const runs = Number(process.env.PROPERTY_RUNS ?? 600)
    await fc.assert(property, { numRuns: runs })
    t.comment(`${answers} answers, ${faults} faults, ${refusals} of them refused`)
    t.ok(answers > runs, 'most requests are answered')
    t.ok(faults > runs / 4, 'many requests fail, so the property is really tested')
    t.ok(refusals > 0, 'units were silent')
  },
)
