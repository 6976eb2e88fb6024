// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates of rows are written like that
/** The driver behind the host, with Debian's broker. */
import t, { type Test } from 'tap'
import { startBroker } from '#kit/test/net/mqtt/broker.ts'
import { until } from '#kit/test/until.ts'
import { createMqttDriver } from '../../../../core/drivers/mqtt/mqtt.ts'
import type { Json } from '../../../../core/json.ts'
import type { Row } from '../../../../core/site/book.ts'
import { toyStage } from '../toy-stage.ts'

function stage(t: Test, port: number, config: Json, address = 'hall') {
  return toyStage(t, {
    driver: createMqttDriver(),
    transport: { kind: 'mqtt', host: '127.0.0.1', port },
    device: { config },
    zone: { address },
  })
}

const TASMOTA: Json = {
  availability: { topic: 'tele/bus/LWT', online: 'Online', offline: 'Offline' },
  commands: {
    on: { topic: 'cmnd/${address}/POWER', text: 'ON' },
    level: { topic: 'cmnd/${address}/Dimmer', text: '${args.level|round}' },
    scene: { topic: 'cmnd/${address}/Scene', json: { scene: '${args.scene}', by: 'plantroom' }, retain: true },
  },
  feedback: [
    { topic: 'stat/${address}/POWER', field: 'on', map: { ON: true, OFF: false } },
    { topic: 'tele/${address}/STATE', field: 'level', pointer: '/Dimmer' },
    { topic: 'tele/${address}/STATE', field: 'on', pointer: '/POWER', map: { ON: true, OFF: false } },
  ],
}

t.test('verbs are messages, and messages are values, those too that the broker has kept', async (t) => {
  const broker = await startBroker(t)
  const devices = await broker.devices(['cmnd/#'])
  await devices.say('stat/hall/POWER', 'OFF')
  const { command, reading, live } = stage(t, broker.port, TASMOTA)
  await until('what was kept is read', () => reading().on === false)
  t.match(reading(), { state: 'off' })
  t.equal(live.device(1).state, 'online')
  t.strictSame(await command('on'), {})
  t.strictSame(await command('level', { level: 41.6 }), {})
  t.strictSame(await command('scene', { scene: 'a"b' }), {})
  await until('they have arrived', () => devices.heard.length === 3)
  t.strictSame(devices.heard, [
    ['cmnd/hall/POWER', 'ON'],
    ['cmnd/hall/Dimmer', '42'],
    ['cmnd/hall/Scene', '{"scene":"a\\"b","by":"plantroom"}'],
  ])
  await devices.say('tele/hall/STATE', '{"Dimmer":42,"POWER":"ON"}')
  await until('it is read', () => reading().level === 42)
  t.match(reading(), { state: 'on', on: true })
  await t.rejects(command('dance'), { message: /has no command "dance"/ })
  await t.rejects(command('level', { level: 'up' }), { message: /args\.level is text, expected a number/ })
})

t.test('a last will makes the device offline, and its word brings it back', async (t) => {
  const broker = await startBroker(t)
  const devices = await broker.devices()
  await devices.say('tele/hall/STATE', '{"Dimmer":42,"POWER":"ON"}')
  const { command, reading, live } = stage(t, broker.port, TASMOTA)
  await until('it is read', () => reading().level === 42)
  await devices.say('tele/bus/LWT', 'Offline')
  await until('it is offline', () => live.device(1).state === 'offline')
  t.equal(live.device(1).error, 'the broker says that it is offline')
  t.equal(reading().state, 'unknown')
  await t.rejects(command('on'), { message: 'device 1: the broker says that it is offline' })
  await devices.say('tele/bus/LWT', 'Online')
  await until('it is back', () => live.device(1).state === 'online')
  await devices.say('tele/hall/STATE', '{"Dimmer":43,"POWER":"ON"}')
  await until('it is heard', () => reading().level === 43)
})

t.test('a broker that goes away takes its devices along, and brings them back', async (t) => {
  const broker = await startBroker(t)
  await broker.devices()
  const { command, live } = stage(t, broker.port, TASMOTA)
  await until('it is online', () => live.device(1).state === 'online')
  await broker.stop()
  await until('it is offline', () => live.device(1).state === 'offline')
  t.match(live.device(1).error, /closed the connection|refuses connections/)
  await t.rejects(command('on'), { message: /is offline/ })
  broker.start()
  const devices = await broker.devices(['cmnd/#'])
  await until('it works again', () =>
    command('on').then(
      () => true,
      () => false,
    ),
  )
  await until('it has arrived', () => devices.heard.length === 1)
})

t.test('messages that are no text, too deep or too long do no harm', async (t) => {
  const broker = await startBroker(t)
  const devices = await broker.devices()
  const { reading, live, said } = stage(t, broker.port, TASMOTA)
  await until('it is online', () => live.device(1).state === 'online')
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`
  for (const text of [Buffer.from([0xff, 0, 0x1b]), deep, '{"Dimmer":{"a":1}}', '', '{"Dimmer":1e999}'])
    await devices.say('tele/hall/STATE', text, false)
  await devices.say('tele/hall/STATE', '{"Dimmer":7}', false)
  await until('it is read', () => reading().level === 7)
  t.ok(said.includes('a message does not fit the feedback of its topic'))
  await devices.say('tele/hall/STATE', 'x'.repeat(100_000), false)
  await until('it is cut off', () => live.device(1).state === 'offline')
  t.match(live.device(1).error, /sent a message longer than drivers\.mqtt_bytes \(65536\)/)
  await until('it is back', () => live.device(1).state === 'online')
})

const LAMP = {
  friendly_name: 'hall/lamp',
  definition: {
    exposes: [
      {
        type: 'light',
        features: [
          {
            type: 'binary',
            name: 'state',
            property: 'state',
            access: 7,
            value_on: 'ON',
            value_off: 'OFF',
            value_toggle: 'TOGGLE',
          },
          { type: 'numeric', name: 'brightness', property: 'brightness', access: 7, value_min: 0, value_max: 254 },
        ],
      },
      { type: 'numeric', name: 'linkquality', property: 'linkquality', access: 1 },
    ],
  },
}

t.test('a zone takes the verbs and values that its device of zigbee2mqtt exposes', async (t) => {
  const broker = await startBroker(t)
  const devices = await broker.devices(['zigbee2mqtt/+/+/set'])
  await devices.say('zigbee2mqtt/bridge/state', '{"state":"online"}')
  await devices.say('zigbee2mqtt/hall/lamp', '{"state":"ON","brightness":127,"linkquality":90}')
  const { command, reading, live } = stage(t, broker.port, { zigbee2mqtt: 'zigbee2mqtt' }, 'hall/lamp')
  await until('it is online', () => live.device(1).state === 'online')
  await t.rejects(command('on'), { message: /has not said what "hall\/lamp" exposes/ })
  await devices.say('zigbee2mqtt/bridge/devices', JSON.stringify([LAMP]))
  await until('it is read', () => reading().level === 50)
  t.match(reading(), { state: 'on', on: true, linkquality: 90 })
  await command('level', { level: 100 })
  await command('off')
  await command('toggle')
  await command('level', { level: 0 })
  await until('they have arrived', () => devices.heard.length === 4)
  t.strictSame(
    devices.heard.map(([topic, text]) => `${topic} ${text}`),
    ['{"brightness":254}', '{"state":"OFF"}', '{"state":"TOGGLE"}', '{"state":"OFF"}'].map(
      (text) => `zigbee2mqtt/hall/lamp/set ${text}`,
    ),
  )
  await t.rejects(command('setpoint', { setpoint: 20 }), { message: /setpoint cannot be set: it takes on, level/ })
  await devices.say('zigbee2mqtt/hall/lamp/availability', '{"state":"offline"}')
  await until('the zone is unknown', () => reading().state === 'unknown')
  t.equal(live.device(1).state, 'online', 'the others behind the bridge are there')
  await t.rejects(command('on'), { message: /zone 1: the broker says that it is offline/ })
  await devices.say('zigbee2mqtt/hall/lamp/availability', '{"state":"online"}')
  await until('it is known again', () => reading().state === 'on')
  await devices.say('zigbee2mqtt/bridge/state', '{"state":"offline"}')
  await until('all are offline', () => live.device(1).state === 'offline')
})

t.test('an account that the broker refuses is told so', async (t) => {
  const broker = await startBroker(t)
  await broker.devices()
  await broker.stop()
  const strict = await startBroker(t, ['allow_anonymous false'])
  const { live } = stage(t, strict.port, TASMOTA)
  await until('it is refused', () => /does not allow this account/.test(live.device(1).error ?? ''))
})

t.test('what is wrong with a row is said with its place', async (t) => {
  const flawOf = (config: Json) =>
    createMqttDriver().flaw?.({ id: 1, transport: { host: 'a', port: 1883 }, config } as unknown as Row)
  t.equal(flawOf(TASMOTA), undefined)
  const wrong: [Json, RegExp][] = [
    [{ feedback: [{ topic: 'a/#', field: 'on' }] }, /^config\.feedback\[0\]\.topic is not a topic/],
    [{ feedback: [{ topic: 'a/${args.x}', field: 'on' }] }, /of values only the address/],
    [{ commands: { on: { topic: 'a' } } }, /needs one of text and json/],
    [{ commands: { on: { topic: 'a', text: 'b', qos: 2 } } }, /has the key "qos"/],
    [{ commands: { on: { topic: 'a', text: 'b', retain: 1 } } }, /retain has to be true or false/],
    [{ zigbee2mqtt: 'a/+' }, /config\.zigbee2mqtt is not a topic/],
    [{ availability: { topic: 'a', on: 'x' } }, /has the key "on", known are topic, online, offline/],
  ]
  for (const [config, words] of wrong) t.match(flawOf(config), words)
})
