/** The interface of device drivers, and the context they get. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { ContentFraming } from '#kit/pure/frames.ts'
import type { Json } from '../json.ts'
import type { Row } from '../site/book.ts'
import type { Traffic } from './traffic.ts'

/** A command as it reaches a driver: rows come from the book, args have been cleaned by the gates. */
export interface DriverCommand {
  zone?: Row
  verb: string
  args: Readonly<Record<string, Json>>
  /**
   * Sent right before, in the same turn: no other command comes between the two, and if this one fails, the command
   * itself is not sent.
   */
  lead?: Pick<DriverCommand, 'verb' | 'args'>
  /** The id of the user who sent it; absent for the house itself. */
  by?: number
}

/** A driver's report that a device has carried out a command. */
export interface Ack {
  /** The device's answer, if there is one. */
  answer?: Json
}

/** A session with one device. */
export interface DriverSession {
  /** @throws the reason why it was not done; the host allows `drivers.deadline_ms`, then aborts */
  execute(command: DriverCommand, signal: AbortSignal): Promise<Ack>
  poll?(signal: AbortSignal): Promise<void>
  /** Takes the body of a webhook of the device, whose signature was right. */
  tell?(body: Uint8Array): void
  close(): Promise<void>
}

// Connections to a device. Each ends with its session.

/** Where a device listens. An IPv6 address may have brackets or not. */
export interface Place {
  host: string
  port: number
}

/** What a device's TLS certificate is checked against. */
export interface Trust {
  /** The one root CA that may have signed it, PEM. */
  root: string
}

/** Where a device speaks HTTP, or HTTPS if it has `tls`. */
export interface WebPlace extends Place {
  tls?: Trust
}

/** How frames in a stream end: by their content, or after `silenceMs` without data. */
export type Framing = ContentFraming | { mode: 'silence'; silenceMs: number }

/** The target of a lasting connection, and the framing of its data. Each datagram is a frame. */
export type ConnectionPlace =
  | (Place & { kind: 'tcp'; framing: Framing })
  | (Place & { kind: 'udp' })
  /** A raw line of a gateway, by the path of its device; `key` is one of the gateway's API keys. */
  | (WebPlace & { kind: 'gateway'; line: string; key: string; framing: Framing })
  /** A WebSocket: each message is a frame. `headers` go with the handshake, such as who asks. */
  | (WebPlace & { kind: 'websocket'; path: string; headers: Readonly<Record<string, string>> })

/** Sends messages to a device, one after another. */
export interface Sender {
  /**
   * Resolves when the kernel has accepted all bytes.
   * @throws Fault `device_unreachable`, `device_cut_off`, `device_busy` if the queue is full, or the reason of `signal`
   */
  send(bytes: Uint8Array, signal: AbortSignal): Promise<void>
}

/** A connection that lasts as long as its session. When it ends, the device is lost. */
export interface Connection extends Sender {
  /**
   * Sends a question and resolves with the first frame that answers it; other frames go to the listener. If `signal`
   * aborts first, the connection is closed, so that a late answer cannot be taken for the next one.
   * @throws the same as `send`
   */
  ask(question: Uint8Array, isAnswer: (frame: Uint8Array) => boolean, signal: AbortSignal): Promise<Uint8Array>
}

/** One HTTP request to a device: `path` begins with a slash. */
export interface DeviceRequest extends WebPlace {
  method: string
  path: string
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array
}

/** The complete answer of a device, whatever its status. */
export interface DeviceAnswer {
  status: number
  body: Uint8Array
}

/** A broker of MQTT, and the account that its devices share. */
export interface BrokerPlace extends Place {
  username: string | null
  password: string | null
}

/** A message to a topic of a broker. */
export interface Publication {
  topic: string
  payload: Uint8Array
  /** The broker keeps it for whoever subscribes later. */
  isRetained: boolean
}

/** A device's part of the connection to a broker. */
export interface BrokerConnection {
  /** Resolves when the broker has it. @throws Fault `device_cut_off`, or the reason of `signal` */
  publish(message: Publication, signal: AbortSignal): Promise<void>
}

/** Events of a connection. */
export interface ConnectionEvents {
  /** A whole frame that answers no question, with its delimiter. @returns false if the driver does not recognise it */
  frame(bytes: Uint8Array): boolean
  /** The connection has ended and was not closed by us. Called once. */
  lost(reason: string): void
}

/** All that a driver can use of the outside world. Its methods are called on it, not taken out of it. */
export interface DriverContext {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  log(sentence: string): void
  /** Reports new values of a zone or of the device itself; values that are not named stay. */
  report(target: { zoneId: number } | { deviceId: number }, patch: Readonly<Record<string, Json>>): void
  /** The last value of one of its zones that is known, from before the start too; undefined if none is. */
  lastOf?(zoneId: number, name: string): Json | undefined
  online(isOnline: boolean, error?: string): void
  /** The device is out of reach for now, and will be heard in this session when it is back: unlike after `online(false)`. */
  away(reason: string): void
  /**
   * What is said meanwhile is a sign-in: pages that watch the traffic are shown its size alone.
   */
  hush(isHushed: boolean): void
  /** Returns a secret column of the device's own row. */
  secret(column: 'password' | 'api_key'): string | null
  /**
   * TCP for devices that only take commands: connects when there is something to send, and disconnects after
   * `drivers.keep_ms` without traffic. Data from the device is discarded.
   */
  sender(place: Place): Sender
  /**
   * Connects, and listens to the device from then on.
   * @param frame receives each whole frame that answers no question; returns whether the driver recognises it
   * @throws Fault `device_unreachable`, `device_cut_off`, `device_busy`, `device_certificate`, `gateway_line`,
   *   `gateway_https`
   */
  connect(place: ConnectionPlace, frame: ConnectionEvents['frame']): Promise<Connection>
  /**
   * Subscribes to topics of a broker. Devices of one broker and account share a connection; when it ends, all are lost.
   * @param hear receives each message of these topics
   * @throws Fault `device_unreachable`, `device_cut_off`, `device_busy`, `broker_refused`
   */
  connectBroker(
    place: BrokerPlace,
    topics: readonly string[],
    hear: (topic: string, payload: Uint8Array) => void,
  ): Promise<BrokerConnection>
  /**
   * @throws Fault `device_unreachable`, `device_cut_off`, `device_busy`, `device_certificate`, `answer_too_long`, or the
   *   reason of `signal`
   */
  request(request: DeviceRequest, signal: AbortSignal): Promise<DeviceAnswer>
}

/** Timers of a driver: what one throws ends its session, and not the daemon. */
export class DriverClock implements Clock {
  readonly #clock: Clock
  readonly #failed: (error: unknown) => void

  constructor(clock: Clock, failed: (error: unknown) => void) {
    this.#clock = clock
    this.#failed = failed
  }

  epochMs(): number {
    return this.#clock.epochMs()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  after(delayMs: number, run: () => void): Timer {
    return this.#clock.after(delayMs, () => this.#run(run))
  }

  soon(run: () => void): Timer {
    return this.#clock.soon(() => this.#run(run))
  }

  every(periodMs: number, run: () => void): Timer {
    const timer = this.#clock.every(periodMs, () => this.#run(run) || timer.cancel())
    return timer
  }

  #run(run: () => void): boolean {
    try {
      run()
      return true
    } catch (error) {
      this.#failed(error)
      return false
    }
  }
}

/** The keys of `transport` and `config` that a driver reads of a row, whether it polls, and reads `command_set`. */
export interface DriverReads {
  transport: readonly string[]
  config: readonly string[]
  polls: boolean
  isCommandSet?: boolean
}

/** One kind of driver; `name` is the value of device.driver. */
export interface Driver {
  name: string
  /** What it reads of a row: the rest has no effect. */
  reads?(device: Row): DriverReads
  /** What is wrong with a row, so that its device cannot be driven at all. */
  flaw?(device: Row): string | undefined
  /**
   * The verbs that a device takes, and the names of their args. Undefined if only the device knows them.
   */
  verbs?(device: Row): ReadonlyMap<string, readonly string[]> | undefined
  /**
   * Whether a device takes this command, before it waits for its turn.
   * @throws Fault `command_unknown` with the nearest verb, `command_args`
   */
  check?(device: Row, command: DriverCommand): void
  /** What webhooks of a device are signed with; undefined if it takes none. */
  webhookSecret?(device: Row): string | undefined
  /** The request that a zone's picture answers, a JPEG; undefined if the zone shows nothing. */
  still?(device: Row, zone: Row): DeviceRequest | undefined
  /** What is wrong with a zone of such a device, so that its commands are refused. */
  zoneFlaw?(zone: Row, device: Row): string | undefined
  open(device: Row, zones: readonly Row[], context: DriverContext): Promise<DriverSession>
}

/** The drivers of a building, as control and macros use them. */
export interface DriverHost {
  /** The verbs that a device takes, and the names of their args; undefined if only the device knows them. */
  verbsOf(device: Row): ReadonlyMap<string, readonly string[]> | undefined
  /** @throws Fault `command_unknown`, `command_args` if the device does not take this */
  check(device: Row, command: DriverCommand): void
  /**
   * Queues one command for a device. Of several queued commands for the same zone and verb, the last one wins and all
   * callers get its result.
   * @throws Fault `driver_failed`, `driver_timeout`, `driver_queue_full`, `driver_unknown`
   */
  execute(deviceId: number, command: DriverCommand): Promise<Ack>
}

/** Where webhooks of a device go. */
export interface DeviceWebhook {
  /** What they are signed with. */
  secret: string
  /** @returns whether somebody took it: not while the device is lost. @throws Fault `webhook_flood` */
  tell(body: Uint8Array): boolean
}

/** The driver's name from its column; without one, the command set has its own, or the kind of the transport says it. */
export function driverNameOf({ driver, command_set: set, transport }: Row): string {
  if (typeof driver === 'string' && driver !== '') return driver
  if (typeof set === 'string' && set !== '') return 'command_set'
  const kind = transport !== null && typeof transport === 'object' && 'kind' in transport ? transport.kind : undefined
  return typeof kind === 'string' ? kind : ''
}

/** @throws Fault `transport_invalid` if transport is not {kind: "tcp", host, port}; a port that is usual may be left out */
export function tcpPlaceOf({ id, transport }: Row, usualPort?: number): Place {
  const { host, port = usualPort } = (transport ?? {}) as { readonly host?: Json; readonly port?: Json }
  if (typeof host !== 'string' || !/^[^\s\p{C}/@]{1,253}$/u.test(host))
    throw new Fault('transport_invalid', `transport.host of device ${id} is not a name or address of a host`)
  if (!isPort(port))
    throw new Fault('transport_invalid', `transport.port of device ${id} is not a port, expected 1 to 65535`)
  return { host, port }
}

/** Reads a device at a poll: one that cannot be read is offline at once, unless the poll was given up. @throws as `read` */
export async function offlineUnless(
  read: () => Promise<void>,
  context: Pick<DriverContext, 'online'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await read()
  } catch (error) {
    if (!signal.aborted) context.online(false, (error as Error).message)
    throw error
  }
}

/** @throws Fault `driver_value`: other verbs are no mistake of the device */
export function unknownVerb(device: Row, verb: string, known: Iterable<string>): Fault {
  return new Fault(
    'driver_value',
    `device ${device.id} has no command ${JSON.stringify(verb)} in its config, it has ${[...known].join(', ') || 'none'}`,
  )
}

// What drivers need from the machine; io/ implements it.

/** How one device uses a broker. */
export interface BrokerUse {
  topics: readonly string[]
  hear(topic: string, payload: Uint8Array): void
  /** The connection has ended and was not closed by us. Called once. */
  lost(reason: string): void
}

/** The environment of one session with one device; its connections end with it. */
export interface DeviceWorld extends Pick<DriverContext, 'log' | 'sender' | 'request' | 'hush'> {
  connect(place: ConnectionPlace, events: ConnectionEvents): Promise<Connection>
  connectBroker(place: BrokerPlace, use: BrokerUse): Promise<BrokerConnection>
  close(): void
}

export interface DriverWorld {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  /** What goes to and comes from devices, for whoever watches; absent where nobody can. */
  traffic?: Pick<Traffic, 'note' | 'say'> | undefined
  open(device: Row): DeviceWorld
}

export function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535
}
