/** Steps of something that goes on in order: what is done, what is under way, what comes. */
import type { VNode } from 'preact'
import { html } from './html.ts'

/** The steps; `at` is the one under way, the number of them when all are done. */
export function steps(names: readonly string[], at: number): VNode {
  return html`<ol class="steps">${names.map(
    (name, index) =>
      html`<li key=${name} data-s=${index < at ? 'ok' : undefined} aria-current=${index === at ? 'step' : undefined}>${name}</li>`,
  )}</ol>`
}

/** The first field of a step has the focus, so that Enter goes on; on a step without fields its button has it. */
export function focusStep(): void {
  const first = document.querySelector<HTMLElement>(
    'form input[type=text], form input[type=password], form select, form input[type=radio]:checked',
  )
  const place = first ?? document.querySelector<HTMLElement>('form .btn.primary')
  place?.focus()
}
