/** How long after the instant of its timestamp a packet came. */
import { SAMPLE_RATE } from '../../../wire/streams/description.ts'

const NS_PER_S = 1_000_000_000n
const CYCLE = 1n << 32n

/** A packet: its RTP timestamp, and what time it was on a clock when it came. */
export interface Arrived {
  timestamp: number
  /** Of the clock's zero, modulo 2^32. @source RFC 7273, 5.2 */
  mediaOffset: number
  audioNs: bigint
}

/** @returns ms, below 0 where the timestamp is ahead; timestamps come round, so within half a day either way */
export function transitMsOf({ audioNs, mediaOffset, timestamp }: Arrived): number {
  const now = (audioNs * BigInt(SAMPLE_RATE)) / NS_PER_S + BigInt(mediaOffset)
  const frames = Number(BigInt.asIntN(32, (now - BigInt(timestamp)) % CYCLE))
  return (frames * 1000) / SAMPLE_RATE
}
