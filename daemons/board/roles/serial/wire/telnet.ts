/**
 * Encodes Telnet commands and options, and parses a stream, wherever it is split.
 * @source RFC 854, RFC 855
 */
import { Fault } from '#kit/pure/fault.ts'

/** Commands that follow an IAC. @source RFC 854, RFC 855 */
export const TELNET = {
  se: 240,
  nop: 241,
  /** Break. */
  brk: 243,
  /** Are you there. */
  ayt: 246,
  sb: 250,
  will: 251,
  wont: 252,
  do: 253,
  dont: 254,
  iac: 255,
} as const

/**
 * Options that a serial server supports. @source RFC 856 (binary), RFC 857 (echo), RFC 858 (sga), RFC 2217 (comPort)
 */
export const OPTION = { binary: 0, echo: 1, sga: 3, comPort: 44 } as const

/** The four verbs about an option. `will` and `wont` concern the sender's side, `do` and `dont` the receiver's. */
export type OptionVerb = 'will' | 'wont' | 'do' | 'dont'

const CR = 13
const LF = 10

/**
 * Encodes data for a Telnet connection: each FF is doubled. The same array if there is none.
 * @source RFC 854, "The TELNET Command Structure"
 */
export function doubledIac(data: Uint8Array): Uint8Array {
  let at = data.indexOf(TELNET.iac)
  if (at < 0) return data
  let count = 0
  for (; at >= 0; at = data.indexOf(TELNET.iac, at + 1)) count++
  const out = new Uint8Array(data.length + count)
  let end = 0
  for (const byte of data) {
    out[end++] = byte
    if (byte === TELNET.iac) out[end++] = byte
  }
  return out
}

/**
 * Encodes data for a peer without BINARY: a CR must be followed by LF or NUL. The same array if there is no CR.
 * @source RFC 854, "The NVT Printer and Keyboard"
 */
export function withCrNul(data: Uint8Array): Uint8Array {
  if (!data.includes(CR)) return data
  const out: number[] = []
  for (const [at, byte] of data.entries()) {
    out.push(byte)
    if (byte === CR && data[at + 1] !== LF) out.push(0)
  }
  return Uint8Array.from(out)
}

/** Decodes data of a peer without BINARY, across pieces: removes the NUL after a CR. */
export function createCrNulReader(): (data: Uint8Array) => Uint8Array {
  let isAfterCr = false
  return (data) => {
    const out: number[] = []
    for (const byte of data) {
      if (!(isAfterCr && byte === 0)) out.push(byte)
      isAfterCr = byte === CR
    }
    return out.length === data.length ? data : Uint8Array.from(out)
  }
}

/** `IAC WILL option` and its like: 3 bytes. @source RFC 855 */
export function optionFrame(verb: OptionVerb, option: number): Uint8Array {
  return Uint8Array.of(TELNET.iac, TELNET[verb], option)
}

/** `IAC SB option payload IAC SE`, each FF of the payload twice. @source RFC 855 */
export function suboptionFrame(option: number, payload: Uint8Array): Uint8Array {
  const inner = doubledIac(payload)
  const frame = new Uint8Array(inner.length + 5)
  frame.set([TELNET.iac, TELNET.sb, option])
  frame.set(inner, 3)
  frame.set([TELNET.iac, TELNET.se], inner.length + 3)
  return frame
}

/**
 * `IAC command`: 2 bytes.
 * @source RFC 854
 * @internal the client's half, used by tests
 */
export function commandFrame(command: number): Uint8Array {
  return Uint8Array.of(TELNET.iac, command)
}

// Parses a stream: data, option commands, suboptions, other commands.

/** One element of a stream. Its bytes belong to the consumer. */
export type TelnetEvent =
  | { kind: 'data'; bytes: Uint8Array }
  | { kind: 'option'; verb: OptionVerb; option: number }
  | { kind: 'suboption'; option: number; payload: Uint8Array }
  /** A command without an option, such as BRK. */
  | { kind: 'command'; command: number }
  /** A suboption interrupted by another command. Its contents are dropped. */
  | { kind: 'broken' }

/** Parser of a stream. */
interface TelnetReader {
  /**
   * The elements that the bytes complete, in order. Each is parsed on demand: 64 KiB may hold 32,000 commands. Consume
   * all of them before feeding more.
   * @throws Fault `telnet_suboption_too_long`, when it is reached; the stream is unusable after that
   */
  feed(bytes: Uint8Array): IterableIterator<TelnetEvent>
  /** Whether nothing is half parsed: what comes next is data up to the next FF. */
  readonly isBetween: boolean
}

const VERBS: Readonly<Record<number, OptionVerb>> = {
  [TELNET.will]: 'will',
  [TELNET.wont]: 'wont',
  [TELNET.do]: 'do',
  [TELNET.dont]: 'dont',
}

/**
 * - `data` plain bytes
 * - `iac` an FF was read
 * - `verb` WILL, WONT, DO or DONT was read, its option comes next
 * - `sub` SB was read, its option comes next
 * - `payload` within a suboption
 * - `payloadIac` an FF was read within a suboption
 */
type Place = 'data' | 'iac' | 'verb' | 'sub' | 'payload' | 'payloadIac'

/**
 * @param mostBytes longest payload of a suboption; no more is held of a stream
 * @source RFC 854, RFC 855
 */
export function createTelnetReader(mostBytes: number): TelnetReader {
  const reader = new Reader(mostBytes)
  return {
    feed: (bytes) => reader.feed(bytes),
    get isBetween() {
      return reader.place === 'data'
    },
  }
}

class Reader {
  place: Place = 'data'
  readonly #mostBytes: number
  #verb: OptionVerb = 'will'
  #option = 0
  #payload: number[] = []
  #events: TelnetEvent[] = []

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  *feed(bytes: Uint8Array): IterableIterator<TelnetEvent> {
    for (let at = 0; at < bytes.length; ) {
      if (this.place === 'data') at = this.#data(bytes, at)
      else this.#step(bytes[at++] ?? 0)
      if (this.#events.length > 0) yield* this.#events.splice(0)
    }
  }

  /** Takes everything up to the next command at once: a client may send little but FF. @returns where to go on */
  #data(bytes: Uint8Array, from: number): number {
    let doubled = 0
    let iac = bytes.indexOf(TELNET.iac, from)
    for (; iac >= 0 && bytes[iac + 1] === TELNET.iac; iac = bytes.indexOf(TELNET.iac, iac + 2)) doubled++
    const end = iac < 0 ? bytes.length : iac
    const data = doubled === 0 ? bytes.subarray(from, end) : withoutDoubled(bytes.subarray(from, end), doubled)
    if (data.length > 0) this.#events.push({ kind: 'data', bytes: data })
    if (iac < 0) return bytes.length
    this.place = 'iac'
    return iac + 1
  }

  #step(byte: number): void {
    if (this.place === 'iac') this.#command(byte)
    else if (this.place === 'verb') this.#end({ kind: 'option', verb: this.#verb, option: byte })
    else if (this.place === 'sub') {
      this.#option = byte
      this.#payload = []
      this.place = 'payload'
    } else if (this.place === 'payload') {
      if (byte === TELNET.iac) this.place = 'payloadIac'
      else this.#hold(byte)
    } else this.#payloadCommand(byte)
  }

  #command(byte: number): void {
    const verb = VERBS[byte]
    if (verb !== undefined) {
      this.#verb = verb
      this.place = 'verb'
    } else if (byte === TELNET.sb) this.place = 'sub'
    else if (byte === TELNET.iac) this.#end({ kind: 'data', bytes: Uint8Array.of(byte) })
    else this.#end({ kind: 'command', command: byte })
  }

  #payloadCommand(byte: number): void {
    if (byte === TELNET.iac) {
      this.place = 'payload'
      this.#hold(byte)
    } else if (byte === TELNET.se) {
      this.#end({ kind: 'suboption', option: this.#option, payload: Uint8Array.from(this.#payload) })
    } else {
      // RFC 855 leaves this open. A peer that lost its SE is parsed again from here on.
      this.#events.push({ kind: 'broken' })
      this.#command(byte)
    }
  }

  #hold(byte: number): void {
    if (this.#payload.length >= this.#mostBytes)
      throw new Fault(
        'telnet_suboption_too_long',
        `a Telnet suboption (option ${this.#option}) is longer than ${this.#mostBytes} bytes`,
      )
    this.#payload.push(byte)
  }

  #end(event: TelnetEvent): void {
    this.#events.push(event)
    this.place = 'data'
  }
}

/** @param doubled how many FF are doubled; none is single */
function withoutDoubled(bytes: Uint8Array, doubled: number): Uint8Array {
  const data = new Uint8Array(bytes.length - doubled)
  let length = 0
  let from = 0
  while (from < bytes.length) {
    const iac = bytes.indexOf(TELNET.iac, from)
    const piece = bytes.subarray(from, iac < 0 ? bytes.length : iac + 1)
    data.set(piece, length)
    length += piece.length
    from = iac < 0 ? bytes.length : iac + 2
  }
  return data
}
