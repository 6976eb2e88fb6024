/** Folders for state: who may pass. */
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { makeFolder } from '#kit/store/store.ts'

const modeOf = (path: string) => statSync(path).mode & 0o777

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
