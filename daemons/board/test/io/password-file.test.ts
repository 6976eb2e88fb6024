/** Tests of io/state-files.ts. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '#kit/log.ts'
import { createPasswordFile } from '../../io/state-files.ts'

function folderOf(t: { teardown(run: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'password-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

t.test('is there after a restart, and gone once it is removed', async (t) => {
  const folder = folderOf(t)
  const open = () => createPasswordFile(folder, silentLog)
  t.equal(await open().load(), undefined)
  await open().save({ hash: '$argon2id$x', setAt: 7 })
  t.same(await open().load(), { hash: '$argon2id$x', setAt: 7 })
  t.equal(statSync(join(folder, 'users.json')).mode & 0o077, 0, 'nobody else can read it')
  await open().save(undefined)
  t.equal(await open().load(), undefined)
})

t.test('a board that was protected under another name is not left open', async (t) => {
  const folder = folderOf(t)
  const file = createPasswordFile(folder, silentLog)
  await file.save({ hash: '$argon2id$x', setAt: 7 })
  const path = join(folder, 'users.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace('"admin"', '"bob"'))
  await t.rejects(createPasswordFile(folder, silentLog).load(), { code: 'store_damaged' })
})
