/** Takes a Telnet stream apart, however it is torn: data, words about options, suboptions, commands. */
import { Fault } from '#kit/fault.ts'
import { type OptionVerb, TELNET } from './telnet.ts'

/** One thing a stream says. Bytes belong to whoever takes the event. */
export type TelnetEvent =
  | { kind: 'data'; bytes: Uint8Array }
  | { kind: 'option'; verb: OptionVerb; option: number }
  | { kind: 'suboption'; option: number; payload: Uint8Array }
  /** A command without an option, such as BRK. */
  | { kind: 'command'; command: number }
  /** A suboption that another command broke off. What it held is gone. */
  | { kind: 'broken' }

/** A stream's reader. */
export interface TelnetReader {
  /**
   * What the bytes complete, in order. Each is read when it is asked for: 64 KiB may hold 32,000 commands. All of it is
   * to be asked for before more is fed.
   * @throws Fault `telnet_suboption_too_long`, when it is come to; the stream is of no use after it
   */
  feed(bytes: Uint8Array): IterableIterator<TelnetEvent>
  /** Nothing is half read: what comes next is data up to the next FF. */
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
 * - `verb` WILL, WONT, DO or DONT was read, its option is to come
 * - `sub` SB was read, its option is to come
 * - `payload` within a suboption
 * - `payloadIac` an FF was read within a suboption
 */
type Place = 'data' | 'iac' | 'verb' | 'sub' | 'payload' | 'payloadIac'

/**
 * @param mostBytes the longest suboption's payload; a stream may hold no more than that
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

  /** Everything up to the next command at once: a client may send little else than FF. @returns where to go on */
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
      // RFC 855 leaves it open. A peer that lost its SE is understood again from here on.
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

/** @param doubled how many FF stand twice; none stands alone */
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
