/** Figures: one live value each, with its unit, a note and a small history. */
import type { VNode } from 'preact'
import { html } from './html.ts'
import type { Lit } from './lamp.ts'
import { UNKNOWN } from './numbers.ts'

/** What a figure shows. `value` is ready to read; `–` is drawn faint. */
export interface FigureFacts {
  name: string
  value: string
  unit?: string
  note?: string
  lit?: Lit
  /** Oldest first; drawn when there are at least two. */
  history?: readonly number[]
}

/** A row of figures. */
export function figures(facts: FigureFacts[], kind = ''): VNode {
  return html`<ul class=${`figs ${kind}`}>${facts.map(figure)}</ul>`
}

function figure(facts: FigureFacts): VNode {
  const isKnown = facts.value !== UNKNOWN && facts.value !== 'n/a'
  const unit = facts.unit && isKnown ? html` <span class="unit">${facts.unit}</span>` : null
  return html`<li class="fig" data-s=${facts.lit} key=${facts.name}>
    <span class="name">${facts.name}</span>
    <span class=${isKnown ? 'val' : 'val faint'}>${facts.value}${unit}</span>
    ${spark(facts.history)}<p>${facts.note ?? ''}</p>
  </li>`
}

/** A small line without scale: only whether it is calm. Drawn from zero to the highest value seen. */
export function spark(history: readonly number[] | undefined): VNode {
  if (!history || history.length < 2) return html`<span></span>`
  const top = Math.max(...history, 1e-9)
  const step = 64 / (history.length - 1)
  const points = history.map((value, at) => `${(at * step).toFixed(1)} ${(23 - (value / top) * 22).toFixed(1)}`)
  return html`<svg class="spark" viewBox="0 0 64 24" preserveAspectRatio="none" aria-hidden="true">
    <path d=${`M${points.join('L')}`} /></svg>`
}
