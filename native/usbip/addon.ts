/** The addon's exports as TypeScript sees them; only this folder uses them. */
import { loadAddon } from '../load.ts'

/** Bits of `watch`, as in libuv. */
export const WATCH = { readable: 1, disconnect: 4 } as const

/** Arguments of `shutdown`. */
export const SHUT = { writing: 1, both: 2 } as const

/** Owner of one descriptor. Calls after `close` throw ECANCELED, except `close` and `shutdown`. */
export interface NativeHeld {
  /** -1 once closed. */
  readonly fd: number
  accept(): NativeOpened | undefined
  /** @returns bytes put at the start of `slab`, undefined if there are none */
  nextUevent(slab: Uint8Array): number | undefined
  /** Watches for one event: a call before the event replaces the earlier one. */
  watch(events: number, onEvent: () => void): void
  /** @returns bytes put at the start of `slab`, 0 at the end, undefined if there are none yet */
  read(slab: Uint8Array): number | undefined
  write(bytes: Uint8Array): number
  shutdown(how: number): void
  /** State as in enum tcp_state, bytes received, bytes acknowledged. */
  tcpCounts(): [number, number, number]
  close(): void
}

/** A descriptor, with the address and port of its peer, or its own if it listens. */
export type NativeOpened = [held: NativeHeld, address: string, port: number]

interface UsbipAddon {
  listen(address: string, port: number, backlog: number): NativeOpened
  uevents(bufferBytes: number): NativeHeld
  /** @param fd duplicated at once, -1 for none */
  ask(path: string, line: string, fd: number, timeoutMs: number, mostBytes: number): Promise<string>
  keepAlive(fd: number, idleS: number, intervalS: number, count: number, userTimeoutMs: number): void
  noDelay(fd: number): void
}

/** The addon, loaded once. */
export const addon = loadAddon('usbip') as UsbipAddon
