/** A choice between few that are all in sight. */
import type { VNode } from 'preact'
import { html } from './html.ts'

/** One of few, all in sight. */
export interface SegmentFacts {
  label: string
  name: string
  value: string
  options: readonly (readonly [value: string, label: string])[]
  choose: (value: string) => void
}

/** A choice between few, all of them in sight. */
export function segments({ label, name, value, options, choose }: SegmentFacts): VNode {
  return html`<div class="seg" role="radiogroup" aria-label=${label}>
    ${options.map(
      ([each, text]) => html`<label key=${each}><input type="radio" name=${name} value=${each} checked=${each === value}
        onChange=${() => choose(each)} />${text}</label>`,
    )}</div>`
}
