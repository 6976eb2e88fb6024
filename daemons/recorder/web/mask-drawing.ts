/** Masks over a picture, to draw, move and bend; and the corners of one in numbers. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { typedNumber } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/parts.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { Mask } from './api.ts'
import { type Corner, LEAST_CORNERS, MOST_MASKS, middleOf, moved, rectangle, withCorner } from './mask-shapes.ts'
import { ARROWS, fractionsOf, LARGE_STEP, STEP } from './stage.ts'
import * as texts from './texts.ts'

adoptStyle(`
.drawing polygon{fill:#000a;stroke:#fff;stroke-width:1.5;vector-effect:non-scaling-stroke;cursor:move}
.drawing polygon.chosen{fill:#0009;stroke:var(--accent);stroke-width:3}
.corners{display:grid;gap:var(--s2);margin-top:var(--s2)}
.corners>li.li{display:grid;grid-template-columns:1.5rem minmax(0,1fr) minmax(0,1fr) auto auto;align-items:center;gap:var(--s1);border:0;margin:0;padding:0}
.corners .input>span{padding-right:0}
.corners .input>input{padding:0 .3rem}
.corners .input[data-s]{border-color:var(--fault)}
`)

/** What is smaller was a touch, not a rectangle. */
const LEAST_SIDE = 0.015

interface DrawingFacts {
  masks: Mask[]
  chosen: number | null
  change: (masks: Mask[], choose?: number | null) => void
  choose: (at: number) => void
  remove: (at: number) => void
}

/** What the pointer holds. */
interface Held {
  from: Corner
  /** Undefined: a new one is drawn. */
  at: number | undefined
  /** Undefined: the whole mask. */
  corner: number | undefined
  before: Mask[]
}

/** Lies over the picture. */
export function Drawing({ masks, chosen, change, choose, remove }: DrawingFacts): VNode {
  const box = useRef<HTMLDivElement | null>(null)
  const held = useRef<Held | null>(null)
  const spotOf = (event: PointerEvent): Corner => fractionsOf(event, box.current)

  function press(event: PointerEvent): void {
    if (event.button !== 0) return
    const { corner, mask } = ((event.target as Element).closest('[data-mask]') as HTMLElement | null)?.dataset ?? {}
    const at = mask === undefined ? undefined : Number(mask)
    if (at === undefined && masks.length >= MOST_MASKS) return
    box.current?.setPointerCapture(event.pointerId)
    held.current = { from: spotOf(event), at, corner: corner === undefined ? undefined : Number(corner), before: masks }
    if (at !== undefined) choose(at)
  }
  function drag(event: PointerEvent): void {
    if (!held.current) return
    const { at, before, corner, from } = held.current
    const to = spotOf(event)
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]]
    const old = at === undefined ? undefined : before[at]
    if (at === undefined || !old) {
      if (Math.abs(dx) < LEAST_SIDE || Math.abs(dy) < LEAST_SIDE) return
      change([...before, rectangle(from, to)], before.length)
    } else if (corner === undefined) change(before.with(at, moved(old, dx, dy)), at)
    else change(before.with(at, withCorner(old, corner, to)), at)
  }
  function drop(): void {
    held.current = null
  }

  return html`<div class="drawing" ref=${box} role="group" aria-label=${texts.drawnMasks} onPointerDown=${press} onPointerMove=${drag} onPointerUp=${drop} onPointerCancel=${drop}>
    <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">${masks.map((mask, at) => html`<polygon points=${mask.map((corner) => corner.join(',')).join(' ')} data-mask=${at} class=${at === chosen ? 'chosen' : ''} key=${at} />`)}</svg>
    ${masks.map((mask, at) => html`<${Grips} mask=${mask} at=${at} isChosen=${at === chosen} choose=${() => choose(at)} remove=${() => remove(at)} change=${(next: Mask) => change(masks.with(at, next), at)} key=${at} />`)}</div>`
}

interface GripFacts {
  mask: Mask
  at: number
  isChosen: boolean
  choose: () => void
  remove: () => void
  change: (mask: Mask) => void
}

/** What a mask is held by: its number moves it, and each corner of the chosen one is a point. */
function Grips({ mask, at, isChosen, choose, remove, change }: GripFacts): VNode {
  function press(event: KeyboardEvent, move: (byX: number, byY: number) => Mask, drop: () => void): void {
    const arrow = ARROWS[event.key]
    const step = event.shiftKey ? LARGE_STEP : STEP
    if (arrow) change(move(arrow[0] * step, arrow[1] * step))
    else if (event.key === 'Delete' || event.key === 'Backspace') drop()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const placed = ([x, y]: Corner) => ({ left: `${x * 100}%`, top: `${y * 100}%` })
  const whole = html`<button type="button" class="grip" style=${placed(middleOf(mask))} data-mask=${at} aria-label=${texts.moveMask(at)} aria-description=${texts.moveByKeys} onFocus=${choose}
    onKeyDown=${(event: KeyboardEvent) => press(event, (x, y) => moved(mask, x, y), remove)}><span>${at + 1}</span></button>`
  const corner = (spot: Corner, index: number) =>
    html`<button type="button" class="grip corner" style=${placed(spot)} data-mask=${at} data-corner=${index} aria-label=${texts.moveCorner(at, index)} aria-description=${texts.moveByKeys} key=${index}
      onKeyDown=${(event: KeyboardEvent) =>
        press(
          event,
          (x, y) => withCorner(mask, index, [spot[0] + x, spot[1] + y]),
          () => mask.length > LEAST_CORNERS && change(mask.toSpliced(index, 1)),
        )}><span></span></button>`
  return html`${whole}${isChosen ? mask.map(corner) : null}`
}

interface FieldsFacts {
  mask: Mask
  change: (mask: Mask) => void
  /** Puts one behind a corner; null: it has as many as there may be. */
  add: ((corner: number) => void) | null
  /** Null: it has as few as there may be. */
  remove: ((corner: number) => void) | null
}

/** Each corner in percent of the picture, from its left and its top. */
export function CornerFields({ mask, change, add, remove }: FieldsFacts): VNode {
  const set = (at: number, [x, y]: Corner) => change(withCorner(mask, at, [x, y]))
  return html`<p class="small faint">${texts.inPercent}</p><ol class="corners">${mask.map(
    ([x, y], at) => html`<li class="li" key=${at}><span class="faint small">${at + 1}</span>
      <${Percent} label=${texts.fromLeft(at)} short="x" value=${x} take=${(next: number) => set(at, [next, y])} />
      <${Percent} label=${texts.fromTop(at)} short="y" value=${y} take=${(next: number) => set(at, [x, next])} />
      <button class="btn quiet icon" type="button" disabled=${!add} aria-label=${texts.addCorner(at)} onClick=${() => add?.(at)}>${icon('plus')}</button>
      <button class="btn quiet icon" type="button" disabled=${!remove} aria-label=${texts.removeCorner(at)} onClick=${() => remove?.(at)}>${icon('minus')}</button></li>`,
  )}</ol>`
}

/** What is typed counts as soon as it is a number that may be. */
function Percent({
  label,
  short,
  value,
  take,
}: {
  label: string
  short: string
  value: number
  take: (value: number) => void
}): VNode {
  const [typed, setTyped] = useState<string | null>(null)
  const number = typedNumber(typed ?? '')
  const isWrong = typed !== null && !(typeof number === 'number' && number >= 0 && number <= 100)
  function hear(event: Event): void {
    const text = (event.target as HTMLInputElement).value
    setTyped(text)
    const next = typedNumber(text)
    if (typeof next === 'number' && next >= 0 && next <= 100) take(next / 100)
  }
  return html`<div class="input" data-s=${isWrong ? 'fault' : undefined}><span aria-hidden="true">${short}</span><input type="text" inputmode="decimal" autocomplete="off" aria-label=${label} aria-invalid=${isWrong} title=${isWrong ? texts.zeroToHundred : undefined}
    value=${typed ?? String(Math.round(value * 1000) / 10)} onInput=${hear} onBlur=${() => setTyped(null)} /></div>`
}
