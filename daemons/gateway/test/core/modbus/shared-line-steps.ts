/**
 * Random events on a shared line: who asks what and when, how units answer, and when the line is closed or set up anew.
 */
import fc from 'fast-check'
import type { Utterance } from '../../../../../scripts/sim/modbus-device.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import { type ModbusRequest, sealed } from '../../../wire/modbus-request.ts'
import { point } from '../points/points.ts'
import type { PromptSetup } from './prompt-model.ts'

export const UNITS: readonly number[] = [1, 2, 3]

/** How one request is answered: in time, within the quarantine, or long after it. */
export const manner = fc.record({
  how: fc.oneof(
    { weight: 8, arbitrary: fc.constant('plain' as const) },
    { weight: 4, arbitrary: fc.constantFrom('silent', 'damaged', 'cut', 'twice', 'merged', 'exception') },
  ),
  delayMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 30 }) },
    { weight: 2, arbitrary: fc.integer({ min: 280, max: 420 }) },
    { weight: 2, arbitrary: fc.integer({ min: 300, max: 1200 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1200, max: 6000 }) },
  ),
  pauseMs: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 60 }) },
  ),
  copyMs: fc.nat({ max: 450 }),
  at: fc.nat({ max: 30 }),
})
export type Manner = typeof manner extends fc.Arbitrary<infer One> ? One : never

export function utterances(
  { how, delayMs, pauseMs, copyMs, at }: Manner,
  reply: Uint8Array,
  request: ModbusRequest,
): Utterance[] {
  if (how === 'silent') return []
  const said: Record<string, () => number[]> = {
    damaged: () => [...reply.map((byte, index) => (index === at % reply.length ? byte ^ (1 << (at & 7)) : byte))],
    cut: () => [...reply.slice(0, at % reply.length)],
    twice: () => [...reply, ...reply],
    merged: () => [...reply, ...sealed([9, 3, 2, 0xee, 0xee])],
    exception: () => [...sealed([request.unitId, request.fc | 0x80, 6])],
  }
  const bytes = Uint8Array.from(said[how]?.() ?? reply)
  if (how === 'twice' && pauseMs > 0)
    return [
      { afterMs: delayMs, bytes: reply },
      { afterMs: copyMs, bytes: reply },
    ]
  if (pauseMs === 0) return [{ afterMs: delayMs, bytes }]
  const half = bytes.length >> 1
  return [
    { afterMs: delayMs, bytes: bytes.slice(0, half) },
    { afterMs: pauseMs, bytes: bytes.slice(half) },
  ]
}

const unitId = fc.constantFrom(...UNITS)
const code = fc.constantFrom(3, 4)
const address = fc.integer({ min: 0, max: 30 })
const asked = fc.record({ unitId, code, address, quantity: fc.integer({ min: 1, max: 4 }) })
const pointAt = fc.record({
  unitId,
  code,
  address: address.map((at) => 2 * (at >> 1)),
  type: fc.constantFrom('u16', 'u32'),
  pollMs: fc.constantFrom(200, 500, 1000),
})
/** Half of all lines send and wait by themselves, as those of the system do, on a pty or a wire. */
export const promptOrNot: fc.Arbitrary<PromptSetup | undefined> = fc.option(
  fc.record({ mostBytes: fc.constantFrom(0, 5, 256), isWired: fc.boolean() }),
  { freq: 1, nil: undefined },
)

export const table = fc.array(pointAt, { maxLength: 8 })
export type Table = typeof table extends fc.Arbitrary<infer One> ? One : never

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: fc.constant('rest' as const), asked }) },
  { weight: 8, arbitrary: fc.record({ act: fc.constant('tcp' as const), client: fc.nat({ max: 2 }), asked }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('leave' as const), client: fc.nat({ max: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('points' as const), table }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('scan' as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('reopen' as const), closedMs: fc.nat({ max: 400 }) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('replace' as const), table }) },
)
const waits = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat({ max: 700 }) })
export const steps = fc.array(fc.tuple(step, waits), { minLength: 4, maxLength: 25 })

export function definitionsOf(places: Table): PointDefinition[] {
  return places.map(({ unitId, code, address, type, pollMs }, at) =>
    point(`p${at}`, { unitId, fc: code as 3 | 4, address, type: type as 'u16' | 'u32', pollMs }),
  )
}

export type Step = typeof step extends fc.Arbitrary<infer One> ? One : never
