/** How Home Assistant is told of the gateway's points: the messages of MQTT discovery, one for each entity. */
import { type HomeDevice, type HomeEntity, type HomeOrigin, homeIdentity } from '#kit/pure/home-assistant.ts'

/** A point with the topic of its values. */
export interface HomePoint {
  id: string
  name: string
  stateTopic: string
  device: HomeDevice
  /** `bit`: on and off; `number`; `text`: anything else. */
  kind: 'bit' | 'number' | 'text'
  unit: string | null
  decimals: number | null
  /** Seconds without a message after which the entity is unavailable; undefined: never. */
  expireS: number | undefined
}

/**
 * Device class and state class by unit of measure. Only units that say by themselves what is measured: m³ may be a
 * meter or the filling of a tank, % anything. A unit that Home Assistant does not know with its class would make it
 * refuse the entity.
 * @source home-assistant.io, Sensor entity, Available device classes and state classes
 */
const CLASSES: ReadonlyMap<string, readonly [device: string, state: string]> = new Map([
  ...classed('energy', 'total_increasing', ['Wh', 'kWh', 'MWh', 'MJ', 'GJ']),
  ...classed('power', 'measurement', ['W', 'kW']),
  ...classed('voltage', 'measurement', ['V', 'mV']),
  ...classed('current', 'measurement', ['A', 'mA']),
  ...classed('frequency', 'measurement', ['Hz', 'kHz', 'MHz']),
  ...classed('apparent_power', 'measurement', ['VA']),
  ...classed('reactive_power', 'measurement', ['var']),
  ...classed('temperature', 'measurement', ['°C', '°F', 'K']),
  ...classed('pressure', 'measurement', ['Pa', 'hPa', 'kPa', 'mbar', 'bar', 'psi']),
  ...classed('volume_flow_rate', 'measurement', ['m³/h', 'L/min']),
  ...classed('illuminance', 'measurement', ['lx']),
  ...classed('duration', 'measurement', ['s', 'min', 'h', 'd']),
])

function classed(device: string, state: string, units: readonly string[]) {
  return units.map((unit) => [unit, [device, state]] as const)
}

/**
 * A point as an entity. It is available only while the gateway is online and the value is good: a value of another
 * quality is never shown as one.
 * @source home-assistant.io, MQTT integration: discovery payload; MQTT sensor; MQTT binary sensor
 */
export function homePoint(point: HomePoint, origin: HomeOrigin): HomeEntity {
  const { decimals, device, expireS, id, kind, name, stateTopic, unit } = point
  const isGood = "{{ 'online' if value_json.quality == 'good' else 'offline' }}"
  const common = {
    ...homeIdentity({ id, name, device }, origin),
    state_topic: stateTopic,
    availability: [{ topic: origin.statusTopic }, { topic: stateTopic, value_template: isGood }],
    availability_mode: 'all',
    ...(expireS !== undefined && { expire_after: expireS }),
  }
  if (kind === 'bit')
    return {
      component: 'binary_sensor',
      id,
      config: {
        ...common,
        // `None`: not known.
        value_template: "{{ 'None' if value_json.value is none else ('ON' if value_json.value else 'OFF') }}",
      },
    }
  const [deviceClass, stateClass] = (unit === null ? undefined : CLASSES.get(unit)) ?? [undefined, 'measurement']
  const number = {
    ...(unit !== null && { unit_of_measurement: unit }),
    ...(deviceClass !== undefined && { device_class: deviceClass }),
    state_class: stateClass,
    ...(decimals !== null && { suggested_display_precision: decimals }),
  }
  const config = { ...common, value_template: '{{ value_json.value }}', ...(kind === 'number' && number) }
  return { component: 'sensor', id, config }
}

/** What is needed to describe a line. */
interface HomeLine {
  id: string
  name: string
  stateTopic: string
  device: HomeDevice
}

/**
 * A line as an entity that is on while the line is open.
 * @source home-assistant.io, MQTT binary sensor
 */
export function homeLine({ stateTopic, ...line }: HomeLine, origin: HomeOrigin): HomeEntity {
  return {
    component: 'binary_sensor',
    id: line.id,
    config: {
      ...homeIdentity(line, origin),
      state_topic: stateTopic,
      value_template: "{{ 'ON' if value_json.state == 'open' else 'OFF' }}",
      device_class: 'connectivity',
      entity_category: 'diagnostic',
      availability: [{ topic: origin.statusTopic }],
    },
  }
}
