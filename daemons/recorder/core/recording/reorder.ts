/** Puts RTP packets back into the order in which they were sent, and tells what is missing. */
import type { Clock } from '#kit/clock.ts'
import type { RtpPacket } from '../../wire/rtp.ts'

interface ReorderParts {
  /** So many packets may wait for one that is missing, and so long; then it counts as lost. */
  most: number
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
export interface Reorder {
  take(packet: RtpPacket): void
  /** Nothing follows: what waits goes on, and what it waited for is lost. */
  end(): void
}

export function createReorder({ clock, most, mostMs, onGap, onPacket }: ReorderParts): Reorder {
  const waiting = new Map<number, RtpPacket>()
  let next: number | undefined
  let source: number | undefined
  let waitsSinceMs = 0

  function release(): void {
    for (let packet = waiting.get(next ?? 0); packet; packet = waiting.get(next ?? 0)) {
      waiting.delete(packet.sequence)
      next = (packet.sequence + 1) % WRAP
      onPacket(packet)
    }
  }

  /** Goes on with the first that waits. */
  function skip(from: number): void {
    const distances = [...waiting.keys()].map((sequence) => aheadBy(sequence, from))
    const lost = Math.min(...distances)
    next = (from + lost) % WRAP
    onGap(lost)
    release()
  }

  function drain(): void {
    while (next !== undefined && waiting.size > 0) skip(next)
  }

  function take(packet: RtpPacket): void {
    if (source !== undefined && source !== packet.source) {
      drain()
      next = undefined
      onGap(0)
    }
    source = packet.source
    next ??= packet.sequence
    if (packet.sequence === next && waiting.size === 0) {
      next = (next + 1) % WRAP
      onPacket(packet)
      return
    }
    // What comes twice, or after it was given up, is late by less than half the range.
    if (aheadBy(packet.sequence, next) < 0) return
    const nowMs = clock.monotonicMs()
    if (waiting.size === 0) waitsSinceMs = nowMs
    waiting.set(packet.sequence, packet)
    if (packet.sequence === next) {
      waitsSinceMs = nowMs
      release()
    } else if (waiting.size > most || nowMs - waitsSinceMs > mostMs) {
      waitsSinceMs = nowMs
      skip(next)
    }
  }

  return { take, end: drain }
}
