/** Units that owe an answer, and how long each is asked nothing more. */
import type { Clock, Timer } from '#kit/clock.ts'
import { replyFlaw, type SentRequest } from '../wire/modbus-reply.ts'
import type { ModbusCounts } from './modbus-counts.ts'
import { type ModbusSettings, quarantineMs } from './modbus-settings.ts'

/** Requests kept per unit to know their late answers by; more than these only time out. */
const OWED_KEPT = 8

/** A request that was given up. */
export interface Owed extends SentRequest {
  /** When its last bit was out; undefined where that is not known. */
  sentAtMs: number | undefined
}

interface Unit {
  /** Requests given up since the unit last answered. */
  owed: readonly Owed[]
  /** How many were given up, those not kept too. */
  count: number
  timer: Timer | undefined
  /** By the monotonic clock. */
  untilMs: number
}

/** A unit that is held, for whoever has its line next. */
export interface HeldUnit extends Omit<Unit, 'timer'> {
  unitId: number
}

/** A late answer. */
export interface LateReply {
  sent: SentRequest
  frame: Uint8Array
  /** From the end of the request; null where that cannot be known. */
  tookMs: number | null
}

export interface ModbusHolds {
  /**
   * The unit did not answer: it is held from now, anew where it was held. Of a broadcast nobody owes an answer.
   * @param sentAtMs when the last bit of the request was out; left out where that is not known, or where the answer was
   *   not waited for: then it may be on its way for that time too
   */
  owe(sent: SentRequest, sentAtMs?: number): void
  /** The unit said something twice or unasked: it is held, as the next answer could be the one before. */
  suspect(unitId: number): void
  /** The unit answered what it was asked. */
  answered(unitId: number): void
  /**
   * A late answer was seen. The unit is free once it owes none: after two requests without answer, the first late
   * answer does not say which of the two it is for.
   * @returns the request it answers; after two without answer that may be the other
   */
  late(frame: Uint8Array): LateReply | undefined
  isHeld(unitId: number): boolean
  /** Those held now. */
  held(): HeldUnit[]
  /** Units that another adapter of this line held: they owe what they owed. */
  adopt(units: readonly HeldUnit[]): void
  /** How long the unit is held yet, milliseconds; undefined where it is not. */
  heldForMs(unitId: number): number | undefined
  /** What units held now may still answer. */
  owed(): readonly SentRequest[]
  /** How many units are held now. */
  readonly size: number
}

export interface HoldParts {
  clock: Clock
  counts: ModbusCounts
  settings: ModbusSettings
  /** A unit may be asked again. */
  onFree(): void
}

export function createModbusHolds(parts: HoldParts): ModbusHolds {
  const { clock, counts, onFree, settings } = parts
  const units = new Map<number, Unit>()

  function unitOf(unitId: number): Unit {
    const unit = units.get(unitId) ?? { owed: [], count: 0, timer: undefined, untilMs: 0 }
    units.set(unitId, unit)
    return unit
  }

  /** What is owed is kept beyond the hold: a device that was too late twice may still answer the first request. */
  function hold(unit: Unit, forMs = quarantineMs(settings)): void {
    counts.holds++
    unit.timer?.cancel()
    unit.untilMs = clock.monotonicMs() + forMs
    unit.timer = clock.after(forMs, () => {
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
    owe(sent, sentAtMs) {
      if (sent.request.unitId === 0) return
      const unit = unitOf(sent.request.unitId)
      unit.owed = [...unit.owed, { ...sent, sentAtMs }].slice(-OWED_KEPT)
      unit.count++
      hold(unit, quarantineMs(settings) + (sentAtMs === undefined ? settings.response_timeout_ms : 0))
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
      const isCertain = unit.count === 1
      unit.owed = unit.owed.filter((one) => one !== sent)
      unit.count--
      if (unit.count === 0) free(unitId, unit)
      return {
        sent,
        frame,
        tookMs: isCertain && sent.sentAtMs !== undefined ? clock.monotonicMs() - sent.sentAtMs : null,
      }
    },
    held: () => [...units].flatMap(heldOf),
    adopt(held) {
      for (const { unitId, owed, count, untilMs } of held) {
        const unit = unitOf(unitId)
        unit.owed = [...new Set([...unit.owed, ...owed])].slice(-OWED_KEPT)
        unit.count = Math.max(unit.count, count, unit.owed.length)
        hold(unit, Math.max(unit.timer ? unit.untilMs : 0, untilMs) - clock.monotonicMs())
      }
    },
    isHeld: (unitId) => units.get(unitId)?.timer !== undefined,
    heldForMs(unitId) {
      const unit = units.get(unitId)
      return unit?.timer && Math.max(0, unit.untilMs - clock.monotonicMs())
    },
    owed: () => [...units.values()].flatMap((unit) => (unit.timer ? unit.owed : [])),
    get size() {
      return [...units.values()].filter((unit) => unit.timer).length
    },
  }
}

function heldOf([unitId, { owed, count, timer, untilMs }]: [number, Unit]): HeldUnit[] {
  return timer ? [{ unitId, owed, count, untilMs }] : []
}
