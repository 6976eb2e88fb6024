/** Puts RTP packets back into the order in which they were sent, and tells what is missing. */
import type { Clock } from '#kit/clock.ts'
import type { RtpPacket } from '../../wire/rtp.ts'

/** A packet in its turn. */
export interface OrderedPacket extends RtpPacket {
  /** When it came, on the monotonic clock, if it had to wait; undefined if it came now. */
  cameMs?: number
}

interface ReorderParts {
  /** So many packets and bytes may wait for one that is missing, and so long; then it counts as lost. */
  most: number
  mostBytes: number
  mostMs: number
  clock: Pick<Clock, 'monotonicMs'>
  onPacket(packet: OrderedPacket): void
  /** @param count packets that did not come; 0 if the camera began anew and nobody knows */
  onGap(count: number): void
}

const WRAP = 0x1_0000

/** Sequence numbers further apart than half their range are behind, not ahead. @source RFC 3550, A.1 */
function aheadBy(sequence: number, than: number): number {
  const distance = (sequence - than + WRAP) % WRAP
  return distance < WRAP / 2 ? distance : distance - WRAP
}

/** Takes each packet as it arrives. */
export class Reorder {
  readonly #parts: ReorderParts
  readonly #waiting = new Map<number, OrderedPacket>()
  #next: number | undefined
  #source: number | undefined
  #waitsSinceMs = 0
  #bytes = 0

  constructor(parts: ReorderParts) {
    this.#parts = parts
  }

  /** @param packet its payload is copied if it has to wait */
  take(packet: RtpPacket): void {
    if (this.#source !== undefined && this.#source !== packet.source) {
      this.end()
      this.#next = undefined
      this.#parts.onGap(0)
    }
    this.#source = packet.source
    if (this.#next === undefined) this.#begin(packet)
    else if (packet.sequence === this.#next && this.#waiting.size === 0) {
      this.#next = (this.#next + 1) % WRAP
      this.#parts.onPacket(packet)
    } else this.#wait(packet, this.#next)
  }

  /** Nothing follows: what waits goes on, and what it waited for is lost. */
  end(): void {
    if (this.#next === undefined) this.#goOn()
    while (this.#next !== undefined && this.#waiting.size > 0) this.#skip(this.#next)
  }

  /** The first packets of a camera change places too: which one is the first is known once another picture begins. */
  #begin(packet: RtpPacket): void {
    this.#keep(packet)
    const [first] = this.#waiting.values()
    if (first?.timestamp === packet.timestamp && !this.#isFull()) return
    this.#goOn()
    if (this.#next !== undefined && this.#waiting.size > 0 && this.#isFull()) this.#skip(this.#next)
  }

  #goOn(): void {
    const [one] = this.#waiting.keys()
    if (one === undefined) return
    this.#next = (one + Math.min(...this.#distances(one)) + WRAP) % WRAP
    this.#release()
  }

  #wait(packet: RtpPacket, next: number): void {
    // What comes twice, or after it was given up, is late by less than half the range.
    if (aheadBy(packet.sequence, next) < 0) return
    this.#keep(packet)
    if (packet.sequence === next) {
      this.#waitsSinceMs = this.#parts.clock.monotonicMs()
      this.#release()
    } else if (this.#isFull()) {
      this.#waitsSinceMs = this.#parts.clock.monotonicMs()
      this.#skip(next)
    }
  }

  #keep(packet: RtpPacket): void {
    const cameMs = this.#parts.clock.monotonicMs()
    if (this.#waiting.size === 0) this.#waitsSinceMs = cameMs
    this.#bytes += packet.payload.length - (this.#waiting.get(packet.sequence)?.payload.length ?? 0)
    this.#waiting.set(packet.sequence, { ...packet, payload: packet.payload.slice(), cameMs })
  }

  #isFull(): boolean {
    const { clock, most, mostBytes, mostMs } = this.#parts
    const isLate = clock.monotonicMs() - this.#waitsSinceMs > mostMs
    return isLate || this.#waiting.size > most || this.#bytes > mostBytes
  }

  #distances(from: number): number[] {
    return [...this.#waiting.keys()].map((sequence) => aheadBy(sequence, from))
  }

  #release(): void {
    for (;;) {
      const packet = this.#waiting.get(this.#next ?? 0)
      if (!packet) return
      this.#waiting.delete(packet.sequence)
      this.#bytes -= packet.payload.length
      this.#next = (packet.sequence + 1) % WRAP
      this.#parts.onPacket(packet)
    }
  }

  /** Goes on with the first that waits. */
  #skip(from: number): void {
    const lost = Math.min(...this.#distances(from))
    this.#next = (from + lost) % WRAP
    this.#parts.onGap(lost)
    this.#release()
  }
}
