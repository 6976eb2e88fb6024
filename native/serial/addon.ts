/** The addon's exports as TypeScript sees them; only this folder uses them. */
import { getSystemErrorName } from 'node:util'
import { loadAddon } from '../load.ts'

/** Numbers the addon uses for parity. */
export const PARITY = { none: 0, odd: 1, even: 2, mark: 3, space: 4 } as const

/**
 * First argument of an event: bytes read (their number), room to write, lost (errno, 0 for a hang-up), notes to take,
 * the time of `wakeIn` or `sendIn` is over, what `sendIn` was given is sent (how much of it the driver took), bytes of a
 * relay's socket (their number, 0 where it has ended).
 */
export const EVENT = { bytes: 0, writable: 1, lost: 2, passed: 3, awake: 4, sent: 5, asked: 6 } as const

/** Kinds of note about bytes that passed between the line and a socket, and the doubles in one note. */
export const NOTE = { fromLine: 0, fromSocket: 1, behind: 2, ended: 3, size: 5 } as const

/** Which of a socket's bytes the addon passes to the line: all, Telnet's data up to the first command, or none. */
export const READS = { all: 0, untilCommand: 1, none: 2 } as const

/**
 * Whether a socket is read; while resting only its end is detected, and reported before the bytes it has sent are read.
 */
export const FLOW = { reading: 0, resting: 1, stopped: 2 } as const

/** Settings in the addon's own flat form. */
export interface NativeSettings {
  baud: number
  dataBits: number
  parity: number
  twoStops: boolean
  rtscts: boolean
  xon: boolean
  xoff: boolean
  xany: boolean
  hupcl: boolean
  markErrors: boolean
  lowLatency: boolean
  rs485Given: boolean
  rs485Enabled: boolean
  rtsOnSend: boolean
  rxDuringTx: boolean
  delayBeforeMs: number
  delayAfterMs: number
}

/** An open terminal. Calls after `close` fail with ECANCELED. */
export interface NativePort {
  readonly path: string
  /** Bits: 1 rs485, 2 low_latency, 4 driver_counts, 8 modem_lines. */
  readonly unsupported: number
  /**
   * Call once: events go to `onEvent(event, value, atUs, relayed)`; bytes are at the start of `slab` until it returns.
   * `relayed`: how many bytes a socket took of what `expect` named; 0 for all else that was read. Of `asked` `atUs` is the
   * id of the socket, and `relayed` how many bytes of an admitted question the line took.
   */
  begin(slab: Uint8Array, onEvent: (event: number, value: number, atUs: number, relayed: number) => void): void
  /** Requests one more `bytes` event with at most that many. */
  want(maxBytes: number): void
  /** Reads at once what the driver has, if any is wanted: a `bytes` event comes before this returns. */
  readNow(): void
  /** Requests one `awake` event after so many microseconds; a call takes the place of the last. @throws with errno */
  wakeIn(us: number): void
  /**
   * Writes the bytes after so many microseconds and tells by one `sent` event. If something is read or written before, or
   * can be read then, it writes nothing, and the event is `awake`. It takes the place of `wakeIn`. The bytes are copied.
   * @throws with errno
   */
  sendIn(us: number, bytes: Uint8Array): void
  /** Writes at once unless there is something to read. @returns bytes taken; -1: something is to be read first */
  sendIfQuiet(bytes: Uint8Array): number
  /** Leaves of `sendIn` only the `awake` event. */
  dropSend(): void
  /** Duplicates a connected socket's descriptor for `expect`. @returns its id; @throws with errno and syscall */
  relayTo(socketFd: number): number
  /** An id that left has no effect, here and below. */
  leaveRelay(id: number): void
  /**
   * If the next read has exactly one frame of that length, with those first bytes and the checksum of Modbus, its bytes
   * before the checksum go to the socket behind `head`. A read or a write of anything else ends it. Copies the bytes.
   */
  expect(id: number, head: Uint8Array, begins: Uint8Array, length: number): void
  /** Whether the socket is read, of which `asked` events tell. */
  readRelay(id: number, isRead: boolean): void
  /**
   * If the next bytes of that socket are one message of Modbus TCP that reads that unit (functions 1 to 4), and it is that
   * late (CLOCK_MONOTONIC) and nothing has come, its question goes to the line. A read or a write of anything else ends it.
   */
  admit(id: number, unitId: number, notBeforeUs: number): void
  /** Ends what `expect` and `admit` began. */
  endRelay(): void
  /** While the line sends on and on, it is read every so many milliseconds; 0, as at first: always at once. */
  readEvery(ms: number): void
  /** @returns bytes taken from `offset` on; @throws with errno and syscall */
  write(bytes: Uint8Array, offset: number): number
  awaitWritable(): void
  /**
   * Call once, before `join`: notes (kind, socket, length, value, stamp) are written here and reported by a `passed`
   * event within `tellMs`; at once if a socket or the line did not take everything, or if room runs out.
   */
  beginPassing(notes: Float64Array, tellMs: number): void
  /** Duplicates a connected socket's descriptor. @returns its id; @throws with errno and syscall */
  join(socketFd: number): number
  /** An id that left or ended has no effect, here and below. */
  leave(id: number): void
  /** @param flow one of FLOW */
  setFlow(id: number, flow: number): void
  /** Most bytes of one read from a socket. */
  limitReads(most: number): void
  /**
   * Whether the line's bytes are passed to the socket directly. The addon turns it off when the socket falls behind.
   */
  setDirect(id: number, isDirect: boolean): void
  /** @param reads one of READS; @param isTelnet whether each FF is doubled towards the socket */
  steer(id: number, reads: number, isTelnet: boolean): void
  /**
   * While held, sockets' bytes are not written to the line directly. The addon holds when the line did not take
   * everything.
   */
  holdPassing(isHeld: boolean): void
  /**
   * @returns the number of notes since the last call; their bytes are one after another at the start of `slab` until
   * the next event
   */
  takePassed(): number
  outQueue(): number
  counts(): number[] | undefined
  configure(settings: NativeSettings): Promise<void>
  baud(): Promise<number>
  modem(): Promise<number>
  setModem(bitsOn: number, bitsOff: number): Promise<void>
  waitModem(bits: number): Promise<void>
  setBreak(isOn: boolean): Promise<void>
  lineStatus(): Promise<number>
  flush(queue: number): Promise<void>
  drain(): Promise<void>
  close(): Promise<void>
}

interface SerialAddon {
  open(path: string, settings: NativeSettings, lock: boolean, lockFolder: string): Promise<NativePort>
  openPty(): NativePort
  /** @returns 0 or errno */
  enterRealtime(priority: number): number
}

/** The addon, loaded once. */
export const addon = loadAddon('serial') as SerialAddon

/**
 * Lets the thread that calls run before all others that have no such priority. @param priority 1..99
 * @returns why not, `EPERM` where neither CAP_SYS_NICE nor RLIMIT_RTPRIO allows it; null if it does
 */
export function enterRealtime(priority: number): string | null {
  const errno = addon.enterRealtime(priority)
  return errno === 0 ? null : getSystemErrorName(-errno)
}

/** A failed system call. `code` is the errno's name, `HANGUP` for an end without errno, `ECHANGED` for a setting. */
export interface CallError extends Error {
  code: string
  errno: number
  syscall: string
  path?: string
  /** Process that holds the lock, if known. */
  holder?: number
  /** For `ECHANGED`: what the driver changed. */
  field?: string
  wanted?: string
  got?: string
  /** True if the call ended because the port was closed. */
  canceled?: boolean
}

/** Creates a CallError for errors found in TypeScript. */
export function callError(sentence: string, facts: Omit<CallError, keyof Error>): CallError {
  return Object.assign(new Error(sentence), facts)
}
