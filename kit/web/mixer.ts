/** Meters and faders for sound. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isLost } from './contact.ts'
import { html } from './html.ts'
import { FLOOR_DB, isClipped, isSilent, type Levels, type Needle } from './levels.ts'
import { fixed, UNKNOWN } from './numbers.ts'
import { Act, icon } from './parts.ts'
import * as texts from './texts.ts'

// Meters: one bar per channel, animated thirty times a second without rendering the page.

/** Shortest time between two frames, and between two updates of the numbers. */
const FRAME_MS = 1000 / 30
const FIGURE_MS = 250
/** A frame of a 60 Hz display that comes slightly early still counts. */
const SLACK_MS = 4
const SCALE = [-60, -48, -36, -24, -18, -9, 0]

/** Contents of the meters. */
interface MetersFacts {
  names: readonly string[]
  levels: Levels
}

/** The meters of some channels with their scale. */
export function Meters({ names, levels }: MetersFacts): VNode {
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => animate(ref, levels), [levels, names.length])
  return html`<div class="meters" ref=${ref}>${names.map(
    (name) =>
      html`<b class="small">${name}</b><div class="meter" role="meter" aria-label=${name} aria-valuemin=${FLOOR_DB} aria-valuemax="0" aria-valuenow=${FLOOR_DB}><i></i></div><output aria-live="off">${UNKNOWN}</output>`,
  )}<div class="scale" aria-hidden="true">${SCALE.map((db) => html`<span style=${{ '--db': db }}>${fixed(db, 0)}</span>`)}</div></div>`
}

/** Names of channels: left and right if there are two, else numbers. */
export function channelNames(count: number): string[] {
  if (count === 2) return [texts.left, texts.right]
  return Array.from({ length: count }, (_, at) => String(at + 1))
}

/** Draws until the returned function is called. */
function animate(ref: { current: HTMLDivElement | null }, levels: Levels): () => void {
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)')
  let frame = 0
  let drawnMs = 0
  let figuresMs = 0
  function draw(atMs: number): void {
    frame = requestAnimationFrame(draw)
    if (atMs - drawnMs < (isCalm.matches ? FIGURE_MS : FRAME_MS) - SLACK_MS) return
    drawnMs = atMs
    const isFigureDue = atMs - figuresMs >= FIGURE_MS - SLACK_MS
    if (isFigureDue) figuresMs = atMs
    const needles = levels.at(performance.now())
    const bars = ref.current?.querySelectorAll<HTMLElement>('.meter') ?? []
    for (const [channel, bar] of [...bars].entries()) show(bar, needles?.[channel], isFigureDue)
  }
  frame = requestAnimationFrame(draw)
  return () => cancelAnimationFrame(frame)
}

function show(bar: HTMLElement, needle: Needle | undefined, isFigureDue: boolean): void {
  bar.style.setProperty('--rms', onScale(needle?.levelDb))
  bar.style.setProperty('--peak', onScale(needle?.peakDb))
  if (!isFigureDue) return
  const words = wordsOf(needle)
  const figure = bar.nextElementSibling
  bar.setAttribute('aria-valuenow', onScale(needle?.levelDb))
  bar.setAttribute('aria-valuetext', words)
  if (!(figure instanceof HTMLElement) || figure.textContent === words) return
  figure.textContent = words
  if (needle && isClipped(needle)) figure.dataset.s = 'fault'
  else delete figure.dataset.s
}

function onScale(db: number | undefined): string {
  return Math.min(0, Math.max(FLOOR_DB, db ?? FLOOR_DB)).toFixed(1)
}

function wordsOf(needle: Needle | undefined): string {
  if (!needle) return UNKNOWN
  if (isClipped(needle)) return texts.clip
  return isSilent(needle) ? texts.silent : fixed(needle.peakDb, 1)
}

/** Value and actions of a fader. */
interface FaderFacts {
  label: string
  /** 0..100 */
  value: number
  /** The value in words: `−12.0 dB`. */
  text: string
  /** Large text behind it. */
  output: VNode
  slide: (value: number) => void
  /** One dB up or down. */
  step: (step: 1 | -1) => void
}

/** How long after the last drag the daemon's value is shown again. */
const HELD_MS = 700

/** The fader. While it is dragged, it shows the dragged value. */
export function Fader({ label, value, text, output, slide, step }: FaderFacts): VNode {
  const [held, setHeld] = useState<number | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const shown = held ?? value
  function move(event: Event): void {
    const at = Number((event.target as HTMLInputElement).value)
    setHeld(at)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setHeld(null), HELD_MS)
    slide(at)
  }
  return html`<div class="fader"><${Act} kind="icon" label="1 dB down" run=${() => step(-1)}>${icon('minus')}</${Act}>
    <input type="range" min="0" max="100" step="1" value=${shown} disabled=${isLost.value} style=${{ '--fill': `${shown}%` }}
      aria-label=${label} aria-valuetext=${text} onInput=${move} />
    <${Act} kind="icon" label="1 dB up" run=${() => step(1)}>${icon('plus')}</${Act}><output aria-live="off">${output}</output></div>`
}
