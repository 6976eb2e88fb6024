/** The journal: order, limits, truncated lines, and a disk that refuses. */
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { createJournal } from '#kit/records/journal.ts'
import { heapBytesOf } from '../heap.ts'

const START = 1_900_000_000_000

function journalIn(t: Test, maxEntries = 100, refusal = maxEntries) {
  const folder = t.testdirName
  const file = join(folder, 'journal.jsonl')
  const clock = fakeClock(START)
  const lines: string[] = []
  const log = createLog({ level: 'debug', journal: true, stream: { write: (line) => lines.push(line) } })
  const open = () => createJournal({ folder, clock, log, maxEntries, maxChars: 1_000_000, most: { refusal } })
  return { open, clock, lines, file, text: () => readFile(file, 'utf8') }
}

const note = (what: string) => ({ who: 'ann', from: '192.0.2.1', what })

t.beforeEach((t) => void t.testdir())

t.test('lists the newest first, with time', async (t) => {
  const { open, clock } = journalIn(t)
  const journal = open()
  journal.record({ ...note('port changed'), target: '/dev/ttyS0', detail: { baud: 9600 } })
  clock.advance(5)
  journal.record(note('bytes sent'))
  t.same(journal.list({ limit: 10 }), [
    { seq: 2, at: START + 5, ...note('bytes sent') },
    { seq: 1, at: START, ...note('port changed'), target: '/dev/ttyS0', detail: { baud: 9600 } },
  ])
  t.same(journal.list({ limit: 1 }).length, 1)
  t.same(
    journal.list({ limit: 10, before: 2 }).map(({ what }) => what),
    ['port changed'],
  )
  await journal.close()
})

t.test('has everything again after a restart', async (t) => {
  const { open } = journalIn(t)
  const first = open()
  for (const what of ['a', 'b', 'c']) first.record(note(what))
  await first.close()
  const second = open()
  t.same(
    second.list({ limit: 10 }).map(({ what }) => what),
    ['c', 'b', 'a'],
  )
  second.record(note('d'))
  await second.close()
  t.equal(open().list({ limit: 10 }).length, 4)
})

t.test('drops a truncated last line and continues after the one before', async (t) => {
  const { open, file, lines } = journalIn(t)
  const first = open()
  first.record(note('a'))
  await first.close()
  await appendFile(file, Buffer.concat([Buffer.from('{"at":1,"what":"b'), Buffer.of(0xc3)]))
  const second = open()
  t.match(lines[0], /^<4>journal ended in a torn line/)
  second.record(note('c'))
  await second.close()
  t.same(
    open()
      .list({ limit: 10 })
      .map(({ what }) => what),
    ['c', 'a'],
  )
  t.equal(lines.length, 1)
})

t.test('skips unreadable lines, and says how many', async (t) => {
  const { open, file, lines } = journalIn(t)
  await writeFile(file, 'x\n{"at":1,"who":"a","from":"b","what":"c"}\n[]\nnull\n')
  t.equal(open().list({ limit: 10 }).length, 1)
  t.match(lines[0], /lines that do not read file=\S+ lines=3/)
})

t.test('opens, and is searched and written on, whatever a line of it says', async (t) => {
  const { open, file, lines, text } = journalIn(t)
  const good = { at: 1, who: 'a', from: 'b', what: 'c' }
  const bad = [
    { at: 1, what: 'c' },
    { ...good, who: 7 },
    { ...good, from: null },
    { ...good, target: {} },
    { ...good, at: 9e15 },
    { ...good, at: 0.5 },
  ].map((entry) => JSON.stringify(entry))
  const deep = `{"at":1,"who":"a","from":"b","what":"c","detail":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
  const odd = [
    { ...good, kind: 'of a later version' },
    { ...good, kind: ['sent'] },
    { ...good, seq: Number.MAX_SAFE_INTEGER },
  ]
  await writeFile(file, [...bad, deep, ...odd.map((entry) => JSON.stringify(entry)), ''].join('\n'))
  const journal = open()
  t.match(lines[0], /lines that do not read file=\S+ lines=7/)
  t.same(
    journal.list({ limit: 10, who: 'A', what: 'c' }).map(({ seq, kind }) => [seq, kind]),
    [3, 2, 1].map((seq) => [seq, undefined]),
  )
  journal.record(note('d'))
  await journal.close()
  t.match(await text(), /"what":"d"/)
})

t.test('keeps at most maxEntries, in memory and within twice that in the file', async (t) => {
  const { open, text } = journalIn(t, 10)
  const journal = open()
  for (let n = 1; n <= 100; n++) {
    journal.record(note(`note ${n}`))
    await journal.close()
    t.ok((await text()).split('\n').length - 1 <= 20)
  }
  t.same(journal.list({ limit: 1000 }).length, 10)
  t.equal(journal.list({ limit: 1000 }).at(-1)?.what, 'note 91')
  t.equal(open().list({ limit: 1000 }).at(-1)?.what, 'note 91')
})

t.test('limits what a hostile caller can put into a line', async (t) => {
  const { open, text } = journalIn(t)
  const journal = open()
  journal.record({
    who: 'w'.repeat(9999),
    from: 'f',
    what: 'x\ny',
    target: 't'.repeat(9999),
    detail: ['d'.repeat(99_999)],
  })
  await journal.close()
  t.ok((await text()).length < 4096)
  t.equal((await text()).split('\n').length, 2, 'one line')
})

t.test('continues in memory while the disk refuses, says so once, and writes all of it later', async (t) => {
  const { open, file, lines } = journalIn(t)
  const journal = open()
  t.testdir({ 'journal.jsonl': {} })
  journal.record(note('a'))
  await journal.close()
  journal.record(note('b'))
  await journal.close()
  t.equal(journal.unwritten(), 2)
  t.equal(journal.list({ limit: 10 }).length, 2)
  t.equal(lines.filter((line) => line.startsWith('<3>')).length, 1)
  await rm(file, { recursive: true })
  journal.record(note('c'))
  await journal.close()
  t.equal(journal.unwritten(), 0)
  t.equal(open().list({ limit: 10 }).length, 3)
})

t.test('pages by number: entries of one millisecond are each seen once, even across restarts', async (t) => {
  const { open } = journalIn(t)
  for (const run of ['a', 'b']) {
    const journal = open()
    for (let n = 0; n < 5; n++) journal.record(note(`${run}${n}`))
    await journal.close()
  }
  const journal = open()
  const seen: string[] = []
  let before: number | undefined
  for (let page = 0; page < 4; page++) {
    const entries = journal.list({ limit: 3, ...(before === undefined ? {} : { before }) })
    seen.push(...entries.map(({ what }) => what))
    before = entries.at(-1)?.seq
  }
  t.same(seen, ['b4', 'b3', 'b2', 'b1', 'b0', 'a4', 'a3', 'a2', 'a1', 'a0'])
})

t.test('numbers entries that an older version wrote, and those that a restored file repeats', async (t) => {
  const { open, file } = journalIn(t)
  const lines = [{}, { seq: 7 }, { seq: 7 }, { seq: 3 }, { seq: 'x' }, { seq: -1 }]
  await writeFile(
    file,
    lines.map((line) => `${JSON.stringify({ at: 1, who: 'a', from: 'b', what: 'c', ...line })}\n`).join(''),
  )
  const journal = open()
  t.same(
    journal.list({ limit: 10 }).map(({ seq }) => seq),
    [11, 10, 9, 8, 7, 1],
  )
})

t.test('refusals evict refusals and no changes, in memory and in the file', async (t) => {
  const { open } = journalIn(t, 20, 5)
  const journal = open()
  for (let n = 0; n < 10; n++) journal.record(note(`change ${n}`))
  for (let n = 0; n < 200; n++) {
    journal.record({ ...note(`refusal ${n}`), kind: 'refusal' })
    if (n % 7 === 0) await journal.close()
  }
  await journal.close()
  for (const list of [journal, open()]) {
    const all = list.list({ limit: 100 }).map(({ what }) => what)
    t.equal(all.filter((what) => what.startsWith('change')).length, 10)
    t.same(all.slice(0, 5), ['refusal 199', 'refusal 198', 'refusal 197', 'refusal 196', 'refusal 195'])
    t.equal(all.length, 15)
  }
})

t.test('returns all entries as lines, oldest first, without those that come meanwhile', async (t) => {
  const { open } = journalIn(t, 1000)
  const journal = open()
  for (let n = 0; n < 450; n++) journal.record(note(`note ${n}`))
  let text = ''
  let parts = 0
  for (const part of journal.lines()) {
    text += part
    parts++
    journal.record(note('meanwhile'))
  }
  const entries = text.trimEnd().split('\n')
  t.same([entries.length, parts], [450, 3])
  t.match(JSON.parse(entries[0] ?? ''), { seq: 1, what: 'note 0' })
  t.match(JSON.parse(entries.at(-1) ?? ''), { seq: 450 })
  await journal.close()
})

t.test('only the beginnings of long texts are held', async (t) => {
  const { open } = journalIn(t, 200)
  const long = (at: number) => Buffer.from(`${at} ${'x'.repeat(30_000)}`).toString()
  const bytes = await heapBytesOf(async () => {
    const journal = open()
    for (let at = 0; at < 200; at++)
      journal.record({ who: long(at), from: long(at), what: long(at), target: long(at), detail: long(at) })
    await journal.close()
    return journal
  })
  t.ok(bytes < 200 * 3 * (4 * 512 + 2048 + 128), `${bytes / 200} bytes each`)
})
