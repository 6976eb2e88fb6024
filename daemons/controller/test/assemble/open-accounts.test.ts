/** Tests of assemble/commands.ts. */
import { t } from 'tap'
import { verifyPassword } from '#kit/auth/password.ts'
import { openAccounts } from '../../assemble/commands.ts'
import { openSiteStore } from '../../io/database.ts'
import { importFirstSite } from '../../io/site-import.ts'
import { bytesOf, parts } from '../io/store-parts.ts'

const site = {
  site: [{ name: 'Mill' }],
  auth_user: [
    { username: 'Ada', password: 'a', sites: ['Mill'], email: 'ada@mill.example' },
    { username: 'Bob', password: 'b' },
  ],
}

/** Rows of the site in a folder. */
async function rowsOf(folder: string, table: string) {
  const store = openSiteStore(folder, parts.clock, parts.store)
  const rows = store.book.rows(table)
  await store.close()
  return rows
}

t.test('lists the accounts, and changes only the password of one', async (t) => {
  const folder = t.testdir()
  await importFirstSite(folder, bytesOf(site), parts)
  const accounts = await openAccounts(folder)
  t.same(accounts.usernames, ['Ada', 'Bob'])
  await accounts.setPassword('Ada', 'correct horse')
  await accounts.close()
  const [ada, bob] = await rowsOf(folder, 'auth_user')
  t.match(ada, { username: 'Ada', email: 'ada@mill.example' })
  t.ok(await verifyPassword('correct horse', String(ada?.hash)))
  t.equal(String(ada?.hash).split('$').at(-2), ada?.salt)
  t.equal(bob?.hash, 'hashed 1')
})

t.test('creates the first account, an administrator of an unnamed site, in an empty folder', async (t) => {
  const folder = t.testdir()
  const accounts = await openAccounts(folder)
  t.same(accounts.usernames, [])
  await accounts.setPassword('admin', 'correct horse')
  await accounts.close()
  t.match(await rowsOf(folder, 'site'), [{ name: 'Building' }])
  t.match(await rowsOf(folder, 'auth_role'), [{ elevated: true }])
  t.match(await rowsOf(folder, 'auth_user_role'), [{ user_id: 1, role_id: 1 }])
})
