/** A controller over a gateway with a simulated bus: what a zone is told is on the wire, what the bus does is told. */
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { ask, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { openRestSite } from './rest-site.ts'

/** Two coils and two registers of a fan, and what was written to them. */
function fan() {
  const [coils, holding] = [
    [0, 1],
    [0, 215],
  ]
  const wrote: [table: string, address: number, values: readonly number[]][] = []
  const unit = simulatedUnit({
    unitId: 5,
    coils,
    holding,
    wrote: (table, address, values) => void wrote.push([table, address, values]),
  })
  return { coils, holding, wrote, unit }
}

async function startGateway() {
  const gateway = await startDaemon(t, 'gateway', {
    sets: ['ports.allow=["/dev/pts/*"]', 'mdns.enabled=false', 'ports.retry_first_ms=10000'],
  })
  let token: string | undefined
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const answer = await ask(gateway.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  token = (await call('POST', '/api/setup', { username: 'admin', password: 'correct horse battery' })).token
  const { key } = await call('POST', '/api/keys', { name: 'controller', role: 'admin' })
  return { gateway, call, key, port: Number(new URL(gateway.url).port) }
}

t.test('zones over a gateway and its bus', async (t) => {
  const pty = openPty()
  t.teardown(() => pty.close())
  const { unit, coils, holding, wrote } = fan()
  t.teardown(simulateModbusLine({ duplex: pty, clock: systemClock, units: [unit] }))
  const { gateway, call, key, port } = await startGateway()
  const path = `/api/ports/${encodeURIComponent(pty.path)}`
  await call('PUT', path, { protocol: 'modbus-rtu', line: { baud: 115_200 }, settings: {} })
  const pointOf = (name: string, fc: number, address: number, more = {}) => ({
    ...{ name, unitId: 5, fc, address, pollMs: 100, type: fc === 1 ? 'bit' : 'u16' },
    ...more,
  })
  await call('PUT', `${path}/points`, {
    points: [
      pointOf('run', 1, 0),
      pointOf('lamp', 1, 1),
      pointOf('speed', 3, 0),
      pointOf('room', 3, 1, { scale: 0.1 }),
    ],
  })

  const transport = { kind: 'gateway', host: '127.0.0.1', port }
  const webhooked = { feed: 'webhook', webhook_secret: 'a secret of both' }
  const zone = (id: number, type: string, address: string, device = 20) => {
    return { id, name: `Zone ${id}`, type, device_id: device, address: `${pty.path}#${address}` }
  }
  const site = await openRestSite(t, {
    rows: {
      device: [
        { id: 20, name: 'Plant room', driver: 'gateway', transport, api_key: key },
        { id: 21, name: 'By webhook', driver: 'gateway', transport, api_key: key, config: webhooked },
        { id: 22, name: 'Gone', driver: 'gateway', transport: { ...transport, port: 9 }, api_key: key },
      ],
      zone: [
        zone(30, 'fan', 'on=run;level=speed'),
        zone(31, 'relay', 'lamp'),
        zone(32, 'temperature sensor', 'room'),
        zone(33, 'relay', 'lamp', 21),
        zone(34, 'relay', 'lamp', 22),
      ],
      command: [],
      macro: [],
      macro_step: [],
      ui: [{ name: 'Ground' }, { name: 'Whole' }],
      ui_zone: [],
      ui_zone_group_ui: [],
      attribute: [],
    },
  })
  const token = await site.tokenOf('ada')
  const instance = async (id: number) => (await site.get(`/api/data/zone?id=${id}&_instance=true`, token)).body[0]
  const command = async (body: object) => (await site.post('/api/control/command', body, token)).body

  await until('the first values are read', async () => {
    const zones = await Promise.all([30, 31, 32].map(instance))
    return zones.every(({ state }) => state !== 'unknown') && zones[2].temperature === 21.5
  })
  t.match(await instance(30), { state: 'off', on: false, level: 0 })
  t.match(await instance(31), { state: 'on', on: true, value: true })

  await t.test('a command changes the coil and the register on the wire, and the zone tells it', async (t) => {
    t.match(await command({ zone_id: 30, on: true }), { success: true, command: 'on' })
    t.match(await command({ zone_id: 30, level: 40 }), { success: true, command: 'level' })
    t.strictSame(wrote.splice(0), [
      ['coils', 0, [1]],
      ['holding', 0, [40]],
    ])
    await until('it is told', async () => (await instance(30)).level === 40)
    t.match(await instance(30), { state: 'on', on: true })
    t.match(await command({ zone_id: 32, setpoint: 21 }), { success: true })
    t.strictSame(wrote.splice(0), [['holding', 1, [210]]], 'by the scale of its point')
  })

  await t.test('a value changed on the bus is told by itself', async (t) => {
    const latenesses: number[] = []
    for (let round = 0; round < 10; round++) {
      const wanted = 100 + round
      holding[0] = wanted
      const begunMs = performance.now()
      await until('it is told', async () => (await instance(30)).level === wanted)
      latenesses.push(performance.now() - begunMs)
    }
    const worst = Math.max(...latenesses).toFixed(0)
    t.comment(`bus to _instance with a poll of 100 ms at the gateway: ${worst} ms at worst of ten`)
  })

  await t.test('a request of its own and one that its unit refuses', async (t) => {
    const asked = { unitId: 5, fc: 3, address: 0, quantity: 1, port: pty.path }
    const answer = await command({ device_id: 20, command: 'request', args: asked })
    t.match(answer, { success: true, answer: { values: [holding[0]] } })
    const refused = await command({ device_id: 20, command: 'request', args: { ...asked, address: 99 } })
    t.match(refused, { success: false, error: /the gateway says: / })
  })

  await t.test('signed webhooks bring values where there is no feed, and a wrong signature does not', async (t) => {
    const url = `${site.url()}/webhooks/device/21`
    await call('POST', `${path}/webhooks`, { url, events: ['value'], secret: webhooked.webhook_secret })
    await until('its first value is read', async () => (await instance(33)).on === true)
    coils[1] = 0
    await until('it is told', async () => (await instance(33)).on === false)
    const forged = { method: 'POST', body: '{}', headers: { 'x-svc-signature': `sha256=${'0'.repeat(64)}` } }
    t.equal((await fetch(url, forged)).status, 401)
  })

  await t.test('a gateway that is away is said so, and harms no other', async (t) => {
    const deviceOf = async (id: number) => (await site.get(`/api/data/device?id=${id}&_instance=true`, token)).body[0]
    await until('it is offline', async () => (await deviceOf(22)).state === 'offline')
    t.match(await deviceOf(22), { error: /127\.0\.0\.1:9 refuses connections/ })
    t.match(await instance(34), { state: 'unknown' })
    t.match(await command({ zone_id: 34, on: true }), { success: false, error: /offline/ })
    await gateway.stop('SIGKILL')
    await until('its zones are unknown', async () => (await instance(30)).state === 'unknown')
    await until('it is offline', async () => (await deviceOf(20)).state === 'offline')
    t.match(await deviceOf(20), { error: /./ })
  })
})
