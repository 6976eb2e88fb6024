/** What every protocol offers for one line: bytes in, actions, counters; and the parts that only some have. */

import type { TSchema } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import type { Line, LineSettings } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { LinkType } from '../../wire/pcap.ts'
import type { UnitsFace } from '../bus/units.ts'
import type { PointBase } from '../points/definition.ts'
import type { PointsFace } from '../points/values.ts'
import type { PortRecord } from './ports.ts'

// What a protocol has, for the routes that only some protocols can serve. A protocol adds its own to these interfaces,
// in its folder (`declare module`), so that nobody here names it.

/** Faces of an adapter; a protocol, or a mode of it, leaves out what it has not. */
export interface AdapterFaces {
  points?: PointsFace<PointBase>
  units?: UnitsFace
}

/** What it does on the line for a caller, by the name behind `rest/` in the path. The API's schema has checked what comes in. */
// biome-ignore lint/suspicious/noEmptyInterface: protocols fill it
export interface AdapterActions {}

/**
 * The face of a port's protocol.
 * @throws Fault `wrong_protocol` where it has none
 */
export function requireFace<Name extends keyof AdapterFaces>(
  { path, adapter }: { path: string; adapter: Pick<Adapter, 'faces'> },
  name: Name,
): NonNullable<AdapterFaces[Name]> {
  const face = adapter.faces?.[name]
  if (face === undefined)
    throw new Fault('wrong_protocol', `${path} has no ${name}: its protocol, or its mode, has none.`)
  return face as NonNullable<AdapterFaces[Name]>
}

/**
 * An action of a port's protocol.
 * @throws Fault `wrong_protocol` where it has none
 */
export function requireAction<Name extends keyof AdapterActions>(
  { adapter }: { adapter: Pick<Adapter, 'actions' | 'whyNoAction'> },
  name: Name,
): NonNullable<AdapterActions[Name]> {
  const action = adapter.actions?.[name]
  if (action === undefined) throw new Fault('wrong_protocol', adapter.whyNoAction(name))
  return action as NonNullable<AdapterActions[Name]>
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
  /** What it does for a caller; read it by `requireAction`. */
  readonly actions?: AdapterActions
  /** Why it has no such action, and which it has. */
  whyNoAction(action: string): string
  /** Counts since the adapter was made, by kind. */
  counters(): Record<string, number>
  /** What is wrong beside the line while it is open, such as a TCP port that is taken. */
  fault?(): Fault | undefined
}

/** A protocol, as the rest of the gateway has it. */
export interface Protocol<World> {
  /** Its keys of `settings`. */
  readonly settings: TSchema
  /** The link type of its captures. */
  readonly linkType: LinkType
  /** Of settings that fit their schema: a fault for each field, none where all is well. */
  faults?(settings: unknown): { field: string; message: string }[]
  /** Values that a port with these settings serves to others on its line; none where left out. */
  servedValues?(settings: unknown): number
  /** @param record its settings are checked and have every default */
  make(record: PortRecord, context: AdapterContext, world: World): Adapter
}
