/** Driver for devices behind an MQTT broker: topics of its row, or whatever zigbee2mqtt says that its devices expose. */
import { Fault } from '#kit/pure/fault.ts'
import { foldedName } from '../../control/reading.ts'
import { isObject, type Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import {
  type BrokerPlace,
  type Driver,
  type DriverCommand,
  type DriverContext,
  type Publication,
  tcpPlaceOf,
  unknownVerb,
} from '../driver.ts'
import { createReporter, type Feedback, jsonOf, readRule, saysState } from '../feedback.ts'
import {
  addressOf,
  columnOf,
  entriesOf,
  fieldsOf,
  flawIn,
  inside,
  itemsOf,
  type Placed,
  refuse,
  textIn,
} from '../row-config.ts'
import {
  fill,
  inAscii,
  inTopic,
  namesAddress,
  readJsonTemplate,
  readTemplate,
  type Scope,
  type Template,
} from '../template.ts'
import { settingOf, zonePatch } from '../zone-values.ts'
import { type Exposed, messageFor, nameOf, readExposes, valuesIn } from './exposes.ts'

const PORT = 1883
const CONFIG_KEYS = ['commands', 'feedback', 'availability', 'zigbee2mqtt']

/** What a message of a topic does. */
type Hear = (text: string) => void

export function createMqttDriver(): Driver {
  return {
    name: 'mqtt',
    reads: () => ({ transport: ['host', 'port'], config: CONFIG_KEYS, polls: false }),
    flaw: (device) => flawIn(() => [tcpPlaceOf(device, PORT), planOf(device)]),
    async open(device, zones, context) {
      const plan = planOf(device)
      const place = { ...tcpPlaceOf(device, PORT), username: usernameOf(device), password: context.secret('password') }
      const reach = createReach(context)
      const parts: Parts = { device, zones, context, reach }
      const bridge = plan.bridge === undefined ? undefined : createBridge(plan.bridge, parts)
      const hearers = gathered([...topicsOf(plan, parts), ...(bridge?.topics ?? [])])
      const connection = await context.connectBroker(
        place satisfies BrokerPlace,
        [...hearers.keys()],
        (topic, bytes) => {
          const text = new TextDecoder().decode(bytes)
          for (const hear of hearers.get(topic) ?? []) hear(text)
        },
      )
      reach.connected()
      return {
        async execute(command, signal) {
          reach.check(command.zone)
          const call = plan.commands.get(foldedName(command.verb))
          if (!call && !bridge) throw unknownVerb(device, command.verb, plan.commands.keys())
          for (const message of call ? callsFor(call, command, parts) : (bridge?.messages(command) ?? []))
            await connection.publish(message, signal)
          return {}
        },
        async close() {},
      }
    },
  }
}

interface Parts {
  device: Row
  zones: readonly Row[]
  context: DriverContext
  reach: Reach
}

function usernameOf({ username }: Row): string | null {
  return typeof username === 'string' && username !== '' ? username : null
}

function gathered(topics: readonly (readonly [string, Hear])[]): Map<string, Hear[]> {
  const hearers = new Map<string, Hear[]>()
  for (const [topic, hear] of topics) hearers.set(topic, [...(hearers.get(topic) ?? []), hear])
  return hearers
}

// Who is within reach: the device, and single zones behind it.

interface Reach {
  connected(): void
  /** The device says that it is there, or its last will that it is not. */
  device(isThere: boolean): void
  zone(zone: Row, isThere: boolean): void
  /** Reports a zone, unless it is away. */
  report: DriverContext['report']
  /** @throws Fault `device_unreachable` */
  check(zone: Row | undefined): void
}

const AWAY = 'the broker says that it is offline'

function createReach(context: DriverContext): Reach {
  let isAway = false
  const zonesAway = new Set<number>()
  /** The last state of each zone: it counts again when it is back. */
  const states = new Map<number, Json>()
  return {
    connected: () => void (isAway ? context.away(AWAY) : context.online(true)),
    device(isThere) {
      isAway = !isThere
      if (isThere) context.online(true)
      else context.away(AWAY)
    },
    zone({ id }, isThere) {
      if (isThere ? !zonesAway.delete(id) : zonesAway.has(id)) return
      if (!isThere) zonesAway.add(id)
      context.report({ zoneId: id }, { state: isThere ? (states.get(id) ?? 'ok') : 'unknown' })
    },
    report(target, patch) {
      if (!('zoneId' in target)) return
      if (patch.state !== undefined) states.set(target.zoneId, patch.state)
      const isZoneAway = zonesAway.has(target.zoneId)
      context.report(target, isZoneAway ? { ...patch, state: 'unknown' } : patch)
    },
    check(zone) {
      if (isAway) throw new Fault('device_unreachable', AWAY)
      if (zone && zonesAway.has(zone.id)) throw new Fault('device_unreachable', `zone ${zone.id}: ${AWAY}`)
    },
  }
}

// Topics of the row.

interface Call {
  topic: Template
  payload: (scope: Scope) => string
  isRetained: boolean
  /** Stands for one zone; a command to the whole device is sent for each. */
  isOfZone: boolean
}

interface Heard {
  topic: Template
  rule: Feedback
}

interface Availability {
  topic: Template
  online: string
  offline: string
}

interface Plan {
  commands: ReadonlyMap<string, Call>
  feedback: readonly Heard[]
  availability: Availability | undefined
  /** The base topic of zigbee2mqtt. */
  bridge: string | undefined
}

/** @throws Fault `driver_config` */
function planOf(device: Row): Plan {
  const config = columnOf(device, 'config')
  const base = inside(config, 'zigbee2mqtt')
  const availability = inside(config, 'availability')
  return {
    commands: new Map(entriesOf(inside(config, 'commands')).map(([verb, call]) => [foldedName(verb), callOf(call)])),
    feedback: itemsOf(inside(config, 'feedback')).map((item) => ({
      rule: readRule(item, ['topic']),
      topic: topicIn(inside(item, 'topic'), false),
    })),
    availability: availability.value === undefined ? undefined : availabilityOf(availability),
    bridge: base.value === undefined ? undefined : fill(topicIn(base, false), NO_VALUES, inTopic),
  }
}

const NO_VALUES: Scope = { address: '', args: {}, own: () => null }

function topicIn(placed: Placed, hasArgs: boolean): Template {
  const template = readTemplate(placed)
  for (const part of template) {
    if (typeof part === 'string' ? /[+#\p{Cc}]/u.test(part) : part.name !== 'address' && !hasArgs)
      refuse(placed, 'is not a topic: it takes no +, no #, and of values only the address')
  }
  return template
}

function callOf(placed: Placed): Call {
  const { retain = false } = fieldsOf(placed, ['topic', 'text', 'json', 'retain'])
  if (typeof retain !== 'boolean') refuse(inside(placed, 'retain'), 'has to be true or false')
  const topic = topicIn(inside(placed, 'topic'), true)
  const [text, json] = [inside(placed, 'text'), inside(placed, 'json')]
  if ((text.value === undefined) === (json.value === undefined)) refuse(placed, 'needs one of text and json')
  const isOfZone = namesAddress(topic)
  if (json.value !== undefined) {
    const template = readJsonTemplate(json)
    return { topic, isOfZone, isRetained: retain, payload: (scope) => JSON.stringify(template(scope)) }
  }
  const template = readTemplate(text)
  return { topic, isOfZone, isRetained: retain, payload: (scope) => fill(template, scope, inAscii) }
}

function availabilityOf(placed: Placed): Availability {
  fieldsOf(placed, ['topic', 'online', 'offline'])
  const word = (key: 'online' | 'offline') => {
    const { value = key } = inside(placed, key)
    return textIn({ value, place: `${placed.place}.${key}` })
  }
  return { topic: topicIn(inside(placed, 'topic'), false), online: word('online'), offline: word('offline') }
}

function topicsOf(plan: Plan, { device, zones, context, reach }: Parts): [string, Hear][] {
  const own: Scope['own'] = () => null
  const at = (topic: Template, row: Row) => fill(topic, { address: addressOf(row), args: {}, own }, inTopic)
  const found: [string, Hear][] = []
  const each = (topic: Template, hearOf: (some: readonly Row[]) => Hear) => {
    if (!namesAddress(topic)) found.push([at(topic, device), hearOf(zones)])
    else for (const zone of zones) if (isFitForTopic(addressOf(zone))) found.push([at(topic, zone), hearOf([zone])])
  }
  const hasState = saysState(plan.feedback.map(({ rule }) => rule))
  for (const { topic, rule } of plan.feedback)
    each(topic, (some) => {
      const tell = createReporter([rule], some, reach, hasState)
      return (text) => {
        if (!tell(text)) context.log('a message does not fit the feedback of its topic')
      }
    })
  const { availability } = plan
  if (availability)
    each(availability.topic, (some) => (text) => {
      const said = readAvailability(text)
      if (said !== availability.online && said !== availability.offline) return
      const isThere = said === availability.online
      if (!namesAddress(availability.topic)) reach.device(isThere)
      else for (const zone of some) reach.zone(zone, isThere)
    })
  return found
}

/** A word, or {"state": word}. */
function readAvailability(text: string): string {
  const said = jsonOf(text)
  return isObject(said) && typeof said.state === 'string' ? said.state : text.trim()
}

function callsFor(call: Call, { zone, args }: DriverCommand, { device, zones, context }: Parts): Publication[] {
  const own: Scope['own'] = (column) => (column === 'username' ? usernameOf(device) : context.secret(column))
  const rows = zone ? [zone] : call.isOfZone && addressOf(device) === '' ? zones : [device]
  return rows.map((row) => {
    const scope = { address: addressOf(row) || addressOf(device), args, own }
    return {
      topic: fill(call.topic, scope, inTopic),
      payload: new TextEncoder().encode(call.payload(scope)),
      isRetained: call.isRetained,
    }
  })
}

// zigbee2mqtt: its bridge says which devices there are, and what each exposes.

interface Bridge {
  topics: [string, Hear][]
  messages(command: DriverCommand): Publication[]
}

/** Longest state of a device that is kept until the bridge has said what it exposes. */
const LONGEST_STATE = 2048

function isFitForTopic(name: string): boolean {
  return name !== '' && !/[+#\p{C}]/u.test(name)
}

function createBridge(base: string, { zones, context, reach }: Parts): Bridge {
  const named = zones.filter((zone) => {
    const isFit = isFitForTopic(nameOf(addressOf(zone)))
    if (!isFit) context.log(`zone ${zone.id} has no address that may stand in a topic`)
    return isFit
  })
  const addresses = new Set(named.map(addressOf))
  let exposed: ReadonlyMap<string, Exposed> = new Map()
  const last = new Map<string, string>()

  function tell(zone: Row, text: string): void {
    const own = exposed.get(addressOf(zone))
    const values = own ? valuesIn(jsonOf(text), own) : []
    if (values.length > 0) reach.report({ zoneId: zone.id }, zonePatch(values, { hasState: own?.has('on') === true }))
  }

  function learn(text: string): void {
    const list = jsonOf(text)
    exposed = readExposes(list, addresses)
    const missing = [...addresses].filter((address) => !exposed.has(address))
    if (missing.length > 0) context.log(`zigbee2mqtt has no device ${missing.slice(0, 8).join(', ')}`)
    for (const zone of named) tell(zone, last.get(nameOf(addressOf(zone))) ?? '')
    last.clear()
  }

  const ofZone = (zone: Row): [string, Hear][] => {
    const name = nameOf(addressOf(zone))
    return [
      [
        `${base}/${name}`,
        (text) => {
          if (exposed.size === 0 && text.length <= LONGEST_STATE) last.set(name, text)
          tell(zone, text)
        },
      ],
      [`${base}/${name}/availability`, (text) => reach.zone(zone, readAvailability(text) !== 'offline')],
    ]
  }
  return {
    topics: [
      [`${base}/bridge/state`, (text) => reach.device(readAvailability(text) !== 'offline')],
      [`${base}/bridge/devices`, learn],
      ...named.flatMap(ofZone),
    ],
    messages(command) {
      const rows = command.zone ? [command.zone] : named
      return rows.map((zone) => {
        const own = exposed.get(addressOf(zone))
        if (!own)
          throw new Fault('driver_value', `zigbee2mqtt has not said what ${JSON.stringify(addressOf(zone))} exposes`)
        const message = messageFor(settingOf(command), foldedName(command.verb), own)
        const topic = `${base}/${nameOf(addressOf(zone))}/set`
        return { topic, payload: new TextEncoder().encode(JSON.stringify(message)), isRetained: false }
      })
    },
  }
}
