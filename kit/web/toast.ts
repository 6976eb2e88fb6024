/** Toasts: what the hand did, for six seconds. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from './html.ts'

const SHOWN_MS = 6000
const shown = signal<string | null>(null)
let timer: ReturnType<typeof setTimeout> | undefined

/** Says what the hand just did. A newer one replaces it. */
export function toast(sentence: string): void {
  clearTimeout(timer)
  shown.value = sentence
  timer = setTimeout(() => {
    shown.value = null
  }, SHOWN_MS)
}

/** Where toasts appear; the region is always there, so that screen readers hear what comes into it. */
export function Toasts(): VNode {
  return html`<div class="toasts" role="status">
    ${shown.value === null ? null : html`<div class="toast">${shown.value}</div>`}
  </div>`
}
