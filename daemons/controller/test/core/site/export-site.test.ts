/** Tests of core/site/site-file.ts. */
import fc from 'fast-check'
import { t } from 'tap'
import { holdsLater } from '#kit/test/holds.ts'
import type { Json } from '../../../core/json.ts'
import { createBook, type WritableBook } from '../../../core/site/book.ts'
import { siteTables } from '../../../core/site/registry.ts'
import { exportSite } from '../../../core/site/site-file.ts'
import { siteOf, take } from '../../site-world.ts'

/** Everything in a book except times and ids of links. */
function contentOf(book: WritableBook): Json {
  return Object.fromEntries(
    siteTables().map((table) => [
      table.name,
      book
        .rows(table.name)
        .map(({ id, created_at, updated_at, ...row }) => (table.uniqueTogether.length > 0 ? row : { id, ...row })),
    ]),
  )
}

const full = {
  site: [{ name: 'Home', latitude: 48.1 }],
  subsystem: [{ name: 'Light' }],
  device: [
    { id: 7, name: 'Dimmer', password: 'devpass', config: { ftp: { password: 'ftppass' }, 'odd key': 1 } },
    { name: 'Child', parent_id: 7 },
  ],
  zone: [{ name: 'Hall', device_id: 7, overrides: { on: { zone_id: 2, command: 'off' } } }, { name: 'Hall' }],
  attribute: [{ name: 'wifiPassword', value: 'attrpass', system_target: 'zone', target_id: 1 }],
  auth_role: [{ name: 'admin', rules: ['allow api *'] }, { name: 'twin' }, { name: 'twin' }],
  auth_user: [{ username: 'Ada', password: 'adapass', pin: '$argon2id$9999', roles: ['admin', 3], sites: ['Home'] }],
  credential: [{ name: 'c', private_key: 'privkey' }],
  setting: [{ key: 'api_token_life', value: 1000 }],
  trigger: [{ name: 't', kind: 'webhook', macro_id: 'Off', secret: 'hooksecret' }],
  macro: [{ name: 'Off' }],
}

t.test('an export of everything creates the same site in an empty folder', async (t) => {
  const book = await siteOf(full)
  const again = await siteOf(JSON.parse(JSON.stringify(exportSite(book, 'all'))))
  t.same(contentOf(again), contentOf(book))
})

t.test('an export holds no clear secret, and imported again changes nothing', async (t) => {
  const book = await siteOf(full)
  const text = JSON.stringify(exportSite(book))
  for (const word of ['devpass', 'ftppass', 'adapass', '9999', 'privkey', 'hooksecret']) t.notMatch(text, word)
  t.match(text, 'hashed 7')
  t.same(await take(JSON.parse(text), book), [])
})

t.test(
  'secure attributes, and secrets inside others, are left out of an export and kept by an import of it',
  async (t) => {
    const of = { system_target: 'zone', target_id: 1 }
    const book = await siteOf({
      zone: [{ name: 'Hall' }],
      attribute: [
        { ...of, name: 'wifiPassword', value: 'Planted1', previous_value: 'Planted2' },
        { ...of, name: 'door', value: 'Planted3', secure: true },
        { ...of, name: 'ftp', value: ' {"port": 21, "user": {"password": "Planted4"}}' },
        { ...of, name: 'plain', value: ' {"port": 21}' },
        { ...of, name: 'broken', value: '{' },
      ],
    })
    const document = JSON.parse(JSON.stringify(exportSite(book)))
    t.notMatch(JSON.stringify(document), /Planted/)
    t.match(document.attribute[3], { value: ' {"port": 21}' })
    t.match(document.attribute[4], { value: '{' })
    for (const mode of ['merge', 'replace'] as const) t.same(await take(document, book, { mode }), [], mode)
    const said = document.attribute[2]
    said.value = '{"port":22,"user":{"password":null}}'
    t.match(await take(document, book), [{ id: 3, columns: { value: '{"port":22,"user":{"password":"Planted4"}}' } }])
    t.match(JSON.stringify(exportSite(book, 'all')), /Planted1.*Planted2.*Planted3.*Planted4/)
  },
)

t.test('an export refers to roles by name if a name is enough, and leaves out null and default values', async (t) => {
  const document = exportSite(await siteOf(full))
  t.match(document.auth_user, [{ roles: ['admin', 3], sites: ['Home'] }])
  t.same((document.zone as readonly Json[])[1], { id: 2, name: 'Hall' })
  t.same(
    Object.keys(document).filter((table) => table.startsWith('auth_user_')),
    [],
  )
})

t.test('whatever a site holds, its export recreates it', async (t) => {
  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 5 })
    .filter((said) => said.trim() !== '' && !said.includes('\0'))
  const device = fc.record({
    name: text,
    config: fc.jsonValue({ maxDepth: 3 }),
    address: text,
    poll_ms: fc.nat(),
    elevated: fc.boolean(),
  })
  const zone = fc.record({
    name: text,
    min: fc.double({ noNaN: true, noDefaultInfinity: true }),
    device_id: fc.option(fc.constantFrom(1, 2)),
  })
  await holdsLater(
    t,
    fc.asyncProperty(
      fc.array(device, { minLength: 2, maxLength: 4 }),
      fc.array(zone, { maxLength: 4 }),
      async (devices, zones) => {
        const book = createBook()
        await take({ device: devices, zone: zones }, book)
        const again = await siteOf(JSON.parse(JSON.stringify(exportSite(book, 'all'))))
        const isSame = JSON.stringify(contentOf(again)) === JSON.stringify(contentOf(book))
        return isSame && (await take(JSON.parse(JSON.stringify(exportSite(book))), book)).length === 0
      },
    ),
    { numRuns: 60 },
  )
})
