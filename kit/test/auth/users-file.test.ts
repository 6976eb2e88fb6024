/** Tests of auth/users-file.ts. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '#kit/log.ts'
import { createUsersFile } from '../../auth/users-file.ts'

const ann = { username: 'ann', role: 'admin' as const, passwordHash: 'x', createdAt: 1 }
const none = { version: 1 as const, users: [] }

t.test('a missing or emptied list of users is not a first start', async (t) => {
  const folder = t.testdir()
  t.same(await createUsersFile(folder, silentLog).load(), none, 'a first start')
  await createUsersFile(folder, silentLog).save({ version: 1, users: [ann] })
  await createUsersFile(folder, silentLog).save({ version: 1, users: [ann, { ...ann, username: 'bob' }] })
  for (const end of ['', '.bak']) rmSync(join(folder, `users.json${end}`))
  await t.rejects(createUsersFile(folder, silentLog).load(), { code: 'accounts_gone' })
  writeFileSync(join(folder, 'users.json'), JSON.stringify(none))
  await t.rejects(createUsersFile(folder, silentLog).load(), { code: 'accounts_gone' })
  t.same(await createUsersFile(folder, silentLog, 'new').load(), none, 'the command line can start over')
})

t.test('an installation from before the mark existed is marked at the next start', async (t) => {
  const folder = t.testdir({ 'users.json': JSON.stringify({ version: 1, users: [ann] }) })
  await createUsersFile(folder, silentLog).load()
  rmSync(join(folder, 'users.json'))
  await t.rejects(createUsersFile(folder, silentLog).load(), { code: 'accounts_gone' })
})

t.test('after the last account is given up one can start over', async (t) => {
  const folder = t.testdir()
  const file = createUsersFile(folder, silentLog)
  await file.save({ version: 1, users: [ann] })
  await file.save(none)
  t.same(await createUsersFile(folder, silentLog).load(), none)
})
