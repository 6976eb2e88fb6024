/** Faults of a unit, as switches that can be changed while it runs. */
import type { Clock } from '#kit/clock.ts'
import { type ModbusRequest, sealed } from '../../daemons/gateway/wire/modbus-request.ts'
import { chanceAt } from './laws.ts'
import type { UnitOnLine, Utterance } from './modbus-device.ts'
import type { SimulatedUnit } from './modbus-unit.ts'

/** Read at each request. Chances are 0 (never) to 1 (always). Omitted faults do not occur. */
export interface UnitFaults {
  /** Never answers. */
  isDead?: boolean
  /** Delays answers by `afterMs`, with this probability. */
  late?: { afterMs: number; chance: number }
  /** Flips a bit of the answer, so that its checksum is wrong. */
  damageChance?: number
  /** Sends stray bytes before the answer. */
  strayChance?: number
  /** Answers with this exception if a request touches the address; if `fc` is given, only for that function. */
  exceptions?: readonly { address: number; code: number; fc?: number }[]
  /** Does not answer in the first `forMs` of every `everyMs`. */
  gone?: { everyMs: number; forMs: number }
}

export interface FaultyUnitParts {
  unit: SimulatedUnit
  /** Changed from outside at any time. */
  faults: UnitFaults
  clock: Clock
  /** Determines which requests are affected: the same seed, the same ones. */
  seed: number
}

const MOST_STRAY = 5

/** Wraps a unit with these faults; otherwise it answers by itself. */
export function withFaults({ unit, faults, clock, seed }: FaultyUnitParts): UnitOnLine {
  const startMs = clock.monotonicMs()
  let draws = 0
  const draw = () => chanceAt(seed, draws++)

  function isGone(): boolean {
    const { gone, isDead } = faults
    return isDead || (gone !== undefined && (clock.monotonicMs() - startMs) % gone.everyMs < gone.forMs)
  }

  return {
    ...unit,
    answer(request) {
      const refusal = faults.exceptions?.find((exception) => touches(request, exception))
      return refusal ? sealed([unit.unitId, request.fc | 0x80, refusal.code]) : unit.answer(request)
    },
    say(reply): readonly Utterance[] {
      if (isGone()) return []
      const [lateDraw, damageDraw, strayDraw] = [draw(), draw(), draw()]
      const { damageChance = 0, late, strayChance = 0 } = faults
      const said = damageDraw < damageChance ? damaged(reply, draw()) : reply
      const noise = strayDraw < strayChance ? stray(1 + Math.floor(draw() * MOST_STRAY), draw) : new Uint8Array(0)
      const afterMs = late && lateDraw < late.chance ? late.afterMs : 0
      return [{ afterMs, bytes: Uint8Array.from([...noise, ...said]) }]
    },
  }
}

function touches({ fc, address, quantity }: ModbusRequest, exception: { address: number; fc?: number }): boolean {
  const isFunction = exception.fc === undefined || exception.fc === fc
  return isFunction && address <= exception.address && exception.address < address + quantity
}

/** Flips one bit, which a checksum always detects. @param chance selects the bit: 0 up to 1 */
function damaged(reply: Uint8Array, chance: number): Uint8Array {
  const bit = Math.floor(chance * reply.length * 8)
  const bytes = Uint8Array.from(reply)
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return bytes
}

function stray(length: number, draw: () => number): Uint8Array {
  return Uint8Array.from({ length }, () => Math.floor(draw() * 256))
}
