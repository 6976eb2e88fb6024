/** Settings of a serial line, the rule for device paths, byte-counted lines, and the TCP port of a line. */
import { Type } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Line, LineOpener, RelaySocket } from '../line/line.ts'
import { Fault, faultOf } from './fault.ts'
import { Backoff, type BackoffLimits } from './pace.ts'

// Settings of a serial line as PUT takes them and ports.json stores them, with their defaults.

const rs485 = Type.Object(
  {
    enabled: Type.Boolean({ default: true }),
    delay_before_send_ms: Type.Integer({ default: 0, minimum: 0, maximum: 1000, description: 'ms' }),
    delay_after_send_ms: Type.Integer({ default: 0, minimum: 0, maximum: 1000, description: 'ms' }),
    rts_on_send: Type.Boolean({ default: true, description: 'RTS is high while sending' }),
    rx_during_tx: Type.Boolean({ default: false, description: 'hear what is being sent' }),
  },
  { additionalProperties: false, description: 'direction control by the driver (TIOCSRS485)' },
)

/** Defaults to 9600 8N1 without flow control. */
export const lineSettings = Type.Object(
  {
    baud: Type.Integer({
      default: 9600,
      minimum: 1,
      maximum: 20_000_000,
      description: 'bits per second, any the driver takes',
    }),
    data_bits: Type.Enum([5, 6, 7, 8], { default: 8 }),
    parity: Type.Enum(['none', 'odd', 'even', 'mark', 'space'], { default: 'none' }),
    stop_bits: Type.Enum([1, 1.5, 2], { default: 1 }),
    flow: Type.Enum(['none', 'rtscts', 'xonxoff'], { default: 'none' }),
    rs485: Type.Union([rs485, Type.Null()], { default: null }),
    low_latency: Type.Boolean({ default: false, description: 'ASYNC_LOW_LATENCY: the driver hands bytes on at once' }),
  },
  { additionalProperties: false, default: {} },
)

// Settings of a line's write queue, in the table of each daemon that has lines with TCP clients.

/** Keys to spread into a table. */
export function queueKeys() {
  return {
    queue_bytes: Type.Integer({
      default: 65_536,
      minimum: 1024,
      maximum: 16_777_216,
      unit: 'bytes',
      description:
        'bytes of all clients that wait for one line, in at most 256 writes; then none of an address that has some waiting is read. Each address has an equal share, and a turn',
    }),
    queue_ms: Type.Integer({
      default: 2000,
      minimum: 100,
      maximum: 600_000,
      unit: 'ms',
      description: 'the same in time: no more waits than the line sends within this, 1024 bytes at least',
    }),
    left_bytes: Type.Integer({
      default: 65_536,
      minimum: 0,
      maximum: 16_777_216,
      unit: 'bytes',
      description:
        'bytes for one line of clients that have closed their connection which are still sent; further ones, and those of clients that were cut off, are dropped. 0 drops all',
    }),
    left_ms: Type.Integer({
      default: 30_000,
      minimum: 10,
      maximum: 3_600_000,
      unit: 'ms',
      description: 'how long those may take to be sent; then the rest is dropped',
    }),
  }
}

/** Converts to `LineQueueLimits`. */
export function queueLimits(table: Record<keyof ReturnType<typeof queueKeys>, number>) {
  const { queue_bytes: queueBytes, queue_ms: queueMs, left_bytes: leftBytes, left_ms: leftMs } = table
  return { queueBytes, queueMs, leftBytes, leftMs }
}

/** Limits of TCP clients per address and of all lines; spread into a table. @param clients default of all together */
export function clientPlaceKeys(clients = 512) {
  return {
    clients_per_address: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 64,
      description:
        'clients of one address (IPv6: one /64) on one line; where all of tcp_clients are there, the address with most loses one to the next',
    }),
    clients: Type.Integer({
      default: clients,
      minimum: 1,
      maximum: 16_384,
      description:
        'clients of all lines together; where all are there, the address with most loses one to the next, else it is refused',
    }),
  }
}

// Which device paths may be a port.

/** The kernel's serial tty classes and udev's stable names. `*` matches anything but a slash. */
export const serialLineGlobs: readonly string[] = [
  '/dev/ttyS*',
  '/dev/ttyUSB*',
  '/dev/ttyACM*',
  '/dev/ttyAMA*',
  '/dev/ttymxc*',
  '/dev/ttyO*',
  '/dev/ttySC*',
  '/dev/ttyMAX*',
  '/dev/ttyXRUSB*',
  '/dev/ttyLP*',
  '/dev/ttyPS*',
  '/dev/ttyGS*',
  '/dev/serial/by-id/*',
  '/dev/serial/by-path/*',
]

/** The longest path the kernel accepts (PATH_MAX, without its terminator). */
const PATH_BYTES = 4095

/**
 * @param globs patterns, each below /dev
 * @param setting the key they come from, for the sentence
 * @returns a check that throws Fault `port_not_allowed`, naming what is wrong with the path
 */
export function createLineRule(globs: readonly string[], setting: string): (path: string) => void {
  const patterns = globs.map(patternOf)
  return (path) => {
    if (path.length > PATH_BYTES)
      throw new Fault(
        'port_not_allowed',
        `The path has ${path.length} characters; a device path has at most ${PATH_BYTES}.`,
      )
    if (!path.startsWith('/dev/') || path.split('/').some((part) => part === '..' || part === '.') || hasControl(path))
      throw new Fault(
        'port_not_allowed',
        `${shown(path)} is no device path; it begins with /dev/ and has no . or .. parts.`,
      )
    if (!patterns.some((pattern) => pattern.test(path)))
      throw new Fault(
        'port_not_allowed',
        `${shown(path)} is not among the lines that may be used here. They are set by ${setting}: ${globs.join(', ')}.`,
      )
  }
}

/**
 * Wraps an opener so that it only opens paths the rule allows: a port saved before the patterns were narrowed, or
 * restored from a backup, is checked like a new one.
 * @returns an opener that throws Fault `port_not_allowed` too
 */
export function openerOfAllowed(checkPath: (path: string) => void, opener: LineOpener): LineOpener {
  return {
    async open(path, settings) {
      checkPath(path)
      return await opener.open(path, settings)
    },
  }
}

function patternOf(glob: string): RegExp {
  return new RegExp(`^${glob.split('*').map(escapeOf).join('[^/]*')}$`)
}

function escapeOf(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
}

function hasControl(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\x7f')
}

function shown(path: string): string {
  const text = [...path].map((character) => (character < ' ' || character === '\x7f' ? '?' : character)).join('')
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}

/** @param counts increased by each byte read, and by each byte the driver took */
export function countedLine(line: Line, counts: { rxBytes: number; txBytes: number }): Line {
  const { prompt } = line
  return {
    ...(prompt && {
      prompt: {
        send(bytes) {
          const taken = prompt.send(bytes)
          counts.txBytes += taken
          return taken
        },
        readAfter: (delayMs, run) => prompt.readAfter(delayMs, run),
        sendAfter: (delayMs, bytes, { onSent, run }) =>
          prompt.sendAfter(delayMs, bytes, {
            run,
            onSent(taken) {
              counts.txBytes += taken
              onSent(taken)
            },
          }),
        isWired: () => prompt.isWired(),
        relayTo: (socketFd) => countedRelay(prompt.relayTo(socketFd), counts),
        endRelay: () => prompt.endRelay(),
      },
    }),
    unsupported: line.unsupported,
    write: (bytes) =>
      line.write(bytes).then(() => {
        counts.txBytes += bytes.length
      }),
    sender(address, handlers) {
      const sender = line.sender(address, handlers)
      return {
        get heldBytes() {
          return sender.heldBytes
        },
        async write(bytes) {
          const taken = await sender.write(bytes)
          counts.txBytes += taken
          return taken
        },
        leave: (keeps) => sender.leave(keeps),
      }
    },
    drain: () => line.drain(),
    flush: () => line.flush(),
    onBytes(handler) {
      line.onBytes((bytes, atUs) => {
        counts.rxBytes += bytes.length
        handler(bytes, atUs)
      })
    },
    onGone: (handler) => line.onGone(handler),
    pause: () => line.pause(),
    resume: () => line.resume(),
    pass: (socketFd, tellMs, handlers) =>
      line.pass(socketFd, tellMs, {
        ...handlers,
        onBytes(bytes, taken, atUs) {
          counts.txBytes += taken
          handlers.onBytes(bytes, taken, atUs)
        },
      }),
    settle: () => line.settle(),
    readEvery: (ms) => line.readEvery?.(ms),
    driverCounts: () => line.driverCounts(),
    close: () => line.close(),
  }
}

function countedRelay(relay: RelaySocket | undefined, counts: { txBytes: number }): RelaySocket | undefined {
  return (
    relay && {
      ...relay,
      read: ({ onBytes, onEnded }) =>
        relay.read({
          onEnded,
          onBytes(bytes, sent) {
            counts.txBytes += sent
            onBytes(bytes, sent)
          },
        }),
    }
  )
}

// Transmission time of bytes, and sends with a time limit.

/** The setting that matters here: bits per second. */
export interface LineRate {
  baud: number
}

/** The longest character: start, eight data, parity or second stop, stop. */
const BITS_PER_CHARACTER = 11

/** Microseconds that `bytes` characters take on the wire. */
export function wireUs({ baud }: LineRate, bytes: number): number {
  return (bytes * BITS_PER_CHARACTER * 1_000_000) / baud
}

interface SendLimit {
  clock: Clock
  line: Pick<Line, 'flush'>
  limitMs: number
  /** The sender's fault. @param waitedMs whole milliseconds since the send began */
  late(waitedMs: number): Fault
}

/** Resolves when `send` does; past the limit the line drops what it holds, so that every waiting write fails. */
export function sendWithin({ clock, line, limitMs, late }: SendLimit, send: () => Promise<void>): Promise<void> {
  const startMs = clock.monotonicMs()
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => {
      reject(late(Math.round(clock.monotonicMs() - startMs)))
      line.flush().catch(() => {}) // a line that is gone has nothing left to drop
    })
    send()
      .then(resolve, reject)
      .finally(() => timer.cancel())
  })
}

// The TCP port of a line: opened, retried while that fails, closed with the line.

interface ListeningParts {
  /** @throws Fault `tcp_port_taken` */
  open(): Promise<{ close(): Promise<void> }>
  clock: Clock
  /** Waits between tries. */
  retry: BackoffLimits
  /** The port cannot be opened: called once, until it could be. */
  onFault(fault: Fault): void
}

export interface Listening {
  /** Why the port is not open; undefined while it is open or not wanted. */
  readonly fault: Fault | undefined
  start(): void
  /** Resolves when the port is free. */
  stop(): Promise<void>
}

/** One request to listen, until `stop`. */
interface Wish {
  isOver: boolean
  /** Ends a wait between two tries. */
  wake(): void
}

export function createListening({ open, clock, retry, onFault }: ListeningParts): Listening {
  let fault: Fault | undefined
  let wish: Wish | undefined
  /** Each request starts after the one before has closed its port. Never rejects. */
  let turn: Promise<void> = Promise.resolve()

  async function serve(mine: Wish): Promise<void> {
    const backoff = new Backoff(retry)
    while (!mine.isOver) {
      try {
        const server = await open()
        fault = undefined
        await untilOver(mine)
        await server.close()
      } catch (error) {
        const { code, message } = faultOf(error, 'tcp_port_taken', 'The TCP port cannot be opened.')
        const why = new Fault(code, `${message} It is tried again, and opened by itself once it is free.`, {
          cause: error,
        })
        if (!fault) onFault(why)
        fault = why
        await untilOver(mine, backoff.next())
      }
    }
    fault = undefined
  }

  /** Resolves when the request is over, or after `atMostMs`. */
  function untilOver(mine: Wish, atMostMs?: number): Promise<void> {
    if (mine.isOver) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = atMostMs === undefined ? undefined : clock.after(atMostMs, resolve)
      mine.wake = () => {
        timer?.cancel()
        resolve()
      }
    })
  }

  return {
    get fault() {
      return fault
    },
    start() {
      const mine: Wish = { isOver: false, wake() {} }
      wish = mine
      turn = turn.then(() => serve(mine))
    },
    stop() {
      if (wish) {
        wish.isOver = true
        wish.wake()
      }
      return turn
    },
  }
}

// Stop bits a UART supports: its second setting means two, or one and a half with five data bits. There is no third.

/** @returns why the two do not go together, and what does; undefined if they do */
export function stopBitsFault(dataBits: number, stopBits: number): string | undefined {
  if (stopBits === 1.5 && dataBits !== 5)
    return `1.5 stop bits exist with 5 data bits only, and there are ${dataBits}. Use 1 or 2.`
  if (stopBits === 2 && dataBits === 5)
    return 'With 5 data bits a line has 1 or 1.5 stop bits, and never 2. Use 1 or 1.5.'
  return undefined
}
