/** Tests of core/site/registry.ts: the description of tables and columns. */
import { t } from 'tap'
import {
  isJsonSecret,
  isReadable,
  isSecretColumn,
  referredTables,
  tableOf,
  tables,
} from '../../../core/site/registry.ts'

/** The list of document 1, typed again: opening a table needs a change in two places. */
const OPEN =
  'attribute av_source av_zone channel channel_provider command device subsystem ui ui_control ui_macro ui_page_ui ui_page_widget ui_theme ui_widget ui_zone ui_zone_group_ui zone'

const HOSTILE = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', '', 'ZONE', 'zone ', 'zone\0']

t.test('1 Guards 1 exactly the listed entities are readable without elevation', async (t) => {
  const readable = tables().filter(({ name }) => isReadable(name))
  t.same(readable.map(({ name }) => name).sort(), OPEN.split(' '))
  for (const name of [...HOSTILE, 'auth_user', 'macro', 'request_history', 'attribute_history', 'pending_change'])
    t.equal(isReadable(name), false, JSON.stringify(name))
})

t.test('1 Secret-bearing columns every listed name is secret in every table that has it', async (t) => {
  const listed =
    'hash salt pin rfid duress_pin two_factor_token token push_subscription private_key api_key secret password bearer_token credential_hash'
  for (const name of listed.split(' ')) {
    t.equal(isSecretColumn('nowhere', name), true, name)
    for (const table of tables())
      if (table.column(name) !== undefined) t.equal(isSecretColumn(table.name, name), true, `${table.name}.${name}`)
  }
})

t.test(
  '1 Secret-bearing columns string columns by their ending are secret, flags by such a name are not',
  async (t) => {
    for (const name of ['a_token', 'a_secret', 'a_password', 'a_passwd', 'a_hash'])
      t.equal(isSecretColumn('device', name), true, name)
    t.equal(isSecretColumn('auth_user', 'must_change_password'), false)
    t.equal(isSecretColumn('device', 'must_change_password'), false, 'in a table that has no such flag')
    t.equal(isSecretColumn('auth_user', 'two_factor_auth'), false)
    t.equal(isSecretColumn('auth_user', 'two_factor_issued_at'), false)
    for (const name of ['name', 'key', 'key_hint', 'username', ...HOSTILE])
      t.equal(isSecretColumn('device', name), false, JSON.stringify(name))
  },
)

t.test('codes of the second factor and pending rows are secret beyond the listed names', async (t) => {
  t.equal(isSecretColumn('mail_queue', 'body'), true)
  t.equal(isSecretColumn('pending_change', 'columns'), true)
})

t.test('exactly the JSON columns with secrets inside are marked', async (t) => {
  for (const [table, column] of [
    ['device', 'config'],
    ['device', 'transport'],
    ['channel_provider', 'config'],
    ['web_service', 'headers'],
    ['av_source', 'stream'],
  ] as const)
    t.equal(isJsonSecret(table, column), true, `${table}.${column}`)
  t.equal(isJsonSecret('zone', 'overrides'), false)
  for (const name of HOSTILE) t.equal(isJsonSecret(name, name), false, JSON.stringify(name))
})

t.test('a name from outside finds only what a table itself has', async (t) => {
  for (const name of HOSTILE) {
    t.equal(tableOf(name), undefined, JSON.stringify(name))
    t.equal(tableOf('zone')?.column(name), undefined, JSON.stringify(name))
  }
})

t.test('each table comes after those it refers to, and refers only to existing tables', async (t) => {
  const seen = new Set<string>()
  for (const table of tables()) {
    seen.add(table.name)
    for (const column of table.columns)
      for (const target of referredTables(column)) t.ok(seen.has(target), `${table.name}.${column.name} to ${target}`)
  }
  t.equal(seen.size, tables().length)
})

t.test('keys, labels and what is unique together name columns of their table', async (t) => {
  for (const table of tables()) {
    t.same(
      table.columns.slice(0, 3).map(({ name }) => name),
      ['id', 'created_at', 'updated_at'],
    )
    t.equal(new Set(table.columns.map(({ name }) => name)).size, table.columns.length, table.name)
    for (const name of [...table.key, ...table.uniqueTogether, ...(table.label === undefined ? [] : [table.label])])
      t.ok(table.column(name), `${table.name}.${name}`)
  }
})
