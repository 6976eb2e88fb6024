import t from 'tap'
import type { PointBucket } from '../../core/history/buckets.ts'
import { judgeHistory, outagesOf } from '../../web/history.ts'

const STEP_MS = 60_000
const FROM = 1_900_000_800_000
const SPAN = 'last hour'

/** A bucket for each letter: `g` good, `h` good for half of it, `b` no value, `o` not recorded. */
function historyOf(letters: string) {
  const kinds: Record<string, [goodMs: number, recordedMs: number]> = {
    ...{ g: [STEP_MS, STEP_MS], h: [STEP_MS / 2, STEP_MS], b: [0, STEP_MS], o: [0, 0] },
  }
  const buckets = [...letters].map((letter, n): PointBucket => {
    const [goodMs = 0, recordedMs = 0] = kinds[letter] ?? []
    const value = goodMs > 0 ? 21 : null
    return { at: FROM + n * STEP_MS, min: value, mean: value, max: value, last: value, goodMs, recordedMs }
  })
  const to = FROM + letters.length * STEP_MS
  return { history: { name: 'flow', unit: null, decimals: 1, from: FROM, to, stepMs: STEP_MS, buckets }, to }
}

const judge = (letters: string) => {
  const { history, to } = historyOf(letters)
  return judgeHistory(history, SPAN, to)
}

t.test('a point that always had a value is well', async (t) => {
  t.strictSame(judge('gggg'), { lit: 'ok', sentence: 'flow had a value all through the last hour.' })
})

t.test('what was missing is said, and apart from it what was not recorded', async (t) => {
  t.match(judge('ghbg'), {
    lit: 'warn',
    sentence: 'flow had no good value for 1\u202fmin 30\u202fs of the last hour.',
    why: '',
  })
  t.match(judge('ggoo'), { lit: 'off', sentence: 'The gateway did not record for 2\u202fmin.' })
  t.match(judge('obgg'), { lit: 'warn', why: 'The gateway did not record for 1\u202fmin.' })
  t.match(judge('bbbb'), { lit: 'fault', sentence: 'flow had no good value in the last hour.' })
  t.match(judge('oooo'), { lit: 'off', sentence: 'Nothing is recorded of flow in the last hour.' })
})

t.test('neighbours with the same lack are one outage; a bucket that only lacks a part is one of its own', async (t) => {
  const { history, to } = historyOf('gbbhgoo')
  const at = (n: number) => FROM + n * STEP_MS
  t.strictSame(outagesOf(history, to), [
    { fromMs: at(1), toMs: at(3), lackMs: 2 * STEP_MS, lit: 'fault', isWhole: true },
    { fromMs: at(3), toMs: at(4), lackMs: STEP_MS / 2, lit: 'fault', isWhole: false },
    { fromMs: at(5), toMs: at(7), lackMs: 2 * STEP_MS, lit: 'off', isWhole: true },
  ])
})

t.test('the slot that runs is no outage', async (t) => {
  const { history } = historyOf('gg')
  const [, last] = history.buckets
  Object.assign(last ?? {}, { goodMs: 20_000, recordedMs: 20_000 })
  t.strictSame(outagesOf(history, FROM + STEP_MS + 25_000), [])
})
