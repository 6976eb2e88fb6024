/** A simulated DNP3 master: asks an outstation, confirms what it tells, and keeps what was said. */
import { type Clock, systemClock, type Timer } from '#kit/clock.ts'
import { cutFrame, PRIMARY, sealFrame } from '../../daemons/gateway/wire/dnp3/link.ts'
import { type Assembly, assemble, segmentsOf } from '../../daemons/gateway/wire/dnp3/transport.ts'
import type { Duplex } from './shared-line.ts'

/** A response as it came: the indications, and the objects of all its fragments. */
export interface MasterReply {
  sequence: number
  iin: number
  objects: Uint8Array
}

interface Dnp3MasterParts {
  duplex: Duplex
  clock?: Clock
  /** Of this master, and of the outstation. */
  address?: number
  outstation?: number
  /** Confirms nothing, as a master that is broken. */
  neverConfirms?: boolean
}

const CONFIRM = 0
const UNSOLICITED = 130
const MOST_BYTES = 4096
/** What was told unasked is kept so far. */
const MOST_TOLD = 1000

export class SimulatedMaster {
  readonly #clock: Clock
  readonly #parts: Required<Omit<Dnp3MasterParts, 'clock'>>
  #held: Uint8Array = new Uint8Array(0)
  #assembly: Assembly | undefined
  #segment = 0
  #sequence = 0
  #waiting: { objects: number[]; resolve(reply: MasterReply): void; timer: Timer | undefined } | undefined
  #poll: Timer | undefined
  /** Responses that came unasked. */
  readonly told: MasterReply[] = []

  constructor({ address = 1, clock = systemClock, duplex, neverConfirms = false, outstation = 10 }: Dnp3MasterParts) {
    this.#clock = clock
    this.#parts = { address, duplex, neverConfirms, outstation }
    duplex.onBytes((bytes) => this.#feed(bytes))
  }

  /** Asks, and gives the whole answer; undefined where none came in time. @param sequence instead of the next one */
  ask(code: number, objectsHex = '', { sequence, withinMs = 20_000 }: { sequence?: number; withinMs?: number } = {}) {
    this.#sequence = sequence ?? (this.#sequence + 1) & 0x0f
    const objects = Buffer.from(objectsHex.replaceAll(' ', ''), 'hex')
    return new Promise<MasterReply | undefined>((resolve) => {
      const timer = this.#clock.after(withinMs, () => {
        this.#waiting = undefined
        resolve(undefined)
      })
      this.#waiting = { objects: [], resolve, timer }
      this.#sendFragment(Uint8Array.of(0xc0 | this.#sequence, code, ...objects))
    })
  }

  /** All points, then events again and again, as a master in the field does. */
  poll(everyMs: number): void {
    void this.ask(1, '3C 02 06 3C 03 06 3C 04 06 3C 01 06')
    this.#poll = this.#clock.every(everyMs, () => void this.ask(1, '3C 02 06 3C 03 06 3C 04 06'))
  }

  stop(): void {
    this.#poll?.cancel()
    this.#waiting?.timer?.cancel()
  }

  /** A fragment of the application layer, as it is. */
  #sendFragment(fragment: Uint8Array): void {
    const { address: source, duplex, outstation: destination } = this.#parts
    for (const data of segmentsOf(fragment, this.#segment++)) {
      const frame = { isFromMaster: true, isPrimary: true, frameCountBit: null, destination, source, data }
      void Promise.resolve(duplex.write(sealFrame({ ...frame, function: PRIMARY.unconfirmedData }))).catch(() => {})
    }
  }

  #feed(bytes: Uint8Array): void {
    this.#held = Buffer.concat([this.#held, bytes])
    for (let cut = cutFrame(this.#held); cut; cut = cutFrame(this.#held)) {
      this.#held = this.#held.subarray(cut.bytes)
      if (cut.kind === 'frame' && cut.frame.destination === this.#parts.address && cut.frame.data.length > 0) {
        const { assembly, fragment } = assemble(this.#assembly, cut.frame.data, MOST_BYTES)
        this.#assembly = assembly
        if (fragment) this.#hear(fragment)
      }
      if (this.#held.length === 0) return
    }
  }

  #hear(fragment: Uint8Array): void {
    const [control = 0, code, low = 0, high = 0] = fragment
    const said = { sequence: control & 0x0f, iin: low | (high << 8), objects: fragment.slice(4) }
    const isUnsolicited = code === UNSOLICITED
    if ((control & 0x20) !== 0 && !this.#parts.neverConfirms)
      this.#sendFragment(Uint8Array.of(0xc0 | (isUnsolicited ? 0x10 : 0) | said.sequence, CONFIRM))
    if (isUnsolicited) {
      this.told.push(said)
      if (this.told.length > MOST_TOLD) this.told.shift()
      return
    }
    const waiting = this.#waiting
    if (!waiting) return
    waiting.objects.push(...said.objects)
    if ((control & 0x40) === 0) return
    this.#waiting = undefined
    waiting.timer?.cancel()
    waiting.resolve({ ...said, objects: Uint8Array.from(waiting.objects) })
  }
}
