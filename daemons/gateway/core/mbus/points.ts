/** Points in the records of meters: one reading of a meter gives all its points their values. */
import { Fault } from '#kit/pure/fault.ts'
import { LAST_ADDRESS, SELECTED } from '../../wire/mbus/frames.ts'
import { wholeSecondary } from '../../wire/mbus/identity.ts'
import { idOfUnit } from '../../wire/meter-number.ts'
import { decimalOf, isExact, numberOf, type PointValue, scaled, textOfDecimal } from '../../wire/point-value.ts'
import type { PointProtocol, RecordPoint } from '../points/definition.ts'
import type { MbusReply, MbusRequest } from './protocol.ts'
import { type MeterReading, type MeterTarget, readingOfTelegrams, strangersIn } from './reader.ts'

/** How a meter is asked by its number: a primary address, or the identification number on it. */
export function targetOfUnit(unitId: number): MeterTarget {
  if (unitId <= LAST_ADDRESS) return { unitId, link: unitId, secondary: null }
  return { unitId, link: SELECTED, secondary: wholeSecondary(idOfUnit(unitId)) }
}

interface UnitReading extends MeterReading {
  unitId: number
}

/** All points of a meter with the same period share its reading. */
export const recordPoints: PointProtocol<RecordPoint, MbusRequest, MbusReply, UnitReading> = {
  takes: 'records',
  planner: () => ({
    plan: (points) =>
      [...Map.groupBy(points, ({ pollMs, unitId }) => `${unitId} ${pollMs}`)].flatMap(([key, group]) => {
        const [first] = group
        if (!first) return []
        const request: MbusRequest = { ...targetOfUnit(first.unitId), kind: 'read' }
        return { key, request, periodMs: first.pollMs, points: group }
      }),
    learn: () => false,
    keep() {},
    forget() {},
  }),
  verdict: ({ code }) => (code === 'mbus_refused' ? 'refused' : 'unanswered'),
  readingOf({ kind, part, unitId }, reply) {
    // A telegram that others follow is part of a reading that is not over; one of a scan belongs to none.
    if (kind !== 'read' || !part || !reply.telegram || (reply.telegram.hasMore && !part.isLast)) return undefined
    const replies = [...part.before, reply]
    return strangersIn(replies) ? undefined : { unitId, ...readingOfTelegrams(replies) }
  },
  groupOf: ({ unitId }) => unitId,
  groupOfReading: ({ unitId }) => unitId,
  reader: readerOf,
  isReadAlike: (one, other) =>
    (['unitId', 'record', 'scale', 'offset'] as const).every((key) => one[key] === other[key]),
  isTouchedBy: () => false,
}

function readerOf({ offset, record: name, scale }: RecordPoint): (reading: UnitReading) => PointValue {
  const factor = decimalOf(scale)
  const added = decimalOf(offset)
  return ({ isComplete, problem, records, unitId }) => {
    const record = records.find((one) => one.name === name)
    if (!record) {
      const why =
        problem === null ? (isComplete ? '' : ' It has more telegrams than are read.') : ` Of its answer ${problem}.`
      throw new Fault('point_no_value', `Meter ${unitId} has told no record "${name}".${why}`)
    }
    if (record.value === null || record.problem !== null)
      throw new Fault('point_no_value', `The record has no value: ${record.problem ?? 'only its maker can read it'}.`)
    if (record.decimal === null) return record.value
    const { digits, exponent } = record.decimal
    const value = scaled(digits, { digits: factor.digits, exponent: factor.exponent + exponent }, added)
    return isExact(value) ? numberOf(value) : textOfDecimal(value)
  }
}
