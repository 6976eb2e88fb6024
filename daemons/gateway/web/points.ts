/** The points of one line on the page: the table from the API, the values from the feed, and which of them changed. */
import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { age, listed, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { type Judgement, type Lit, lamp } from '#kit/web/parts.ts'
import { matches } from '#kit/web/tools.ts'
import type { PortEvent } from '../core/lines/ports.ts'
import type { AnyPoint, RecordPoint } from '../core/points/definition.ts'
import type { PointQuality, PointView, PollingView, ValuePayload } from '../core/points/values.ts'
import { pointsApi } from './api.ts'
import * as texts from './texts.ts'

/** A point, and how often its value changed since the page was opened. */
export type Shown = PointView & { changes: number }

/** Whether a point is a record of a meter, not registers of a unit. */
export function isRecordPoint(point: object): point is RecordPoint {
  return 'record' in point
}

/** New values are drawn at most this often. */
const STEP_MS = 250

/** The live table of the points of one line. */
export interface PointTable {
  /** Null until the first reply. */
  readonly rows: Signal<readonly Shown[] | null>
  readonly polling: Signal<PollingView | null>
  /** How many reads fell behind since the page was opened. */
  readonly behind: Signal<number>
  /** Fetches everything anew. */
  look(): Promise<void>
  /** Handles an event of the line; only `value` has an effect. */
  hear(event: Pick<PortEvent, 'event' | 'payload'>): void
  close(): void
}

/** @param path the path of the line */
export function createPointTable(path: string): PointTable {
  const rows: PointTable['rows'] = signal(null)
  const polling: PointTable['polling'] = signal(null)
  const behind = signal(0)
  let firstOverruns: number | null = null
  let told: ValuePayload[] = []
  let timer: ReturnType<typeof setTimeout> | undefined

  function step(): void {
    timer = undefined
    const news = told
    told = []
    if (rows.value) rows.value = withValues(rows.value, news)
  }

  return {
    rows,
    polling,
    behind,
    async look() {
      const answer = await pointsApi.points(path)
      rows.value = withTable(rows.value, answer.points)
      polling.value = answer.polling
      // The gateway restarts its count when the settings of the line change.
      if (firstOverruns === null || answer.polling.overruns < firstOverruns) firstOverruns = answer.polling.overruns
      behind.value = answer.polling.overruns - firstOverruns
    },
    hear(event) {
      if (event.event !== 'value') return
      told.push(event.payload as ValuePayload)
      timer ??= setTimeout(step, STEP_MS)
    },
    close() {
      clearTimeout(timer)
    },
  }
}

/** The rows with newly fetched points. A value that differs from the one shown counts as a change. */
export function withTable(before: readonly Shown[] | null, points: readonly PointView[]): Shown[] {
  const known = new Map(before?.map((row) => [row.name, row]))
  return points.map((point) => {
    const row = known.get(point.name)
    const isNew = row !== undefined && row.value !== point.value
    return { ...point, changes: (row?.changes ?? 0) + (isNew ? 1 : 0) }
  })
}

/**
 * The rows with newly reported values. Older values than those shown are ignored, because a restarted feed repeats the
 * past.
 */
export function withValues(rows: readonly Shown[], news: readonly ValuePayload[]): readonly Shown[] {
  const newest = new Map<string, ValuePayload>()
  for (const value of news) newest.set(value.name, value)
  return rows.map((row) => {
    const value = newest.get(row.name)
    if (!value || value.unitId !== row.unitId || (value.readAt ?? 0) < (row.readAt ?? 0)) return row
    const isNew = value.value !== row.value
    const { text, quality, readAt } = value
    return { ...row, value: value.value, text, quality, readAt, changes: row.changes + (isNew ? 1 : 0) }
  })
}

/** The rows that contain every word: in name, `unit 17`, unit of measure, quality or template. */
export function matchingPoints(rows: readonly Shown[], filter: string): readonly Shown[] {
  if (filter.trim() === '') return rows
  return rows.filter((row) => {
    const numbers = filter.match(/\bunit (\d+)/i)
    if (numbers && Number(numbers[1]) !== row.unitId) return false
    return matches(
      `${row.name} unit ${row.unitId} ${row.unit ?? ''} ${row.quality} ${qualityWords[row.quality]} ${row.template ?? ''}`,
      filter,
    )
  })
}

/** The definition of a point, without its live values. */
export function definitionOf({
  value,
  text,
  quality,
  ageMs,
  changedAt,
  readAt,
  fault,
  revision,
  ...rest
}: PointView): AnyPoint {
  const { changes, ...definition } = rest as AnyPoint & { changes?: number }
  return definition
}

/** The value as people write it: narrow spaces between thousands, a true minus, `on` and `off`. */
export function pointValueText({
  value,
  text,
  ...rest
}: Pick<PointView, 'value' | 'text'> & { type?: string }): string {
  const type = rest.type ?? (typeof value === 'string' ? 'string' : undefined)
  if (value === null || text === null) return UNKNOWN
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (type === 'string' || !/^-?\d+(\.\d+)?$/.test(text)) return text
  const [integer = '', fraction] = text.replace('-', '').split('.')
  const grouped = integer.replace(/\B(?=(\d{3})+$)/g, THIN)
  return `${text.startsWith('-') ? '\u2212' : ''}${fraction === undefined ? grouped : `${grouped}.${fraction}`}`
}

const TABLES: Readonly<Record<number, string>> = { 1: 'coil', 2: 'discrete', 3: 'holding', 4: 'input' }

/** Where its value comes from. */
export function pointPlace(row: PointView): string {
  if (isRecordPoint(row)) return row.record
  return `${TABLES[row.fc]} ${row.address}${row.bit === null ? '' : `.${row.bit}`} ${row.type}`
}

/** The lamp of each quality. */
export const qualityLits: Readonly<Record<PointQuality, Lit>> = {
  good: 'ok',
  stale: 'warn',
  bad: 'fault',
  unknown: 'off',
}
/** The word for each quality. */
export const qualityWords: Readonly<Record<PointQuality, string>> = {
  good: 'good',
  stale: 'old',
  bad: texts.noValue,
  unknown: texts.notReadYet,
}

/**
 * Why a value is not fresh, short enough for a table. The whole sentence is above the table and on the point's form.
 */
export function faultText({ fault, quality, unitId }: PointView): string {
  if (fault?.code === 'modbus_unit_silent' || fault?.code === 'mbus_unit_silent') return texts.unitIsSilent(unitId)
  if (fault?.code === 'modbus_timeout' || fault?.code === 'mbus_timeout') return texts.unitDidNotAnswer(unitId)
  return fault?.message ?? qualityWords[quality]
}

/** The age of a value, to one decimal while fresh; `–` before the first value. */
export function ageOf({ readAt }: PointView, nowMs: number): string {
  return readAt === null ? UNKNOWN : age(Math.max(0, nowMs - readAt), 1)
}

/** Jitter up to this is not worth mentioning, ms. */
const SLIP_MS = 1000

/** The verdict on the points of a line. @param behind how many reads fell behind since the page was opened */
export function judgePoints(
  rows: readonly PointView[],
  polling: PollingView | null,
  behind: number,
  isOpen: boolean,
): Judgement {
  if (rows.length === 0) return { lit: 'off', sentence: texts.lineHasNoPoints }
  if (!isOpen) return { lit: 'off', sentence: texts.noPointIsRead, why: texts.valuesAreTheLastRead }
  const bad = rows.filter(({ quality }) => quality === 'bad' || quality === 'stale')
  const unread = rows.filter(({ quality }) => quality === 'unknown').length
  const first = bad[0]
  const reads = polling ? texts.readsForPoints(polling.reads, rows.length) : ''
  if (first) return { lit: bad.length === rows.length ? 'fault' : 'warn', ...badWords(bad, rows.length) }
  if (behind > 0)
    return {
      lit: 'warn',
      sentence: texts.pollingFallsBehind(behind),
      why: texts.askLessOften,
    }
  const slipMs = polling?.periodSlipMs ?? 0
  if (slipMs > SLIP_MS) return { lit: 'warn', sentence: texts.readsAreLate(age(slipMs, 1)), why: reads }
  if (unread === rows.length) return { lit: 'busy', sentence: texts.firstValuesAreBeingRead, why: reads }
  if (unread > 0) return { lit: 'busy', sentence: texts.ofAreRead(rows.length - unread, rows.length), why: reads }
  return {
    lit: 'ok',
    sentence: rows.length === 1 ? texts.isRead(rows[0]?.name) : texts.areRead(rows.length),
    why: reads,
  }
}

function badWords(bad: readonly PointView[], all: number): Omit<Judgement, 'lit'> {
  const units = [...new Set(bad.map(({ unitId }) => unitId))].sort((a, b) => a - b)
  const who = units.length === 1 ? texts.rowUnit(units[0]) : texts.theUnits(listed(units.map(String)))
  const sentence = bad.length === 1 ? texts.hasNoFreshValue(bad[0]?.name) : texts.ofHaveNoFreshValue(bad.length, all)
  return { sentence, why: texts.pointsAllOf(bad.find(({ fault }) => fault)?.fault?.message ?? '', who).trim() }
}

// Table cells for the value and the age of a point.

/** The value with its unit; tinted for a second after a change. */
export function valueCell(row: Shown): VNode {
  const text = pointValueText(row)
  const isKnown = text !== UNKNOWN
  const unit = isKnown && row.unit ? html` <span class="unit">${row.unit}</span>` : null
  // A new element restarts the tint. The very first value is not a change.
  return html`<td class="n value"><span key=${row.changes} class=${row.changes > 0 ? 'fresh' : ''}>${isKnown ? html`<b>${text}</b>` : html`<span class="faint">${text}</span>`}${unit}</span></td>`
}

/** The age. @param isMarked shows the lamp of a value that is not good */
export function ageCell(row: Shown, nowMs: number, isMarked = true): VNode {
  const isOdd = row.quality === 'bad' || row.quality === 'stale'
  const mark = isMarked && isOdd ? lamp(qualityLits[row.quality], qualityWords[row.quality]) : null
  return html`<td class="n old" title=${row.fault?.message}><span class="age">${ageOf(row, nowMs)}</span>${mark}</td>`
}
