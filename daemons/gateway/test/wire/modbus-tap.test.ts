/** Listening to a Modbus line: every pair that was sent is reported, and never one that was not. */
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { type Heard, ModbusTap } from '../../wire/modbus-overheard.ts'
import {
  anyTransaction,
  frameOf,
  heardOf,
  hex,
  joined,
  pairsOf,
  pieces,
  replyOf,
  rules,
  type Transaction,
} from './modbus-talk.ts'

const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 })
const conversation = fc.array(anyTransaction, { minLength: 1, maxLength: 12 })

/** A unit that does not answer costs its time; the rest arrives in one go, cut at random. */
function runsOf(transactions: readonly Transaction[]): Uint8Array[] {
  const runs: Uint8Array[][] = [[]]
  for (const { frame, reply } of transactions) {
    runs.at(-1)?.push(frame, ...(reply ? [reply] : []))
    if (!reply) runs.push([])
  }
  return runs.map(joined).filter((run) => run.length > 0)
}

function listen(runs: readonly Uint8Array[], cuts: readonly number[]): Heard[] {
  const tap = new ModbusTap(rules)
  return runs.flatMap((run, turn) => {
    const atMs = turn * 2000
    const heard = pieces(run, cuts).flatMap((piece) => tap.feed(piece, atMs))
    return [...heard, ...tap.silence('quiet'), ...tap.pass(atMs + 1999)]
  })
}

function said(transactions: readonly Transaction[]): [string, string][] {
  return transactions.flatMap(({ frame, reply }) => (reply ? [[hex(frame), hex(reply)] as [string, string]] : []))
}

t.test('requests and replies in any order and any pieces give exactly the pairs that were sent', async (t) => {
  const law = fc.property(conversation, sizes, (transactions, cuts) => {
    const heard = listen(runsOf(transactions), cuts)
    const unanswered = heard.filter(({ kind }) => kind === 'unanswered').length
    t.strictSame(pairsOf(heard), said(transactions))
    t.equal(heard.filter(({ kind }) => kind === 'request').length, transactions.length)
    t.equal(unanswered, transactions.filter(({ reply }) => !reply).length)
    t.notOk(heard.some(({ kind }) => kind === 'noise' || kind === 'stray' || kind === 'late'))
  })
  holds(t, law, { numRuns: 300 })
})

t.test('of a stream cut off anywhere the pairs before are reported, and no other', async (t) => {
  const transactions = fc.sample(anyTransaction, { numRuns: 6, seed: 7 }).filter(({ reply }) => reply)
  const whole = joined(transactions.flatMap(({ frame, reply }) => [frame, reply ?? frame]))
  const all = said(transactions).map(String)
  for (let end = 0; end <= whole.length; end++) {
    const pairs = pairsOf(heardOf([whole.subarray(0, end)])).map(String)
    t.strictSame(pairs, all.slice(0, pairs.length))
  }
})

t.test('bytes that are changed, lost or added never make a pair that was not sent', async (t) => {
  const change = fc.record({
    at: fc.nat(5000),
    way: fc.constantFrom('flip', 'drop', 'add'),
    value: fc.integer({ min: 1, max: 255 }),
  })
  const law = fc.property(
    conversation,
    fc.array(change, { minLength: 1, maxLength: 4 }),
    sizes,
    (talk, changes, cuts) => {
      const sent = talk.flatMap(({ frame, reply }) => [frame, reply].filter((one) => one !== null))
      const bytes = [...joined(sent)]
      for (const { at, way, value } of changes) {
        const place = at % bytes.length
        if (way === 'flip') bytes[place] = (bytes[place] ?? 0) ^ value
        else bytes.splice(place, way === 'drop' ? 1 : 0, ...(way === 'drop' ? [] : [value]))
        if (bytes.length === 0) return
      }
      const frames = new Set(sent.map(hex))
      for (const pair of pairsOf(listen([Uint8Array.from(bytes)], cuts)))
        for (const frame of pair) t.ok(frames.has(frame), `${frame} was never sent`)
    },
  )
  holds(t, law, { numRuns: 500 })
})

t.test('frames inside the data of a damaged frame are not reported', async (t) => {
  const inner = { unitId: 5, fc: 3, address: 7, quantity: 2 }
  const carried = joined([frameOf(inner), replyOf(inner, 1), Uint8Array.of(0)])
  const values = Array.from(
    { length: carried.length / 2 },
    (_, at) => ((carried[at * 2] ?? 0) << 8) | (carried[at * 2 + 1] ?? 0),
  )
  const outer = frameOf({ unitId: 9, fc: 16, address: 0, quantity: values.length, values })
  const next = { unitId: 2, fc: 3, address: 1, quantity: 1 }
  for (let at = 0; at < outer.length; at++)
    for (const value of [0x01, 0xff]) {
      const damaged = outer.map((byte, place) => (place === at ? byte ^ value : byte))
      const pairs = pairsOf(heardOf([damaged, frameOf(next), replyOf(next, 3)]))
      t.notOk(
        pairs.some(([request]) => request === hex(frameOf(inner))),
        `byte ${at} by ${value}`,
      )
    }
})

t.test('frames inside a damaged frame are not reported after noise that is longer than any frame', async (t) => {
  const inner = { unitId: 5, fc: 3, address: 7, quantity: 2 }
  const carried = joined([frameOf(inner), replyOf(inner, 1), Uint8Array.of(0)])
  const damaged = [9, 16, 0, 0, 0, carried.length / 2, carried.length, ...carried, 1, 2, 3]
  for (let length = 1; length < 600; length += 7) {
    const noise = Uint8Array.from({ length }, (_, at) => [1, 16, 0, 0, 0, 123, 246][at % 7] ?? 0)
    t.same(pairsOf(heardOf([noise, Uint8Array.from(damaged)])), [], `${length} bytes`)
  }
})

t.test('endless noise is reported as it comes: what is kept is bounded', async (t) => {
  const kinds: Record<string, readonly number[]> = {
    'heads of writes': [1, 16, 0, 0, 0, 123, 246],
    'heads of reads': [1, 3],
    identification: [1, 0x2b, 0x0e, 1, 0x81, 0xff, 1],
    'replies cut off': [3, 4, 250],
  }
  for (const [kind, pattern] of Object.entries(kinds)) {
    const tap = new ModbusTap(rules)
    let toldBytes = 0
    let mostKept = 0
    for (let turn = 0; turn < 500; turn++) {
      const bytes = Uint8Array.from({ length: 115 }, (_, at) => pattern[(turn * 115 + at) % pattern.length] ?? 0)
      for (const one of tap.feed(bytes, turn * 10)) toldBytes += 'frame' in one ? one.frame.length : 0
      mostKept = Math.max(mostKept, tap.pending.length)
    }
    t.ok(mostKept <= 1024, `${kind}: ${mostKept} bytes kept`)
    t.equal(toldBytes + tap.pending.length, 500 * 115)
  }
})

t.test('zeros and other glitches in a row are reported together', async (t) => {
  const tap = new ModbusTap(rules)
  t.match(tap.feed(new Uint8Array(200), 0), [{ kind: 'noise', frame: { length: 200 } }])
  t.equal(tap.pending.length, 0)
})

t.test('random bytes are noise and break nothing', async (t) => {
  const law = fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), (parts) => {
    const heard = heardOf(parts)
    const bytes = heard.map((one) => ('frame' in one ? one.frame.length : 0)).reduce((sum, length) => sum + length, 0)
    t.equal(bytes, joined(parts).length, 'every byte is reported once')
  })
  holds(t, law)
})
