/** Folders for state: who has access. */
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { makeFolder } from '#kit/store/store.ts'

const modeOf = (path: string) => statSync(path).mode & 0o777

t.test('is only for its owner; created parents can be traversed, whatever the umask', async (t) => {
  const folder = t.testdir()
  const umask = process.umask(0o077)
  t.teardown(() => void process.umask(umask))
  await makeFolder(join(folder, 'a/b/c'))
  t.same(
    ['a', 'a/b', 'a/b/c'].map((path) => modeOf(join(folder, path))),
    [0o755, 0o755, 0o700],
  )
})

t.test('leaves an existing folder unchanged', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'a'), { mode: 0o750 })
  await makeFolder(join(folder, 'a'))
  t.equal(modeOf(join(folder, 'a')), 0o750)
})

t.test('fails if nothing can be created, and does not try for ever', async (t) => {
  await t.rejects(makeFolder('/proc/plantroom/state'), { code: 'ENOENT' })
  await t.rejects(makeFolder(join(t.testdir({ file: '' }), 'file/state')), { code: 'ENOTDIR' })
})
