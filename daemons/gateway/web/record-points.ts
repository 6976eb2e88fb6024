/** Points in the records of meters: their form, and the points that one reading of a meter makes. */
import type { VNode } from 'preact'
import { type Form, input, typedNumber, type Values } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import type { RecordPoint } from '../core/points/definition.ts'
import type { MeterReading } from './api.ts'
import * as texts from './texts.ts'

/** The fields of one point. */
export function recordFields(form: Form, isNew: boolean): VNode {
  const number = (name: string, label: string, more: object = {}): VNode =>
    input({ form, name, label, type: 'number', ...more })
  return html`${input({ form, name: 'name', label: texts.name, kind: 'wide', first: isNew, placeholder: texts.heatEnergy })}
    ${number('unitId', texts.meter, { hint: texts.meterHint })}
    ${input({ form, name: 'record', label: texts.record, kind: 'wide', placeholder: 'energy', hint: texts.recordHint })}
    ${number('scale', texts.times)}${number('offset', texts.plus)}${input({ form, name: 'unit', label: texts.unitOfMeasure, placeholder: 'kWh' })}
    ${number('decimals', texts.decimals, { hint: texts.decimalsHint })}
    ${number('pollMs', texts.readEvery, { unit: 'ms' })}${number('deadband', texts.deadband, { hint: texts.deadbandHint })}`
}

/** The form's values. @param point left out for a new one */
export function recordValues(point: RecordPoint | undefined): Values {
  const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value))
  const from = (name: keyof RecordPoint, otherwise: string): string => (point ? text(point[name]) : otherwise)
  return {
    name: from('name', ''),
    unitId: from('unitId', '1'),
    record: from('record', ''),
    scale: from('scale', '1'),
    offset: from('offset', '0'),
    unit: from('unit', ''),
    decimals: from('decimals', ''),
    pollMs: from('pollMs', '60000'),
    deadband: from('deadband', '0'),
  }
}

/** The body to save. */
export function recordBody(form: Form): Record<string, unknown> & { name: string } {
  const typed = form.values.value
  const number = (name: string): number | string => typedNumber(typed[name])
  return {
    name: String(typed.name).trim(),
    unitId: number('unitId'),
    record: String(typed.record).trim(),
    scale: number('scale'),
    offset: number('offset'),
    unit: typed.unit === '' ? null : typed.unit,
    decimals: typed.decimals === '' ? null : number('decimals'),
    pollMs: number('pollMs'),
    deadband: number('deadband'),
  }
}

/** The longest name of a point, and the longest unit. */
const NAME_LENGTH = 64
const UNIT_LENGTH = 16

/** The points of everything that a meter counts or measures: each record of its present values that is a number. */
export function pointsOfReading({
  meter,
  records,
  unitId,
}: MeterReading): (Record<string, unknown> & { name: string })[] {
  return records.flatMap(({ function: of, record, storage, unit, value }) => {
    if (typeof value !== 'number' || storage !== 0 || of === 'error') return []
    const name = `${meter?.id ?? unitId} ${record}`.slice(0, NAME_LENGTH).trim()
    return [{ name, unitId, record, ...(unit !== null && unit.length <= UNIT_LENGTH && { unit }) }]
  })
}
