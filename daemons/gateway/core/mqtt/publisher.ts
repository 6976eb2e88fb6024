/** What the gateway tells an MQTT broker: values of points, states of lines and units, events, and Home Assistant's discovery. */
import { type Static, type TObject, Type } from 'typebox'
import type { Clock, Timer } from '#kit/clock.ts'
import type { MqttOutlet } from '#kit/net/mqtt/outlet.ts'
import { type HomeDevice, type HomeEntity, homeTopic, topicLevel } from '#kit/pure/home-assistant.ts'
import { revisionOf } from '#kit/revision.ts'
import { homeLine, homePoint } from '../../wire/home-assistant.ts'
import type { UnitView } from '../bus/units.ts'
import type { EventHub } from '../lines/events.ts'
import type { Port } from '../lines/port.ts'
import type { PortEvent } from '../lines/ports.ts'
import { type PointBase, pointRevision } from '../points/definition.ts'
import type { ValuePayload } from '../points/values.ts'
import { deliveryBody } from '../webhooks/book.ts'

/** Keys of the table `mqtt` about what is told. */
export const mqttKeys = {
  discovery_prefix: Type.String({
    default: 'homeassistant',
    maxLength: 128,
    pattern: '^$|^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$',
    description: 'where Home Assistant is told of points and lines; empty: it is not',
  }),
  events: Type.Array(Type.String({ pattern: '^[a-z]{1,32}$' }), {
    default: ['port', 'unit', 'error', 'control'],
    maxItems: 16,
    description: 'names of events that are told as they happen; frame is every frame of every line',
  }),
  refresh_ms: Type.Integer({
    default: 60_000,
    minimum: 1000,
    maximum: 86_400_000,
    unit: 'ms',
    description:
      'how often values and states are told again although they have not changed; after three times that Home Assistant takes a point for lost',
  }),
}

type MqttKeys = Static<TObject<typeof mqttKeys>>

/** How many missed messages make an entity unavailable. */
const EXPIRE_PERIODS = 3

/** Between two lines that are told again, so that none of them waits for all of that. */
const SPREAD_MS = 20

/** A line, as far as it is told. */
type LineOfMqtt = Pick<Port, 'path' | 'life' | 'adapter'>

type SeenValue = Pick<ValuePayload, 'value' | 'text' | 'unit' | 'quality' | 'readAt'>

interface MqttPublisherParts {
  clock: Clock
  outlet: Pick<MqttOutlet, 'keep' | 'drop' | 'tell' | 'id' | 'prefix' | 'statusTopic'>
  hub: Pick<EventHub, 'subscribe'>
  ports(): readonly LineOfMqtt[]
  config: MqttKeys & { retain: boolean }
  /** The gateway's own name and version, and what it is. */
  says(): { name: string; version: string; product: string }
}

/** The last message of a topic. */
interface Message {
  make: () => string
  how: { isRetained: boolean; revision?: string }
}

/** Starts with the daemon's lines and ends before them. */
export class MqttPublisher {
  readonly #parts: MqttPublisherParts
  readonly #events: ReadonlySet<string>
  /** Topics by line. */
  readonly #topics = new Map<string, Set<string>>()
  readonly #changed = new Set<string>()
  #syncing: Timer | undefined
  #refreshing: Timer | undefined
  #leave: (() => void) | undefined

  constructor(parts: MqttPublisherParts) {
    this.#parts = parts
    this.#events = new Set(parts.config.events)
  }

  start(): void {
    const { hub, ports } = this.#parts
    this.#leave = hub.subscribe((event) => this.#hear(event))
    for (const { path } of ports()) this.#sync(path)
    this.#refreshLater()
  }

  close(): void {
    this.#leave?.()
    this.#syncing?.cancel()
    this.#refreshing?.cancel()
  }

  /** Points, units or the protocol of a line are others, or it is gone. Quick: the work is done later. */
  changed(path: string): void {
    this.#changed.add(path)
    this.#syncing ??= this.#parts.clock.after(0, () => {
      this.#syncing = undefined
      const paths = [...this.#changed]
      this.#changed.clear()
      for (const each of paths) this.#sync(each)
    })
  }

  /** The gateway has another name. */
  allChanged(): void {
    for (const { path } of this.#parts.ports()) this.changed(path)
  }

  #refreshLater(): void {
    const { clock, config, ports } = this.#parts
    this.#refreshing = clock.after(config.refresh_ms, () => this.#refresh(ports().map(({ path }) => path)))
  }

  #refresh([path, ...rest]: string[]): void {
    if (path === undefined) {
      this.#refreshLater()
      return
    }
    this.#sync(path)
    this.#refreshing = this.#parts.clock.after(SPREAD_MS, () => this.#refresh(rest))
  }

  /** Called by the lines, so it is quick and never throws. */
  #hear(event: PortEvent): void {
    const { outlet } = this.#parts
    if (event.event === 'value') this.#tellValue(event.port, event.payload as ValuePayload)
    else if (event.event === 'port' || event.event === 'unit') this.changed(event.port)
    if (!this.#events.has(event.event)) return
    outlet.tell(`${this.#lineTopic(event.port)}/events/${topicLevel(event.event)}`, deliveryBody(event))
  }

  #tellValue(path: string, payload: ValuePayload): void {
    const topic = this.#pointTopic(path, payload.name)
    if (this.#topics.get(path)?.has(topic)) this.#parts.outlet.keep(topic, () => pointText(payload), this.#asState())
    else this.changed(path)
  }

  /** Brings the topics of a line up to date: those that it has now are told, the others are removed. */
  #sync(path: string): void {
    const { outlet, ports } = this.#parts
    const port = ports().find((each) => each.path === path)
    const messages = port ? this.#messagesOf(port) : new Map<string, Message>()
    for (const topic of this.#topics.get(path) ?? []) if (!messages.has(topic)) outlet.drop(topic)
    for (const [topic, { how, make }] of messages) outlet.keep(topic, make, how)
    if (port) this.#topics.set(path, new Set(messages.keys()))
    else this.#topics.delete(path)
  }

  #messagesOf(port: LineOfMqtt): Map<string, Message> {
    const { adapter, path } = port
    const lineTopic = this.#lineTopic(path)
    const how = this.#asState()
    const messages = new Map<string, Message>()
    // Asked when it goes out, so that it is the newest.
    messages.set(`${lineTopic}/state`, { make: () => lineText(port), how })
    for (const unit of adapter.faces?.units?.list() ?? [])
      messages.set(`${lineTopic}/units/${unit.unitId}`, { make: () => unitText(unit), how })
    for (const point of adapter.faces?.points?.list() ?? [])
      messages.set(this.#pointTopic(path, point.name), { make: () => pointText(point), how })
    this.#describe(port, messages)
    return messages
  }

  /** Adds what Home Assistant is told of a line and its points. */
  #describe({ adapter, path }: LineOfMqtt, messages: Map<string, Message>): void {
    const { config, outlet, says } = this.#parts
    if (config.discovery_prefix === '') return
    const { name, product, version } = says()
    const node = `plantroom_${outlet.id}`
    const origin = { program: product, version, statusTopic: outlet.statusTopic }
    const box = { id: node, name: name || product, maker: 'Plantroom', model: 'gateway', version }
    const add = (revision: unknown, topic: string, make: () => HomeEntity) =>
      messages.set(topic, {
        make: () => JSON.stringify(make().config),
        how: { isRetained: true, revision: revisionOf([revision, box.name]) },
      })
    const line = {
      id: `${node}_${revisionOf(path)}`,
      name: nameOfLine(path),
      stateTopic: `${this.#lineTopic(path)}/state`,
      device: box,
    }
    const topicOf = (component: HomeEntity['component'], id: string) =>
      homeTopic(config.discovery_prefix, node, { component, id })
    add(path, topicOf('binary_sensor', line.id), () => homeLine(line, origin))
    const expireS = Math.ceil((EXPIRE_PERIODS * config.refresh_ms) / 1000)
    for (const point of adapter.faces?.points?.list() ?? []) {
      const id = `${node}_${revisionOf([path, point.name])}`
      const kind = kindOf(point)
      const { decimals, name, unit } = point
      const stateTopic = this.#pointTopic(path, name)
      const device = deviceOf(path, point, box)
      add(pointRevision(point), topicOf(kind === 'bit' ? 'binary_sensor' : 'sensor', id), () =>
        homePoint({ id, name, stateTopic, device, kind, unit, decimals, expireS }, origin),
      )
    }
  }

  #asState(): Message['how'] {
    return { isRetained: this.#parts.config.retain }
  }

  #lineTopic(path: string): string {
    return `${this.#parts.outlet.prefix}/ports/${topicLevel(nameOfLine(path))}`
  }

  #pointTopic(path: string, name: string): string {
    return `${this.#lineTopic(path)}/points/${topicLevel(name)}`
  }
}

/** All lines are below /dev. */
function nameOfLine(path: string): string {
  return path.replace(/^\/dev\//, '')
}

/** A unit behind the gateway. */
function deviceOf(path: string, { template, unitId }: PointBase, box: HomeDevice): HomeDevice {
  return {
    id: `${box.id}_${revisionOf([path, unitId])}`,
    name: `${box.name} ${nameOfLine(path)} unit ${unitId}`,
    ...(template !== null && { model: template }),
    via: box.id,
  }
}

/** A record of a meter that has no unit of measure may be a date or a text. */
function kindOf({ type, unit }: PointBase): 'bit' | 'number' | 'text' {
  if (type === 'bit') return 'bit'
  return type === 'string' || (type === undefined && unit === null) ? 'text' : 'number'
}

// Payloads. Instants are epoch milliseconds.

function lineText(port: LineOfMqtt): string {
  const { fault, state, stateSince: since } = port.life()
  return JSON.stringify({ port: port.path, state, since, fault })
}

function unitText(unit: UnitView): string {
  const { badReplies, crcErrors, lastError, lastReplyAt, replies, requests, state, stateSince, timeouts, unitId } = unit
  const counts = { requests, replies, timeouts, crcErrors, badReplies }
  return JSON.stringify({ unitId, state, since: stateSince, ...counts, lastReplyAt, lastError })
}

/** Only a good value is a value: of any other quality, only the time of the last good one is told. */
function pointText({ quality, readAt, text, unit, value }: SeenValue): string {
  const isGood = quality === 'good'
  return JSON.stringify({ value: isGood ? value : null, text: isGood ? text : null, unit, quality, readAt })
}
