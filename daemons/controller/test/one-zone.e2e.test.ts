// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
/** A user who may command one zone of a gateway against the built controller, over every surface: nothing else is reached. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { fakeGateway, KEY, pointOf } from './core/drivers/gateway/fake-gateway.ts'
import { openRestSite, type RestSite } from './rest-site.ts'
import { dialSocket } from './socket-client.ts'

const LINE = '/dev/ttyUSB0'

/** Zone 30 is within reach; zones 31 and 32 are on the same gateway, 33 plays on another device. */
async function house(t: Test) {
  const relay = (name: string, address: number) => pointOf(name, { address })
  const gateway = await fakeGateway(t, {
    [LINE]: [relay('own', 0), relay('other', 1), relay('loud', 2)],
  })
  const transport = { kind: 'gateway', host: '127.0.0.1', port: gateway.port }
  const zone = (id: number, name: string, point: string, more: object = {}) => ({
    ...{ id, name, type: 'relay', device_id: 20, address: `${LINE}#${point}` },
    ...more,
  })
  const site = await openRestSite(t, {
    rows: {
      device: [
        { id: 20, name: 'Plant room', driver: 'gateway', transport, api_key: KEY },
        { id: 21, name: 'Decoder', driver: 'sim' },
      ],
      zone: [
        zone(30, 'Own', 'own', { overrides: { bell: { zone_id: 31, command: 'on' } } }),
        zone(31, 'Other', 'other'),
        zone(32, 'Other', 'other'),
        { id: 33, name: 'Bar', type: 'av', device_id: 21 },
      ],
      attribute: [{ id: 1, name: 'mode', value: 'day', system_target: 'zone', target_id: 31 }],
      command: [],
      macro: [
        { id: 1, name: 'any zone' },
        { id: 2, name: 'any request' },
      ],
      macro_step: [
        { macro_id: 1, position: 1, type: 'command', command: 'on', args: { zone_id: '${args.to}' } },
        { macro_id: 2, position: 1, type: 'command', command: 'request', args: { zone_id: '${args.to}', fc: 5 } },
      ],
      ui: [{ id: 1, name: 'Ground' }, { name: 'Whole' }],
      ui_zone: [{ ui_id: 1, zone_id: 30 }],
      ui_zone_group_ui: [],
      schedule: [],
      trigger: [],
    },
  })
  const ada = await site.tokenOf('ada')
  const reading = async (id: number) => (await site.get(`/api/data/zone?id=${id}&_instance=true`, ada)).body[0]
  await until('the gateway is read', async () => (await reading(31)).on === false)
  return { ada, gateway, reading, site }
}

const RAW = { unitId: 1, fc: 5, address: 1, values: [1] }

/** Bodies of commands; each either does nothing, or switches zone 30. */
const BODIES: readonly object[] = [
  { zone_id: 31, command: 'on' },
  { zone: 'Other', command: 'on' },
  { zone: 'Other', device: 'Plant room', command: 'on' },
  { zone_id: 30, zone: 'Other', command: 'on' },
  { zone_id: 30, device_id: 21, command: 'on' },
  { zone_id: [31], command: 'on' },
  { zone_id: '31', command: 'on' },
  { zone_id: 31.0000001, command: 'on' },
  { zone_id: -31, command: 'on' },
  { Zone_ID: 31, zone_id: 30, command: 'on' },
  { zone_ids: [30, 31], command: 'on' },
  { zones: ['Own', 'Other'], command: 'on' },
  { zone_id: 30, command: 'on', args: { zone_id: 31 } },
  { zone_id: 30, command: 'on', args: { ZONE_ID: 31, 'zone_id ': 31, ｚone_id: 31, zone: 'Other', device_id: 21 } },
  { zone_id: 30, command: 'on', args: { zones: [31], target: { zone_id: 31 }, args: { zone_id: 31 } } },
  { zone_id: 30, command: 'on', args: { address: 1, point: 'other', port: LINE } },
  { zone_id: 30, command: 'own' },
  { zone_id: 30, command: 'other', args: { other: true } },
  { zone_id: 30, command: 'bell' },
  { zone_id: 30, command: 'BELL' },
  { zone_id: 30, bell: true },
  ...['request', 'Request', 'ｒequest', 're\u00adquest', ' tx ', 'TX'].flatMap((command) => [
    { zone_id: 30, command, args: RAW },
    { zone_id: 30, command, args: { ...RAW, hex: '01 05 00 01 ff 00' } },
    { device_id: 20, command, args: RAW },
  ]),
  { zone_id: 30, request: RAW },
  { device: 'Plant room', command: 'on' },
  { device_id: 20, command: 'on', args: { zone_id: 31 } },
  { zone_id: 33, command: 'volume', args: { volume: 1 } },
  { macro_id: 1, args: { to: 31 } },
  { macro_id: '1', args: { to: 31 } },
  { macro_id: 1, zone_id: 30, command: 'on', args: { to: 31 } },
  { macro_id: 2, args: { to: 30 } },
]

/** What reached the gateway: only the coil of zone 30 may be among it. */
function reached({ posts }: Awaited<ReturnType<typeof house>>['gateway']): string[] {
  return [...new Set(posts.map(({ path, body }) => `${path} ${JSON.stringify(body)}`))].filter(
    (text) => !/rest\/request \{"unitId":1,"fc":5,"address":0,"values":\[[01]\]\}$/.test(text),
  )
}

t.test('1 POST /api/control: one zone, whichever words it is asked in', async (t) => {
  const { gateway, reading, site } = await house(t)
  const olga = await site.tokenOf('olga')
  const page = await site.pageOf('olga')
  const socket = dialSocket(t, site, { token: olga })
  const { volume } = await reading(33)
  const surfaces: readonly [name: string, send: (body: object) => Promise<{ status: number; body: unknown }>][] = [
    ['REST', (body) => site.post('/api/control/command', body, olga)],
    ['the page', (body) => page('POST', '/ui/command', body)],
    ['the socket', (body) => socket.ask('command', { body })],
  ]
  for (const [name, send] of surfaces) {
    for (const body of BODIES) {
      const told = await send(body)
      t.ok(told.status < 500, `${name} ${JSON.stringify(body)} ${told.status}`)
    }
    await Promise.all(BODIES.map(send))
    t.strictSame(reached(gateway), [], name)
    t.match(await send({ zone_id: 30, command: 'on' }), { body: { success: true } }, `${name}: the own zone`)
  }
  t.ok(gateway.posts.length > 0)
  t.strictSame([(await reading(33)).volume, site.lines], [volume, []])
})

t.test('1 POST /api/control: a macro by any name reaches no further than its caller', async (t) => {
  const { gateway, site } = await house(t)
  const olga = await site.tokenOf('olga')
  const targets = [31, '31', [31], { zone_id: 31 }, 'Other', 31.5, null, true, '${args.to}', 33]
  for (const to of targets)
    for (const body of [{ macro_id: 1 }, { macro: 'any zone' }, { macro_id: 2 }]) {
      const told = await site.post('/api/control/macro', { ...body, args: { to } }, olga)
      t.not(told.body.success, true, `${JSON.stringify(body)} ${JSON.stringify(to)}`)
    }
  t.strictSame(gateway.posts, [])
  t.match((await site.post('/api/control/macro', { macro_id: 1, args: { to: 30 } }, olga)).body, { success: true })
  t.strictSame(reached(gateway), [])
})

t.test('a plain user writes, cancels and reads nothing of others on the page and the socket', async (t) => {
  const { ada, site } = await house(t)
  const page = await site.pageOf('olga')
  const socket = dialSocket(t, site, { token: await site.tokenOf('olga') })
  const before = await tables(site, ada)
  const forbidden: readonly [method: string, path: string, body?: object][] = [
    ['GET', '/ui/audit'],
    ['GET', '/ui/devices'],
    ['GET', '/ui/tables'],
    ['GET', '/ui/rows?table=auth_user'],
    ['GET', '/ui/pending'],
    ['GET', '/ui/ledger'],
    ['GET', '/ui/ledger/export'],
    ['GET', '/ui/found'],
    ['GET', '/ui/automation'],
    ['GET', '/ui/not-driven'],
    ['GET', '/ui/rest'],
    ['PUT', '/ui/rest', { isOn: false }],
    ['POST', '/ui/rows', { table: 'auth_role', id: 2, values: { elevated: true } }],
    ['POST', '/ui/rows/remove', { table: 'auth_user', id: 1 }],
    ['POST', '/ui/pending/apply', { revision: 0 }],
    ['POST', '/ui/pending/discard', { revision: 0 }],
    ['POST', '/ui/pending/undo', {}],
    ['POST', '/ui/found/root', { id: 'x' }],
    ['POST', '/ui/found/adopt', { id: 'x', name: 'y' }],
    ['POST', '/ui/ledger/acknowledge', { id: 1 }],
  ]
  for (const [method, path, body] of forbidden) {
    const { status } = await page(method, path, body)
    t.ok(status === 403 || status === 409, `${method} ${path} ${status}`)
  }
  for (const [type, fields] of [
    ['write', { rows: { auth_role: [{ id: 2, elevated: true }] } }],
    ['write', { rows: {}, remove: { auth_user: [1] } }],
    ['set_attribute', { attribute_id: 1, value: 'night' }],
    ['set_attribute', { name: 'mode', zone_id: 31, value: 'night' }],
    ['query', { entity: 'auth_user' }],
    ['query', { entity: 'macro_run' }],
    ['query', { entity: 'attribute_history' }],
  ] as const)
    t.equal((await socket.ask(type, fields)).status, 403, `${type} ${JSON.stringify(fields)}`)
  for (const body of [{ run_id: 1 }, { run_id: '1' }, {}, { run_id: null }])
    t.not((await page('POST', '/ui/macro/cancel', body)).body.success, true)
  t.strictSame(await tables(site, ada), before)
})

async function tables(site: RestSite, token: string): Promise<unknown> {
  const names = ['auth_user', 'auth_role', 'auth_user_role', 'zone', 'attribute', 'setting', 'pending_change']
  return Promise.all(names.map(async (name) => (await site.get(`/api/data/${name}?_orderby=id`, token)).body))
}
