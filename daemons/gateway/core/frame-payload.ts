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

/** Why a frame does not decode, the way the event tells it; nothing where it does. */
export function decodeErrorOf(fault: Fault | undefined): Pick<FramePayload, 'decodeError'> {
  return fault ? { decodeError: { code: fault.code, message: fault.message } } : {}
}
