/** Tests of store/restore.ts: a state is replaced as a whole, wherever the power is cut. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  commitRestore,
  dropDrafts,
  finishRestore,
  formerState,
  LOCK_FILE,
  makeNewState,
  type SwapDisk,
  takeRestoreNote,
} from '../../store/restore.ts'

const note = { by: 'ada', at: 2000, what: 'backup', madeAt: 1000 } as const

/** Names and contents of a state, the lock and what belongs to restores left out. */
function stateOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const files = names.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
  return Object.fromEntries(
    files
      .filter((path) => path !== LOCK_FILE && !path.startsWith('restore/'))
      .sort()
      .map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
  )
}

const OLD = { 'site.db': 'old site', 'old.json': '{}', 'sub/a': 'old a' }
const NEW = { 'site.db': 'new site', 'new.json': '[]', 'sub/b': 'new b' }

function fill(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

function prepared(folder: string): string {
  mkdirSync(folder)
  fill(folder, { ...OLD, [LOCK_FILE]: '' })
  fill(makeNewState(folder), NEW)
  return folder
}

/** A disk whose power is cut before its n-th change. */
function cutAt(n: number): SwapDisk & { count(): number } {
  let count = 0
  const step = () => {
    if (count++ === n) throw new Error('the power is cut')
  }
  return {
    count: () => count,
    rename(from, to) {
      step()
      renameSync(from, to)
    },
    write(path, text) {
      step()
      writeFileSync(path, text)
    },
    remove(path) {
      step()
      rmSync(path, { recursive: true, force: true })
    },
  }
}

t.test('what is prepared takes the place of the state, and what was there is kept', async (t) => {
  const folder = prepared(join(t.testdir(), 'state'))
  t.equal(formerState(folder), undefined)
  commitRestore(folder, note)
  t.same(stateOf(folder), OLD, 'not before the folder is locked')
  finishRestore(folder)
  t.same(stateOf(folder), NEW)
  t.same(stateOf(join(folder, 'restore/before')), OLD)
  t.match(formerState(folder), { by: 'ada', at: 2000, what: 'backup', madeAt: 1000 })
  t.ok(existsSync(join(folder, LOCK_FILE)))
  t.match(takeRestoreNote(folder), { by: 'ada' })
  t.equal(takeRestoreNote(folder), undefined, 'it is told once')
  t.same(readdirSync(join(folder, 'restore')).sort(), ['before', 'done.json'])
})

t.test('it is taken back, and back again', async (t) => {
  const folder = prepared(join(t.testdir(), 'state'))
  t.throws(() => commitRestore(folder, { ...note, what: 'undo' }), { code: 'nothing_to_undo' })
  commitRestore(folder, note)
  finishRestore(folder)
  fill(folder, { 'since.json': '1' })
  for (const [now, before] of [
    [OLD, { ...NEW, 'since.json': '1' }],
    [{ ...NEW, 'since.json': '1' }, OLD],
  ]) {
    commitRestore(folder, { ...note, what: 'undo' })
    finishRestore(folder)
    t.same(stateOf(folder), now)
    t.same(stateOf(join(folder, 'restore/before')), before)
  }
})

t.test('what nobody decided on is gone after the next start', async (t) => {
  const folder = prepared(join(t.testdir(), 'state'))
  fill(folder, { 'restore/sent.tar.gz': 'half' })
  finishRestore(folder)
  t.same(stateOf(folder), OLD)
  t.same(readdirSync(join(folder, 'restore')), [])
  commitRestore(prepared(join(t.testdirName, 'other')), note)
  dropDrafts(join(t.testdirName, 'other'))
  finishRestore(join(t.testdirName, 'other'))
  t.same(stateOf(join(t.testdirName, 'other')), NEW, 'what was decided on is not dropped')
})

for (const what of ['backup', 'undo'] as const)
  t.test(`wherever the power is cut, it is all of the one or all of the other: ${what}`, async (t) => {
    const whole = join(t.testdir(), 'whole')
    prepared(whole)
    if (what === 'undo') {
      commitRestore(whole, note)
      finishRestore(whole)
    }
    const [before, after] = what === 'undo' ? [NEW, OLD] : [OLD, NEW]
    let changes = 0
    for (let n = 0; ; n++) {
      const folder = join(t.testdirName, `cut-${n}`)
      cpSync(whole, folder, { recursive: true })
      const disk = cutAt(n)
      try {
        commitRestore(folder, { ...note, what }, disk)
        finishRestore(folder, disk)
        changes = disk.count()
        break
      } catch (error) {
        t.match(error, { message: 'the power is cut' })
      }
      // The next start may be cut too, at its first change or at its second.
      for (const again of [0, 1])
        try {
          finishRestore(folder, cutAt(again))
        } catch {}
      finishRestore(folder)
      const decided = n > 0
      t.same(stateOf(folder), decided ? after : before, `cut before change ${n}`)
      if (decided) t.same(stateOf(join(folder, 'restore/before')), before, `kept, cut before change ${n}`)
    }
    t.ok(changes > 10, `${changes} changes`)
  })

t.test('a plan that cannot be read stops the start, and changes nothing', async (t) => {
  const folder = prepared(join(t.testdir(), 'state'))
  fill(folder, { 'restore/plan.json': '{"phase":' })
  t.throws(() => finishRestore(folder), { code: 'restore_unfinished', message: /no plan of a restore/ })
  t.same(stateOf(folder), OLD)
})

t.test('a disk that refuses is said, and the next start goes on', async (t) => {
  const folder = prepared(join(t.testdir(), 'state'))
  commitRestore(folder, note)
  const full = Object.assign(new Error('no room'), { code: 'ENOSPC' })
  const disk: SwapDisk = {
    rename() {
      throw full
    },
    write() {},
    remove() {},
  }
  t.throws(() => finishRestore(folder, disk), {
    code: 'restore_unfinished',
    message: /could not be finished \(ENOSPC\)/,
  })
  finishRestore(folder)
  t.same(stateOf(folder), NEW)
})
