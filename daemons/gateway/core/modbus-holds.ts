/** Units that owe an answer, and how long each is asked nothing more. */
import type { Clock, Timer } from '#kit/clock.ts'
import { replyFlaw, type SentRequest } from '../wire/modbus-reply.ts'
import type { ModbusCounts } from './modbus-counts.ts'

/** Requests kept per unit to know their late answers by; more than these only time out. */
const OWED_KEPT = 8

interface Unit {
  /** Requests given up since the unit last answered. */
  owed: SentRequest[]
  /** How many were given up, those not kept too. */
  count: number
  timer: Timer | undefined
}

export interface ModbusHolds {
  /** The unit did not answer: it is held from now, anew where it was held. Of a broadcast nobody owes an answer. */
  owe(sent: SentRequest): void
  /** The unit said something twice or unasked: it is held, as the next answer could be the one before. */
  suspect(unitId: number): void
  /** The unit answered what it was asked. */
  answered(unitId: number): void
  /**
   * A late answer was seen. The unit is free once it owes none: after two requests without answer, the first late
   * answer does not say which of the two it is for.
   * @returns the request it answers
   */
  late(frame: Uint8Array): SentRequest | undefined
  isHeld(unitId: number): boolean
  /** What units held now may still answer. */
  owed(): readonly SentRequest[]
  /** How many units are held now. */
  readonly size: number
}

export interface HoldParts {
  clock: Clock
  counts: ModbusCounts
  quarantineMs: number
  /** A unit may be asked again. */
  onFree(): void
}

export function createModbusHolds({ clock, counts, quarantineMs, onFree }: HoldParts): ModbusHolds {
  const units = new Map<number, Unit>()

  function unitOf(unitId: number): Unit {
    const unit = units.get(unitId) ?? { owed: [], count: 0, timer: undefined }
    units.set(unitId, unit)
    return unit
  }

  /** What is owed is kept beyond the hold: a device that was too late twice may still answer the first request. */
  function hold(unit: Unit): void {
    counts.holds++
    unit.timer?.cancel()
    unit.timer = clock.after(quarantineMs, () => {
      unit.timer = undefined
      onFree()
    })
  }

  function free(unitId: number, unit: Unit): void {
    unit.timer?.cancel()
    units.delete(unitId)
    onFree()
  }

  return {
    owe(sent) {
      if (sent.request.unitId === 0) return
      const unit = unitOf(sent.request.unitId)
      unit.owed = [...unit.owed, sent].slice(-OWED_KEPT)
      unit.count++
      hold(unit)
    },
    suspect: (unitId) => hold(unitOf(unitId)),
    answered(unitId) {
      if (!units.get(unitId)?.timer) units.delete(unitId)
    },
    late(frame) {
      const unitId = frame[0] ?? 0
      const unit = units.get(unitId)
      const sent = unit?.owed.find((one) => !replyFlaw(one, frame))
      if (!unit || !sent) return undefined
      unit.owed = unit.owed.filter((one) => one !== sent)
      unit.count--
      if (unit.count === 0) free(unitId, unit)
      return sent
    },
    isHeld: (unitId) => units.get(unitId)?.timer !== undefined,
    owed: () => [...units.values()].flatMap((unit) => (unit.timer ? unit.owed : [])),
    get size() {
      return [...units.values()].filter((unit) => unit.timer).length
    },
  }
}
