/** What every protocol offers for one line: bytes in, actions, counters; and the parts that only some have. */

import type { Clock } from '#kit/clock.ts'
import type { Line, LineSettings } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { RegistersFace } from '../modbus/slave-registers.ts'
import type { ScanFace } from '../modbus/unit-scan.ts'
import type { UnitsFace } from '../modbus/units.ts'
import type { PointsFace } from '../points/values.ts'

// What a protocol has beside its actions, for the routes that only some protocols can serve.

/** Faces of an adapter; a protocol, or a mode of it, leaves out what it has not. */
export interface AdapterFaces {
  points?: PointsFace
  registers?: RegistersFace
  scan?: ScanFace
  units?: UnitsFace
}

/**
 * The face of a port's protocol.
 * @throws Fault `wrong_protocol` where it has none
 */
export function requireFace<Name extends keyof AdapterFaces>(
  { path, adapter }: { path: string; adapter: { readonly faces?: AdapterFaces } },
  name: Name,
): NonNullable<AdapterFaces[Name]> {
  const face = adapter.faces?.[name]
  if (face === undefined)
    throw new Fault('wrong_protocol', `${path} has no ${name}: its protocol, or its mode, has none.`)
  return face as NonNullable<AdapterFaces[Name]>
}

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

// A send that has a limit: what the driver did not take in time must not go out later, when nobody expects it.

interface SendLimit {
  clock: Clock
  line: Pick<Line, 'flush'>
  limitMs: number
  /** What the sender is told. @param waitedMs whole milliseconds since the send began */
  late(waitedMs: number): Fault
}

/** Resolves when `send` does; past the limit the line throws away what it holds, and everyone who waits is told. */
export function sendWithin({ clock, line, limitMs, late }: SendLimit, send: () => Promise<void>): Promise<void> {
  const startMs = clock.monotonicMs()
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => {
      reject(late(Math.round(clock.monotonicMs() - startMs)))
      line.flush().catch(() => {}) // a line that is gone has nothing left to throw away
    })
    send()
      .then(resolve, reject)
      .finally(() => timer.cancel())
  })
}
