/** The bus strip: who held the line in the last three seconds. */
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { many } from '#kit/web/numbers.ts'
import { type Slot, slotsOf } from './bus.ts'
import type { Row } from './frame-row.ts'

/** How much the strip shows. */
export const STRIP_MS = 3000

/** The strip of a line up to `toMs` (the gateway's epoch ms). */
export function busStrip(
  rows: readonly Row[],
  toMs: number,
  msPerByte: number,
  names: readonly [string, string],
): VNode {
  const slots = slotsOf(rows, { toMs, spanMs: STRIP_MS, msPerByte })
  return html`<div class="strip"><div class="who"><span>${names[0]}</span><span>${names[1]}</span></div>
    <svg viewBox="0 0 1000 44" preserveAspectRatio="none" role="img" aria-label=${spoken(slots)}>
      <path class="g" d="M0 22H1000" />${slots.map(slotShape)}</svg>
    <div class="x" aria-hidden="true"><span>3 s ago</span><span>2 s</span><span>1 s</span><span>now</span></div></div>`
}

function slotShape({ kind, x, width }: Slot): VNode {
  if (kind === 'miss') return html`<rect class="miss" x=${x} y="22" width=${width} height="22" />`
  const y = kind === 'ask' ? 3 : 25
  const name = kind === 'noise' ? 'late' : kind
  return html`<rect class=${name} x=${x} y=${y} width=${width} height="16" rx=${kind === 'wait' ? 0 : 0.6} />`
}

function spoken(slots: readonly Slot[]): string {
  const number = (kind: Slot['kind']): number => slots.filter((slot) => slot.kind === kind).length
  const parts = [`${many(number('ask'), 'frame')} sent, ${number('answer')} received`]
  if (number('miss') > 0) parts.push(`${many(number('miss'), 'reply', 'replies')} missing`)
  if (number('late') > 0) parts.push(`${number('late')} late`)
  return `Last three seconds on the line: ${parts.join(', ')}`
}
