/** What drivers get from this machine: connections to devices, within limits per device and in all, and a log. */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createLogGate, type LogGate } from '#kit/pure/pace.ts'
import type {
  BrokerConnection,
  BrokerPlace,
  BrokerUse,
  Connection,
  ConnectionEvents,
  ConnectionPlace,
  DeviceAnswer,
  DeviceRequest,
  DeviceWorld,
  DriverWorld,
  Place,
  Sender,
} from '../core/drivers/driver.ts'
import type { Traffic } from '../core/drivers/traffic.ts'
import type { Row } from '../core/site/book.ts'
import { HeardBudget, KeptBytes } from './transports/bounds.ts'
import { HeardConnection, type HeardConnectionLimits } from './transports/heard-connection.ts'
import { placeOfLine, requestOnce } from './transports/http.ts'
import { type BrokerMember, Brokers } from './transports/mqtt.ts'
import {
  addressText,
  type ConnectionLimits,
  connectTcp,
  DeviceConnection,
  SendTurns,
  tcpWire,
  type Wire,
  type WireEvents,
} from './transports/tcp.ts'
import { connectUdp, udpWire } from './transports/udp.ts'
import { connectWebSocket, type WebSocketLimits, webSocketWire } from './transports/websocket.ts'

interface DriverWorldLimits extends ConnectionLimits, HeardConnectionLimits, WebSocketLimits {
  /** At most one log line per device and period; the others are counted. */
  logEveryMs: number
  /** Most lasting connections of all devices together. */
  heardDevices: number
  /** Most buffered bytes of all devices together. */
  keptBytes: number
  /** Most bytes in the body of an HTTP answer. */
  httpBytes: number
  /** The longest packet of an MQTT broker. */
  mqttBytes: number
  /** Most topics that one device may hear. */
  mqttTopics: number
  /** Most topics of all devices together. */
  mqttTopicsInAll: number
}

interface DriverWorldParts {
  clock: Clock
  log: Log
  /** 0 <= n < 1 */
  chance(): number
  limits: DriverWorldLimits
  traffic?: Traffic
}

/** What all devices share. */
interface Shared extends DriverWorldParts {
  kept: KeptBytes
  budget: HeardBudget
  brokers: Brokers
  /** Lasting connections, including those being opened. */
  connections: Set<object>
  /** Messages already logged for a device, for as long as its row is the same. */
  said: WeakMap<Row, Set<string>>
}

export function createDriverWorld(parts: DriverWorldParts): DriverWorld {
  const { clock, chance, limits } = parts
  const kept = new KeptBytes(limits.keptBytes)
  const budget = new HeardBudget(clock, limits)
  const shared: Shared = {
    ...parts,
    ...{ kept, budget },
    brokers: new Brokers({ clock, limits, kept, budget }),
    connections: new Set(),
    said: new WeakMap(),
  }
  return { clock, chance, traffic: parts.traffic, open: (device) => new OpenDevice(device, shared) }
}

const NOTHING = new Uint8Array(0)

/** The connections to a device, other than the sender. */
interface Ways {
  /** The queue of HTTP requests. */
  turns: SendTurns
  /** Aborted when the session ends. */
  ended: AbortController
  heard: Map<object, HeardConnection>
  members: Set<BrokerMember>
}

/**
 * The environment of one session with one device: everything in it ends with `close`. Connections are created on first
 * use, since there are thousands of devices and most use one kind.
 */
class OpenDevice implements DeviceWorld {
  readonly #shared: Shared
  readonly #device: Row
  #said: LogGate | undefined
  #sending: DeviceConnection | undefined
  #ways: Ways | undefined
  #isClosed = false
  #isHushed = false

  constructor(device: Row, shared: Shared) {
    this.#shared = shared
    this.#device = device
  }

  log(sentence: string): void {
    const { clock, limits, log } = this.#shared
    this.#said ??= createLogGate(clock, limits.logEveryMs, (count, facts) =>
      log.info('driver_said', { device: this.#device.id, count, ...facts }),
    )
    this.#said.note({ sentence })
    this.#shared.traffic?.say(this.#device.id, sentence)
  }

  hush(isHushed: boolean): void {
    this.#isHushed = isHushed
  }

  sender(place: Place): Sender {
    const { clock, limits } = this.#shared
    const connection = this.#sending ?? new DeviceConnection(clock, limits, this.#name)
    this.#sending = connection
    const sender = connection.to(place)
    return {
      send: async (bytes, signal) => {
        await sender.send(bytes, signal)
        this.#note('out', bytes)
      },
    }
  }

  async request(asked: DeviceRequest, signal: AbortSignal): Promise<DeviceAnswer> {
    const { turns, ended } = this.#waysNow()
    const either = AbortSignal.any([signal, ended.signal])
    return turns.run(asked.body?.length ?? 0, async () => {
      this.#note('out', asked.body ?? NOTHING, `${asked.method} ${asked.path}`)
      const answer = await requestOnce(asked, this.#shared, either)
      this.#note('in', answer.body, String(answer.status))
      return answer
    })
  }

  /** For pages that watch. */
  #note(way: 'out' | 'in', bytes: Uint8Array, about = ''): void {
    this.#shared.traffic?.note(this.#device.id, way, bytes, { about, isWithheld: this.#isHushed })
  }

  async connectBroker(place: BrokerPlace, use: BrokerUse): Promise<BrokerConnection> {
    const { turns, ended, members } = this.#waysNow()
    const leavePlace = this.#takePlace()
    const lost = (reason: string) => {
      leavePlace()
      use.lost(reason)
    }
    try {
      const hear: BrokerUse['hear'] = (topic, payload) => {
        this.#note('in', payload, topic)
        use.hear(topic, payload)
      }
      const member = await this.#shared.brokers.join(place, { ...use, hear, lost }, ended.signal)
      members.add({ ...member, leave: () => [member.leave(), leavePlace()] })
      return {
        publish: (message, signal) =>
          turns.run(message.payload.length, async () => {
            this.#note('out', message.payload, message.topic)
            await member.publish(message, signal)
          }),
      }
    } catch (error) {
      leavePlace()
      throw error
    }
  }

  async connect(place: ConnectionPlace, events: ConnectionEvents): Promise<Connection> {
    const { heard, ended } = this.#waysNow()
    const own = {}
    const leavePlace = this.#takePlace()
    let isOpen = true
    try {
      const openWire = await this.#reach(place, ended.signal)
      const connection = this.#connectionOf(place, events, (wire) =>
        this.#tapped((own) => openWire({ ...own, closed: free(wire.closed) }), wire),
      )
      if (isOpen) heard.set(own, connection)
      if (!ended.signal.aborted) return connection
      connection.close()
      throw ended.signal.reason
    } catch (error) {
      leavePlace()
      throw error
    }

    /** Frees the connection's place when its socket is closed. */
    function free(closed: WireEvents['closed']): WireEvents['closed'] {
      return (reason) => {
        isOpen = false
        leavePlace()
        heard.delete(own)
        closed(reason)
      }
    }
  }

  /** A wire whose bytes are seen by pages that watch. */
  #tapped(openWire: (events: WireEvents) => Wire, events: WireEvents): Wire {
    const bytes = (chunk: Uint8Array) => {
      this.#note('in', chunk)
      events.bytes(chunk)
    }
    const wire = openWire({ ...events, bytes })
    return {
      ...wire,
      write: (message) => {
        this.#note('out', message)
        return wire.write(message)
      },
    }
  }

  /** Counts one more lasting connection. @returns gives its place back. @throws Fault `device_busy` */
  #takePlace(): () => void {
    const { connections, limits } = this.#shared
    if (connections.size >= limits.heardDevices)
      throw new Fault('device_busy', `${limits.heardDevices} devices are connected already (drivers.heard_devices)`)
    const own = {}
    connections.add(own)
    return () => void connections.delete(own)
  }

  close(): void {
    this.#isClosed = true
    this.#ways?.ended.abort(this.#closingFault())
    this.#sending?.close()
    for (const member of this.#ways?.members ?? []) member.leave()
    for (const connection of this.#ways?.heard.values() ?? []) connection.close()
    this.#said?.close()
  }

  /** The name in messages. */
  get #name(): string {
    return `device ${this.#device.id}`
  }

  #closingFault(): Fault {
    return new Fault('device_cut_off', `${this.#name} is being closed`)
  }

  #waysNow(): Ways {
    if (this.#isClosed) throw this.#closingFault()
    const { limits } = this.#shared
    this.#ways ??= {
      turns: new SendTurns(limits, this.#name),
      ended: new AbortController(),
      heard: new Map(),
      members: new Set(),
    }
    return this.#ways
  }

  async #reach(place: ConnectionPlace, ended: AbortSignal): Promise<(events: WireEvents) => Wire> {
    const { clock, limits } = this.#shared
    if (place.kind === 'udp') {
      const socket = await connectUdp(place, { clock, ...limits }, ended)
      return (events) => udpWire(socket, addressText(place), events)
    }
    if (place.kind === 'websocket') {
      const parts = { clock, ...limits }
      const socket = await connectWebSocket(place, parts, ended)
      return (events) => webSocketWire(socket, addressText(place), parts, events)
    }
    const to = place.kind === 'tcp' ? place : await placeOfLine(place, (asked) => this.request(asked, ended))
    const socket = await connectTcp(to, { clock, ...limits }, ended)
    return (events) => tcpWire(socket, addressText(to), clock, events)
  }

  #connectionOf(
    place: ConnectionPlace,
    events: ConnectionEvents,
    openWire: (events: WireEvents) => Wire,
  ): HeardConnection {
    const { clock, limits, kept, budget } = this.#shared
    // A datagram is a message, whatever the row says of framing.
    const framing = place.kind !== 'udp' && 'framing' in place ? place.framing : undefined
    const frameBytes = place.kind === 'websocket' ? limits.messageBytes : limits.frameBytes
    const parts = {
      name: addressText(place),
      framing,
      clock,
      limits: { ...limits, frameBytes },
      kept,
      budget,
      events,
      say: (kind: string, sentence: string) => this.#sayOnce(kind, sentence),
    }
    return new HeardConnection(parts, openWire)
  }

  /** Logs a message once, for as long as the row of the device is the same. */
  #sayOnce(kind: string, sentence: string): void {
    const said = this.#shared.said.get(this.#device) ?? new Set()
    this.#shared.said.set(this.#device, said)
    if (said.has(kind)) this.#shared.traffic?.say(this.#device.id, sentence)
    else this.log(sentence)
    said.add(kind)
  }
}
