/** Lamps and what stands right beside them: chip, verdict and the sentence of an empty, loading or failed part. */
import type { VNode } from 'preact'
import { type Child, html } from './html.ts'

/** What a lamp can say; shape, colour and word say the same. */
export type Lit = 'ok' | 'busy' | 'warn' | 'fault' | 'off' | 'mute' | 'gone'

const WORDS: Record<Lit, string> = {
  ok: 'Good',
  busy: 'Busy',
  warn: 'Warning',
  fault: 'Fault',
  off: 'Off',
  mute: 'Muted',
  gone: 'Absent',
}

/** A lamp beside its word. Without a word beside it, give `alone`: then it speaks for itself. */
export function lamp(lit: Lit, alone: boolean | string = false): VNode {
  if (!alone) return html`<i class="lamp" data-s=${lit} aria-hidden="true"></i>`
  return html`<i class="lamp" data-s=${lit} role="img" aria-label=${alone === true ? WORDS[lit] : alone}></i>`
}

/** A state as a small tinted label. */
export function chip(lit: Lit, word: string): VNode {
  return html`<span class="chip" data-s=${lit}>${lamp(lit)}${word}</span>`
}

/** One judgement: what is the case, and behind it why and what to do. */
export interface Judgement {
  lit: Lit
  sentence: string
  /** Figures and remedies; never needed to understand the sentence. */
  why?: string
}

/** The first thing the eye meets. Only the sentence is announced: ages in `why` would speak every second. */
export function verdict(judged: Judgement, remedy?: Child): VNode {
  return html`<div class="verdict">
    ${lamp(judged.lit, true)}<strong role="status">${spoken(judged.sentence)}</strong>
    ${judged.why || remedy ? html`<p>${judged.why} ${remedy}</p>` : null}
  </div>`
}

/** A number with a unit of time; narrow spaces are those of our own numbers. */
const AGES = /((?:\d[\d.]*[ \u202f](?:ms|s|min|h|d)\b[ \u202f]?)+)/

/** A sentence of a live region in which times run on silently: only what else changes is spoken. */
function spoken(sentence: string): Child[] {
  return sentence.split(AGES).map((part, at) => (at % 2 === 1 ? html`<span aria-live="off">${part}</span>` : part))
}

/** A part that has nothing to show says so, and how it fills or what to do. */
export function say(lit: Lit, head: string, text: Child, act?: Child): VNode {
  return html`<div class="say"><b data-s=${lit}>${lamp(lit)}${head}</b><span>${text}</span>${act}</div>`
}
