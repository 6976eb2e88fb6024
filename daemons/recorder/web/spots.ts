/** Numbered spots over a picture: pressed to add one, dragged or moved by arrow keys, removed by Delete. */
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { html } from '#kit/web/html.ts'
import { ARROWS, fractionsOf, LARGE_STEP, STEP } from './stage.ts'
import * as texts from './texts.ts'

/** Arrow keys place a spot more exactly than a thing. */
const FINER = 0.5

interface SpotsFacts {
  label: string
  /** In fractions; null: not placed yet. */
  spots: readonly (readonly [x: number, y: number] | null)[]
  /** Undefined: no more may be added now. */
  add: ((spot: [number, number]) => void) | undefined
  move: (at: number, spot: [number, number]) => void
  remove: (at: number) => void
}

export function Spots({ label, spots, add, move, remove }: SpotsFacts): VNode {
  const box = useRef<HTMLDivElement | null>(null)
  const held = useRef<number | null>(null)
  const within = (value: number) => Math.min(1, Math.max(0, Math.round(value * 10_000) / 10_000))
  const spotOf = (event: PointerEvent): [number, number] => {
    const [x, y] = fractionsOf(event, box.current)
    return [within(x), within(y)]
  }

  function press(event: PointerEvent): void {
    if (event.button !== 0) return
    const { spot } = ((event.target as Element).closest('[data-spot]') as HTMLElement | null)?.dataset ?? {}
    if (spot === undefined) {
      add?.(spotOf(event))
      return
    }
    held.current = Number(spot)
    box.current?.setPointerCapture(event.pointerId)
  }
  function drag(event: PointerEvent): void {
    if (held.current !== null) move(held.current, spotOf(event))
  }
  function drop(): void {
    held.current = null
  }
  function byKey(event: KeyboardEvent, at: number, [x, y]: readonly [number, number]): void {
    const arrow = ARROWS[event.key]
    const step = (event.shiftKey ? LARGE_STEP : STEP) * FINER
    if (arrow) move(at, [within(x + arrow[0] * step), within(y + arrow[1] * step)])
    else if (event.key === 'Delete' || event.key === 'Backspace') remove(at)
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  return html`<div class=${`drawing ${add ? '' : 'rests'}`} ref=${box} role="group" aria-label=${label} onPointerDown=${press} onPointerMove=${drag} onPointerUp=${drop} onPointerCancel=${drop}>
    ${spots.map(
      (spot, at) =>
        spot &&
        html`<button type="button" class="grip" style=${{ left: `${spot[0] * 100}%`, top: `${spot[1] * 100}%` }} data-spot=${at} aria-label=${texts.pointNumber(at)} aria-description=${texts.moveByKeys} key=${at}
      onKeyDown=${(event: KeyboardEvent) => byKey(event, at, spot)}><span>${at + 1}</span></button>`,
    )}</div>`
}
