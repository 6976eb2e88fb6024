/** A table to read: names at the left, what is known of them at the right. */
import type { VNode } from 'preact'
import { type Child, html } from './html.ts'

/** The table. @param kind `tight`, with the values in a column of numbers, or nothing */
export function readTable(rows: readonly (readonly [name: string, value: Child])[], kind: 'tight' | '' = ''): VNode {
  return html`<table class=${`table read ${kind}`}><tbody>${rows.map(
    ([name, value]) =>
      html`<tr key=${name}><th scope="row">${name}</th><td class=${kind === 'tight' ? 'n' : undefined}>${value}</td></tr>`,
  )}</tbody></table>`
}
