/** Display parts: figures, the chain of checks, tables, steps, and segments to choose between. */
import type { VNode } from 'preact'
import { type Child, html } from './html.ts'
import { UNKNOWN } from './numbers.ts'
import { type Lit, lamp } from './parts.ts'

// Figures: one live value each, with its unit, a note and a small history.

/** One figure. `value` is already formatted; `–` is drawn faint. */
export interface FigureFacts {
  name: string
  value: string
  unit?: string
  note?: string
  lit?: Lit
  /** Oldest first; drawn if there are at least two. */
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

/** A small line without a scale: only shows whether the value is steady. Drawn from zero to the highest value seen. */
export function spark(history: readonly number[] | undefined): VNode {
  if (!history || history.length < 2) return html`<span></span>`
  const top = Math.max(...history, 1e-9)
  const step = 64 / (history.length - 1)
  const points = history.map((value, at) => `${(at * step).toFixed(1)} ${(23 - (value / top) * 22).toFixed(1)}`)
  return html`<svg class="spark" viewBox="0 0 64 24" preserveAspectRatio="none" aria-hidden="true">
    <path d=${`M${points.join('L')}`} /></svg>`
}

// The chain of checks from the source to the result, in order. The first one broken is the reason.

/** One check. */
export interface Link {
  key: string
  lit: Lit
  /** Two words. */
  head: string
  /** What was seen. */
  text: string
}

/** More do not fit side by side on a phone. */
const FEW = 6

/** The checks: a row while all is well, a column with details when not. */
export function chain(links: readonly Link[], isDown: boolean): VNode {
  return html`<ol class=${isDown ? 'chain down' : links.length > FEW ? 'chain long' : 'chain'}>${links.map(
    ({ key, lit, head, text }) =>
      html`<li key=${key} data-s=${lit} data-check=${key}>${lamp(lit, true)}<b>${head}</b>${text === '' ? null : html`<span>${text}</span>`}</li>`,
  )}</ol>`
}

// A table to read: names at the left, values at the right.

/** The table. @param kind `tight`, with the values in a column of numbers, or nothing */
export function factTable(rows: readonly (readonly [name: string, value: Child])[], kind: 'tight' | '' = ''): VNode {
  return html`<table class=${`table read ${kind}`}><tbody>${rows.map(
    ([name, value]) =>
      html`<tr key=${name}><th scope="row">${name}</th><td class=${kind === 'tight' ? 'n' : undefined}>${value}</td></tr>`,
  )}</tbody></table>`
}

// A choice between few options, all visible.

/** Options and action of a choice. */
interface SegmentFacts {
  label: string
  name: string
  value: string
  options: readonly (readonly [value: string, label: string])[]
  choose: (value: string) => void
}

/** A choice between few options, all visible. */
export function segments({ label, name, value, options, choose }: SegmentFacts): VNode {
  return html`<div class="seg" role="radiogroup" aria-label=${label}>
    ${options.map(
      ([each, text]) => html`<label key=${each}><input type="radio" name=${name} value=${each} checked=${each === value}
        onChange=${() => choose(each)} />${text}</label>`,
    )}</div>`
}

/** The steps; `at` is the current one, or their number when all are done. */
export function steps(names: readonly string[], at: number): VNode {
  return html`<ol class="steps">${names.map(
    (name, index) =>
      html`<li key=${name} data-s=${index < at ? 'ok' : undefined} aria-current=${index === at ? 'step' : undefined}>${name}</li>`,
  )}</ol>`
}

/** Focuses the first field of a step, so that Enter goes on; on a step without fields, its button. */
export function focusStep(): void {
  const first = document.querySelector<HTMLElement>(
    'form input[type=text], form input[type=password], form select, form input[type=radio]:checked',
  )
  const place = first ?? document.querySelector<HTMLElement>('form .btn.primary')
  place?.focus()
}
