/** State files: saved values are there, damaged files are set aside, and no failure loses the old version. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createStore, type Disk, systemDisk } from '#kit/store/store.ts'

interface Counted {
  n: number
}

function check(value: unknown): Counted {
  if (typeof (value as Counted)?.n !== 'number') throw new Fault('bad_value', 'expected {n: number}')
  return value as Counted
}

function storeIn(t: Test, disk: Disk = systemDisk) {
  const folder = join(t.testdirName, 'state')
  const lines: string[] = []
  const log = createLog({ level: 'debug', journal: true, stream: { write: (line) => lines.push(line) } })
  const open = () =>
    createStore({ folder, name: 'x', check, initial: () => ({ n: 0 }), log, clock: fakeClock(1_900_000_000_000), disk })
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const write = (name: string, text: string) => writeFile(join(folder, name), text)
  return { open, read, write, lines, files: async () => (await readdir(folder)).sort() }
}

/** A disk whose named call fails with a code. */
function failing(call: keyof Disk, code: string, only: (path: string) => boolean = () => true): Disk {
  const real = systemDisk[call] as (...args: string[]) => Promise<unknown>
  return {
    ...systemDisk,
    [call]: async (...args: string[]) => {
      if (only(args[0] ?? '')) throw Object.assign(new Error(`${code}: ${call}`), { code })
      return real(...args)
    },
  }
}

t.beforeEach((t) => void t.testdir({ state: {} }))

t.test('starts with the initial value and writes nothing before the first save', async (t) => {
  const at = storeIn(t)
  const store = at.open()
  t.equal(store.state, 'unloaded')
  t.same(await store.load(), { n: 0 })
  t.equal(store.state, 'initial')
  t.same(await at.files(), [])
})

t.test('returns the saved value, and keeps the previous version', async (t) => {
  const at = storeIn(t)
  await at.open().save({ n: 1 })
  t.same(await at.files(), ['x.json'])
  await at.open().save({ n: 2 })
  const store = at.open()
  t.same(await store.load(), { n: 2 })
  t.equal(store.state, 'file')
  t.same(await at.files(), ['x.json', 'x.json.bak'])
  t.same(JSON.parse(await at.read('x.json.bak')), { n: 1 })
})

t.test('writes one at a time, the last wins, and every caller is answered', async (t) => {
  const at = storeIn(t)
  const store = at.open()
  const value = { n: 0 }
  const saves: Promise<void>[] = []
  for (value.n = 1; value.n <= 50; value.n++) saves.push(store.save(value))
  await Promise.all(saves)
  t.same(JSON.parse(await at.read('x.json')), { n: 50 }, 'the value at the time of the call')
  t.same(JSON.parse(await at.read('x.json.bak')), { n: 1 }, 'those between were never written')
})

t.test('sets a damaged file aside, says so, and uses the backup', async (t) => {
  const at = storeIn(t)
  await at.open().save({ n: 1 })
  await at.open().save({ n: 2 })
  await at.write('x.json', '{"n": 2')
  const store = at.open()
  t.same(await store.load(), { n: 1 })
  t.equal(store.state, 'backup')
  t.same(await at.files(), ['x.json.bak', 'x.json.damaged-20300317T174640Z'])
  t.equal(await at.read('x.json.damaged-20300317T174640Z'), '{"n": 2')
  t.match(at.lines[0], /^<3>state file damaged, its backup is used file=\S+ aside=\S+ fault=/)
  await store.save({ n: 3 })
  t.same(JSON.parse(await at.read('x.json.bak')), { n: 1 }, 'the good backup stays until there is a better one')
})

t.test('treats a file of another shape as damaged', async (t) => {
  const at = storeIn(t)
  await at.open().save({ n: 1 })
  await at.open().save({ n: 2 })
  await at.write('x.json', '{"m": 2}')
  t.same(await at.open().load(), { n: 1 })
})

t.test('uses the backup of a missing file, also at the second start', async (t) => {
  const at = storeIn(t)
  await at.open().save({ n: 1 })
  await at.open().save({ n: 2 })
  await at.write('x.json', 'x')
  await at.open().load()
  t.same(await at.open().load(), { n: 1 })
  t.match(at.lines[1], /state file missing, its backup is used/)
})

t.test('refuses to start afresh over a damaged file without a good backup, every time', async (t) => {
  const at = storeIn(t)
  await at.write('x.json', 'x')
  await at.write('x.json.bak', 'y')
  for (const _ of [1, 2]) await t.rejects(at.open().load(), { code: 'store_damaged', message: /plantroom restore/ })
  t.same(await at.files(), ['x.json', 'x.json.bak'])
})

t.test('says what is wrong with a damaged file, without quoting it', async (t) => {
  const at = storeIn(t)
  await at.write('x.json', '{"m": 2}')
  await t.rejects(at.open().load(), { message: /x\.json is damaged \(expected \{n: number\}\) and/ })
  await at.write('x.json', '{"n": 2, "secret": hunter2}')
  await t.rejects(at.open().load(), { message: /is damaged \(it is not JSON[^"]*\) and/ })
  await at.write('x.json.bak', '{"n": 1}')
  await at.open().load()
  t.notMatch(at.lines.join(), /hunt|secret/)
})

t.test('removes leftovers of a crash', async (t) => {
  const at = storeIn(t)
  await at.write('x.json.tmp', '{"n": 9}')
  t.same(await at.open().load(), { n: 0 })
  t.same(await at.files(), [])
})

t.test('sets nothing aside when the disk cannot be read', async (t) => {
  t.testdir({ state: { 'x.json': {}, 'x.json.bak': '{"n": 1}' } })
  const at = storeIn(t)
  await t.rejects(at.open().load(), { code: 'store_unreadable', message: /EISDIR/ })
  t.same(await at.files(), ['x.json', 'x.json.bak'])
})

for (const [call, code] of [
  ['open', 'ENOSPC'],
  ['rename', 'EIO'],
  ['link', 'ENOSPC'],
] as const)
  t.test(`keeps the old file and leaves no other when ${call} answers ${code}`, async (t) => {
    const at = storeIn(t)
    await at.open().save({ n: 1 })
    const store = storeIn(t, failing(call, code)).open()
    const why = code === 'ENOSPC' ? 'the disk is full' : 'the disk answered EIO'
    await t.rejects(store.save({ n: 2 }), {
      code: 'store_write_failed',
      message: new RegExp(why),
      details: { errno: code },
    })
    t.same(await at.files(), ['x.json'])
    t.same(await at.open().load(), { n: 1 })
  })

t.test('copies the backup if the file system has no hard links', async (t) => {
  const at = storeIn(t, failing('link', 'EPERM'))
  await at.open().save({ n: 1 })
  await at.open().save({ n: 2 })
  t.same(JSON.parse(await at.read('x.json.bak')), { n: 1 })
  t.same(await at.files(), ['x.json', 'x.json.bak'])
})

t.test('saves again after a failed save', async (t) => {
  let isFull = true
  const at = storeIn(
    t,
    failing('open', 'ENOSPC', () => isFull),
  )
  const store = at.open()
  await t.rejects(store.save({ n: 1 }), { code: 'store_write_failed' })
  isFull = false
  await store.save({ n: 2 })
  t.same(await store.load(), { n: 2 })
})

t.test('writes files only for their owner', async (t) => {
  const at = storeIn(t)
  await at.open().save({ n: 1 })
  const { stat } = await import('node:fs/promises')
  t.equal((await stat(join(t.testdirName, 'state', 'x.json'))).mode & 0o777, 0o600)
})
