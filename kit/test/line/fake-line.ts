/** A serial line in memory, for tests of its users. */
import { Fault } from '#kit/pure/fault.ts'
import type { Line, LineOpener } from '../../line/line.ts'

export interface FakeLine extends Line {
  readonly written: Uint8Array[]
  /** The device sends. */
  arrive(bytes: Uint8Array, atUs?: number): void
  /** The device is unplugged. */
  vanish(): void
  readonly isClosed: boolean
  readonly isPaused: boolean
}

export function fakeLine(): FakeLine {
  const written: Uint8Array[] = []
  let onBytes: (bytes: Uint8Array, atUs: number) => void = () => {}
  let onGone: (fault: Fault) => void = () => {}
  let isClosed = false
  let isPaused = false
  const line: FakeLine = {
    unsupported: ['rs485'],
    written,
    async write(bytes) {
      if (isClosed) throw new Fault('line_closed', 'the line is closed')
      written.push(bytes)
    },
    sender: () => ({
      heldBytes: 0,
      async write(bytes) {
        await line.write(bytes)
        return bytes.length
      },
      leave() {},
    }),
    drain: async () => {},
    flush: async () => {},
    onBytes(handler) {
      onBytes = handler
    },
    onGone(handler) {
      onGone = handler
    },
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
    },
    pass: () => {
      throw new Fault('line_closed', 'a line in memory passes nothing to sockets')
    },
    settle: () => {},
    driverCounts: () => null,
    async close() {
      isClosed = true
    },
    arrive: (bytes, atUs = 0) => onBytes(bytes, atUs),
    vanish: () => onGone(new Fault('line_gone', 'the device is gone')),
    get isClosed() {
      return isClosed
    },
    get isPaused() {
      return isPaused
    },
  }
  return line
}

/** An opener that returns what `next` returns, or throws it if it is a Fault. */
export function fakeOpener(next: () => FakeLine | Fault): LineOpener & { opened: number } {
  const opener = {
    opened: 0,
    async open() {
      opener.opened++
      const result = next()
      if (result instanceof Fault) throw result
      return result
    },
  }
  return opener
}

export const plainLine = {
  baud: 9600,
  data_bits: 8,
  parity: 'none',
  stop_bits: 1,
  flow: 'none',
  rs485: null,
  low_latency: false,
} as const
