/** A TCP connection in memory. */
import type { ControlledLine } from '#kit/line/line.ts'
import type { Arrival, Client, ClientHandlers } from '../../core/ports.ts'

export interface FakeArrival extends Arrival {
  isRefused: boolean
  isClosed: boolean
  isReading: boolean
  /** Its flow, by the name of the state. */
  flow: 'reading' | 'resting' | 'stopped'
  reads: string
  /** Bytes of the line and our own, as latin1. */
  got: string
  line: ControlledLine | undefined
  /** Sends text, of which the line has taken `taken` bytes. */
  says(text: string, taken?: number): void
  fallsBehind(): void
  catchesUp(): void
  /** Finishes sending. */
  ends(): void
}

export function fakeArrival(address = '192.0.2.7'): FakeArrival {
  let handlers: ClientHandlers | undefined
  const arrival: FakeArrival = {
    address,
    port: 40_000,
    network: address,
    isRefused: false,
    isClosed: false,
    isReading: true,
    flow: 'reading',
    reads: 'all',
    got: '',
    line: undefined,
    refuse: () => (arrival.isRefused = true),
    take(given) {
      handlers = given
      return client
    },
    says: (text, taken = 0) => handlers?.onBytes(Buffer.from(text, 'latin1'), taken),
    fallsBehind: () => handlers?.onBehind(),
    catchesUp: () => handlers?.onCaughtUp(),
    ends: () => handlers?.onEnding(),
  }
  const hear = (bytes: Uint8Array) => {
    arrival.got += Buffer.from(bytes).toString('latin1')
  }
  const client: Client = {
    address,
    port: 40_000,
    waitingBytes: 0,
    attach: (line) => (arrival.line = line),
    detach: () => (arrival.line = undefined),
    steer: (reads) => (arrival.reads = reads),
    setTelnet() {},
    fromLine: hear,
    tell: hear,
    setHeld() {},
    setReading(how) {
      arrival.flow = how
      arrival.isReading = how === 'reading'
    },
    dropWaiting() {},
    destroy() {
      if (arrival.isClosed) return
      arrival.isClosed = true
      handlers?.onClosed()
    },
  }
  return arrival
}
