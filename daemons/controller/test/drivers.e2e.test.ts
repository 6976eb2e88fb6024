// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates of rows are written like that
/** The built controller and devices of other makers: what REST commands reaches them, and what they say is read back. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { startBroker } from '#kit/test/net/mqtt/broker.ts'
import { until } from '#kit/test/until.ts'
import { toyAmp, toyUdpAmp } from './core/drivers/toy-stage.ts'
import { startKnxBus } from './knx-bus.ts'
import { startLibmodbusTcp } from './peer/libmodbus.ts'
import { openRestSite } from './rest-site.ts'
import { restRows } from './rest-site-rows.ts'

type Rows = Record<string, unknown>[]

/** A site with these devices and zones beside its own; their ids begin at 100. */
async function houseOf(t: Test, { device, zone }: { device: Rows; zone: Rows }) {
  const own = restRows(9)
  const rows = { device: [...(own.device ?? []), ...device], zone: [...(own.zone ?? []), ...zone] }
  const site = await openRestSite(t, { rows, sets: ['drivers.retry_first_ms=100', 'drivers.retry_max_ms=1000'] })
  const token = await site.tokenOf('ada')
  return {
    async command(zone: string, command: string, args: object = {}) {
      const { status, body } = await site.post('/api/control/command', { zone, command, args }, token)
      return { status, ...body }
    },
    async zone(id: number) {
      const { body } = await site.get(`/api/data/zone?id=${id}&_instance=true`, token)
      return body[0]
    },
    async device(id: number) {
      const { body } = await site.get(`/api/data/device?id=${id}&_instance=true`, token)
      return body[0]
    },
    output: site.output,
  }
}

t.test('http: a command is a request, and a poll is read back', async (t) => {
  const lamp = { brightness: 0 }
  const server = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text) => Object.assign(lamp, JSON.parse(text)))
    request.on('end', () => response.end(JSON.stringify({ lights: { L1: lamp } })))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo
  const house = await houseOf(t, {
    device: [
      {
        ...{ id: 100, name: 'Relays', poll_ms: 100, transport: { kind: 'http', host: '127.0.0.1', port } },
        config: {
          commands: { level: { path: '/${address}', json: { brightness: '${args.level|scale:0:254|round}' } } },
          polls: [
            { path: '/', feedback: [{ field: 'level', pointer: '/lights/${address}/brightness', scale: [0, 254] }] },
          ],
        },
      },
    ],
    zone: [{ id: 100, name: 'Desk', device_id: 100, address: 'L1', type: 'dimmer' }],
  })
  t.match(await house.command('Desk', 'level', { level: 50 }), { status: 200, success: true })
  t.equal(lamp.brightness, 127)
  await until('it is read back', async () => (await house.zone(100)).level === 50)
  t.match(await house.zone(100), { state: 'on', on: true })
  t.match(await house.command('Desk', 'dance'), {
    success: false,
    code: 'driver_failed',
    error: /has no command "dance"/,
  })
  t.notMatch(house.output(), /not_driven.*device 100/)
})

t.test('mqtt: a lamp of zigbee2mqtt does as it is told, and is lost and found with its broker', async (t) => {
  const broker = await startBroker(t)
  const devices = await broker.devices(['z/+/set'])
  const feature = { type: 'binary', name: 'state', property: 'state', access: 7, value_on: 'ON', value_off: 'OFF' }
  const exposes = [{ type: 'light', features: [feature] }]
  await devices.say('z/bridge/devices', JSON.stringify([{ friendly_name: 'lamp', definition: { exposes } }]))
  devices.peer.on('message', (_topic, text) => void devices.say('z/lamp', text.toString()))
  const house = await houseOf(t, {
    device: [
      {
        ...{ id: 100, name: 'Zigbee', transport: { kind: 'mqtt', host: '127.0.0.1', port: broker.port } },
        config: { zigbee2mqtt: 'z' },
      },
    ],
    zone: [{ id: 100, name: 'Desk', device_id: 100, address: 'lamp' }],
  })
  await until('it is online', async () => (await house.device(100)).state === 'online')
  await until('it is told', async () => (await house.command('Desk', 'on')).success === true)
  await until('it is on', async () => (await house.zone(100)).on === true)
  await broker.stop()
  await until('it is lost', async () => (await house.device(100)).state === 'offline')
  t.match(await house.zone(100), { state: 'unknown' })
  broker.start()
  const again = await broker.devices(['z/+/set'])
  await again.say('z/bridge/devices', JSON.stringify([{ friendly_name: 'lamp', definition: { exposes } }]))
  await until('it is told again', async () => (await house.command('Desk', 'off')).success === true)
  await until('it has arrived', () => again.heard.some(([, text]) => text === '{"state":"OFF"}'))
})

t.test('modbus-tcp: registers of libmodbus are read, written and read back', async (t) => {
  const port = await startLibmodbusTcp(t)
  const house = await houseOf(t, {
    device: [{ id: 100, name: 'Meter', poll_ms: 100, transport: { kind: 'modbus-tcp', host: '127.0.0.1', port } }],
    zone: [
      {
        id: 100,
        name: 'Boost',
        device_id: 100,
        address: 'on=1/coil/4 setpoint=1/holding/7/int16*0.1 temperature=1/input/9',
      },
      { id: 101, name: 'Typo', device_id: 100, address: '1/coils/4' },
    ],
  })
  await until('it is read', async () => (await house.zone(100)).temperature === 27)
  t.match(await house.zone(100), { state: 'off', on: false, setpoint: 2.1 })
  t.match(await house.command('Boost', 'on'), { success: true })
  t.match(await house.command('Boost', 'setpoint', { setpoint: 21.5 }), { success: true })
  t.match(await house.zone(100), { state: 'on', on: true, setpoint: 21.5 })
  t.match(await house.command('Typo', 'on'), { success: false, error: /zone 101 has no on in its address/ })
  t.match(house.output(), /not_driven.*zone 101/)
})

t.test('tcp and udp: messages of the row are sent, answered and heard', async (t) => {
  const [amp, box] = [await toyAmp(t), await toyUdpAmp(t)]
  const config = {
    framing: { end: '\r\n' },
    commands: { volume: { ascii: 'VOL=${args.volume}\r\n', ok: 'OK' } },
    feedback: [{ pattern: 'VOL {volume:number}' }],
  }
  const at = (kind: string, port: number) => ({ config, transport: { kind, host: '127.0.0.1', port } })
  const house = await houseOf(t, {
    device: [
      { id: 100, name: 'Amp', ...at('tcp', amp.port) },
      { id: 101, name: 'Box', ...at('udp', box.port) },
    ],
    zone: [
      { id: 100, name: 'Bar', device_id: 100 },
      { id: 101, name: 'Yard', device_id: 101 },
    ],
  })
  t.match(await house.command('Bar', 'volume', { volume: 40 }), { success: true })
  t.match(await house.command('Yard', 'volume', { volume: 30 }), { success: true })
  amp.say('VOL 41\r\n')
  box.say('VOL 31')
  await until(
    'both are heard',
    async () => (await house.zone(100)).volume === 41 && (await house.zone(101)).volume === 31,
  )
  t.strictSame([amp.lines, box.lines], [['VOL=40'], ['VOL=30']])
  // A megabyte without an end: its own device forgets it, and the other does not notice.
  amp.say('x'.repeat(1_000_000))
  t.match(await house.command('Yard', 'volume', { volume: 32 }), { success: true })
})

t.test('knx: what is commanded is on the bus of knxd, and what is on the bus is read back', async (t) => {
  const bus = await startKnxBus(t)
  const house = await houseOf(t, {
    device: [{ id: 100, name: 'Bus', transport: { kind: 'knx', host: '127.0.0.1', port: bus.port } }],
    zone: [{ id: 100, name: 'Ceiling', device_id: 100, address: 'on=1/1/1 level=1/1/2<1/4/2' }],
  })
  await until('it is online', async () => (await house.device(100)).state === 'online')
  t.match(await house.command('Ceiling', 'level', { level: 100 }), { success: true })
  await until('it is on the bus', () => /1\/1\/2: ff/i.test(bus.heard()))
  await bus.write('1/4/2', '80')
  await bus.write('1/1/1', '1')
  await until('it is read back', async () => (await house.zone(100)).on === true)
  t.match(await house.zone(100), { state: 'on', level: 50.2 })
})
