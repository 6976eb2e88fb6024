/** What the event `frame` tells of a frame. */
import { hexOf } from '#kit/bytes/hex.ts'
import type { Fault } from '#kit/fault.ts'
import type { FramePayload } from './ports.ts'

/** One frame, where it went, and when by CLOCK_MONOTONIC, microseconds. */
export interface SeenFrame {
  direction: FramePayload['direction']
  frame: Uint8Array
  atUs: number
}

/** @param reading the protocol's reading, and what else is known */
export function framePayload(
  { direction, frame, atUs }: SeenFrame,
  reading: Pick<FramePayload, 'decoded' | 'decodeError' | 'priority'>,
): FramePayload {
  return { direction, monotonicUs: Math.round(atUs), hex: hexOf(frame), length: frame.length, ...reading }
}

/** Functions whose frames hold bits: read coils, read discrete inputs, write multiple coils. */
const OF_BITS: ReadonlySet<number> = new Set([1, 2, 15])

/** A bit is a value of 8 bytes in the event: 64 bytes for each of the frame, where text is three. */
const BITS_FACTOR = 21

/** What keeping the event of a Modbus frame holds, as `publish` counts it. */
export function sizeOfModbus(frame: Uint8Array): number {
  return OF_BITS.has(frame[1] ?? 0) ? BITS_FACTOR * frame.length : frame.length
}

/** Why a frame does not decode, the way the event tells it; nothing where it does. */
export function decodeErrorOf(fault: Fault | undefined): Pick<FramePayload, 'decodeError'> {
  return fault ? { decodeError: { code: fault.code, message: fault.message } } : {}
}
