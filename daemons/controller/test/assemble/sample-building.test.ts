/** The building that the demo and a first look start with. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { simulateMacro } from '../../assemble/commands.ts'
import { importParts } from '../../assemble/house.ts'
import { isElevated, parseRoleRules, uisOf } from '../../core/access/accounts.ts'
import { tcpPlaceOf } from '../../core/drivers/driver.ts'
import { MACRO_LIMITS } from '../../core/macros/values.ts'
import { createBook, type WritableBook } from '../../core/site/book.ts'
import { siteTables } from '../../core/site/registry.ts'
import { hashPassword, take } from '../site-world.ts'

const file = readFileSync(join(import.meta.dirname, '../../templates/sample-building.json'), 'utf8')
const clock = fakeClock()
const settings = {
  site: {
    bytes: 1_000_000,
    rows: 1000,
    devices: 1000,
    json_chars: 1_000_000,
    depth: 16,
    text_chars: 10_000,
    faults: 100,
  },
  store: { commit_ms: 1, busy_ms: 1, records: 1, record_chars: 1_000_000, undo_chars: 1, kept_records: 1, faults: 1 },
}

async function building(): Promise<WritableBook> {
  const book = createBook()
  // Real hashes would take a second and add nothing to this test.
  await take(JSON.parse(file), book, { ...importParts(settings, clock), hashPassword })
  return book
}

t.test('the sample building imports without faults, and has forty zones', async (t) => {
  const book = await building()
  t.equal(book.rows('zone').length, 40)
  const zonesOf = new Set(book.rows('zone').map(({ type }) => type))
  for (const type of ['dimmer', 'blind', 'thermostat', 'audio', 'projector']) t.ok(zonesOf.has(type), type)
  const empty = siteTables().filter(({ name }) => book.rows(name).length === 0)
  t.same(empty.map(({ name }) => name).sort(), ['credential', 'license', 'trigger', 'web_service'])
})

t.test('each of its zones is in a room and belongs to a device that a driver knows', async (t) => {
  const book = await building()
  for (const { name, device_id, zone_group_id } of book.rows('zone'))
    t.ok(typeof device_id === 'number' && typeof zone_group_id === 'number', String(name))
  const drivers = book.rows('device').map(({ driver }) => String(driver))
  t.same([...new Set(drivers)].sort(), ['sim', 'tcp'])
  for (const device of book.rows('device').filter(({ driver }) => driver === 'tcp'))
    t.match(tcpPlaceOf(device), { port: Number })
})

t.test('its people: one is elevated, one is limited to some zones, one is a program', async (t) => {
  const book = await building()
  const rolesOf = (username: string) => {
    const user = book.rows('auth_user').find((one) => one.username === username)
    const links = book.rows('auth_user_role').filter(({ user_id }) => user_id === user?.id)
    return links.flatMap(({ role_id }) => book.row('auth_role', Number(role_id)) ?? [])
  }
  for (const { rules } of book.rows('auth_role')) t.same(parseRoleRules(String(rules)).faults, [])
  t.same(
    ['admin', 'operator', 'integrator'].map((name) => isElevated(rolesOf(name))),
    [true, false, false],
  )
  const scopes = ['operator', 'integrator'].map((name) =>
    uisOf(rolesOf(name), book.rows('ui')).flatMap(({ id }) =>
      ['ui_zone', 'ui_zone_group_ui'].map((table) => book.rows(table).filter(({ ui_id }) => ui_id === id).length),
    ),
  )
  t.same(scopes, [
    [1, 4],
    [0, 0],
  ])
})

t.test('each of its macros runs to its end, and sends only to targets that exist', async (t) => {
  const book = await building()
  for (const { name } of book.rows('macro')) {
    const wish = { macro: String(name), args: '{}', waits: 'met' } as const
    const { text, isDone } = simulateMacro(book, wish, { limits: MACRO_LIMITS, clock })
    t.ok(isDone, text)
    t.match(text, 'command', String(name))
    for (const [, kind = '', target = ''] of text.matchAll(/"(zone|device)":"([^"]+)"/g))
      t.equal(book.named(kind, target).length, 1, `${kind} ${target}`)
  }
  const lecture = { macro: 'Lecture mode', args: '{"level":40}', waits: 'met' } as const
  t.match(simulateMacro(book, lecture, { limits: MACRO_LIMITS, clock }).text, /1\.500 s {2}step 4: .*"level":40/)
})
