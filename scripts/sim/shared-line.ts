/** What simulated devices of any protocol share: a line that they hear, in whole requests, and speak on. */
import type { Clock, Timer } from '#kit/clock.ts'

/** The devices' end of a line: a pty, or one in memory. */
export interface Duplex {
  onBytes(handler: (bytes: Uint8Array) => void): void
  write(bytes: Uint8Array): Promise<unknown> | unknown
}

interface LineParts {
  duplex: Duplex
  clock: Clock
  /** The length of the request with which these bytes begin, or anything else if it cannot be told yet. */
  lengthOf(bytes: Uint8Array): unknown
  isWhole(frame: Uint8Array): boolean
  hear(request: Uint8Array): void
  /** The adapter echoes the master's bytes. */
  hasEcho?: boolean | undefined
}

export interface SharedLine {
  /** Writes bytes after this many ms. */
  say(bytes: Uint8Array, delayMs: number): void
  stop(): void
}

/** Silence after which bytes that form no request are discarded. */
const FORGET_MS = 50

/** Bits per character with start, parity and stop bits. */
const CHARACTER_BITS = 11

/** How long characters take on a wire. @param baud undefined: no time */
export function onWireMs(characters: number, baud: number | undefined): number {
  return baud === undefined ? 0 : (characters * CHARACTER_BITS * 1000) / baud
}

/** Cuts what is heard into requests. */
export function joinLine({ clock, duplex, hasEcho, hear, isWhole, lengthOf }: LineParts): SharedLine {
  const timers = new Set<Timer>()
  let held = new Uint8Array(0)
  let forget: Timer | undefined
  let isStopped = false

  /** Ignores failures: on a vanished line there is nobody to tell. */
  async function write(bytes: Uint8Array): Promise<void> {
    try {
      if (!isStopped) await duplex.write(bytes)
    } catch {
      isStopped = true
    }
  }

  /** The first whole request, and where it ends. */
  function firstRequest(bytes: Uint8Array): { frame: Uint8Array; end: number } | undefined {
    for (let at = 0; at < bytes.length; at++) {
      const rest = bytes.subarray(at)
      const need = lengthOf(rest)
      if (typeof need !== 'number' || rest.length < need) continue
      const frame = rest.slice(0, need)
      if (isWhole(frame)) return { frame, end: at + need }
    }
    return undefined
  }

  duplex.onBytes((bytes) => {
    if (isStopped) return
    if (hasEcho) void write(bytes)
    held = Uint8Array.from([...held, ...bytes])
    for (let cut = firstRequest(held); cut; cut = firstRequest(held)) {
      held = held.slice(cut.end)
      hear(cut.frame)
    }
    forget?.cancel()
    forget = clock.after(FORGET_MS, () => {
      held = new Uint8Array(0)
    })
  })
  return {
    say(bytes, delayMs) {
      if (delayMs === 0) {
        void write(bytes)
        return
      }
      const timer = clock.after(delayMs, () => {
        timers.delete(timer)
        void write(bytes)
      })
      timers.add(timer)
    },
    stop() {
      isStopped = true
      forget?.cancel()
      for (const timer of timers) timer.cancel()
    },
  }
}
