/** Tests of core/access/people.ts. */
import { t } from 'tap'
import { parseRoleRules } from '../../../core/access/accounts.ts'
import { type FirstAccount, firstAccount, isWithoutAccounts } from '../../../core/access/people.ts'
import { rowsAfter } from '../../../core/site/changes.ts'
import { checkWhole } from '../../../core/site/site-file.ts'
import { createFaultList } from '../../../core/site/site-text.ts'
import { bookOf } from '../site/book-of.ts'

const account: FirstAccount = {
  ...{ username: 'ada', hash: '$argon2id$x', salt: 'x' },
  ...{ siteName: 'Mill', timeZone: 'Europe/Oslo' },
}

/** The tables after creating the account, starting from these rows; checked like an import. */
function madeInto(rows: Parameters<typeof bookOf>[0]) {
  const book = bookOf(rows)
  const nextId = (table: string) => Math.max(0, ...book.rows(table).map(({ id }) => id)) + 1
  const { rows: after } = rowsAfter(book, firstAccount(account, { book, nowMs: 1000, nextId }))
  const faults = createFaultList(10)
  checkWhole(after, (table, id) => `${table} ${id}`, faults)
  faults.refuse()
  return (table: string) => [...(after.get(table)?.values() ?? [])]
}

t.test('creates the site, a role that allows everything, and an account with both', async (t) => {
  const made = madeInto({})
  t.match(made('site'), [{ name: 'Mill', timezone: 'Europe/Oslo', created_at: 1000 }])
  t.match(made('auth_role'), [{ name: 'Administrator', elevated: true, allow_remote: true }])
  t.same(parseRoleRules(String(made('auth_role')[0]?.rules)).faults, [])
  t.match(made('auth_user'), [{ username: 'ada', hash: '$argon2id$x', salt: 'x', enabled: true, revoked_at: null }])
  t.match(made('auth_user_role'), [{ user_id: 1, role_id: 1 }])
  t.match(made('auth_user_site'), [{ user_id: 1, site_id: 1 }])
})

t.test('belongs to the existing sites, and does not change a role of the same name', async (t) => {
  const made = madeInto({
    site: [
      { id: 3, name: 'A' },
      { id: 7, name: 'B' },
    ],
    auth_role: [{ id: 2, name: 'Administrator', elevated: false, rules: '' }],
  })
  t.same(
    made('site').map(({ name }) => name),
    ['A', 'B'],
  )
  t.match(made('auth_role'), [
    { name: 'Administrator', elevated: false },
    { name: 'Administrator 2', elevated: true },
  ])
  t.match(made('auth_user_role'), [{ user_id: 1, role_id: 3 }])
  t.match(made('auth_user_site'), [
    { id: 1, site_id: 3 },
    { id: 2, site_id: 7 },
  ])
})

t.test('an account that cannot sign in still counts: nobody else becomes the first one', async (t) => {
  t.equal(isWithoutAccounts(bookOf({ site: [{ id: 1, name: 'A' }] })), true)
  t.equal(isWithoutAccounts(bookOf({ auth_user: [{ id: 1, username: 'bob', enabled: false }] })), false)
})
