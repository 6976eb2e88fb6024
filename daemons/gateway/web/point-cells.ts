/** Value and age of a point as cells of a table. */
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { lamp } from '#kit/web/lamp.ts'
import { UNKNOWN } from '#kit/web/numbers.ts'
import { ageOf, qualityLits, qualityWords, type Shown, valueText } from './points.ts'

/** The value with its unit; tinted for a second when it changed. */
export function valueCell(row: Shown): VNode {
  const text = valueText(row)
  const isKnown = text !== UNKNOWN
  const unit = isKnown && row.unit ? html` <span class="unit">${row.unit}</span>` : null
  // A new element begins its tint anew; the first value of all is no change.
  return html`<td class="n value"><span key=${row.changes} class=${row.changes > 0 ? 'fresh' : ''}>${isKnown ? html`<b>${text}</b>` : html`<span class="faint">${text}</span>`}${unit}</span></td>`
}

/** How old it is. @param isMarked a value that is not good has its lamp here */
export function ageCell(row: Shown, nowMs: number, isMarked = true): VNode {
  const isOdd = row.quality === 'bad' || row.quality === 'stale'
  const mark = isMarked && isOdd ? lamp(qualityLits[row.quality], qualityWords[row.quality]) : null
  return html`<td class="n old" title=${row.fault?.message}><span class="age">${ageOf(row, nowMs)}</span>${mark}</td>`
}
