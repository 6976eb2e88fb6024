/** The seam between a port and the protocol that runs on its line. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'
import type { Line, LineSettings } from '#kit/line/line.ts'
import type { AdapterFaces } from './adapter-faces.ts'

/** What a port lends its adapter. */
export interface AdapterContext {
  /** Device path, as configured. */
  port: string
  lineSettings: LineSettings
  clock: Clock
  /** Why nothing can be asked or sent, and what to do; asked for only while no line is attached. */
  whyNotOpen(): Fault
  /** Tells webhooks, sockets and the page; never blocks. Event names are those of docs/GLOSSARY.md. */
  publish(event: string, payload: unknown, sizeBytes?: number): void
}

/** One protocol on one line. Lives as long as its settings: a change of settings makes a new one. */
export interface Adapter {
  /** What it has beside its actions; read it by `requireFace`. */
  readonly faces?: AdapterFaces
  /** The line was opened; the adapter reads and writes it from now on. */
  attach(line: Line): void
  /**
   * The line was closed or lost: what waits is failed at once with `fault`, or `line_closed` without one.
   * A promise, where one is returned, resolves when what the adapter opened beside the line is closed.
   */
  detach(fault?: Fault): void | Promise<void>
  /** It was detached and will not be attached again: from now on it tells nothing. */
  end?(): void
  /**
   * Does one thing on the bus for a caller: `tx` (raw), `request` (modbus-rtu). The body is checked by the API's schema.
   * @param gone aborted when the caller leaves: a request of his that waits for its turn is not sent any more
   * @throws Fault `wrong_protocol` for an action this protocol has not
   */
  act(action: string, body: unknown, gone?: AbortSignal): Promise<unknown>
  /** Counts since the adapter was made, by kind. */
  counters(): Record<string, number>
  /** What is wrong beside the line while it is open, such as a TCP port that is taken. */
  fault?(): Fault | undefined
}
