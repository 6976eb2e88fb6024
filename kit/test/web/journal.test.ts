/** Tests of the journal as the page reads it. */
import t from 'tap'
import type { JournalEntry } from '#kit/records/journal.ts'
import { entryFacts, merged, PAGE, queryOf } from '#kit/web/journal-page.ts'

function entry(seq: number, over: Partial<JournalEntry> = {}): JournalEntry {
  return { seq, at: 1000, who: 'zoe', from: '10.0.0.4', what: 'port set up', ...over }
}

t.test('joins pages without gaps or duplicates', async (t) => {
  const twice = merged([entry(3), entry(2)], [entry(2), entry(1)])
  t.same(
    twice.map(({ seq }) => seq),
    [3, 2, 1],
  )
})

t.test('asks for the entries searched for, and for older ones', async (t) => {
  t.equal(queryOf({ who: '', what: '' }), `limit=${PAGE}`)
  t.equal(queryOf({ who: 'zoe', what: 'port set up' }, 7), `limit=${PAGE}&who=zoe&what=port+set+up&before=7`)
})

t.test('shows an entry in full, with details by name', async (t) => {
  const detail = { line: { baud: 9600, rs485: null }, units: [1, 2], none: [] }
  t.same(entryFacts(entry(1, { target: '/dev/ttyUSB0', detail }), '14:00'), [
    ['Exactly at', '14:00'],
    ['From', '10.0.0.4'],
    ['On', '/dev/ttyUSB0'],
    ['line.baud', '9600'],
    ['line.rs485', 'null'],
    ['units', '1, 2'],
    ['none', 'none'],
  ])
  t.same(entryFacts(entry(1, { detail: 'short' }), '14:00').at(-1), ['Detail', 'short'])
})
