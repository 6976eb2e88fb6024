/** What the gateway needs from the outside for a line, and the stored record of a port. */
import type { FoundLine, LineSettings } from '#kit/line/line.ts'
import { revisionOf } from '#kit/revision.ts'
import type { AnyPoint } from '../points/definition.ts'
import type { WebhookRecord } from '../webhooks/records.ts'

/** Cuts a raw byte stream into frames. */
export interface Framer {
  feed(bytes: Uint8Array, atUs: number): void
  /** Sets the only handler. `atUs`: timestamp of the frame's last byte; `cut`: the frame has hit the size limit. */
  onFrame(handler: (frame: Uint8Array, atUs: number, cut: boolean) => void): void
  close(): void
}

/** Something that happened on a port, as sent to webhooks, sockets and the page. */
export interface PortEvent {
  /** Device path, as configured. */
  port: string
  /** `frame`, `unit`, `port`, `error`; `value` of a point; `control` if a master wrote to us. */
  event: string
  /** Epoch milliseconds. */
  timestamp: number
  payload: unknown
}

/** Payload of `frame`: every frame seen or sent. */
export interface FramePayload {
  direction: 'rx' | 'tx'
  /** CLOCK_MONOTONIC, microseconds, of the last byte read or the write. */
  monotonicUs: number
  /** Upper-case hex pairs, separated by spaces. */
  hex: string
  length: number
  /** The frame as decoded by the protocol; null for raw or if it cannot be decoded. */
  decoded: unknown
  /** Why it cannot be decoded; absent if it can. */
  decodeError?: { code: string; message: string }
  /** The priority of our own request: `operator`, `poll`, or `background` for a scan. */
  priority?: string
}

/** Creates the framer that ends a frame after silence on the line. */
export type SilenceFramerMaker = (limits: SilenceLimits) => Framer

/** `settle` delivers the bytes that were read but not passed on yet; no frame has ended before that. */
interface SilenceLimits {
  silenceMs: number
  maxFrameBytes: number
  settle(): void
}

// The stored record of a port: its protocol, line, settings, points and webhooks.

/** One entry of ports.json. */
export interface PortRecord {
  path: string
  /** One of the list in core/protocols.ts. */
  protocol: string
  line: LineSettings
  /** Keys of the protocol, every default filled in. */
  settings: Record<string, unknown>
  /** Whether it is opened at start. */
  enabled: boolean
  /** They are not used while the port has a protocol without points. */
  points: AnyPoint[]
  webhooks: WebhookRecord[]
}

/** The revision that a change of settings is based on; points and webhooks are changed separately. */
export function portRevision({ protocol, line, settings }: Pick<PortRecord, 'protocol' | 'line' | 'settings'>): string {
  return revisionOf({ protocol, line, settings })
}

/** Whether a configured path means this line, by device path or by stable name. */
export function sameLine(path: string, line: FoundLine): boolean {
  return path === line.path || path === line.byId
}
