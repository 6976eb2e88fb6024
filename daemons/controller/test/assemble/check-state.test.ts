/** Tests of assemble/commands.ts: state that a controller could not start with. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Test, t } from 'tap'
import { checkState } from '../../assemble/backup.ts'
import { importFirstSite } from '../../io/site-import.ts'
import { bytesOf, parts } from '../io/store-parts.ts'

/** A folder with a site, after a change to its database. */
async function folderWith(t: Test, change: string): Promise<string> {
  const folder = t.testdir()
  await importFirstSite(folder, bytesOf({ site: [{ name: 'Mill' }], device: [{ name: 'Rack', config: {} }] }), parts)
  const database = new DatabaseSync(join(folder, 'controller.db'))
  database.exec(change)
  database.close()
  return folder
}

t.test('accepts a site as it is, one that lacks a newer column, and a folder without one', async (t) => {
  checkState(await folderWith(t, 'PRAGMA user_version'))
  checkState(await folderWith(t, 'ALTER TABLE device DROP COLUMN firmware'))
  checkState(t.testdir())
})

for (const [what, change, message] of [
  ['of another program', 'PRAGMA application_id = 7', /controller\.db in the backup is a database of another program/],
  ['of a newer version', 'PRAGMA user_version = 99', /controller\.db in the backup was written by a newer version/],
  ['with a row that cannot be read', `UPDATE device SET config = '{"half'`, /controller\.db in the backup is damaged/],
] as const)
  t.test(`refuses a database ${what}`, async (t) => {
    const folder = await folderWith(t, change)
    t.throws(() => checkState(folder), { code: 'bad_backup', message })
  })

t.test('refuses a file that is not an audit', async (t) => {
  const folder = await folderWith(t, 'PRAGMA user_version')
  const audit = new DatabaseSync(join(folder, 'audit.db'))
  audit.exec('CREATE TABLE request_history (id INTEGER PRIMARY KEY)')
  audit.close()
  t.throws(() => checkState(folder), { code: 'bad_backup', message: /audit\.db in the backup is no audit/ })
  writeFileSync(join(folder, 'audit.db'), '')
  t.throws(() => checkState(folder), { code: 'bad_backup' })
})
