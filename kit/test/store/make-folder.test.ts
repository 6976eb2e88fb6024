/** Folders for state: who may pass, and whose they are. */
import { chownSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { belongToFolder, makeFolder } from '#kit/store/whole-file.ts'

const modeOf = (path: string) => statSync(path).mode & 0o777
const notRoot = process.geteuid?.() === 0 ? false : 'only root gives files to others'

t.test('is for its owner alone; what was missing above it is passed through, whatever the umask', async (t) => {
  const folder = t.testdir()
  const umask = process.umask(0o077)
  t.teardown(() => void process.umask(umask))
  await makeFolder(join(folder, 'a/b/c'))
  t.same(
    ['a', 'a/b', 'a/b/c'].map((path) => modeOf(join(folder, path))),
    [0o755, 0o755, 0o700],
  )
})

t.test('leaves a folder that is there as it is', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'a'), { mode: 0o750 })
  await makeFolder(join(folder, 'a'))
  t.equal(modeOf(join(folder, 'a')), 0o750)
})

t.test('fails where nothing can be made, and does not try for ever', async (t) => {
  await t.rejects(makeFolder('/proc/plantroom/state'), { code: 'ENOENT' })
  await t.rejects(makeFolder(join(t.testdir({ file: '' }), 'file/state')), { code: 'ENOTDIR' })
})

t.test('what root makes belongs to the owner of what it stands in', { skip: notRoot }, async (t) => {
  const folder = t.testdir()
  chownSync(folder, 64_123, 64_124)
  await makeFolder(join(folder, 'a/b'))
  for (const path of ['a', 'a/b']) {
    const { uid, gid } = statSync(join(folder, path))
    t.same([uid, gid], [64_123, 64_124], path)
  }
  chownSync(join(folder, 'a/b'), 0, 0)
  belongToFolder(join(folder, 'a/b'))
  t.equal(statSync(join(folder, 'a/b')).uid, 64_123)
})
