/** A plan with its cameras: cones, pins to drag, and ends to turn them by; where a camera that turns looks. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { html } from '#kit/web/html.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { type Looking, type Placement, planImagePath, type SitePlan, type SitePlans } from './plan-api.ts'
import { conePath, movedTo, type Spot, turnedBy, turnedTo, turnSpot } from './plan-shapes.ts'
import { ARROWS, fractionsOf, LARGE_STEP, STEP } from './stage.ts'
import { planChanges } from './state.ts'
import * as texts from './texts.ts'

adoptStyle(`
.on-plan path{fill:#1769d12e;stroke:#1769d1;stroke-width:1;vector-effect:non-scaling-stroke}
.on-plan path.chosen{fill:#1769d15c;stroke-width:2.5}
.on-plan path.now{fill:none;stroke:#b3261e;stroke-width:2.5;stroke-dasharray:6 4}
.pin>span{border:2px solid #fff;box-shadow:0 0 0 1px #000;background:#1769d1}
.pin[aria-pressed=true]>span{background:#000;box-shadow:0 0 0 2px #1769d1}
.pin>b{position:absolute;left:50%;top:100%;translate:-50% .1rem;max-width:9rem;overflow:hidden;text-overflow:ellipsis;padding:0 .3rem;border-radius:3px;background:#fffffff0;color:#14181f;font-size:var(--t-label);line-height:1.4;white-space:nowrap;pointer-events:none}
.pin>svg{position:absolute;inset:.3rem;width:auto;height:auto}
.sees{position:absolute;width:1rem;height:1rem;margin:-.5rem;border:2px solid #b3261e;border-radius:50%;background:#fff;pointer-events:none}
@media (forced-colors:active){.pin>span,.grip.corner>span{background:ButtonFace;border-color:ButtonText}}
`)

/** How long after the last key a change is kept. */
const REST_MS = 700
const TURN_DEG = 5
const LARGE_TURN_DEG = 30
const REACH = 0.05
/** A press that moves no farther than this part of the plan is one, not a drag. */
const STILL = 0.01

/** What the page knows of a camera on the plan. */
export interface Pinned {
  id: string
  name: string
  placement: Placement
}

interface CanvasFacts {
  plan: SitePlan
  limits: SitePlans['limits']
  pins: readonly Pinned[]
  chosen: string | undefined
  choose: (camera: string) => void
  /** Undefined: nothing is moved. */
  keep: ((camera: string, placement: Placement) => void) | undefined
  /** Undefined: no camera is aimed. */
  aim: ((spot: Spot) => void) | undefined
  looking: Looking | null
}

/** What the pointer holds. */
interface Held {
  pin: Pinned
  isTurn: boolean
  /** From the spot of the pin to where it was pressed. */
  off: Spot
}

export function PlanCanvas(facts: CanvasFacts): VNode {
  const { plan, limits, chosen, choose, keep, aim, looking } = facts
  const [isMissing, setMissing] = useState(false)
  const { box, shown, press, drag, drop, cancel, typed, left } = useHolding(facts)
  const percent = ([x, y]: Spot) => ({ left: `${(x / plan.width) * 100}%`, top: `${(y / plan.height) * 100}%` })
  const handle = shown.find(({ id }) => keep && id === chosen)
  return html`<div class="stage on-plan" style=${{ '--ratio': plan.width / plan.height }}>
      <img src=${planImagePath(plan.id, planChanges.value.plans)} alt=${texts.planImageOf(plan.name)} draggable=${false} onError=${() => setMissing(true)} onLoad=${() => setMissing(false)} />
      <div class=${`drawing ${aim ? '' : 'rests'}`} ref=${box} role="group" aria-label=${texts.camerasOnPlan} onPointerDown=${press} onPointerMove=${drag} onPointerUp=${drop} onPointerCancel=${cancel}>
        <svg viewBox=${`0 0 ${plan.width} ${plan.height}`} preserveAspectRatio="none" aria-hidden="true">${shown.map(({ id, placement }) => html`<path d=${conePath(placement)} class=${id === chosen ? 'chosen' : ''} key=${id} />`)}${nowPath(shown, chosen, looking)}</svg>
        ${looking?.point ? html`<i class="sees" style=${percent([looking.point.x, looking.point.y])}></i>` : null}
        ${
          handle
            ? html`<button type="button" class="grip corner" style=${percent(turnSpot(handle.placement, plan))} data-camera=${handle.id} data-turn="" aria-label=${texts.turnOf(handle.name)} aria-description=${texts.turnKeys} onBlur=${left}
          onKeyDown=${(event: KeyboardEvent) => byKey(event, (arrow, isLarge) => typed(handle, turnedByKey(handle.placement, arrow, isLarge, limits)))}><span></span></button>`
            : null
        }
        ${shown.map(
          (
            pin,
          ) => html`<button type="button" class="grip pin" style=${percent([pin.placement.x, pin.placement.y])} data-camera=${pin.id} aria-pressed=${pin.id === chosen} aria-description=${keep ? texts.pinKeys : undefined} key=${pin.id} onClick=${() => choose(pin.id)} onBlur=${left}
          onKeyDown=${(event: KeyboardEvent) => keep && byKey(event, (arrow, isLarge) => typed(pin, movedByKey(pin.placement, arrow, isLarge, plan)))}><span></span><b>${pin.name}</b></button>`,
        )}
      </div></div>
    ${isMissing ? html`<p class="in small" role="alert">${texts.planImageMissing}</p>` : null}`
}

/** A pin as it is while it is moved; a change by keys is kept once they rest. */
function useDraft(keep: CanvasFacts['keep']) {
  const waiting = useRef<{ timer: ReturnType<typeof setTimeout>; pin: Pinned } | null>(null)
  const [draft, setDraft] = useState<Pinned | null>(null)
  function settle(pin: Pinned): void {
    setDraft(null)
    keep?.(pin.id, pin.placement)
  }
  /** A pin that is left is kept now: another one may be changed next. */
  function left(): void {
    const pin = waiting.current?.pin
    clearTimeout(waiting.current?.timer)
    waiting.current = null
    if (pin) settle(pin)
  }
  function typed(pin: Pinned, placement: Placement): void {
    const next = { ...pin, placement }
    setDraft(next)
    clearTimeout(waiting.current?.timer)
    waiting.current = { timer: setTimeout(left, REST_MS), pin: next }
  }
  return { draft, setDraft, settle, typed, left }
}

/** Pins as they are while one is held by the pointer. */
function useHolding({ plan, limits, pins, choose, keep, aim }: CanvasFacts) {
  const box = useRef<HTMLDivElement | null>(null)
  const held = useRef<Held | null>(null)
  const pressed = useRef<Spot | null>(null)
  const { draft, setDraft, settle, typed, left } = useDraft(keep)
  const shown = pins.map((pin) => (draft?.id === pin.id ? { ...pin, placement: draft.placement } : pin))
  const spotOf = (event: PointerEvent): Spot => {
    const [x, y] = fractionsOf(event, box.current)
    return [x * plan.width, y * plan.height]
  }

  function press(event: PointerEvent): void {
    if (event.button !== 0) return
    const { camera, turn } = ((event.target as Element).closest('[data-camera]') as HTMLElement | null)?.dataset ?? {}
    const pin = shown.find(({ id }) => id === camera)
    const spot = spotOf(event)
    if (!pin) {
      pressed.current = spot
      return
    }
    choose(pin.id)
    if (!keep) return
    box.current?.setPointerCapture(event.pointerId)
    const [x, y] = turn === undefined ? [pin.placement.x, pin.placement.y] : turnSpot(pin.placement, plan)
    held.current = { pin, isTurn: turn !== undefined, off: [spot[0] - x, spot[1] - y] }
  }
  function drag(event: PointerEvent): void {
    if (!held.current) return
    const { isTurn, off, pin } = held.current
    const [x, y] = spotOf(event)
    const to: Spot = [x - off[0], y - off[1]]
    const placement = isTurn ? turnedTo(pin.placement, to, limits.placement.rangePx) : movedTo(pin.placement, to, plan)
    setDraft({ ...pin, placement })
  }
  function drop(event: PointerEvent): void {
    const [from, pin] = [pressed.current, held.current?.pin]
    pressed.current = null
    held.current = null
    if (pin && draft && isElsewhere(draft.placement, pin.placement)) settle(draft)
    else setDraft(null)
    const spot = spotOf(event)
    if (from && Math.hypot(spot[0] - from[0], spot[1] - from[1]) <= STILL * plan.width) aim?.(spot)
  }
  function cancel(): void {
    held.current = null
    pressed.current = null
    setDraft(null)
  }

  return { box, shown, press, drag, drop, cancel, typed, left }
}

function isElsewhere(one: Placement, other: Placement): boolean {
  return one.x !== other.x || one.y !== other.y || one.headingDeg !== other.headingDeg || one.rangePx !== other.rangePx
}

function nowPath(pins: readonly Pinned[], chosen: string | undefined, looking: Looking | null): VNode | null {
  const pin = pins.find(({ id }) => id === chosen)
  if (!pin || !looking) return null
  const cone = { ...pin.placement, headingDeg: looking.bearingDeg, hfovDeg: looking.hfovDeg }
  return html`<path class="now" d=${conePath(cone)} />`
}

function byKey(event: KeyboardEvent, move: (arrow: readonly [number, number], isLarge: boolean) => void): void {
  const arrow = ARROWS[event.key]
  if (!arrow) return
  event.preventDefault()
  event.stopPropagation()
  move(arrow, event.shiftKey)
}

function movedByKey(
  placement: Placement,
  [x, y]: readonly [number, number],
  isLarge: boolean,
  plan: SitePlan,
): Placement {
  const step = (isLarge ? LARGE_STEP : STEP) * Math.max(plan.width, plan.height)
  return movedTo(placement, [placement.x + x * step, placement.y + y * step], plan)
}

function turnedByKey(
  placement: Placement,
  [x, y]: readonly [number, number],
  isLarge: boolean,
  { placement: { rangePx: span } }: SitePlans['limits'],
): Placement {
  if (x !== 0) return turnedBy(placement, x * (isLarge ? LARGE_TURN_DEG : TURN_DEG))
  const factor = 1 - y * REACH * (isLarge ? 5 : 1)
  const rangePx = Math.min(span.most, Math.max(span.least, Math.round(placement.rangePx * factor * 10) / 10))
  return { ...placement, rangePx }
}
