/** Tests of core/site: imports into an existing site. */
import { t } from 'tap'
import { createBook } from '../../../core/site/book.ts'
import { faultsOf, siteOf, take } from '../../site-world.ts'

const site = {
  site: [{ name: 'Home' }],
  auth_role: [{ name: 'admin' }, { name: 'guest' }],
  auth_user: [
    { username: 'Ada', password: 'secret', roles: ['admin'], sites: ['Home'] },
    { username: 'Bob', roles: ['guest'] },
  ],
  device: [
    { name: 'Dimmer', password: 'p', config: { ftp: { user: 'u', password: 'q' }, list: [{ name: 'a', key: 'k' }] } },
  ],
  zone: [{ name: 'Hall', device_id: 1, max: 80 }, { name: 'Desk' }],
}

/** Like the real one: keeps a known hash of this password. */
const hashPassword = async (text: string, known: readonly string[]) => {
  const kept = known.find((hash) => hash.endsWith(` of ${text}`))
  return { hash: kept ?? `${known.length} of ${text}`, salt: 'salted' }
}

t.test('the same document changes nothing, passwords neither', async (t) => {
  const book = createBook()
  await take(site, book, { hashPassword })
  t.same(await take(site, book, { hashPassword }), [])
  const other = { auth_user: [{ username: 'ada', password: 'another' }, { username: 'Bob' }] }
  t.match(await take(other, book, { hashPassword }), [
    { kind: 'change', table: 'auth_user', id: 1, columns: { username: 'ada', hash: '1 of another' } },
  ])
  const waitingHash = () => 'waits of third'
  const third = { auth_user: [{ username: 'ada', password: 'third' }, { username: 'Bob' }] }
  t.match(await take(third, book, { hashPassword, waitingHash }), [{ id: 1, columns: { hash: 'waits of third' } }])
})

t.test('a user named in other case is the same one, under the new name', async (t) => {
  const book = await siteOf(site)
  const { auth_user, ...rest } = site
  t.same(await take(rest, book), [])
  t.same(await take({ auth_user: [{ username: 'ada', roles: ['admin'] }, { username: 'BOB' }] }, book), [
    { kind: 'change', table: 'auth_user', id: 1, columns: { username: 'ada', updated_at: 1_900_000_000_000 } },
    { kind: 'change', table: 'auth_user', id: 2, columns: { username: 'BOB', updated_at: 1_900_000_000_000 } },
  ])
})

t.test(
  'rows without an id are found by name, rows missing from a given table are removed, other tables stay',
  async (t) => {
    const book = await siteOf(site)
    const changes = await take({ zone: [{ name: 'Hall', device_id: 1 }, { name: 'New' }] }, book)
    t.match(changes, [
      { kind: 'remove', table: 'zone', id: 2 },
      { kind: 'change', table: 'zone', id: 1, columns: { max: null } },
      { kind: 'add', table: 'zone', id: 3, row: { name: 'New' } },
    ])
    t.equal(book.rows('device').length, 1)
  },
)

t.test('merging removes nothing, and keeps columns that a row does not give', async (t) => {
  const book = await siteOf(site)
  const changes = await take({ zone: [{ id: 1, min: 5 }, { name: 'New' }] }, book, { mode: 'merge' })
  t.match(changes, [
    { kind: 'change', table: 'zone', id: 1, columns: { min: 5 } },
    { kind: 'add', table: 'zone', id: 3 },
  ])
  t.match(book.row('zone', 1), { name: 'Hall', max: 80, min: 5 })
})

t.test('a row that others refer to cannot be removed', async (t) => {
  const book = await siteOf(site)
  t.same(await faultsOf({ device: [{ id: 9, name: 'Other' }] }, book), ['zone 1.device_id: there is no device 1'])
  t.same(await faultsOf({ auth_role: [{ name: 'admin' }] }, book), [
    'auth_user_role 2.role_id: there is no auth_role 2',
  ])
})

t.test(
  'links are removed with their user, a given list replaces the old one, and a missing list changes nothing',
  async (t) => {
    const book = await siteOf(site)
    const changes = await take({ auth_user: [{ username: 'Ada', roles: ['guest'] }] }, book)
    t.same(changes.map(({ kind, table, id }) => `${kind} ${table} ${id}`).sort(), [
      'add auth_user_role 3',
      'remove auth_user 2',
      'remove auth_user_role 1',
      'remove auth_user_role 2',
    ])
    t.same(
      book.rows('auth_user_site').map(({ user_id, site_id }) => [user_id, site_id]),
      [[1, 1]],
    )
    t.equal(book.row('auth_user', 1)?.hash, 'hashed 6', 'a password that is not given stays')
  },
)

t.test('secrets that a document leaves out stay, inside JSON too, and those it gives are replaced', async (t) => {
  const book = await siteOf(site)
  const config = { ftp: { user: 'new', password: null }, list: [{ name: 'a', key: null }] }
  await take({ device: [{ name: 'Dimmer', config }], zone: [] }, book)
  t.match(book.row('device', 1), {
    password: 'p',
    config: { ftp: { user: 'new', password: 'q' }, list: [{ name: 'a', key: 'k' }] },
  })
  const moved = { list: [{ name: 'b', key: null }], ftp: { password: 'r' } }
  await take({ device: [{ name: 'Dimmer', config: moved, password: null }] }, book)
  t.match(book.row('device', 1), {
    password: null,
    config: { list: [{ name: 'b', key: null }], ftp: { password: 'r' } },
  })
})
