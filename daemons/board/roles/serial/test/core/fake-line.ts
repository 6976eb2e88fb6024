/** A serial line in memory with all signals of a real one, and lines that support less. */
import { fakeClock } from '#kit/clock-fake.ts'
import type {
  ControlledLine,
  ControlledLineOpener,
  ControlledSettings,
  DriverCounts,
  ModemLines,
  SteeredSocketHandlers,
} from '#kit/line/line.ts'
import { DEFAULT_QUEUE, LineQueue } from '#kit/line/line-queue.ts'
import { Fault } from '#kit/pure/fault.ts'

/** A fake line; `did` records what happened, in order. */
export interface FakeLine extends ControlledLine {
  readonly did: string[]
  readonly settings: ControlledSettings
  modem: ModemLines | null
  counts: DriverCounts | null
  /** Why the driver refuses settings; undefined if it does not. */
  refuses(settings: ControlledSettings): string | undefined
  /** While set, nothing is accepted. */
  isStuck: boolean
  isPaused: boolean
  transmitterState: { waitingBytes: number; isEmpty: boolean | null }
  says(bytes: Uint8Array): void
  goes(): void
  /** Changes modem lines at the far end, as TIOCMIWAIT sees them. */
  turns(lines: Partial<ModemLines>): void
  /** The driver takes the waiting bytes. */
  unstick(): void
  /** Changes of settings that wait; undefined: none does. */
  slowUpdates: (() => void)[] | undefined
}

export const lineSettings: ControlledSettings = {
  baud: 9600,
  data_bits: 8,
  parity: 'none',
  stop_bits: 1,
  flow: 'none',
  flow_in: 'none',
  rs485: null,
  low_latency: true,
}

const NO_COUNTS: DriverCounts = { rx: 0, tx: 0, frame: 0, overrun: 0, parity: 0, brk: 0, buf_overrun: 0 }
const MODEM: ModemLines = { dtr: true, rts: true, cts: false, dsr: false, dcd: false, ring: false }

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one object with a line for each thing a line does
export function fakeLine(first: ControlledSettings = lineSettings): FakeLine {
  let onBytes: (bytes: Uint8Array, atUs: number) => void = () => {}
  let onGone: (fault: Fault) => void = () => {}
  let onModem: ((isChanged: boolean) => void) | undefined
  let isOpen = true
  const waiting: (() => void)[] = []
  const queue = new LineQueue({
    clock: fakeClock(),
    limits: DEFAULT_QUEUE,
    write: (bytes) => line.write(bytes),
    onBusy() {},
    onMostRead() {},
  })
  queue.setSpeed(960)
  const requireOpen = () => {
    if (!isOpen) throw new Fault('line_closed', 'closed')
  }
  const line: FakeLine = {
    did: [],
    settings: first,
    unsupported: [],
    modem: MODEM,
    counts: NO_COUNTS,
    refuses: () => undefined,
    isStuck: false,
    isPaused: false,
    transmitterState: { waitingBytes: 0, isEmpty: true },
    slowUpdates: undefined,
    async write(bytes) {
      requireOpen()
      line.did.push(`write ${Buffer.from(bytes).toString('latin1')}`)
      if (line.isStuck) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    sender: (address, handlers) => queue.join(address, handlers),
    drain: async () => {},
    async flush(what) {
      requireOpen()
      line.did.push(`flush ${what}`)
    },
    onBytes: (handler) => (onBytes = handler),
    onGone: (handler) => (onGone = handler),
    pause: () => (line.isPaused = true),
    resume: () => (line.isPaused = false),
    pass: (_fd, _tellMs, _handlers: SteeredSocketHandlers) => {
      throw new Error('no real sockets here')
    },
    settle() {},
    driverCounts: () => (isOpen ? line.counts : null),
    async close() {
      isOpen = false
      onModem?.(false)
      line.did.push('close')
    },
    async update(settings) {
      requireOpen()
      const why = line.refuses(settings)
      if (why !== undefined) throw new Fault('line_refused', why)
      await new Promise<void>((resolve) => (line.slowUpdates ? line.slowUpdates.push(resolve) : resolve()))
      Object.assign(line, { settings })
      const { baud, data_bits, parity, stop_bits, flow, flow_in } = settings
      line.did.push(`update ${baud} ${data_bits} ${parity} ${stop_bits} ${flow} ${flow_in}`)
    },
    modemLines: async () => line.modem,
    async setModemLines(lines) {
      requireOpen()
      if (line.modem) line.modem = { ...line.modem, ...lines }
      line.did.push(`modem ${JSON.stringify(lines)}`)
    },
    modemChange: () => (isOpen ? new Promise((resolve) => (onModem = resolve)) : Promise.resolve(false)),
    async setBreak(isOn) {
      requireOpen()
      line.did.push(`break ${isOn}`)
    },
    transmitter: async () => line.transmitterState,
    says: (bytes) => onBytes(bytes, 0),
    goes() {
      isOpen = false
      onModem?.(false)
      onGone(new Fault('line_gone', 'it is gone'))
    },
    turns(lines) {
      if (line.modem) line.modem = { ...line.modem, ...lines }
      onModem?.(true)
    },
    unstick() {
      line.isStuck = false
      for (const taken of waiting.splice(0)) taken()
    },
  }
  return line
}

/** Opens fake lines while the device exists. */
export interface FakeOpener extends ControlledLineOpener {
  /** The last one opened. */
  line: FakeLine | undefined
  /** Why none can be opened; undefined if one can. */
  fault: Fault | undefined
  opened: number
}

export function fakeOpener(dress: (line: FakeLine) => void = () => {}): FakeOpener {
  const opener: FakeOpener = {
    line: undefined,
    fault: undefined,
    opened: 0,
    async open(_path, settings) {
      if (opener.fault) throw opener.fault
      opener.opened++
      const line = fakeLine(settings)
      dress(line)
      opener.line = line
      return line
    },
  }
  return opener
}
