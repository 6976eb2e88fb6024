/** The ledger: since when, how often, how long; restarts, damaged files, and a disk that refuses. */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { createLog, silentLog } from '#kit/log.ts'
import { houseRows } from '#kit/pure/memory-plan.ts'
import { Ledger, type LedgerEvent, type LedgerState, ledgerStateTable } from '#kit/records/ledger.ts'
import { heapBytesOf, rowOf } from '../heap.ts'

const START = 1_900_000_000_000
const HOLD_MS = 60_000
const RESUME_MS = 120_000

const limits = {
  entries: 100,
  days: 10,
  hold_ms: HOLD_MS,
  resume_ms: RESUME_MS,
  save_ms: 1000,
  save_most_ms: 60_000,
  tell_ms: 250,
  log_lines: 60,
}

type Test = { teardown(run: () => void): void }

function ledgerIn(t: Test, config: Partial<typeof limits> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const lines: string[] = []
  const log = createLog({ level: 'debug', journal: true, stream: { write: (line) => lines.push(line) } })
  const clock = fakeClock(START)
  const open = (on = clock) => new Ledger({ folder, clock: on, log, config: { ...limits, ...config } })
  return { clock, file: join(folder, 'ledger.jsonl'), folder, lines, open }
}

function lost(where = '/dev/ttyS0', sentence = 'The line is unplugged.') {
  return { what: 'line_absent', where, severity: 'fault', sentence } as const
}

const all = { limit: 1000 }

t.test('an entry says since when it lasts, and until when it lasted', async (t) => {
  const { clock, open } = ledgerIn(t)
  const ledger = open()
  ledger.raise(lost())
  clock.advance(5000)
  t.match(ledger.list(all), [
    { id: 1, ...lost(), since: START, until: null, durationMs: 5000, count: 1, ended: null, acknowledgedBy: null },
  ])
  t.same(ledger.openCounts(), { fault: 1, warning: 0, notice: 0 })
  ledger.clear('line_absent', '/dev/ttyS0')
  clock.advance(5000)
  t.match(ledger.list(all), [{ until: START + 5000, durationMs: 5000, ended: 'cleared' }])
  t.same(ledger.openCounts(), { fault: 0, warning: 0, notice: 0 })
  await ledger.close()
})

t.test('numbers may leave gaps, and go on after a restart', async (t) => {
  const { clock, folder } = ledgerIn(t)
  const open = () => new Ledger({ folder, clock, log: silentLog, config: limits, step: () => 3 })
  const ledger = open()
  ledger.raise(lost('/dev/ttyS0'))
  ledger.raise(lost('/dev/ttyS1'))
  await ledger.close()
  const again = open()
  again.raise(lost('/dev/ttyS2'))
  t.same(
    again.list(all).map(({ id }) => id),
    [9, 6, 3],
  )
  await again.close()
})

t.test('a condition that comes back within the hold is the same entry, counted again', async (t) => {
  const { clock, lines, open } = ledgerIn(t)
  const ledger = open()
  for (let time = 0; time < 3; time++) {
    ledger.raise(lost())
    clock.advance(1000)
    ledger.clear('line_absent', '/dev/ttyS0')
    clock.advance(HOLD_MS - 1)
  }
  t.match(ledger.list(all), [{ id: 1, count: 3, since: START, lastAt: START + 2 * (HOLD_MS + 999) }])
  t.equal(lines.length, 1, 'the log has one line')
  clock.advance(1)
  t.match(lines, [/condition opened/, /condition ended .*durationMs=122998 count=3 ended=cleared/])
  ledger.raise(lost())
  t.match(
    ledger.list(all).map(({ id, count }) => [id, count]),
    [
      [2, 1],
      [1, 3],
    ],
  )
  await ledger.close()
})

t.test('devices of one name have entries of their own, over a restart too', async (t) => {
  const { open } = ledgerIn(t)
  const before = open()
  for (const about of ['0a', '0b']) before.raise({ ...lost('Door', `Of ${about}.`), about })
  before.clear('line_absent', 'Door')
  before.clear('line_absent', 'Door', '0a')
  const told = [
    { id: 2, about: '0b', sentence: 'Of 0b.', until: null },
    { id: 1, about: '0a', sentence: 'Of 0a.', until: START },
  ]
  t.match(before.list(all), told)
  await before.close()
  const after = open()
  t.match(after.list(all), told)
  await after.close()
})

t.test('what lasts goes on under the new name of its thing, and is over once the thing is gone', async (t) => {
  const { lines, open } = ledgerIn(t)
  const before = open()
  for (const about of ['0a', '0b']) before.raise({ ...lost('Door'), about })
  before.raise({ ...lost('Door, light'), about: '0a' })
  before.raise({ ...lost('Doorbell'), about: '0a' })
  before.renamed('0a', 'Door', 'Gate')
  const places = (ledger: typeof before) => ledger.list(all).map(({ about, until, where }) => [where, about, until])
  const named = [
    ['Doorbell', '0a', null],
    ['Gate, light', '0a', null],
    ['Door', '0b', null],
    ['Gate', '0a', null],
  ]
  t.same(places(before), named)
  await before.close()
  const after = open()
  t.same(places(after), named, 'over a restart, too')
  after.clear('line_absent', 'Gate, light', '0a')
  after.renamed('0b', 'Door', undefined)
  t.same(
    places(after).map(([, , until]) => until),
    [null, START, START, null],
  )
  // The new name is taken already by an entry about the same thing, which lasts.
  after.renamed('0a', 'Gate', 'Doorbell')
  t.same([places(after)[0], places(after)[3]], [named[0], ['Gate', '0a', START]])
  t.equal(lines.filter((line) => line.includes('opened')).length, 4)
  await after.close()
})

t.test('raising what lasts renews the sentence and counts nothing', async (t) => {
  const { lines, open } = ledgerIn(t)
  const ledger = open()
  ledger.raise(lost())
  ledger.raise(lost('/dev/ttyS0', 'Another program holds it.'))
  t.match(ledger.list(all), [{ count: 1, sentence: 'Another program holds it.' }])
  t.equal(lines.length, 1)
  const { revision } = { revision: ledger.revision() }
  ledger.raise(lost('/dev/ttyS0', 'Another program holds it.'))
  t.equal(ledger.revision(), revision, 'the same again is no change')
  await ledger.close()
})

t.test('what happens in a moment is over at once, and counted while it repeats', async (t) => {
  const { clock, lines, open } = ledgerIn(t)
  const ledger = open()
  const failed = { what: 'macro_failed', where: 'Evening', severity: 'warning', sentence: 'Step 2 failed.' } as const
  ledger.happened(failed)
  t.match(ledger.list(all), [{ until: START, durationMs: 0, count: 1, ended: 'momentary' }])
  clock.advance(30_000)
  ledger.happened(failed)
  t.match(ledger.list(all), [{ until: START + 30_000, durationMs: 30_000, count: 2 }])
  clock.advance(HOLD_MS)
  t.match(lines, [/condition opened/, /condition ended .*count=2/])
  ledger.happened(failed)
  clock.advance(HOLD_MS)
  t.equal(lines.length, 3, 'of what happened once, the log has one line')
  await ledger.close()
})

t.test('a clock that steps back makes no negative duration', async (t) => {
  const { clock, open } = ledgerIn(t)
  const ledger = open()
  ledger.raise(lost())
  clock.advance(4000)
  clock.stepEpoch(-3_600_000)
  ledger.clear('line_absent', '/dev/ttyS0')
  t.match(ledger.list(all), [{ since: START, until: START + 4000 - 3_600_000, durationMs: 4000 }])
  await ledger.close()
})

t.test('a clock that is set for the first time drops nothing of this run', async (t) => {
  const { clock, open } = ledgerIn(t)
  const ledger = open(clock)
  ledger.happened(lost())
  clock.advance(HOLD_MS)
  clock.stepEpoch(40 * 365 * 86_400_000)
  clock.advance(3_600_001)
  ledger.raise(lost('/dev/ttyS1'))
  t.equal(ledger.list(all).length, 2)
  clock.advance(11 * 86_400_000)
  ledger.raise(lost('/dev/ttyS2'))
  t.same(
    ledger.list(all).map(({ where }) => where),
    ['/dev/ttyS2', '/dev/ttyS1'],
    'what is over for more than days goes, what lasts stays',
  )
  await ledger.close()
})

t.test('after a restart, what is seen again continues, and the rest ended with the restart', async (t) => {
  const { clock, lines, open } = ledgerIn(t)
  const first = open()
  first.raise(lost('/dev/ttyS0'))
  first.raise(lost('/dev/ttyS1'))
  first.raise(lost('/dev/ttyS2'))
  first.clear('line_absent', '/dev/ttyS2')
  await first.close()
  clock.advance(10_000)
  const second = open()
  second.raise(lost('/dev/ttyS0'))
  t.match(second.list(all)[2], { id: 1, since: START, until: null, count: 1, durationMs: 10_000 })
  t.equal(second.list(all)[1]?.until, null, 'not known yet')
  lines.length = 0
  clock.advance(RESUME_MS)
  t.match(second.list(all), [
    { id: 3, ended: 'cleared' },
    { id: 2, ended: 'restart', until: START + 130_000, durationMs: 130_000 },
    { id: 1, until: null },
  ])
  t.match(lines, [/condition ended what=line_absent where=\/dev\/ttyS1 .*ended=restart/])
  t.equal(lines.length, 1)
  second.raise(lost('/dev/ttyS1'))
  t.equal(second.list(all)[0]?.id, 4)
  await second.close()
})

t.test('acknowledging keeps the first name, over a restart too', async (t) => {
  const { clock, open } = ledgerIn(t)
  const first = open()
  first.raise(lost())
  clock.advance(1000)
  t.match(first.acknowledge(1, 'ann'), { acknowledgedBy: 'ann', acknowledgedAt: START + 1000 })
  t.match(first.acknowledge(1, 'bob'), { acknowledgedBy: 'ann' })
  t.throws(() => first.acknowledge(7, 'ann'), { code: 'unknown_entry' })
  await first.close()
  const second = open()
  t.match(second.entry(1), { acknowledgedBy: 'ann', acknowledgedAt: START + 1000 })
  await second.close()
})

t.test('lists by what lasts, by place, by severity and by instant', async (t) => {
  const { clock, open } = ledgerIn(t)
  const ledger = open()
  ledger.happened({ what: 'macro_failed', where: 'Evening', severity: 'warning', sentence: 'It failed.' })
  clock.advance(10_000)
  ledger.raise(lost('/dev/ttyUSB0'))
  const ids = (query: object) => ledger.list({ ...all, ...query }).map(({ id }) => id)
  t.same(ids({ open: true }), [2])
  t.same(ids({ open: false }), [1])
  t.same(ids({ where: 'usb' }), [2])
  t.same(ids({ severity: 'warning' }), [1])
  t.same(ids({ since: START + 1 }), [2])
  t.same(ids({ what: 'macro_failed' }), [1])
  t.same(ids({ before: 2 }), [1])
  t.same(ids({ limit: 1 }), [2])
  t.same(ledger.openCounts(({ where }) => where !== '/dev/ttyUSB0').fault, 0)
  await ledger.close()
})

t.test(
  'entries that only rest do not keep out one that lasts: the oldest of them is over before its time',
  async (t) => {
    const { lines, open } = ledgerIn(t, { hold_ms: 86_400_000, log_lines: 1000 })
    const ledger = open()
    for (let at = 0; at < limits.entries; at++) {
      ledger.raise(lost(`/dev/ttyUSB${at}`))
      ledger.clear('line_absent', `/dev/ttyUSB${at}`)
    }
    for (let at = 0; at < 3; at++) ledger.raise(lost(`/dev/ttyS${at}`))
    t.equal(ledger.leftOut(), 0)
    t.same(ledger.openCounts(), { fault: 3, warning: 0, notice: 0 })
    t.equal(ledger.list(all).length, limits.entries)
    t.same(
      lines.filter((line) => line.includes('condition ended')).map((line) => line.match(/where=(\S+)/)?.[1]),
      ['/dev/ttyUSB0', '/dev/ttyUSB1', '/dev/ttyUSB2'],
      'it is told that they are over',
    )
    ledger.raise(lost('/dev/ttyUSB0'))
    t.match(ledger.list(all)[0], { id: limits.entries + 4, where: '/dev/ttyUSB0', count: 1 }, 'a new entry')
    await ledger.close()
  },
)

t.test('when it is full, the oldest that is over goes, and what finds no room is counted', async (t) => {
  const { clock, open } = ledgerIn(t, { entries: 100 })
  const ledger = open()
  ledger.happened(lost('first'))
  clock.advance(HOLD_MS)
  for (let at = 0; at < 100; at++) ledger.raise(lost(`line ${at}`))
  t.equal(ledger.list(all).length, 100)
  t.equal(ledger.list(all).at(-1)?.where, 'line 0')
  t.ok(ledger.keptSince() >= START, 'it says since when it is whole')
  ledger.raise(lost('one more'))
  t.equal(ledger.leftOut(), 1)
  await ledger.close()
})

t.test('a flood of conditions writes so many log lines a minute', async (t) => {
  const { clock, lines, open } = ledgerIn(t, { log_lines: 3 })
  const ledger = open()
  for (let at = 0; at < 50; at++) ledger.raise(lost(`line ${at}`))
  t.equal(lines.length, 3)
  clock.advance(60_000)
  t.match(lines.at(-1), /conditions not logged count=47/)
  await ledger.close()
})

t.test('changes within save_ms share one write', async (t) => {
  const { clock, file, open } = ledgerIn(t)
  const ledger = open()
  ledger.raise(lost('/dev/ttyS0'))
  const written = () => readFileSync(file, 'utf8').split('\n').length - 1
  await until(() => written() === 2)
  for (let at = 0; at < 20; at++) {
    ledger.raise(lost('/dev/ttyS1'))
    ledger.clear('line_absent', '/dev/ttyS1')
  }
  t.equal(written(), 2, 'the head and the first entry')
  await until(
    () => written() === 3,
    () => clock.run(1000),
  )
  await ledger.close()
  t.match(open().list(all), [{ where: '/dev/ttyS1', count: 20 }, { where: '/dev/ttyS0' }])
})

t.test('what changes again and again is written ever more seldom, and a new entry soon', async (t) => {
  const { clock, file, open } = ledgerIn(t, { hold_ms: 86_400_000 })
  const ledger = open()
  const written = () => readFileSync(file, 'utf8').split('\n').length - 1
  ledger.raise(lost())
  await until(() => written() === 2)
  /** Seconds of a plug that is loose. @returns lines that it cost */
  async function flap(seconds: number, diskMs = 2): Promise<number> {
    const before = written()
    for (let second = 0; second < seconds; second++) {
      ledger.clear('line_absent', '/dev/ttyS0')
      ledger.raise(lost())
      await paused(clock, 1, diskMs)
    }
    return written() - before
  }
  t.ok((await flap(300)) <= 11, 'after 1, 2, 4 s and so on')
  t.ok((await flap(600)) <= 11, 'once a minute')
  const before = written()
  ledger.raise(lost('/dev/ttyS1'))
  // The disk is slow now and then; what is known already would wait for a minute.
  for (let second = 0; second < 20 && written() === before; second++) await paused(clock, 1, 100)
  t.ok(written() > before, 'the new one waits for save_ms')
  await paused(clock, 200)
  t.ok((await flap(30, 30)) >= 2, 'after a pause it is told soon again')
  await ledger.close()
  t.match(open().list(all), [
    { where: '/dev/ttyS1', count: 1 },
    { where: '/dev/ttyS0', count: 931 },
  ])
})

t.test('a torn tail, a line of anything and a missing head are survived', async (t) => {
  const { file, lines, open } = ledgerIn(t)
  const first = open()
  for (const where of ['a', 'b']) first.raise(lost(where))
  await first.close()
  appendFileSync(file, 'null\n{"id":"x"}\n{"id":3,"what":1}\n{"id":4,"wha')
  const second = open()
  t.same(
    second.list(all).map(({ where }) => where),
    ['b', 'a'],
  )
  t.match(
    lines.filter((line) => line.includes('ledger')),
    [/torn line/, /lines that do not read.*lines=3/],
  )
  second.raise(lost('c'))
  await second.close()
  truncateSync(file, readFileSync(file).length - 5)
  t.equal(open().list(all).length, 2, 'the line that was cut is lost, the others are there')
  const [, ...rest] = readFileSync(file, 'utf8').split('\n')
  writeFileSync(file, rest.join('\n'))
  const third = open()
  t.equal(third.list(all).length, 2)
  t.equal(third.keptSince(), START)
})

t.test('a disk that refuses is an entry of its own, and all is written once it takes writes again', async (t) => {
  const { clock, file, folder, lines, open } = ledgerIn(t)
  const ledger = open()
  // A folder of the temporary file's name can neither be removed nor written.
  mkdirSync(join(folder, 'ledger.jsonl.tmp', 'in the way'), { recursive: true })
  ledger.raise(lost())
  await until(() => ledger.list({ ...all, what: 'state_unwritable' }).length === 1)
  t.match(ledger.list({ ...all, open: true }), [{ what: 'state_unwritable', where: 'ledger.jsonl' }, lost()])
  t.match(lines.join(''), /ledger cannot be written/)
  rmSync(join(folder, 'ledger.jsonl.tmp'), { recursive: true })
  await until(
    () => ledger.list({ ...all, open: true }).length === 1,
    () => clock.run(1000),
  )
  await ledger.close()
  t.ok(readFileSync(file, 'utf8').includes('line_absent'))
})

t.test('filled with the longest entries it takes no more memory than its row', async (t) => {
  const { open } = ledgerIn(t, { entries: 2000, log_lines: 1, save_ms: 600_000 })
  const bytes = await heapBytesOf(() => {
    const ledger = open()
    for (let at = 0; at < 2000; at++)
      ledger.raise({
        ...lost(`ж${at} ${'ж'.repeat(256)}`, `ж${at} ${'ж'.repeat(512)}`),
        ...{ what: `${'ж'.repeat(64)}`, about: 'ж'.repeat(16) },
      })
    return ledger
  })
  const row = rowOf(houseRows(), 'the ledger', { 'ledger.entries': 2000 })
  t.ok(bytes < row.allBytes, `${Math.round(bytes / 2000)} bytes an entry`)
})

t.test('each state goes where the table says', (t) => {
  const rows: Record<LedgerState, Partial<Record<LedgerEvent, LedgerState>>> = {
    open: { cleared: 'resting' },
    resting: { raised: 'open', heldLong: 'ended' },
    former: { raised: 'open', cleared: 'resting', heldLong: 'ended' },
    ended: {},
  }
  t.same(ledgerStateTable, rows)
  t.end()
})

/** Waits for work of the disk. */
/** Lets seconds pass, in each of which the disk has some time. */
async function paused(clock: FakeClock, seconds: number, diskMs = 2): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.run(1000)
    await new Promise((resolve) => setTimeout(resolve, diskMs))
  }
}

async function until(isSo: () => boolean, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
  const isNow = () => {
    try {
      return isSo()
    } catch {
      return false
    }
  }
  while (!isNow()) {
    await meanwhile()
    await new Promise((resolve) => setImmediate(resolve))
  }
}
