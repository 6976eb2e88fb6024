/** Puts RTP packets back into the order in which they were sent, and tells what is missing. */
import type { Clock } from '#kit/clock.ts'
import type { RtpPacket } from '../../wire/rtp.ts'

interface ReorderParts {
  /** So many packets and bytes may wait for one that is missing, and so long; then it counts as lost. */
  most: number
  mostBytes: number
  mostMs: number
  clock: Pick<Clock, 'monotonicMs'>
  onPacket(packet: RtpPacket): void
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
  readonly #waiting = new Map<number, RtpPacket>()
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
    this.#next ??= packet.sequence
    if (packet.sequence === this.#next && this.#waiting.size === 0) {
      this.#next = (this.#next + 1) % WRAP
      this.#parts.onPacket(packet)
      return
    }
    this.#wait(packet, this.#next)
  }

  /** Nothing follows: what waits goes on, and what it waited for is lost. */
  end(): void {
    while (this.#next !== undefined && this.#waiting.size > 0) this.#skip(this.#next)
  }

  #wait(packet: RtpPacket, next: number): void {
    const { clock, most, mostBytes, mostMs } = this.#parts
    // What comes twice, or after it was given up, is late by less than half the range.
    if (aheadBy(packet.sequence, next) < 0) return
    const nowMs = clock.monotonicMs()
    if (this.#waiting.size === 0) this.#waitsSinceMs = nowMs
    this.#bytes += packet.payload.length - (this.#waiting.get(packet.sequence)?.payload.length ?? 0)
    this.#waiting.set(packet.sequence, { ...packet, payload: packet.payload.slice() })
    if (packet.sequence === next) {
      this.#waitsSinceMs = nowMs
      this.#release()
    } else if (this.#waiting.size > most || this.#bytes > mostBytes || nowMs - this.#waitsSinceMs > mostMs) {
      this.#waitsSinceMs = nowMs
      this.#skip(next)
    }
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
    const distances = [...this.#waiting.keys()].map((sequence) => aheadBy(sequence, from))
    const lost = Math.min(...distances)
    this.#next = (from + lost) % WRAP
    this.#parts.onGap(lost)
    this.#release()
  }
}
