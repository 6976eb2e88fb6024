/** What a driver of devices is, and the world it gets. */
import type { Clock } from '#kit/clock.ts'
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
  /** Bytes over TCP; resolves when they are written. */
  tcp(place: { host: string; port: number }, bytes: Uint8Array, signal: AbortSignal): Promise<void>
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

// What drivers need of the machine; io/ implements it.

/** The world of one session of one device; its connections end with it. */
interface DeviceWorld extends Pick<DriverContext, 'log' | 'tcp'> {
  close(): void
}

export interface DriverWorld {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  open(device: Row): DeviceWorld
}
