/** What can be wrong with a unit, as switches that can be thrown while it runs. */
import type { Clock } from '#kit/clock.ts'
import { type ModbusRequest, sealed } from '../../daemons/gateway/wire/modbus-request.ts'
import { chanceAt } from './laws.ts'
import type { UnitOnLine, Utterance } from './modbus-device.ts'
import type { SimulatedUnit } from './modbus-unit.ts'

/** Read anew at each request. Chances are 0 (never) to 1 (each time). What is left out is in order. */
export interface UnitFaults {
  /** Never answers. */
  isDead?: boolean
  /** Answers so much later, this often. */
  late?: { afterMs: number; chance: number }
  /** A bit of the answer is turned, so that its checksum is wrong. */
  damageChance?: number
  /** Bytes that are no frame come before the answer. */
  strayChance?: number
  /** Answers with this exception where a request touches the address; for one function alone where `fc` is given. */
  exceptions?: readonly { address: number; code: number; fc?: number }[]
  /** Does not answer in the first `forMs` of every `everyMs`. */
  gone?: { everyMs: number; forMs: number }
}

export interface FaultyUnitParts {
  unit: SimulatedUnit
  /** Changed from outside at any time. */
  faults: UnitFaults
  clock: Clock
  /** Which requests meet their chances: the same seed, the same ones. */
  seed: number
}

const MOST_STRAY = 5

/** A unit on a line that has these faults; what it answers besides is its own. */
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

/** One bit other; a checksum always notices one. @param chance which: 0 up to 1 */
function damaged(reply: Uint8Array, chance: number): Uint8Array {
  const bit = Math.floor(chance * reply.length * 8)
  const bytes = Uint8Array.from(reply)
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return bytes
}

function stray(length: number, draw: () => number): Uint8Array {
  return Uint8Array.from({ length }, () => Math.floor(draw() * 256))
}
