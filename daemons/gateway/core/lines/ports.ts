/** What the gateway needs of the world around a line, and how a port is kept: id, path, protocol, settings. */
import type { FoundLine, LineSettings } from '#kit/line/line.ts'
import { revisionOf } from '#kit/revision.ts'
import type { PointDefinition } from '../points/definition.ts'
import type { WebhookRecord } from '../webhooks/records.ts'

/** Cuts a raw byte stream into frames. */
export interface Framer {
  feed(bytes: Uint8Array, atUs: number): void
  /** One handler. `atUs` is the stamp of the frame's last byte; `cut` says the frame hit the size limit. */
  onFrame(handler: (frame: Uint8Array, atUs: number, cut: boolean) => void): void
  close(): void
}

/** Something that happened on a port: what webhooks, sockets and the page are told. */
export interface PortEvent {
  /** Device path, as configured. */
  port: string
  /** `frame`, `unit`, `port`, `error`, `value` of a point, `control` where a master wrote to a slave. */
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
  /** Upper-case pairs, separated by spaces. */
  hex: string
  length: number
  /** Protocol's reading of the frame; null for raw or where it does not decode. */
  decoded: unknown
  /** Why it does not decode; absent where it does. */
  decodeError?: { code: string; message: string }
  /** Of a request of ours: `operator`, `poll`, or `background` for a scan. */
  priority?: string
}

/** Makes the framer that ends a frame by quiet on the line. */
export type SilenceFramerMaker = (limits: SilenceLimits) => Framer

/** `settle` hands up what was read and not told yet: a frame has not ended before. */
interface SilenceLimits {
  silenceMs: number
  maxFrameBytes: number
  settle(): void
}

// What is kept of a port: its protocol, line, settings, points and webhooks.

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
  /** They rest while the port speaks a protocol without points. */
  points: PointDefinition[]
  webhooks: WebhookRecord[]
}

/** What a change of the settings may be made from: points and webhooks are changed by themselves. */
export function portRevision({ protocol, line, settings }: Pick<PortRecord, 'protocol' | 'line' | 'settings'>): string {
  return revisionOf({ protocol, line, settings })
}

/** Whether a configured path means this line, by device path or by stable name. */
export function sameLine(path: string, line: FoundLine): boolean {
  return path === line.path || path === line.byId
}
