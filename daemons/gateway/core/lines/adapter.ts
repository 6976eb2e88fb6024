/** The interface of every protocol for one line: bytes in, actions, counters; and the parts that only some have. */

import type { TObject } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import type { Line, LineSettings } from '#kit/line/line.ts'
import type { Fault } from '#kit/pure/fault.ts'
import type { LinkType } from '../../wire/pcap.ts'
import type { ScanFace } from '../bus/scan-run.ts'
import type { UnitStatesFace, UnitsFace } from '../bus/units.ts'
import type { HuntProtocol } from '../hunt/hunted.ts'
import type { PointBase } from '../points/definition.ts'
import type { PointsFace, PointView } from '../points/values.ts'
import type { PortRecord } from './ports.ts'

// The parts behind routes that only some protocols can serve. A protocol adds its own parts to these interfaces
// from its folder (`declare module`), so that this file names no protocol.

/** Faces of an adapter; a protocol, or a mode of it, omits those it does not have. */
export interface AdapterFaces {
  points?: PointsFace<PointBase>
  units?: UnitsFace
  /** In the place of units: nodes that are heard and not asked, such as those of a ring. */
  nodes?: UnitStatesFace
  scan?: ScanFace
  recorded?: RecordedFace
}

/** Values beside points that have a history, such as those of a device by definition. */
export interface RecordedFace {
  list(): readonly Pick<PointView, 'name' | 'value' | 'quality'>[]
  /** Unit of measure of a value that may have this name; undefined where none may. */
  about(name: string): { unit: string | null } | undefined
}

/** How the units or nodes of a line do; undefined where its protocol has none. */
export function unitStatesOf({ faces }: { readonly faces?: AdapterFaces }): UnitStatesFace | undefined {
  return faces?.units ?? faces?.nodes
}

/** Actions on the line, by the name after `rest/` in the path. The API's schema has checked their arguments. */
// biome-ignore lint/suspicious/noEmptyInterface: protocols fill it
export interface AdapterActions {}

/** What a port provides to its adapter. */
export interface AdapterContext {
  /** Device path, as configured. */
  port: string
  lineSettings: LineSettings
  clock: Clock
  /** Why nothing can be sent, and what to do about it; called only while no line is attached. */
  whyNotOpen(): Fault
  /** Sends an event to webhooks, sockets and the page; never blocks. docs/GLOSSARY.md lists the event names. */
  publish(event: string, payload: unknown, sizeBytes?: number): void
}

/** A line that an adapter has opened itself: what its port still needs of it. */
export type HeldLine = Pick<Line, 'unsupported' | 'onGone' | 'driverCounts' | 'settle' | 'close'>

/** One protocol on one line. Lives as long as its settings: a change of settings makes a new one. */
export interface Adapter {
  /** Its faces; read them with `requireFace`. */
  readonly faces?: AdapterFaces
  /**
   * Opens the line in the place of the port, where a thread of the protocol's own serves it; `attach` is not called then.
   * @throws Fault as `LineOpener`
   */
  openLine?(): Promise<HeldLine>
  /** The line was opened; the adapter reads and writes it from now on. */
  attach(line: Line): void
  /**
   * The line was closed or lost: waiting requests fail at once with `fault`, or with `line_closed` without one.
   * A returned promise resolves when everything the adapter opened beside the line is closed.
   */
  detach(fault?: Fault): void | Promise<void>
  /** It was detached and will not be attached again: from now on it publishes nothing. */
  end?(): void
  /** Its actions; read them with `requireAction`. */
  readonly actions?: AdapterActions
  /** Why it has no such action, and which it has. */
  whyNoAction(action: string): string
  /** Counts since the adapter was made, by kind. */
  counters(): Record<string, number>
  /** A fault beside the open line, such as a TCP port that is taken. */
  fault?(): Fault | undefined
}

/** A protocol, as the rest of the gateway sees it. */
export interface Protocol<World> {
  /** Its keys of `settings`. */
  readonly settings: TObject
  /** The link type of its captures. */
  readonly linkType: LinkType
  /** Checks settings that fit their schema; returns one fault per bad field, none if all is well. */
  faults?(settings: unknown): { field: string; message: string }[]
  /** How a hunt for the settings of a line recognises it; left out if nothing tells it from noise. */
  readonly hunt?: HuntProtocol
  /** The number of values that a port with these settings serves to others on its line; none if omitted. */
  servedValues?(settings: unknown): number
  /** @param record its settings are checked and have every default */
  make(record: PortRecord, context: AdapterContext, world: World): Adapter
}
