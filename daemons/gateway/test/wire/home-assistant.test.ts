import fc from 'fast-check'
import t from 'tap'
import { homeTopic, topicLevel } from '#kit/pure/home-assistant.ts'
import { holds } from '#kit/test/holds.ts'
import { type HomePoint, homeLine, homePoint } from '../../wire/home-assistant.ts'

const origin = { program: 'Plantroom gateway', version: '1.2.3', statusTopic: 'plantroom/x/status' }
const box = { id: 'plantroom_x', name: 'Plant room', maker: 'Plantroom', model: 'gateway', version: '1.2.3' }
const point: HomePoint = {
  id: 'plantroom_x_1',
  name: 'supply',
  stateTopic: 'plantroom/x/ports/ttyUSB0/points/supply',
  device: { id: 'plantroom_x_2', name: 'Plant room ttyUSB0 unit 3', model: 'xy-md02', via: box.id },
  kind: 'number',
  unit: '°C',
  decimals: 1,
  expireS: 180,
}

/**
 * The fields that Home Assistant takes, each with the type of its value: others make it refuse the entity.
 * @source home-assistant.io, MQTT sensor and MQTT binary sensor, configuration variables; MQTT integration, discovery payload
 */
const COMMON = {
  name: 'string',
  unique_id: 'string',
  state_topic: 'string',
  value_template: 'string',
  availability: 'object',
  availability_mode: 'string',
  device: 'object',
  origin: 'object',
  device_class: 'string',
  entity_category: 'string',
  expire_after: 'number',
}
const FIELDS: Record<string, Record<string, string>> = {
  sensor: { ...COMMON, unit_of_measurement: 'string', state_class: 'string', suggested_display_precision: 'number' },
  binary_sensor: COMMON,
}
const DEVICE = ['identifiers', 'name', 'manufacturer', 'model', 'sw_version', 'via_device']

/** What is wrong with an entity by the documentation. */
function flawsOf({ component, config }: ReturnType<typeof homePoint>): string[] {
  const flaws = Object.entries(config).flatMap(([key, value]) =>
    FIELDS[component]?.[key] === typeof value ? [] : [`${key} is no ${FIELDS[component]?.[key]}`],
  )
  const {
    availability,
    device,
    origin: from,
  } = config as {
    availability: Record<string, string>[]
    device: Record<string, unknown>
    origin: Record<string, unknown>
  }
  for (const each of availability)
    if (!each.topic || Object.keys(each).some((key) => !['topic', 'value_template'].includes(key)))
      flaws.push('availability')
  flaws.push(...Object.keys(device).filter((key) => !DEVICE.includes(key)))
  // A device is found by identifiers or connections, one of which it needs; an origin has a name.
  if (!Array.isArray(device.identifiers) || device.identifiers.length === 0) flaws.push('identifiers')
  if (typeof from.name !== 'string') flaws.push('origin')
  if (config.state_class !== undefined && !['measurement', 'total_increasing'].includes(String(config.state_class)))
    flaws.push('state_class')
  // Home Assistant refuses a measurement of energy.
  if (config.device_class === 'energy' && config.state_class !== 'total_increasing') flaws.push('energy')
  return flaws
}

t.test('a number with its unit is a sensor that is available only while its value is good', async (t) => {
  const entity = homePoint(point, origin)
  t.strictSame(flawsOf(entity), [])
  t.strictSame(entity, {
    component: 'sensor',
    id: 'plantroom_x_1',
    config: {
      name: 'supply',
      unique_id: 'plantroom_x_1',
      device: {
        identifiers: ['plantroom_x_2'],
        name: 'Plant room ttyUSB0 unit 3',
        model: 'xy-md02',
        via_device: 'plantroom_x',
      },
      origin: { name: 'Plantroom gateway', sw_version: '1.2.3' },
      state_topic: 'plantroom/x/ports/ttyUSB0/points/supply',
      availability: [
        { topic: 'plantroom/x/status' },
        {
          topic: 'plantroom/x/ports/ttyUSB0/points/supply',
          value_template: "{{ 'online' if value_json.quality == 'good' else 'offline' }}",
        },
      ],
      availability_mode: 'all',
      expire_after: 180,
      value_template: '{{ value_json.value }}',
      unit_of_measurement: '°C',
      device_class: 'temperature',
      state_class: 'measurement',
      suggested_display_precision: 1,
    },
  })
})

t.test('energy is a counter, and a unit that does not say what is measured has no device class', async (t) => {
  const classes = (unit: string | null) => {
    const entity = homePoint({ ...point, unit }, origin)
    t.strictSame(flawsOf(entity), [], String(unit))
    return [entity.config.device_class, entity.config.state_class]
  }
  t.strictSame(classes('kWh'), ['energy', 'total_increasing'])
  t.strictSame(classes('m³/h'), ['volume_flow_rate', 'measurement'])
  for (const unit of ['%', 'm³', 'rpm', 'toString', null]) t.strictSame(classes(unit), [undefined, 'measurement'])
})

t.test('a bit is on or off, and a text has neither unit nor class', async (t) => {
  const bit = homePoint({ ...point, kind: 'bit', unit: null }, origin)
  t.strictSame([bit.component, flawsOf(bit)], ['binary_sensor', []])
  t.match(bit.config.value_template, /'ON' if value_json\.value else 'OFF'/)
  const text = homePoint({ ...point, kind: 'text', decimals: null, expireS: undefined }, origin)
  t.strictSame([text.component, flawsOf(text)], ['sensor', []])
  for (const key of ['unit_of_measurement', 'device_class', 'state_class', 'expire_after'])
    t.notOk(key in text.config, key)
})

t.test('a line is on while it is open', async (t) => {
  const entity = homeLine(
    { id: 'l', name: 'ttyUSB0', stateTopic: 'plantroom/x/ports/ttyUSB0/state', device: box },
    origin,
  )
  t.strictSame([entity.component, flawsOf(entity)], ['binary_sensor', []])
  t.match(entity.config, { device_class: 'connectivity', device: { manufacturer: 'Plantroom', sw_version: '1.2.3' } })
})

t.test('the topic of a description has the form that Home Assistant looks for', async (t) => {
  const topic = homeTopic('homeassistant', 'plantroom_x', homePoint(point, origin))
  t.equal(topic, 'homeassistant/sensor/plantroom_x/plantroom_x_1/config')
  t.match(topic, /^homeassistant\/[a-z_]+\/[a-zA-Z0-9_-]+\/[a-zA-Z0-9_-]+\/config$/)
})

t.test('any two texts are different levels of a topic, without what MQTT forbids there', async (t) => {
  t.strictSame(['supply °C', 'a/b', '50%', '+', '#', 'x\u0000y'].map(topicLevel), [
    'supply °C',
    'a%2Fb',
    '50%25',
    '%2B',
    '%23',
    'x%00y',
  ])
  const text = fc.string({ unit: 'binary' })
  holds(
    t,
    fc.property(text, (one) => {
      const level = topicLevel(one)
      return !/[/+#\p{C}]/u.test(level) && decodeURIComponent(level) === one.toWellFormed()
    }),
  )
})
