/** Tests of core/backups.ts: one at a time, confirmed by name, and forgotten in time. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type BackupEvent, type BackupFacts, type BackupState, Backups, backupStateTable } from '../../core/backups.ts'

const facts: BackupFacts = {
  ...{ madeAt: 5000, version: '1.2.3', files: 4, sizeBytes: 100, hasAllSecrets: false },
  ...{ site: 'Mill', zones: 3, people: 1 },
}

function stage() {
  const clock = fakeClock()
  const seen: { commits: object[]; drops: number; restarts: number; records: string[] } = {
    ...{ commits: [], drops: 0, restarts: 0, records: [] },
  }
  const world: { packing: PromiseWithResolvers<BackupFacts>; fault: Fault | undefined } = {
    packing: Promise.withResolvers(),
    fault: undefined,
  }
  const backups = new Backups({
    clock,
    disk: {
      pack(onProgress) {
        onProgress({ doneBytes: 10, ofBytes: 100 })
        return world.packing.promise
      },
      open: () => (async function* () {})(),
      async take(bytes) {
        for await (const _ of bytes);
      },
      async check() {
        if (world.fault) throw world.fault
        return facts
      },
      commit: (note) => void seen.commits.push(note),
      former: () => undefined,
      drop: () => void seen.drops++,
    },
    siteName: () => 'Mill',
    restart: () => void seen.restarts++,
    record: (who, what) => void seen.records.push(`${who}: ${what}`),
    limits: { bytes: 1000, keptMs: 60_000 },
  })
  return { backups, clock, seen, world }
}

const nothing = async function* () {}

const states = Object.keys(backupStateTable) as BackupState[]
const rows: [BackupState, BackupEvent, BackupState][] = [
  ...(['idle', 'made', 'checked'] as const).flatMap((state): [BackupState, BackupEvent, BackupState][] => [
    [state, 'makeAsked', 'making'],
    [state, 'sent', 'taking'],
    [state, 'confirmed', 'restarting'],
  ]),
  ['made', 'dropped', 'idle'],
  ['checked', 'dropped', 'idle'],
  ['making', 'packed', 'made'],
  ['making', 'failed', 'idle'],
  ['taking', 'whole', 'checking'],
  ['taking', 'failed', 'idle'],
  ['checking', 'passed', 'checked'],
  ['checking', 'failed', 'idle'],
]

t.test('the table has these rows and no others', async (t) => {
  const listed = states.flatMap((state) =>
    Object.entries(backupStateTable[state]).map(([event, next]) => `${state} ${event} ${next}`),
  )
  t.same(listed.sort(), rows.map((row) => row.join(' ')).sort())
})

t.test('one is made at a time, with its progress, and can be read until it is forgotten', async (t) => {
  const { backups, clock, seen, world } = stage()
  t.throws(() => backups.read(), { code: 'no_backup' })
  backups.make('ada')
  t.match(backups.view(), { state: 'making', progress: { doneBytes: 10, ofBytes: 100 } })
  t.throws(() => backups.make('ben'), { code: 'backup_busy' })
  await t.rejects(backups.take(nothing()), { code: 'backup_busy' })
  t.throws(() => backups.undo('Mill', 'ben'), { code: 'backup_busy' })
  world.packing.resolve(facts)
  await clock.run(0)
  t.match(backups.view(), { state: 'made', facts: { site: 'Mill' }, progress: null })
  t.equal(backups.read().facts, facts)
  t.same(seen.records, ['ada: backup made'])
  const drops = seen.drops
  await clock.run(60_000)
  t.match(backups.view(), { state: 'idle', facts: null })
  t.equal(seen.drops, drops + 1)
})

t.test('one that could not be made says why, until the next', async (t) => {
  const { backups, clock, world } = stage()
  backups.make('ada')
  world.packing.reject(new Fault('backup_failed', 'There is no room on the disk.'))
  await clock.run(0)
  t.match(backups.view(), { state: 'idle', failed: 'There is no room on the disk.' })
  backups.make('ada')
  t.equal(backups.view().failed, null)
})

t.test('one that is refused changes nothing, and cannot be confirmed', async (t) => {
  const { backups, seen, world } = stage()
  world.fault = new Fault('bad_backup', 'it is damaged')
  await t.rejects(backups.take(nothing()), {
    code: 'bad_backup',
    message: 'This file is not restored, and nothing was changed: it is damaged.',
  })
  t.match(backups.view(), { state: 'idle', facts: null })
  t.throws(() => backups.restore('Mill', 'ada'), { code: 'no_backup' })
  t.same(seen.commits, [])
})

t.test('what was checked is put in place by the typed name alone, and the answer gets out first', async (t) => {
  const { backups, clock, seen } = stage()
  await backups.take(nothing())
  t.match(backups.view(), { state: 'checked', facts: { people: 1 } })
  for (const name of ['', 'mill', 'Mill 2', 'ada'])
    t.throws(() => backups.restore(name, 'ada'), { code: 'bad_fields', details: { fields: [{ field: 'name' }] } })
  t.same(seen.commits, [])
  backups.restore(' Mill ', 'ada')
  t.match(seen.commits, [{ by: 'ada', what: 'backup', madeAt: 5000 }])
  t.equal(seen.restarts, 0)
  await clock.run(500)
  t.equal(seen.restarts, 1)
  await clock.run(60_000)
  t.equal(backups.view().state, 'restarting', 'it is not forgotten any more')
  t.throws(() => backups.make('ada'), { code: 'backup_busy' })
})

t.test('one that nobody confirms is forgotten', async (t) => {
  const { backups, clock } = stage()
  await backups.take(nothing())
  await clock.run(60_000)
  t.equal(backups.view().state, 'idle')
  await backups.take(nothing())
  backups.discard()
  t.equal(backups.view().state, 'idle')
  backups.discard()
})
