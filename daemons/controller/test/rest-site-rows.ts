/** The site file of the building in tests of document 1: its users, and what each may command. */
/** The same for everybody: one hash is enough. */
export const PASSWORD = 'open sesame'

const EVERYTHING = 'allow api command, macro, query'
const DAY_MS = 86_400_000

/** @param port of the server that plays its tcp devices */
export function restRows(port: number): Record<string, unknown[]> {
  return { ...people(), ...building(port), ...macros(), ...pages() }
}

function people(): Record<string, unknown[]> {
  const user = (username: string, roles: string[], more = {}) => ({
    username,
    password: PASSWORD,
    roles,
    sites: ['House'],
    ...more,
  })
  const coded = { two_factor_auth: true }
  return {
    site: [{ id: 7, name: 'House' }],
    auth_role: [
      { name: 'elevated', elevated: true, rules: 'allow api *' },
      { name: 'operator', rules: `${EVERYTHING}\nallow ui Ground` },
      { name: 'open', rules: `${EVERYTHING}\nallow ui Ground, Whole` },
      { name: 'query-only', rules: 'allow api query\nallow ui Whole' },
      { name: 'no-macro', rules: 'allow api *\ndeny api macro\nallow ui Whole' },
      { name: 'no-command', rules: 'allow api macro, query\nallow ui Whole' },
      { name: 'local', allow_remote: false, rules: `${EVERYTHING}\nallow ui Whole` },
      { name: 'nothing', rules: '' },
    ],
    auth_user: [
      user('ada', ['elevated'], { id: 1 }),
      user('olga', ['operator'], { id: 2, two_factor_auth: false }),
      user('omar', ['open']),
      user('quinn', ['query-only']),
      user('nora', ['no-macro']),
      user('mark', ['no-command']),
      user('nils', ['nothing']),
      user('dora', ['operator'], { enabled: false }),
      user('rita', ['operator'], { revoked_at: Date.now() - DAY_MS }),
      user('vera', ['operator'], { valid_until: Date.now() - DAY_MS }),
      user('frank', ['operator'], { valid_from: Date.now() + DAY_MS }),
      user('siri', ['operator'], { sites: [] }),
      user('rolf', []),
      user('tara', ['operator'], { ...coded, email: 'tara@example.org' }),
      user('theo', ['operator'], coded),
      user('lena', ['local']),
      user('lars', ['local'], { ...coded, email: 'lars@example.org' }),
      user('mixed', ['local', 'operator']),
    ],
  }
}

/** Lines of devices 2 to 4 reach the test; `Lamp` is simulated. */
function building(port: number): Record<string, unknown[]> {
  const transport = { kind: 'tcp', host: '127.0.0.1', port }
  return {
    subsystem: [{ id: 1, name: 'Lighting' }],
    device: [
      { id: 1, name: 'Lights', driver: 'sim', address: '7', password: 'lamp word', config: { ftp: { password: 'x' } } },
      { id: 2, name: 'Line', driver: 'tcp', transport, address: 'D2', subsystem_id: 1 },
      { id: 3, name: 'Boiler', driver: 'tcp', transport, address: 'D3', elevated: true },
      { id: 4, name: 'Doors', driver: 'tcp', transport, address: 'D4' },
      { id: 5, name: 'Spare', driver: 'tcp', transport, address: 'D5' },
      { id: 6, name: 'Broken', driver: 'sim', address: 'D6', config: { fail: true } },
    ],
    zone: [
      { id: 1, name: 'Hall', device_id: 2, address: 'Z1', type: 'switch' },
      { id: 2, name: 'Cellar', device_id: 2, address: 'Z2', type: 'switch' },
      { id: 3, name: 'Kettle', device_id: 3, address: 'Z3' },
      { id: 4, name: 'Lamp', device_id: 1, address: 'Z4', type: 'dimmer' },
      { id: 5, name: 'Vault', device_id: 4, address: 'Z5', elevated: true },
      { id: 6, name: 'Scene', device_id: 2, address: 'Z6', overrides },
    ],
    attribute: [
      { id: 1, name: 'level', value: '40', previous_value: '30', system_target: 'zone', target_id: 1 },
      { id: 2, name: 'level', value: '70', previous_value: '60', system_target: 'zone', target_id: 4 },
      { id: 3, name: 'wifiPassword', value: 'w1', previous_value: 'w0', system_target: 'device', target_id: 1 },
      {
        id: 4,
        name: 'door',
        value: 'door now',
        previous_value: 'door then',
        secure: true,
        system_target: 'zone',
        target_id: 1,
      },
      { id: 5, name: 'backup', value: BLOB, previous_value: BLOB, system_target: 'device', target_id: 1 },
    ],
    credential: [{ id: 1, name: 'ftp', username: 'f', password: 'p', private_key: 'k' }],
  }
}

const BLOB = JSON.stringify({ host: 'ftp.example.org', sftp: { user: 'u', password: 'p' }, push_signing_key: 'k' })

const overrides = {
  on: { zone_id: 1, command: 'on' },
  off: { zone_id: 2, command: 'off' },
  heat: { zone_id: 3, command: 'on' },
}

function macros(): Record<string, unknown[]> {
  const step = (macro_id: number, zone: object, command: string) => ({ macro_id, position: 1, command, ...zone })
  return {
    macro: [
      { id: 1, name: 'Close down' },
      { id: 2, name: 'Flush', elevated: true },
      { id: 3, name: 'Anywhere' },
    ],
    macro_step: [
      step(1, { zone_id: 2 }, 'off'),
      step(2, { zone_id: 3 }, 'on'),
      step(3, { args: { zone_id: `\${args.where}` } }, 'on'),
    ],
  }
}

function pages(): Record<string, unknown[]> {
  return {
    ui: [
      { id: 1, name: 'Ground' },
      { id: 2, name: 'Whole' },
    ],
    ui_zone: [1, 3, 4, 5, 6].map((zone_id) => ({ ui_id: 1, zone_id })),
  }
}

/** A row for each table that `restRows` leaves empty. Words that begin with `hush` are secrets. */
export const rowsOfOtherTables = {
  zone_group: [{ id: 1, name: 'House' }],
  attribute_history: [{ id: 1, attribute_id: 1, value: '39', at: 1_700_000_000_000 }],
  command: [{ id: 1, name: 'on' }],
  av_source: [{ id: 1, name: 'Camera', stream: { url: 'rtsp://camera', password: 'hush1' } }],
  av_zone: [{ id: 1, name: 'Bar', zone_id: 1, source_id: 1, volume: 0.5, mute: true }],
  channel_provider: [{ id: 1, name: 'Air', config: { apiKey: 'hush2', region: 'nl' } }],
  channel: [{ id: 1, provider_id: 1, name: 'One', number: 101.3 }],
  ui_theme: [{ id: 1, name: 'Night', dark: true }],
  ui_page_ui: [{ id: 1, ui_id: 1, name: 'Home' }],
  ui_widget: [{ id: 1, name: 'Clock' }],
  ui_page_widget: [{ id: 1, page_id: 1, widget_id: 1, x: 0, y: 0 }],
  ui_control: [{ id: 1, ui_id: 1, zone_type: 'switch' }],
  ui_macro: [{ id: 1, ui_id: 1, macro_id: 1 }],
  ui_zone_group_ui: [{ id: 1, ui_id: 1, zone_group_id: 1 }],
  web_service: [
    { id: 1, name: 'Weather', headers: { 'x-token': 'hush3', accept: 'json' }, api_key: 'hush4', secret: 'hush5' },
  ],
  license: [{ id: 1, key_hint: 'ABCD', token: 'hush6' }],
  setting: [{ id: 1, key: 'api_token_life', value: '3600000' }],
  trigger: [{ id: 1, name: 'Door', macro_id: 1, kind: 'webhook', secret: 'hush7' }],
  schedule: [{ id: 1, name: 'Dusk', macro_id: 1 }],
}
