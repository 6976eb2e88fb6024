/** Basic parts of every page: icons, lamps and their words, buttons, toasts. */
import { signal } from '@preact/signals'
import { h, type VNode } from 'preact'
import { isLost } from './contact.ts'
import { type Child, html } from './html.ts'
import * as texts from './texts.ts'

// Icons of the pages as inline SVG: nothing is loaded, nothing is referenced by URL.

const PATHS = {
  ports: 'M3.5 4.5h9v4a4 4 0 0 1-4 4h-1a4 4 0 0 1-4-4zM6 4.5v-3M10 4.5v-3M8 12.5v2.5',
  hook: 'M1.5 8h9M7.5 5l3 3-3 3M14 2.5v11',
  system:
    'M5.5 4.5h5a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1h-5a1 1 0 0 1-1-1v-5a1 1 0 0 1 1-1zM6.5 1.5v3M9.5 1.5v3M6.5 11.5v3M9.5 11.5v3M1.5 6.5h3M1.5 9.5h3M11.5 6.5h3M11.5 9.5h3',
  users:
    'M3.5 5.5a2.5 2.5 0 1 0 5 0 2.5 2.5 0 1 0-5 0M1.5 13.5c0-3 2-4 4.5-4s4.5 1 4.5 4M10.5 3.200a2.5 2.5 0 0 1 0 4.600M12 9.700c1.600.5 2.5 1.600 2.5 3.800',
  journal: 'M3.5 2.5h9v11h-9zM6 5.5h4M6 8h4M6 10.5h2.5',
  today: 'M2.5 3.5h11v10h-11zM2.5 6.500h11M5.5 2v3M10.5 2v3M8 8.500v2M8 12v.01',
  settings:
    'M1.5 5h6.5M12.5 5h2M1.5 11h2M8 11h6.5M8 5a2.2 2.2 0 1 0 4.4 0 2.2 2.2 0 1 0-4.4 0M3.600 11a2.2 2.2 0 1 0 4.4 0 2.2 2.2 0 1 0-4.4 0',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2v9.6L12.5 8z',
  search: 'M2.5 7a4.5 4.5 0 1 0 9 0 4.5 4.5 0 1 0-9 0M10.4 10.4l3.6 3.6',
  back: 'M10 3 5 8l5 5',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  streams:
    'M7.500 8h1M5.3 5.300a3.8 3.8 0 0 0 0 5.400M10.7 5.300a3.8 3.8 0 0 1 0 5.400M3.2 3.200a6.8 6.8 0 0 0 0 9.600M12.8 3.200a6.8 6.8 0 0 1 0 9.6',
  sound: 'M2 6v4h2.500L8.5 13V3L4.5 6zM11 5.800a3 3 0 0 1 0 4.400M12.9 3.900a5.7 5.7 0 0 1 0 8.2',
  mute: 'M2 6v4h2.500L8.5 13V3L4.5 6zM11 6.300l3.4 3.400M14.4 6.3 11 9.7',
  stop: 'M4.5 4.5h7v7h-7z',
  close: 'M4 4l8 8M12 4l-8 8',
  live: 'M1.5 8h3l2-5 3 10 2-5h3',
  matrix:
    'M3 3h.01M8 3h.01M13 3h.01M3 8h.01M8 8h.01M13 8h.01M3 13h.01M8 13h.01M13 13h.01M2.5 3h1M7.5 3h1M12.5 3h1M2.5 8h1M7.5 8h1M12.5 8h1M2.5 13h1M7.5 13h1M12.5 13h1',
  firmware: 'M8 2v8M4.8 6.800 8 10l3.200-3.200M2.5 13.5h11',
  rooms: 'M2 7.500 8 2.500l6 5M3.5 6.500v7h9v-7M6.500 13.500V9.500h3v4',
  star: 'M8 1.800l1.900 3.900 4.300.6-3.100 3 .75 4.300L8 11.600l-3.850 2 .75-4.300-3.100-3 4.300-.6z',
  forward: 'M6 3l5 5-5 5',
  waiting: 'M2 8a6 6 0 1 0 12 0 6 6 0 1 0-12 0M8 4.500V8l2.500 1.500',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
} as const

/** Names of the icons. */
export type IconName = keyof typeof PATHS

/** One icon, always beside a word or inside something with an `aria-label`. */
export function icon(name: IconName): VNode {
  return h('svg', { class: 'i', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, h('path', { d: PATHS[name] }))
}

// Lamps and what accompanies them: chip, verdict and the message of an empty, loading or failed part.

/** States of a lamp; shape, colour and word say the same. */
export type Lit = 'ok' | 'busy' | 'warn' | 'fault' | 'off' | 'mute' | 'gone'

const WORDS: Record<Lit, string> = {
  ok: texts.good,
  busy: texts.busy,
  warn: texts.warning,
  fault: texts.fault,
  off: texts.off,
  mute: texts.muted,
  gone: texts.absent,
}

/** A lamp beside its word. Without a word beside it, give `alone`: then it has a label of its own. */
export function lamp(lit: Lit, alone: boolean | string = false): VNode {
  if (!alone) return html`<i class="lamp" data-s=${lit} aria-hidden="true"></i>`
  return html`<i class="lamp" data-s=${lit} role="img" aria-label=${alone === true ? WORDS[lit] : alone}></i>`
}

/** A state as a small tinted label. */
export function chip(lit: Lit, word: string): VNode {
  return html`<span class="chip" data-s=${lit}>${lamp(lit)}${word}</span>`
}

/** One judgement: what is the case, and in `why` the reason and the remedy. */
export interface Judgement {
  lit: Lit
  sentence: string
  /** Figures and remedies; never needed to understand the sentence. */
  why?: string
}

/** The most prominent line. Only the sentence is announced: ages in `why` would be read out every second. */
export function verdict(judged: Judgement, remedy?: Child): VNode {
  return html`<div class="verdict">
    ${lamp(judged.lit, true)}<strong role="status">${spoken(judged.sentence)}</strong>
    ${judged.why || remedy ? html`<p>${judged.why} ${remedy}</p>` : null}
  </div>`
}

/** A number with a unit of time; narrow spaces as in our own numbers. */
const AGES = /((?:\d[\d.]*[ \u202f](?:ms|s|min|h|d)\b[ \u202f]?)+)/

/** A sentence of a live region whose running times are not announced: only other changes are spoken. */
function spoken(sentence: string): Child[] {
  return sentence.split(AGES).map((part, at) => (at % 2 === 1 ? html`<span aria-live="off">${part}</span>` : part))
}

/** The message of a part with nothing to show: what the state is, and how it fills or what to do. */
export function say(lit: Lit, head: string, text: Child, act?: Child): VNode {
  return html`<div class="say"><b data-s=${lit}>${lamp(lit)}${head}</b><span>${text}</span>${act}</div>`
}

// Buttons that call the daemon: disabled while there is no contact.

/** Properties of a button. */
interface ButtonFacts {
  /** `primary` (one per view), `quiet`, `danger`. */
  kind?: string
  type?: 'button' | 'submit'
  /** Disabled: busy or not allowed now. */
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

const SHOWN_MS = 6000
const shown = signal<{ sentence: string; undo?: () => void } | null>(null)
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows what was just done. A newer toast replaces it. @param undo reverts it */
export function toast(sentence: string, undo?: () => void): void {
  clearTimeout(timer)
  shown.value = { sentence, undo }
  timer = setTimeout(gone, SHOWN_MS)
}

function gone(): void {
  shown.value = null
}

/** Place of toasts; the region always exists, so that screen readers announce what appears in it. */
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
