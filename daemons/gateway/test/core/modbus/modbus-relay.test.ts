/** Replies and questions that the line relays: a client gets what it would get from JavaScript, whatever the line does. */
import fc from 'fast-check'
import t from 'tap'
import { hexOf } from '#kit/pure/bytes.ts'
import type { SimulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { replyFrame } from '../../../wire/modbus-reply.ts'
import { sharedLine } from './shared-line.ts'
import { type Manner, manner, UNITS, utterances } from './shared-line-steps.ts'

interface Ask {
  client: number
  unitId: number
  /** A read of that many registers; 0: a write. */
  quantity: number
  waitMs: number
}

interface How {
  asks: readonly Ask[]
  manners: readonly Manner[]
  isWired: boolean
  copyWindowMs: number
  /** How many bytes of a relayed reply a socket takes at most. */
  mostTaken: number
}

/** Answers with the number of its answers so far, so that each answer can be told from all others. */
function countingUnit(unitId: number): SimulatedUnit {
  let answers = 0
  return {
    unitId,
    answer: (request) => replyFrame(request, Array(request.quantity).fill(++answers)),
  }
}

/** @returns what each client got, and how many replies and questions passed before JavaScript heard of them */
async function played({ asks, copyWindowMs, isWired, manners, mostTaken }: How, isRelaying: boolean) {
  let turn = 0
  let relayed = 0
  let admitted = 0
  const on = sharedLine({
    onAdmitted: () => void admitted++,
    points: [],
    units: UNITS.map(countingUnit),
    prompt: { mostBytes: 256, isWired },
    settings: { copy_trust_after: 1, copy_window_ms: copyWindowMs, breaker_failures: 4 },
    say(reply, request) {
      const one = manners[turn++ % manners.length] as Manner
      // No unit answers in the turn in which it is asked.
      return utterances({ ...one, delayMs: one.delayMs + 1 }, reply, request)
    },
    relayed: isRelaying
      ? ({ length }) => {
          relayed++
          return Math.min(length, mostTaken)
        }
      : undefined,
  })
  on.open()
  await on.clock.run(300)
  const got = [0, 1].map(() => [] as string[])
  const clients = got.map((mine) => on.connect((id, body) => void mine.push(`${id}: ${hexOf(body)}`)))
  for (const [id, { client, quantity, unitId, waitMs }] of asks.entries()) {
    clients[client]?.ask(id, Uint8Array.of(unitId, quantity === 0 ? 6 : 3, 0, id, 0, quantity))
    await on.clock.run(waitMs)
  }
  await on.clock.run(60_000)
  for (const client of clients) client?.leave()
  await on.close()
  return { admitted, got, relayed, counters: on.adapter.counters() }
}

const ask = fc.record({
  client: fc.nat({ max: 1 }),
  unitId: fc.constantFrom(1, 1, 1, ...UNITS),
  quantity: fc.nat({ max: 3 }),
  waitMs: fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 4, arbitrary: fc.nat({ max: 1500 }) }),
})

/** Half of all answers are as they should be, so that units are trusted. */
const mixed = fc.oneof(
  fc.record({
    how: fc.constant('plain' as const),
    delayMs: fc.nat({ max: 30 }),
    pauseMs: fc.constant(0),
    copyMs: fc.constant(0),
    at: fc.constant(0),
  }),
  manner,
)

t.test('a client gets the same replies with and without the relay', { timeout: 300_000 }, async (t) => {
  let [relayed, admitted] = [0, 0]
  const property = fc.asyncProperty(
    fc.record({
      asks: fc.array(ask, { minLength: 10, maxLength: 40 }),
      manners: fc.array(mixed, { minLength: 20, maxLength: 20 }),
      isWired: fc.boolean(),
      copyWindowMs: fc.constantFrom(0, 1000),
      mostTaken: fc.constantFrom(1, 7, 260),
    }),
    async (how) => {
      const [plain, on] = [await played(how, false), await played(how, true)]
      const seen = ({ counters, got }: typeof on) => JSON.stringify({ counters, got })
      if (seen(plain) !== seen(on)) throw new Error(`relayed: ${seen(on)}, expected ${seen(plain)}`)
      relayed += on.relayed
      admitted += on.admitted
    },
  )
  const runs = Number(process.env.PROPERTY_RUNS ?? 100)
  await fc.assert(property, { numRuns: runs })
  t.comment(`${relayed} replies and ${admitted} questions were relayed`)
  t.ok(relayed > runs && admitted > runs / 4, 'many were')
})
