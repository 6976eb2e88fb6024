/** The real gateway and a real broker, mosquitto: what a client that subscribes there hears of the lines. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { startBroker } from '#kit/test/net/mqtt/broker.ts'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { climateSensor } from '../../../scripts/sim/climate-sensor.ts'
import { simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { relayBoard } from '../../../scripts/sim/relay-board.ts'
import { type RunningGateway, startGateway } from './running-gateway.ts'
import { ptyOfFile } from './shared-gateway.ts'

const skip = existsSync('/usr/sbin/mosquitto') ? false : 'needs mosquitto'
const QUICK = ['mqtt.retry_first_ms=20', 'mqtt.retry_max_ms=100', 'mqtt.topic_prefix=house/gateway']

interface Heard {
  text: string
  isRetained: boolean
  qos: number
}

type Broker = Awaited<ReturnType<typeof startBroker>>

/** The last message of each topic, and all of them in order. */
async function listen(broker: Broker, topics: string | string[] = '#') {
  const { peer } = await broker.devices()
  const last = new Map<string, Heard>()
  const all: [topic: string, text: string][] = []
  peer.on('message', (topic, payload, packet) => {
    last.set(topic, { text: payload.toString(), isRetained: packet.retain, qos: packet.qos })
    all.push([topic, payload.toString()])
  })
  await peer.subscribeAsync(topics, { qos: 1 })
  const json = (topic: string) => JSON.parse(last.get(topic)?.text || 'null')
  return { last, all, json, text: (topic: string) => last.get(topic)?.text }
}

const celsius = { name: 'supply °C', unitId: 3, fc: 4, address: 1, type: 's16', scale: 0.1, unit: '°C', decimals: 1 }
const relay = { name: 'pump/1', unitId: 2, fc: 1, address: 0, type: 'bit' }
const absent = { name: 'gone', unitId: 9, fc: 3, address: 0, type: 'u16', unit: 'kWh' }

/** A line with a climate sensor and relays. @returns its path, and its place among the topics */
async function lineOf(t: Test, gateway: RunningGateway) {
  const bus = ptyOfFile()
  const units = [climateSensor(3, systemClock), relayBoard(2)]
  t.teardown(simulateModbusLine({ duplex: bus, units, clock: systemClock }))
  const points = [celsius, relay, absent].map((point) => ({ ...point, pollMs: 100 }))
  const settings = { response_timeout_ms: 100 }
  const path = gateway.portPath(bus.path)
  await gateway.openPort(t, bus.path, { protocol: 'modbus-rtu', line: { baud: 19_200 }, settings })
  t.equal((await gateway.call('PUT', `${path}/points`, { points })).status, 200)
  return { bus, path, topic: `house/gateway/ports/${bus.path.replace('/dev/', '').replace('/', '%2F')}` }
}

const isTrue = (value: unknown) => value === true

t.test(
  'values, states and what Home Assistant needs are at the broker, and go when a point goes',
  { skip },
  async (t) => {
    const broker = await startBroker(t)
    const gateway = await startGateway(t, { sets: [`mqtt.url=mqtt://127.0.0.1:${broker.port}`, ...QUICK] })
    await gateway.setUp()
    const { path, topic } = await lineOf(t, gateway)
    const live = await listen(broker)
    const supply = `${topic}/points/supply °C`
    await until('the value is told', () => live.json(supply)?.quality === 'good')
    t.match(live.json(supply), { value: Number, text: /^\d\d\.\d$/, unit: '°C', readAt: Number })
    await until('the relay is told', () => live.json(`${topic}/points/pump%2F1`)?.value === false)
    await gateway.call('POST', `${path}/rest/request`, { unitId: 2, fc: 5, address: 0, values: [1] })
    await until('its change is told', () => isTrue(live.json(`${topic}/points/pump%2F1`)?.value))
    await until('a unit without an answer has no value', () => live.json(`${topic}/points/gone`)?.quality === 'bad')
    t.match(live.json(`${topic}/points/gone`), { value: null, text: null, readAt: null })
    await until('the unit is told', () => live.json(`${topic}/units/9`)?.state === 'silent')
    await until('what happened is told', () => live.all.some(([each]) => each === `${topic}/events/unit`))

    const late = await listen(broker)
    await until('who comes later hears all of it', () => late.text('house/gateway/status') !== undefined)
    await until('the line is among it', () => late.json(`${topic}/state`)?.state === 'open')
    t.match(late.last.get(supply), { isRetained: true, qos: 1 })
    t.match(late.last.get('house/gateway/status'), { text: 'online', isRetained: true, qos: 1 })
    t.notOk(
      [...late.last.keys()].some((each) => each.includes('/events/')),
      'events are not kept',
    )
    const described = [...late.last.keys()].filter((each) => each.startsWith('homeassistant/'))
    t.equal(described.length, 4, 'three points and the line')
    const sensor = described.find((each) => late.json(each).name === 'supply °C') ?? ''
    t.match(late.json(sensor), { state_topic: supply, unit_of_measurement: '°C', device_class: 'temperature' })

    t.equal((await gateway.call('DELETE', `${path}/points/supply%20%C2%B0C`)).status, 204)
    await until('the point is forgotten', () => live.text(supply) === '' && live.text(sensor) === '')
    const { body } = await gateway.call('POST', '/api/mqtt/test')
    await until('a test arrives', () => live.text(body.topic) !== undefined)
    t.match(await gateway.call('GET', '/api/mqtt'), {
      body: { state: 'connected', prefix: 'house/gateway', isEncrypted: false, dropped: 0, refused: 0 },
    })
    t.match((await gateway.call('GET', '/metrics')).body, /plantroom_mqtt_connected 1/)
    await gateway.stop()
    await until('the end is told', () => live.text('house/gateway/status') === 'offline')
  },
)

t.test('a broker that ends is away in the ledger, and is told everything when it is back', { skip }, async (t) => {
  const broker = await startBroker(t)
  const gateway = await startGateway(t, { sets: [`mqtt.url=mqtt://127.0.0.1:${broker.port}`, ...QUICK] })
  await gateway.setUp()
  const { topic, path } = await lineOf(t, gateway)
  const state = async () => (await gateway.call('GET', '/api/mqtt')).body
  const away = async () =>
    (await gateway.call('GET', '/api/ledger')).body.entries.find(({ what }: { what: string }) => what === 'broker_away')
  await until('it is connected', async () => (await state()).state === 'connected')
  await broker.stop()
  await until('it is away', async () => (await state()).state === 'waiting')
  await until('the ledger says so', async () => (await away())?.until === null)
  t.match((await away()).sentence, /The MQTT broker is away: .*127\.0\.0\.1:\d+.*table mqtt/)
  // While it tries, there is no next time.
  let told = await state()
  await until('it waits between two tries', async () => {
    told = await state()
    return told.nextTryAt !== null
  })
  t.match(told, { fault: { message: /127\.0\.0\.1/ }, nextTryAt: Number })
  t.match(await gateway.call('POST', '/api/mqtt/test'), { status: 503, body: { error: 'broker_away' } })
  // What happens meanwhile waits; what is removed meanwhile is removed later.
  await gateway.call('POST', `${path}/close`)
  t.equal((await gateway.call('DELETE', `${path}/points/gone`)).status, 204)
  t.ok((await state()).waiting > 0)
  broker.start()
  const live = await listen(broker)
  await until('the line is told', () => live.json(`${topic}/state`)?.state === 'closed')
  await until('what happened is told', () =>
    live.all.some(([each, text]) => each === `${topic}/events/port` && JSON.parse(text).payload.state === 'closed'),
  )
  await until('it is online', () => live.text('house/gateway/status') === 'online')
  t.match(live.json(`${topic}/points/supply °C`), { value: null })
  t.notOk(live.text(`${topic}/points/gone`))
  await until('the ledger says that it is over', async () => (await away())?.until !== null)
})

t.test(
  'the broker says offline for a gateway that was killed; the next run removes what is gone',
  { skip },
  async (t) => {
    const broker = await startBroker(t)
    const stateFolder = stateFolderOf(t)
    const sets = [`mqtt.url=mqtt://127.0.0.1:${broker.port}`, ...QUICK]
    const first = await startGateway(t, { sets, stateFolder })
    await first.setUp()
    const { topic } = await lineOf(t, first)
    const live = await listen(broker)
    await until('it is online', () => live.text('house/gateway/status') === 'online')
    await until('the points are noted on the disk', () =>
      readFileSync(join(stateFolder, 'mqtt.json'), 'utf8').includes(`${topic}/points/gone`),
    )
    await first.stop('SIGKILL')
    await until('the last will is told', () => live.text('house/gateway/status') === 'offline')
    const second = await startGateway(t, { sets: [...sets, 'mqtt.discovery_prefix='], stateFolder })
    await until('it is online again', () => live.text('house/gateway/status') === 'online')
    const described = [...live.last].filter(([each]) => each.startsWith('homeassistant/'))
    await until('what is told no more is removed', () => described.every(([each]) => live.text(each) === ''))
    t.equal(described.length, 4)
    await second.stop()
  },
)

/** An authority of its own, and a broker's certificate signed by it. */
function certificatesIn(folder: string) {
  const at = (name: string) => join(folder, name)
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const make = (name: string, ...more: string[]) =>
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        ...key,
        '-subj',
        `/CN=${name}`,
        '-keyout',
        at(`${name}.key`),
        '-out',
        at(`${name}.pem`),
        ...more,
      ],
      { stdio: 'pipe' },
    )
  make('authority')
  make('stranger')
  const signed = ['-CA', at('authority.pem'), '-CAkey', at('authority.key'), '-addext', 'basicConstraints=CA:FALSE']
  make('broker', ...signed, '-addext', 'subjectAltName=IP:127.0.0.1')
  return at
}

t.test(
  'a broker with TLS and an account: a wrong certificate and a wrong password are said plainly',
  { skip },
  async (t) => {
    const at = certificatesIn(t.testdir({}))
    execFileSync('mosquitto_passwd', ['-b', '-c', at('accounts'), 'plant', 'sesame street'], { stdio: 'pipe' })
    writeFileSync(at('password'), 'sesame street\n')
    writeFileSync(at('wrong'), 'open barley\n')
    // It reads them as whoever started it.
    const files = ['user root', `certfile ${at('broker.pem')}`, `keyfile ${at('broker.key')}`]
    const broker = await startBroker(t, ['allow_anonymous false', `password_file ${at('accounts')}`, ...files], {
      ca: readFileSync(at('authority.pem')),
      username: 'plant',
      password: 'sesame street',
    })
    const live = await listen(broker)
    const start = async (scheme: string, more: string[]) => {
      const url = `mqtt.url=${scheme}://127.0.0.1:${broker.port}`
      const gateway = await startGateway(t, { sets: [url, 'mqtt.username=plant', ...QUICK, ...more] })
      await gateway.setUp()
      return { gateway, state: async () => (await gateway.call('GET', '/api/mqtt')).body }
    }
    const cases: [scheme: string, ca: string, password: string, code: string, sentence: RegExp][] = [
      ['mqtts', 'stranger.pem', 'password', 'broker_certificate', /no authority known here.*mqtt\.ca_file/],
      ['mqtts', 'authority.pem', 'wrong', 'broker_refused', /does not (take username and password|allow this account)/],
      ['mqtt', 'authority.pem', 'password', 'broker_lost', /write mqtts:\/\//],
    ]
    for (const [scheme, ca, password, code, sentence] of cases) {
      const files = [`mqtt.ca_file=${at(ca)}`, `mqtt.password_file=${at(password)}`]
      const { gateway, state } = await start(scheme, files)
      await until(`${code} is said`, async () => (await state()).state === 'waiting')
      t.match((await state()).fault, { code, message: sentence })
      t.notMatch(gateway.output(), /sesame|barley/)
      await gateway.stop()
    }
    const right = [`mqtt.ca_file=${at('authority.pem')}`, `mqtt.password_file=${at('password')}`]
    const { gateway, state } = await start('mqtts', right)
    await until('it is connected', async () => (await state()).state === 'connected')
    t.match(await state(), { isEncrypted: true, fault: null })
    await until('it is online', () => live.text('house/gateway/status') === 'online')
    t.notMatch(gateway.output() + JSON.stringify(await state()), /sesame/)
  },
)
