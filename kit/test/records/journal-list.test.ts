/** The entries of a journal in memory. */
import t from 'tap'
import { createJournalList, type JournalEntry } from '#kit/records/journal.ts'
import { houseRows } from '../../pure/memory-plan.ts'
import { heapBytesOf, rowOf } from '../heap.ts'

const MAX_CHARS = 1_000_000

const entry = (seq: number, facts: Partial<JournalEntry> = {}): JournalEntry => ({
  seq,
  at: 5,
  who: 'ann',
  from: '192.0.2.1',
  what: 'port set up',
  ...facts,
})

function listOf(...entries: JournalEntry[]) {
  return createJournalList({ maxEntries: 5, maxChars: 100_000, most: { refusal: 2 } }, entries)
}

const seqs = (entries: readonly JournalEntry[]) => entries.map(({ seq }) => seq)

t.test('finds by a part of who or what, in any case, newest first', async (t) => {
  const list = listOf(
    entry(1),
    entry(2, { who: 'key:Pump' }),
    entry(3, { what: 'Port removed', who: 'bob' }),
    entry(4, { what: 'bytes sent', who: 'key:pump' }),
  )
  t.same(seqs(list.find({ limit: 9, who: 'PUMP' })), [4, 2])
  t.same(seqs(list.find({ limit: 9, what: 'port' })), [3, 2, 1])
  t.same(seqs(list.find({ limit: 1, what: 'port', before: 3 })), [2])
  t.same(seqs(list.find({ limit: 9, who: 'bob', what: 'sent' })), [])
})

t.test('keeps the newest, and no more of each kind than its limit', async (t) => {
  const refusal = { kind: 'refusal' } as const
  const list = listOf(entry(1), entry(2, refusal), entry(3, refusal), entry(4, refusal), entry(5), entry(6), entry(7))
  t.same(seqs(list.all()), [3, 4, 5, 6, 7])
  list.add(entry(8, refusal))
  t.same(seqs(list.all()), [4, 5, 6, 7, 8])
  list.add(entry(9))
  t.same(seqs(list.all()), [5, 6, 7, 8, 9])
  list.add(entry(10, refusal))
  t.same(seqs(list.all()), [6, 7, 8, 9, 10])
})

t.test('returns the entries after a number, and the last number even when nothing is kept', async (t) => {
  const list = listOf(entry(3), entry(4))
  t.same(seqs(list.after(3)), [4])
  t.same(seqs(list.after(4)), [])
  t.equal(list.lastSeq(), 4)
  t.equal(listOf().lastSeq(), 0)
})

t.test('a kind evicts its own entries, and a kind without a limit evicts the oldest', async (t) => {
  const list = createJournalList({ maxEntries: 4, maxChars: 100_000, most: { sent: 1, refusal: 1 } }, [])
  list.add(entry(1))
  for (let seq = 2; seq < 100; seq++) list.add(entry(seq, { kind: seq % 2 ? 'sent' : 'refusal' }))
  t.same(seqs(list.all()), [1, 98, 99])
  for (let seq = 100; seq < 105; seq++) list.add(entry(seq, { kind: 'sign-in' }))
  t.same(seqs(list.all()), [101, 102, 103, 104])
})

t.test(
  'keeps no more characters than the limit: the kind that takes most loses its oldest, here and from a file',
  async (t) => {
    const entry = (seq: number, kind: JournalEntry['kind'], detail = 'x'.repeat(1000)): JournalEntry => ({
      ...{ seq, at: seq, who: 'a', from: 'b', what: 'c', detail },
      ...(kind && { kind }),
    })
    const bounds = { maxEntries: 100, maxChars: 6 * 1200 }
    const list = createJournalList(bounds, [])
    const seqs = (of = list) => of.all().map(({ seq }) => seq)
    list.add(entry(1, undefined))
    for (const seq of [2, 3, 4, 5, 6]) list.add(entry(seq, 'refusal'))
    t.same(seqs(), [1, 2, 3, 4, 5, 6], 'filled to the bound')
    list.add(entry(7, 'refusal'))
    list.add(entry(8, undefined))
    t.same(seqs(), [1, 4, 5, 6, 7, 8], 'refusals evict no changes')
    const all = [1, 2, 3, 4, 5, 6, 7, 8].map((seq) => entry(seq, seq === 1 ? undefined : 'refusal'))
    t.same(seqs(createJournalList(bounds, all)), [1, 4, 5, 6, 7, 8])
    list.add(entry(9, 'sent', 'x'.repeat(20_000)))
    t.same(seqs(), [9], 'the newest stays, whatever it is')
  },
)

t.test(
  'filled to its limit it takes no more memory than three bytes a character, whatever its entries are',
  async (t) => {
    const many = <Value>(count: number, value: (at: number) => Value) =>
      Array.from({ length: count }, (_, at) => value(at))
    const details: Record<string, unknown> = {
      'no detail': undefined,
      'a text of other letters': 'ж'.repeat(1000),
      figures: many(500, (at) => at + 0.5),
      'empty lists': many(600, () => []),
      names: Object.fromEntries(many(150, (at) => [`name${at}`, null])),
    }
    for (const [title, detail] of Object.entries(details)) {
      let added = 0
      const bytes = await heapBytesOf(() => {
        added = 0
        const list = createJournalList({ maxEntries: 100_000, maxChars: MAX_CHARS }, [])
        // As they come from a request: no strings are shared.
        const next = () =>
          entry(++added, { who: `ann ${added}`, ...(detail ? { detail: JSON.parse(JSON.stringify(detail)) } : {}) })
        while (list.all().length === added) list.add(next())
        return list
      })
      const row = rowOf(houseRows(), 'the journal', { 'journal.chars': MAX_CHARS })
      t.ok(bytes < row.allBytes, `${title}: ${(bytes / MAX_CHARS).toFixed(2)} bytes a character, ${added} entries`)
    }
  },
)
