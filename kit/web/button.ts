/** Buttons that ask the daemon for something: they wait while there is no contact. */
import type { VNode } from 'preact'
import { isLost } from './contact.ts'
import { type Child, html } from './html.ts'

/** What a button is. */
export interface ButtonFacts {
  /** `primary` (one a view), `quiet`, `danger`. */
  kind?: string
  type?: 'button' | 'submit'
  /** Busy or not allowed now. */
  waits?: boolean
  label?: string
  run?: () => void
  pressed?: boolean
  children?: Child
}

/** A button that acts on the daemon. */
export function Act({ kind = '', type = 'button', waits, label, run, pressed, children }: ButtonFacts): VNode {
  return html`<button class=${`btn ${kind}`} type=${type} aria-label=${label} disabled=${waits || isLost.value}
    aria-pressed=${pressed === undefined ? undefined : String(pressed)} onClick=${run}>${children}</button>`
}
