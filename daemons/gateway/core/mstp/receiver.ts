/** The receive state machine of MS/TP: cuts the octets of a line into frames, good and bad, and noise between them. */
import { Fault } from '#kit/pure/fault.ts'
import { dataCrc, headerCrc, RESIDUE } from '../../wire/mstp/checks.ts'
import {
  BROADCAST,
  HEADER_BYTES,
  isExtended,
  MOST_FRAME_BYTES,
  MOST_LENGTH_FIELD,
  MOST_PLAIN,
  type MstpFrame,
  PREAMBLE,
  readMstpFrame,
} from '../../wire/mstp/frame.ts'

export type ReceiveState = 'idle' | 'preamble' | 'header' | 'headerCrc' | 'data' | 'skipData' | 'dataCrc'

/**
 * The transitions of the standard, by its names. Errors of the UART are none of them: its driver hands octets on as they
 * are, and the checksums find the wrong ones.
 */
export type ReceiveEvent =
  | 'eatAnOctet'
  | 'preamble1'
  | 'timeout'
  | 'repeatedPreamble1'
  | 'notPreamble'
  | 'preamble2'
  | 'headerOctet'
  | 'headerEnd'
  | 'badCrc'
  | 'noData'
  | 'frameTooLong'
  | 'data'
  | 'dataNotForUs'
  | 'dataOctet'
  | 'dataEnd'
  | 'goodCrc'

/** @source ANSI/ASHRAE 135-2016, 9.5.4 */
export const mstpReceiveTable: Readonly<Record<ReceiveState, Partial<Record<ReceiveEvent, ReceiveState>>>> = {
  idle: { eatAnOctet: 'idle', preamble1: 'preamble' },
  preamble: { timeout: 'idle', repeatedPreamble1: 'preamble', notPreamble: 'idle', preamble2: 'header' },
  header: { timeout: 'idle', headerOctet: 'header', headerEnd: 'headerCrc' },
  headerCrc: { badCrc: 'idle', noData: 'idle', frameTooLong: 'skipData', data: 'data', dataNotForUs: 'skipData' },
  data: { timeout: 'idle', dataOctet: 'data', dataEnd: 'dataCrc' },
  skipData: { timeout: 'idle', dataOctet: 'skipData', dataEnd: 'dataCrc' },
  dataCrc: { badCrc: 'idle', goodCrc: 'idle' },
}

/** What was cut out of the line. */
export type Received =
  | { kind: 'frame'; frame: MstpFrame; bytes: Uint8Array; isForUs: boolean }
  /** A frame that is none, or octets that belong to no frame. */
  | { kind: 'invalid' | 'noise'; bytes: Uint8Array; fault: Fault }

/** Noise is told in pieces of this size at most. */
const MOST_NOISE = 64

/** The octet that may follow a frame as padding. @source ANSI/ASHRAE 135-2016, 9.3 */
const PAD = 0xff

/** Reads one line. It holds one frame at most, and a piece of noise. */
export class MstpReceiver {
  readonly #mac: number | undefined
  readonly #buffer = new Uint8Array(MOST_FRAME_BYTES)
  readonly #noise = new Uint8Array(MOST_NOISE)
  #state: ReceiveState = 'idle'
  /** Octets of the frame so far. */
  #length = 0
  #noiseLength = 0
  /** The register of the checksum. */
  #crc = 0
  #dataLength = 0
  #mayPad = false

  /** @param mac our own address; undefined where we have none and only listen */
  constructor(mac: number | undefined) {
    this.#mac = mac
  }

  get state(): ReceiveState {
    return this.#state
  }

  /** Whether there is something that a silence would end. */
  get isWithin(): boolean {
    return this.#state !== 'idle' || this.#noiseLength > 0
  }

  /** @returns what ended with these octets, in order */
  feed(octets: Uint8Array): Received[] {
    const found: Received[] = []
    for (const octet of octets) this.#octet(octet, found)
    return found
  }

  /** The line was silent for longer than a frame may be: Tframe_abort. */
  timeout(): Received[] {
    const found: Received[] = []
    const isFrame = this.#state !== 'idle' && this.#state !== 'preamble'
    if (this.#state === 'preamble') this.#toNoise(found)
    if (isFrame) this.#invalid(found, new Fault('mstp_short', this.#shortSentence()))
    if (this.#state !== 'idle') this.#move('timeout')
    this.#tellNoise(found)
    this.#mayPad = false
    return found
  }

  /** Forgets what it has: the line was closed, or the octets were our own. */
  reset(): void {
    this.#state = 'idle'
    this.#length = 0
    this.#noiseLength = 0
    this.#mayPad = false
  }

  #move(event: ReceiveEvent): void {
    this.#state = mstpReceiveTable[this.#state][event] ?? this.#state
  }

  #octet(octet: number, found: Received[]) {
    switch (this.#state) {
      case 'idle':
        return this.#begin(octet, found)
      case 'preamble':
        return this.#preamble(octet, found)
      case 'header':
        return this.#header(octet, found)
      default:
        return this.#data(octet, found)
    }
  }

  #begin(octet: number, found: Received[]): void {
    if (octet === PREAMBLE[0]) {
      this.#move('preamble1')
      this.#buffer[0] = octet
      this.#length = 1
    } else {
      this.#move('eatAnOctet')
      if (octet !== PAD || !this.#mayPad) this.#addNoise(octet, found)
    }
    this.#mayPad = false
  }

  #preamble(octet: number, found: Received[]): void {
    if (octet === PREAMBLE[1]) {
      this.#move('preamble2')
      this.#tellNoise(found)
      this.#buffer[1] = octet
      this.#length = PREAMBLE.length
      this.#crc = 0xff
    } else if (octet === PREAMBLE[0]) {
      this.#move('repeatedPreamble1')
      this.#addNoise(octet, found)
    } else {
      this.#move('notPreamble')
      this.#toNoise(found)
      this.#addNoise(octet, found)
    }
  }

  #header(octet: number, found: Received[]) {
    this.#buffer[this.#length++] = octet
    this.#crc = headerCrc(this.#crc, octet)
    if (this.#length < HEADER_BYTES) return this.#move('headerOctet')
    this.#move('headerEnd')
    const [, , frameType = 0, destination = 0, , high = 0, low = 0] = this.#buffer
    this.#dataLength = high * 256 + low
    const most = isExtended(frameType) ? MOST_LENGTH_FIELD : MOST_PLAIN
    const isForUs = destination === BROADCAST || destination === this.#mac
    if (this.#crc !== RESIDUE.header) {
      this.#invalid(found)
      this.#move('badCrc')
    } else if (this.#dataLength === 0) {
      this.#end(found)
      this.#move('noData')
    } else {
      this.#crc = 0xffff
      this.#move(this.#dataLength > most ? 'frameTooLong' : isForUs ? 'data' : 'dataNotForUs')
    }
  }

  #data(octet: number, found: Received[]) {
    // Of a frame that is too long only its beginning is held.
    if (this.#length < MOST_FRAME_BYTES) this.#buffer[this.#length] = octet
    this.#length++
    this.#crc = dataCrc(this.#crc, octet)
    if (this.#length < HEADER_BYTES + this.#dataLength + 2) return this.#move('dataOctet')
    this.#move('dataEnd')
    this.#move(this.#end(found) ? 'goodCrc' : 'badCrc')
  }

  /** @returns whether it is a frame */
  #end(found: Received[]): boolean {
    const bytes = this.#buffer.slice(0, Math.min(this.#length, MOST_FRAME_BYTES))
    this.#length = 0
    this.#mayPad = true
    try {
      const frame = readMstpFrame(bytes)
      const isForUs = frame.destination === BROADCAST || frame.destination === this.#mac
      found.push({ kind: 'frame', frame, bytes, isForUs })
      return true
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      found.push({ kind: 'invalid', bytes, fault: error })
      return false
    }
  }

  /** @param fault what is wrong with it; the checksum of its header if omitted */
  #invalid(found: Received[], fault?: Fault): void {
    const bytes = this.#buffer.slice(0, Math.min(this.#length, MOST_FRAME_BYTES))
    this.#length = 0
    const why = fault ?? new Fault('mstp_header_crc', 'The header of the frame fails its checksum (CRC-8).')
    found.push({ kind: 'invalid', bytes, fault: why })
  }

  #shortSentence(): string {
    const whole = this.#state === 'header' ? HEADER_BYTES : HEADER_BYTES + this.#dataLength + 2
    return `The frame broke off after ${this.#length} of ${whole} bytes.`
  }

  /** What was taken for the first octet of a preamble is noise. */
  #toNoise(found: Received[]): void {
    this.#length = 0
    this.#addNoise(PREAMBLE[0], found)
  }

  #addNoise(octet: number, found: Received[]): void {
    this.#noise[this.#noiseLength++] = octet
    if (this.#noiseLength === MOST_NOISE) this.#tellNoise(found)
  }

  #tellNoise(found: Received[]): void {
    if (this.#noiseLength === 0) return
    const bytes = this.#noise.slice(0, this.#noiseLength)
    this.#noiseLength = 0
    const sentence = `${bytes.length} bytes belong to no frame: noise, another protocol, or another baud rate.`
    found.push({ kind: 'noise', bytes, fault: new Fault('mstp_noise', sentence) })
  }
}
