/** What the gateway's rules need of the world, as interfaces that io/ implements. */

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
  /** Of a request of a Modbus master: `operator`, `poll`, or `background` for a scan. */
  priority?: string
}

/** Makes the framer that ends a frame by quiet on the line. */
export type SilenceFramerMaker = (limits: SilenceLimits) => Framer

/** `settle` hands up what was read and not told yet: a frame has not ended before. */
export interface SilenceLimits {
  silenceMs: number
  maxFrameBytes: number
  settle(): void
}
