/** Tests of core/site: a whole document becomes changes, or a list of all its faults. */
import { t } from 'tap'
import { createBook } from '../../../core/site/book.ts'
import { faultsOf, NOW, siteOf, take } from '../../site-world.ts'

const small = {
  site: [{ name: 'Home' }],
  device: [{ name: 'Dimmer', transport: { kind: 'tcp', host: '10.0.0.9' }, config: { anything: { of: ['it'] } } }],
  zone: [
    { name: 'Hall', device_id: 'Dimmer' },
    { name: 'Desk', device_id: { name: 'Dimmer' } },
    { name: 'Lamp', device_id: 1 },
  ],
}

t.test('rows get ids, times and defaults, and references by name, by {"name"} and by id mean the same', async (t) => {
  const book = await siteOf(small)
  t.same(
    book.rows('zone').map(({ id, name, device_id }) => [id, name, device_id]),
    [
      [1, 'Hall', 1],
      [2, 'Desk', 1],
      [3, 'Lamp', 1],
    ],
  )
  t.match(book.row('device', 1), { enabled: true, elevated: false, poll_ms: null, created_at: NOW, updated_at: NOW })
  t.same(book.row('device', 1)?.config, { anything: { of: ['it'] } }, 'unknown keys in config are kept')
})

t.test('ids in the document are kept, and new ids are larger', async (t) => {
  const book = await siteOf({ zone: [{ name: 'a' }, { id: 40, name: 'b' }, { name: 'c' }] })
  t.same(
    book.rows('zone').map(({ id, name }) => [id, name]),
    [
      [40, 'b'],
      [41, 'a'],
      [42, 'c'],
    ],
  )
})

t.test('the id of a removed row is not given to another', async (t) => {
  const book = createBook()
  await take({ auth_user: [{ username: 'eve' }] }, book, { nextId: () => 10 })
  t.same(
    book.rows('auth_user').map(({ id }) => id),
    [10],
  )
})

t.test('rules are text or a list of lines', async (t) => {
  const book = await siteOf({
    auth_role: [
      { name: 'a', rules: 'allow api query' },
      { name: 'b', rules: ['allow api query', 'deny api macro'] },
      { name: 'c' },
    ],
  })
  t.same(
    book.rows('auth_role').map(({ rules }) => rules),
    ['allow api query', 'allow api query\ndeny api macro', ''],
  )
})

t.test('an unknown line in the rules is a fault with its line number', async (t) => {
  const ruleFault = (line: string) => (line.startsWith('allow') ? undefined : 'begins with neither allow nor deny')
  const found = await faultsOf({ auth_role: [{ name: 'a', rules: 'allow x\n\nalow y' }] }, createBook(), { ruleFault })
  t.same(found, ['auth_role[0].rules: line 3: begins with neither allow nor deny'])
})

t.test('1 Authentication 7: a line that names an unknown UI is a fault, which lists the known ones', async (t) => {
  const ui = [{ name: 'Ground floor' }, { name: 'Roof' }]
  const found = await faultsOf({
    ui,
    auth_role: [
      { name: 'a', rules: 'allow ui *\ndeny ui Rooof' },
      { name: 'b', rules: ['allow ui roof, 1'] },
      { name: 'c', rules: 'deny ui 007, 2' },
      { name: 'd', rules: 'allow ui 1, Ground floor, 02\ndeny ui Roof\nallow ui *' },
    ],
  })
  t.same(found, [
    'auth_role[0].rules: line 2: there is no UI "Rooof"; the nearest is "Roof"; there are 1 "Ground floor", 2 "Roof"',
    'auth_role[1].rules: line 1: there is no UI "roof"; the nearest is "Roof"; there are 1 "Ground floor", 2 "Roof"',
    'auth_role[2].rules: line 1: there is no UI "7"; there are 1 "Ground floor", 2 "Roof"',
  ])
  const none = await faultsOf({ auth_role: [{ name: 'a', rules: 'deny ui Roof' }] })
  t.same(none, ['auth_role[0].rules: line 1: there is no UI "Roof": the site has none'])
  const many = await faultsOf({
    ui: Array.from({ length: 40 }, (_, i) => ({ name: `Panel of room ${i}` })),
    auth_role: [{ name: 'a', rules: 'deny ui Wall' }],
  })
  t.match(many[0], /no UI "Wall"; there are 1 "Panel of room 0", .*12 "Panel of room 11" and 28 more$/)
})

t.test('1 Authentication 7: a UI can be renamed only together with the roles that use its old name', async (t) => {
  const book = await siteOf({ ui: [{ name: 'Roof' }], auth_role: [{ name: 'a', rules: 'allow ui *\ndeny ui Roof' }] })
  const found = await faultsOf({ ui: [{ id: 1, name: 'Attic' }] }, book)
  t.match(found, [/^auth_role 1\.rules: line 2: there is no UI "Roof"; there are 1 "Attic"$/])
  const both = { ui: [{ id: 1, name: 'Attic' }], auth_role: [{ id: 1, name: 'a', rules: 'deny ui Attic' }] }
  t.same(await faultsOf(both, book), [])
})

t.test('users have roles and sites as lists, and their password is hashed', async (t) => {
  const document = {
    site: [{ name: 'Home' }, { name: 'Work' }],
    auth_role: [{ name: 'admin' }, { name: 'guest' }],
    auth_user: [{ username: 'Ada', password: 'correct horse', roles: ['admin', { name: 'guest' }], sites: [2] }],
  }
  const book = await siteOf(document)
  t.match(book.row('auth_user', 1), { username: 'Ada', hash: 'hashed 13', salt: 'salted 13', enabled: true })
  t.notMatch(JSON.stringify(book.rows('auth_user')), /correct horse/)
  t.same(
    book.rows('auth_user_role').map(({ user_id, role_id }) => [user_id, role_id]),
    [
      [1, 1],
      [1, 2],
    ],
  )
  t.same(
    book.rows('auth_user_site').map(({ user_id, site_id }) => [user_id, site_id]),
    [[1, 2]],
  )
})

t.test('an import has no password policy', async (t) => {
  const book = await siteOf({
    auth_user: [
      { username: 'a', password: '1' },
      { username: 'b', password: 1 },
    ],
  })
  t.same(
    book.rows('auth_user').map(({ hash }) => hash),
    ['hashed 1', 'hashed 1'],
  )
})

t.test('values are accepted if they are unambiguous', async (t) => {
  const book = await siteOf({
    device: [{ name: 7, address: 12, elevated: 1 }],
    auth_user: [{ username: 'a', valid_until: '2026-03-01T12:00:00Z', pin: 1234 }],
    attribute: [
      { name: 'blob', value: { a: [1] }, system_target: 'device', target_id: 1 },
      { name: 'flag', value: false, system_target: 'controller' },
      { name: 'text', value: '007', system_target: 'controller', target_id: 0 },
    ],
  })
  t.match(book.row('device', 1), { name: '7', address: '12', elevated: true })
  t.match(book.row('auth_user', 1), { valid_until: Date.parse('2026-03-01T12:00:00Z'), pin: 'hashed 4' })
  t.same(
    book.rows('attribute').map(({ value, target_id }) => [value, target_id]),
    [
      ['{"a":[1]}', 1],
      ['false', null],
      ['007', null],
    ],
  )
})

t.test('an attribute refers to a row in the table that it names', async (t) => {
  const book = await siteOf({
    zone: [{ id: 5, name: 'Hall' }],
    macro: [{ id: 6, name: 'Hall' }],
    attribute: [
      { name: 'a', system_target: 'macro', target_id: 'Hall' },
      { name: 'a', target_id: 'Hall', system_target: 'zone' },
    ],
  })
  t.same(
    book.rows('attribute').map(({ target_id }) => target_id),
    [6, 5],
  )
})

t.test('overrides of a zone name their targets like any reference', async (t) => {
  const book = await siteOf({
    device: [{ id: 3, name: 'Dimmer' }],
    zone: [
      {
        name: 'Hall',
        overrides: { on: { zone_id: 'Desk', device_id: { name: 'Dimmer' }, command: 'level', args: { level: 5 } } },
      },
      { id: 8, name: 'Desk' },
    ],
  })
  t.same(book.named('zone', 'Hall')[0]?.overrides, {
    on: { zone_id: 8, device_id: 3, command: 'level', args: { level: 5 } },
  })
})

t.test('all faults are reported with their paths, and the nearest names', async (t) => {
  const found = await faultsOf({
    zon: [],
    request_history: [],
    zone: [
      { name: 'Hall', device_id: 'Dimer', elevted: true, channel_no: 1.5, position: 'x' },
      { device_id: 99 },
      7,
      { id: 4, name: 'a', device_id: { id: 1, name: 'x' } },
      { id: 4, name: '', overrides: { on: { command: 5, device_id: 77 }, ON: {}, off: { comand: 'on' } } },
    ],
    device: [{ name: 'Dimmer', elevated: 'yes' }, { name: 'Twin' }, { name: 'Twin', parent_id: 'Twin' }],
    subsystem: { name: 'x' },
    attribute: [
      { name: 'a', system_target: 'zones', target_id: 1 },
      { name: 'b', system_target: 'zone' },
    ],
  })
  t.same(found.sort(), [
    'attribute[0].system_target: must be one of device, zone, subsystem, macro, controller, is "zones"',
    'attribute[1].target_id: is missing: it belongs to a zone',
    'device[0].elevated: must be true or false, is text',
    'device[2].parent_id: there are 2 rows of device called "Twin" (ids 2, 3): refer by id',
    'request_history: is kept by the controller itself and no part of a site file',
    'subsystem: must be a list of rows, is an object',
    'zon: there is no such table; the nearest is "zone"',
    'zone[0].channel_no: must be a whole number, is a number with a fraction',
    'zone[0].device_id: there is no device "Dimer"; the nearest is "Dimmer"',
    'zone[0].elevted: there is no such column; the nearest is "elevated"',
    'zone[0].position: must be a whole number, is text',
    'zone[1].device_id: there is no device 99',
    'zone[1].name: is missing',
    'zone[2]: must be an object, is a whole number',
    'zone[3].device_id: must name a row by id or by name, with nothing beside',
    'zone[4].id: id 4 is that of zone[3] already',
    'zone[4].name: must not be empty',
    'zone[4].overrides.ON: is the same verb as "on"',
    'zone[4].overrides.off.comand: an override has no such key; the nearest is "command"',
    'zone[4].overrides.on.command: must be text, is a whole number',
    'zone[4].overrides.on.device_id: there is no device 77',
  ])
})

t.test('duplicates are faults: names of macros and users, links, settings', async (t) => {
  const found = await faultsOf({
    macro: [{ name: 'Off' }, { name: 'Off' }, { name: 'off' }],
    auth_user: [
      { username: 'Ada', roles: ['r', 'r'] },
      { username: 'ADA' },
      { username: 'Über' },
      { username: 'über' },
    ],
    auth_role: [{ name: 'r' }],
    setting: [
      { key: 'api_token_life', value: 1 },
      { key: 'api_token_life', value: 2 },
      { key: 'api_token_live', value: 2 },
      { key: 'rest_api_enabled', value: 'maybe' },
    ],
  })
  t.same(found.sort(), [
    'auth_user[0].roles[1]: user_id 1 and role_id 1 stands in auth_user[0].roles[0] already',
    'auth_user[1].username: username "ADA" stands in auth_user[0] already',
    'auth_user[3].username: username "über" stands in auth_user[2] already',
    'macro[1].name: name "Off" stands in macro[0] already',
    'setting[1].key: key "api_token_life" stands in setting[0] already',
    'setting[2].key: there is no setting "api_token_live"; the nearest is "api_token_life"',
    'setting[3].value: must be true or false',
  ])
})

t.test('columns and records that the daemon maintains can be given too', async (t) => {
  const book = await siteOf({
    auth_user: [{ username: 'Ada', two_factor_token: 'ABC234', two_factor_issued_at: null }],
    attribute: [{ name: 'a', system_target: 'controller' }],
    attribute_history: [
      { attribute_id: 'a', value: 5, at: 7 },
      { attribute_id: 1, value: 6, at: 8 },
    ],
  })
  t.match(book.rows('auth_user'), [{ two_factor_token: 'ABC234' }])
  t.same(
    book.rows('attribute_history').map(({ attribute_id, value }) => [attribute_id, value]),
    [
      [1, '5'],
      [1, '6'],
    ],
  )
  await take({ attribute_history: [{ attribute_id: 1, value: 7, at: 9 }] }, book)
  t.equal(book.rows('attribute_history').length, 3, 'records are added to the existing ones')
})

t.test('a password that nobody could sign in with is a fault with its path, like any other', async (t) => {
  const long = 'x'.repeat(1025)
  const auth_user = [
    { username: 'Ada', password: long },
    { username: 'Bob', password: '' },
    { username: 'Cid', password: 7 },
  ]
  t.same(await faultsOf({ auth_user }), [
    'auth_user[0].password: has 1025 characters, expected 1 to 1024',
    'auth_user[1].password: must be text of at least one character',
  ])
})

t.test('PINs are kept as hashes, have digits, and differ', async (t) => {
  const user = (more: object) => ({ auth_user: [{ username: 'ada', ...more }] })
  const hashPassword = async (text: string, known: readonly string[]) => {
    const hash = `$argon2id$${text}`
    return { hash: known.find((one) => one === hash) ?? hash, salt: '' }
  }
  const book = createBook()
  await take(user({ pin: '4711', duress_pin: 990_011 }), book, { hashPassword })
  t.match(book.rows('auth_user'), [{ pin: '$argon2id$4711', duress_pin: '$argon2id$990011' }])
  t.same(await take(user({ pin: '4711' }), book, { hashPassword }), [], 'the same again changes nothing')
  for (const pin of ['471', '4711a', '1'.repeat(13)])
    t.match(await faultsOf(user({ pin })), ['auth_user[0].pin: must be 4 to 12 digits'], pin)
  t.match(await faultsOf(user({ pin: '4711', duress_pin: '4711' }), createBook(), { hashPassword }), [
    /^auth_user\[0\].duress_pin: is the other PIN/,
  ])
})

t.test('webhooks whose names could be taken for one another are refused', async (t) => {
  const hook = (name: string, more: object = {}) => ({
    ...{ name, kind: 'webhook', macro_id: 'Bell', secret: 'sixteen letters!' },
    ...more,
  })
  const macro = [{ name: 'Bell' }]
  const told = (trigger: object[]) => faultsOf({ macro, trigger })
  t.match(await told([hook('7')]), ['trigger[0].name: a webhook is called by name or id, and "7" is read as an id'])
  t.match(await told([hook('bell'), hook('bell')]), [
    /^trigger\[1\]\.name: the webhook trigger\[0\] has this name already/,
  ])
  const others = { kind: 'device', event: 'offline', device_id: 'Amp' }
  const site = { macro, device: [{ name: 'Amp' }] }
  const rows = [hook('7', { id: 7 }), hook('bell'), hook('Bell'), hook('bell', others), hook('8', others)]
  t.equal((await siteOf({ ...site, trigger: rows })).rows('trigger').length, 5)
})
