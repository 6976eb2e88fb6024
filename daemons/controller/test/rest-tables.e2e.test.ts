/** The tables of the built controller as an elevated session reads them: all of them, with their columns and types. */
import t from 'tap'
import { openRestSite } from './rest-site.ts'
import { rowsOfOtherTables } from './rest-site-rows.ts'

/** Sent as true and false. @source document 1, Entity rows; the controller's own tables */
const FLAGS =
  'elevated enabled secure mute favourite dark allow_remote skip_2fa_local two_factor_auth must_change_password granted'
/** Null in every row. @source document 1, Secret-bearing columns */
const SECRETS =
  'hash salt pin rfid duress_pin two_factor_token token push_subscription private_key api_key secret password bearer_token credential_hash'

/** Each table with its columns besides id, created_at and updated_at; empty if document 1 does not define them. */
const COLUMNS: Record<string, string> = {
  site: 'name timezone latitude longitude',
  subsystem: 'name type icon position enabled',
  device:
    'name subsystem_id driver command_set transport address ip_address mac serial_number model firmware parent_id elevated enabled poll_ms username password api_key config',
  zone: 'name device_id subsystem_id zone_group_id address type channel_no elevated min max unit icon position overrides',
  zone_group: 'name parent_id position',
  attribute: 'name value previous_value type secure system_target target_id unit changed_at',
  attribute_history: 'attribute_id value at',
  command: 'name label subsystem_id device_id zone_type args_schema elevated enabled',
  av_source: 'name device_id input icon position stream',
  av_zone: 'name zone_id device_id output source_id volume mute max_volume default_volume',
  channel_provider: 'name type country config',
  channel: 'provider_id number name logo favourite av_source_id command_args',
  macro: 'name description elevated enabled mode max_runs timeout_ms args_schema',
  macro_step: 'macro_id position type zone_id device_id command args on_error retries',
  ui: 'name type theme_id enabled',
  ui_theme: 'name tokens dark',
  ui_page_ui: 'ui_id name icon position layout',
  ui_widget: 'name type schema',
  ui_page_widget: 'page_id widget_id x y w h zone_id device_id macro_id options',
  ui_control: 'ui_id zone_type control options',
  ui_macro: 'ui_id macro_id position',
  ui_zone: 'ui_id zone_id position',
  ui_zone_group_ui: 'ui_id zone_group_id position',
  auth_role: 'name elevated allow_remote skip_2fa_local rules session_timeout_min',
  auth_user:
    'username full_name email hash salt pin rfid duress_pin enabled revoked_at valid_from valid_until two_factor_auth two_factor_token two_factor_issued_at must_change_password push_subscription language',
  auth_user_role: 'user_id role_id',
  auth_user_site: 'user_id site_id',
  credential: 'name type username password private_key bearer_token credential_hash',
  request_history:
    'at request_type method path status elapsed_ms client_ip user_id username granted reason target run_id action outcome detail',
  web_service: 'name url method credential_id headers body api_key secret version',
  license: 'key_hint plan state features valid_until token',
  setting: 'key value',
  macro_run: 'macro_id user_id seed started_at ended_at result trace',
  pending_change: '',
  schedule: '',
  trigger: '',
  schema_migration: '',
  mail_queue: '',
}

t.test('1 Entity rows: tables and columns', async (t) => {
  const site = await openRestSite(t, { rows: rowsOfOtherTables })
  const [ada, olga] = [await site.tokenOf('ada'), await site.tokenOf('olga')]
  await site.post('/api/control/macro', { macro_id: 1 }, ada)
  await site.stage({ device: [{ name: 'Line', password: 'hush8' }] })
  const read = async (path: string, token = ada) => (await site.get(`/api/data/${path}`, token)).body
  const flags = new Set(FLAGS.split(' '))
  const secrets = new Set(SECRETS.split(' '))

  for (const [table, columns] of Object.entries(COLUMNS))
    await t.test(`1 Guards, Elevated sessions read any table: ${table}`, async (t) => {
      const body = await read(`${table}?_limit=5`)
      t.ok(Array.isArray(body), JSON.stringify(body).slice(0, 200))
      t.notMatch(JSON.stringify(body), /hush|lamp word/)
      if (table !== 'mail_queue') t.ok(body.length > 0, 'there is a row')
      t.strictSame(await read(`${table}?_count=true&_lte[id]=0`), { count: 0 })
      if (columns === '') return
      for (const row of body) {
        t.strictSame(Object.keys(row), ['id', 'created_at', 'updated_at', ...columns.split(' ')])
        t.ok([row.id, row.created_at, row.updated_at].every(Number.isSafeInteger), 'integers, times in epoch ms')
        t.ok(row.created_at > 1_600_000_000_000 && row.created_at < 100_000_000_000_000)
        for (const [column, value] of Object.entries(row)) {
          if (flags.has(column)) t.type(value, 'boolean', column)
          else t.not(typeof value, 'boolean', column)
          if (secrets.has(column)) t.equal(value, null, column)
        }
      }
    })

  await t.test('1 Secret-bearing columns: secrets inside JSON columns are null, the rest stays', async (t) => {
    t.match(await read('av_source', olga), [{ stream: { url: 'rtsp://camera', password: null } }])
    t.match(await read('channel_provider', olga), [{ config: { apiKey: null, region: 'nl' } }])
    t.match(await read('web_service'), [{ headers: { 'x-token': null, accept: 'json' } }])
    t.match(await read('pending_change'), [{ kind: 'change', entity: 'device', row_id: 2, columns: null }])
    for (const table of ['pending_change', 'schema_migration', 'mail_queue', 'macro_run', 'trigger'])
      t.match(await read(table, olga), { error: 'unauthorized' }, table)
  })
})
