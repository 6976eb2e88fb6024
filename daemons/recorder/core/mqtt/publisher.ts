/** What the recorder tells an MQTT broker: how its cameras are, what they see, and Home Assistant's discovery. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { MqttOutlet } from '#kit/net/mqtt/outlet.ts'
import { homeTopic } from '#kit/pure/home-assistant.ts'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import { homeCamera } from '../../wire/home-assistant.ts'
import type { KnownCamera } from '../cameras/book.ts'

/** Changes within this time are told together. */
const GATHER_MS = 100

/** Events of one camera that are remembered as not ended; beyond, the oldest count as ended. */
const MOST_OPEN = 64

/** An event that began or ended. Whatever else it has is told as it is. */
export interface ToldEvent {
  id: string
  cameraId: string
  /** What was seen, such as person or car. */
  label: string
}

/** What was seen in one frame. */
export interface ToldSighting {
  cameraId: string
}

type Leave = () => void

/** Where what is told comes from; without one of them nothing is told of it. Listeners are quick and never throw. */
export interface MqttSources {
  onEvent?(listener: (event: ToldEvent, phase: 'begin' | 'end') => void): Leave
  /** Events that go on. */
  goingOn?(): readonly ToldEvent[]
  onSighting?(listener: (sighting: ToldSighting) => void): Leave
  onAlert?(listener: (alert: object) => void): Leave
  onAlarm(listener: (entry: LedgerEntry, event: 'opened' | 'ended') => void): Leave
  /** A camera is another, was added or removed. */
  onCamera(listener: () => void): Leave
}

export interface MqttPublisherParts {
  clock: Clock
  outlet: Pick<MqttOutlet, 'keep' | 'drop' | 'tell' | 'id' | 'prefix' | 'statusTopic'>
  sources: MqttSources
  cameras(): readonly KnownCamera[]
  /** Empty: Home Assistant is not told. */
  discoveryPrefix: string
  /** The recorder's own name and version, and what it is. */
  says(): { name: string; version: string; product: string }
}

/** The last message of a topic, told again only when its text is another. */
type Messages = Map<string, string>

/** Ends before the outlet that it tells. */
export class MqttPublisher {
  readonly #parts: MqttPublisherParts
  readonly #leaves: Leave[] = []
  /** Events that have begun and not ended, by camera: their labels by id. */
  readonly #open = new Map<string, Map<string, string>>()
  #topics = new Set<string>()
  #syncing: Timer | undefined

  constructor(parts: MqttPublisherParts) {
    this.#parts = parts
  }

  start(): void {
    const { outlet, sources } = this.#parts
    const { prefix } = outlet
    const tell = (topic: string, value: object) => outlet.tell(`${prefix}/${topic}`, JSON.stringify(value))
    const ways = [
      sources.onCamera(() => this.changed()),
      sources.onAlarm((entry, event) => tell('alarms', { event, ...entry })),
      sources.onAlert?.((alert) => tell('alerts', alert)),
      sources.onSighting?.((sighting) => tell(`cameras/${sighting.cameraId}/detections`, sighting)),
      sources.onEvent?.((event, phase) => {
        tell(`cameras/${event.cameraId}/events`, { phase, ...event })
        this.#follow(event, phase)
      }),
    ]
    // Other settings begin it anew in the middle of what happens.
    for (const event of sources.goingOn?.() ?? []) this.#follow(event, 'begin')
    this.#leaves.push(...ways.filter((leave) => leave !== undefined))
    this.#sync()
  }

  close(): void {
    for (const leave of this.#leaves.splice(0)) leave()
    this.#syncing?.cancel()
    this.#syncing = undefined
  }

  /** The broker is to forget all of it. */
  forget(): void {
    for (const topic of this.#topics) this.#parts.outlet.drop(topic)
    this.#topics.clear()
  }

  /** Quick: the work is done later. */
  changed(): void {
    this.#syncing ??= this.#parts.clock.after(GATHER_MS, () => {
      this.#syncing = undefined
      this.#sync()
    })
  }

  #follow({ cameraId, id, label }: ToldEvent, phase: 'begin' | 'end'): void {
    const open = this.#open.get(cameraId) ?? new Map<string, string>()
    open.delete(id)
    if (phase === 'begin') open.set(id, label)
    for (const oldest of open.keys()) if (open.size > MOST_OPEN) open.delete(oldest)
    if (open.size === 0) this.#open.delete(cameraId)
    else this.#open.set(cameraId, open)
    this.changed()
  }

  #sync(): void {
    const { cameras, outlet } = this.#parts
    const list = cameras()
    // What a removed camera has open is never ended.
    for (const id of this.#open.keys()) if (!list.some(({ record }) => record.id === id)) this.#open.delete(id)
    const messages: Messages = new Map()
    for (const camera of list) {
      const stateTopic = `${outlet.prefix}/cameras/${camera.record.id}/state`
      messages.set(stateTopic, this.#stateText(camera))
      this.#describe(camera, stateTopic, messages)
    }
    for (const topic of this.#topics) if (!messages.has(topic)) outlet.drop(topic)
    for (const [topic, text] of messages) outlet.keep(topic, () => text, { revision: text })
    this.#topics = new Set(messages.keys())
  }

  #stateText({ camera, record }: KnownCamera): string {
    const { fault, state, stateSince: since } = camera.health()
    const labels = [...new Set(this.#open.get(record.id)?.values())].sort()
    const seen = this.#parts.sources.onEvent && {
      motion: labels.length > 0,
      occupancy: labels.includes('person'),
      labels,
    }
    return JSON.stringify({ id: record.id, name: record.name, state, since, fault, ...seen })
  }

  #describe({ record }: KnownCamera, stateTopic: string, messages: Messages): void {
    const { discoveryPrefix, outlet, says, sources } = this.#parts
    if (discoveryPrefix === '') return
    const { name, product, version } = says()
    const node = `plantroom_${outlet.id}`
    const id = `${node}_${record.id}`
    const device = { id, name: record.name, maker: 'Plantroom', model: `camera of ${name || product}`, version }
    const origin = { program: product, version, statusTopic: outlet.statusTopic }
    for (const entity of homeCamera({ id, stateTopic, device, hasEvents: sources.onEvent !== undefined }, origin))
      messages.set(homeTopic(discoveryPrefix, node, entity), JSON.stringify(entity.config))
  }
}
