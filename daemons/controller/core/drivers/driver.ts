/** What a driver of devices is, and the world it gets. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { ContentFraming } from '#kit/pure/frames.ts'
import type { Json } from '../json.ts'
import type { Row } from '../site/book.ts'

/** A command as it reaches a driver: rows are those of the book, args already cleaned by the gates. */
export interface DriverCommand {
  zone?: Row
  verb: string
  args: Readonly<Record<string, Json>>
}

/** What a driver says that a device did. */
export interface Ack {
  /** What the device answered, where it does. */
  answer?: Json
}

/** One device that is driven. */
export interface DriverSession {
  /** @throws what kept it from being done; the host gives it `drivers.deadline_ms`, then aborts */
  execute(command: DriverCommand, signal: AbortSignal): Promise<Ack>
  poll?(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

// Ways to a device. Each ends with its session.

/** Where a device listens. An IPv6 address stands with or without brackets. */
export interface Place {
  host: string
  port: number
}

/** How frames of a stream end: by what is in them, or by `silenceMs` in which nothing comes. */
export type Framing = ContentFraming | { mode: 'silence'; silenceMs: number }

/** Where a connection that stays goes to, and how what comes is cut. A datagram is a frame by itself. */
export type ConnectionPlace =
  | (Place & { kind: 'tcp'; framing: Framing })
  | (Place & { kind: 'udp' })
  /** A raw line of a gateway, by the path of its device; `key` is one of the gateway's API keys. */
  | (Place & { kind: 'gateway'; line: string; key: string; framing: Framing })

/** Takes messages for a device, one after another. */
export interface Sender {
  /**
   * Resolves when the kernel has all bytes.
   * @throws Fault `device_unreachable`, `device_cut_off`, `device_busy` where too much waits, or the reason of `signal`
   */
  send(bytes: Uint8Array, signal: AbortSignal): Promise<void>
}

/** A connection that stays for as long as its session. The device is lost when it ends. */
export interface Connection extends Sender {
  /**
   * Sends a question and gives the first frame that is its answer; other frames go to the listener. When
   * `signal` aborts first, the connection is closed, so that a late answer cannot be taken for the next one.
   * @throws as `send` does
   */
  ask(question: Uint8Array, isAnswer: (frame: Uint8Array) => boolean, signal: AbortSignal): Promise<Uint8Array>
}

/** One HTTP request to a device: `path` begins with a slash. */
export interface DeviceRequest extends Place {
  method: string
  path: string
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array
}

/** What a device answered, whole, whatever its status. */
export interface DeviceAnswer {
  status: number
  body: Uint8Array
}

/** What is heard of a connection. */
export interface ConnectionEvents {
  /** A whole frame that answers no question, with its delimiter. @returns false where it says nothing that the driver knows */
  frame(bytes: Uint8Array): boolean
  /** It has ended, and not because it was closed here. Once. */
  lost(reason: string): void
}

/** The only way of a driver to the world. */
export interface DriverContext {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  log(sentence: string): void
  /** Says what a zone or the device itself does now; what is not named stays. */
  report(target: { zoneId: number } | { deviceId: number }, patch: Readonly<Record<string, Json>>): void
  online(isOnline: boolean, error?: string): void
  /** A secret column of the device's own row. */
  secret(column: 'password' | 'api_key'): string | null
  /**
   * TCP for devices that only take commands: opened when there is something to send, closed after `drivers.keep_ms`
   * without any. What the device sends is discarded.
   */
  sender(place: Place): Sender
  /**
   * Connects, and hears what the device says from then on.
   * @param frame is given each whole frame that answers no question; says whether the driver knows it
   * @throws Fault `device_unreachable`, `device_cut_off`, `device_busy`, `gateway_line`
   */
  connect(place: ConnectionPlace, frame: ConnectionEvents['frame']): Promise<Connection>
  /** @throws Fault `device_unreachable`, `device_cut_off`, `device_busy`, `answer_too_long`, or the reason of `signal` */
  request(request: DeviceRequest, signal: AbortSignal): Promise<DeviceAnswer>
}

/** One kind of driver; `name` is what device.driver says. */
export interface Driver {
  name: string
  /** Keys of `transport` and `config` that it looks at, and whether it polls: all else that a row says there has no effect. */
  reads?: { transport: readonly string[]; config: readonly string[]; polls: boolean }
  /** What of a row keeps its device from being driven, whatever is connected. */
  flaw?(device: Row): string | undefined
  open(device: Row, zones: readonly Row[], context: DriverContext): Promise<DriverSession>
}

/** The drivers of a building as control and macros use them. */
export interface DriverHost {
  /**
   * Queues one command for a device; of commands for one zone and verb that wait, the last wins and all get its outcome.
   * @throws Fault `driver_failed`, `driver_timeout`, `driver_queue_full`, `driver_unknown`
   */
  execute(deviceId: number, command: DriverCommand): Promise<Ack>
}

/** By its column; a device that has none is driven by its transport. */
export function driverNameOf({ driver, transport }: Row): string {
  if (typeof driver === 'string' && driver !== '') return driver
  const kind = transport !== null && typeof transport === 'object' && 'kind' in transport ? transport.kind : undefined
  return typeof kind === 'string' ? kind : ''
}

/** @throws Fault `transport_invalid` where transport is not {kind: "tcp", host, port} */
export function placeOf({ id, transport }: Row): Place {
  const { host, port } = (transport ?? {}) as { readonly host?: Json; readonly port?: Json }
  if (typeof host !== 'string' || !/^[^\s\p{C}/@]{1,253}$/u.test(host))
    throw new Fault('transport_invalid', `transport.host of device ${id} is no name or address of a host`)
  if (!isPort(port))
    throw new Fault('transport_invalid', `transport.port of device ${id} is no port, expected 1 to 65535`)
  return { host, port }
}

// What drivers need of the machine; io/ implements it.

/** The world of one session of one device; its connections end with it. */
export interface DeviceWorld extends Pick<DriverContext, 'log' | 'sender' | 'request'> {
  connect(place: ConnectionPlace, events: ConnectionEvents): Promise<Connection>
  close(): void
}

export interface DriverWorld {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  open(device: Row): DeviceWorld
}

export function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535
}
