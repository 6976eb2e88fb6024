/** Toasts: what the hand did, for six seconds, and the way back where there is one. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from './html.ts'

const SHOWN_MS = 6000
const shown = signal<{ sentence: string; undo?: () => void } | null>(null)
let timer: ReturnType<typeof setTimeout> | undefined

/** Says what the hand just did. A newer one replaces it. @param undo takes it back */
export function toast(sentence: string, undo?: () => void): void {
  clearTimeout(timer)
  shown.value = { sentence, undo }
  timer = setTimeout(gone, SHOWN_MS)
}

function gone(): void {
  shown.value = null
}

/** Where toasts appear; the region is always there, so that screen readers hear what comes into it. */
export function Toasts(): VNode {
  const now = shown.value
  function takeBack(): void {
    gone()
    now?.undo?.()
  }
  const back = now?.undo ? html`<button class="btn" type="button" onClick=${takeBack}>Undo</button>` : null
  return html`<div class="toasts" role="status">
    ${now === null ? null : html`<div class="toast"><span>${now.sentence}</span>${back}</div>`}
  </div>`
}
