/** A fader: a slide, and buttons of 1 dB that a thumb hits. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Act } from './button.ts'
import { isLost } from './contact.ts'
import { html } from './html.ts'
import { icon } from './icon.ts'

/** What a fader shows and does. */
export interface FaderFacts {
  label: string
  /** 0..100 */
  value: number
  /** What the value is, in words: `−12.0 dB`. */
  text: string
  /** Large, behind it. */
  output: VNode
  slide: (value: number) => void
  /** One dB up or down. */
  step: (step: 1 | -1) => void
}

/** How long after the hand the daemon's word counts again. */
const HELD_MS = 700

/** The fader. While a hand is on it, it stands where the hand is. */
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
