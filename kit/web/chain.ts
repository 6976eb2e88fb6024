/** The chain: what is checked from the source to the result, in order. The first broken one is the reason. */
import type { VNode } from 'preact'
import { html } from './html.ts'
import { type Lit, lamp } from './lamp.ts'

/** One check. */
export interface Link {
  key: string
  lit: Lit
  /** Two words. */
  head: string
  /** What was seen. */
  text: string
}

/** More do not stand side by side on a phone. */
const FEW = 6

/** The checks: flat while all is well, standing up with their details when not. */
export function chain(links: readonly Link[], isDown: boolean): VNode {
  return html`<ol class=${isDown ? 'chain down' : links.length > FEW ? 'chain long' : 'chain'}>${links.map(
    ({ key, lit, head, text }) =>
      html`<li key=${key} data-s=${lit} data-check=${key}>${lamp(lit, true)}<b>${head}</b>${text === '' ? null : html`<span>${text}</span>`}</li>`,
  )}</ol>`
}
