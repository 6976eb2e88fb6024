/** What one touches on a tile: a slider, on and off, open and close, a setpoint. */
import type { VNode } from 'preact'
import { isLost } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import type { ZoneView } from '../core/zone-view.ts'
import type { Orders } from './use-orders.ts'
import { isOn, isUnknown, quantity, type Range, rangeOf, textOf } from './zone-words.ts'

/** A zone and what is asked of it. */
export interface ControlFacts {
  zone: ZoneView
  orders: Orders
}

/** All controls of a zone, in the order in which hands look for them. */
export function controls(facts: ControlFacts): VNode | null {
  const { verbs } = facts.zone
  const has = (verb: string): boolean => verbs.includes(verb)
  const parts = [
    has('on') || has('off') ? onOff(facts) : null,
    has('open') || has('close') ? openClose(facts) : null,
    has('setpoint') ? setpoint(facts) : null,
    has('level') ? slider(facts, 'level') : null,
    has('volume') ? slider(facts, 'volume') : null,
    has('mute') ? mute(facts) : null,
  ].filter((part) => part !== null)
  return parts.length === 0 ? null : html`<div class="ctl">${parts}</div>`
}

interface PressFacts extends ControlFacts {
  verb: string
  label: string
  value?: boolean
  /** Whether it is so now; undefined where the button shows no state. */
  isSo?: boolean
}

function press({ zone, orders, verb, label, value, isSo }: PressFacts): VNode | null {
  if (!zone.verbs.includes(verb)) return null
  return html`<button class="btn" type="button" disabled=${isLost.value} key=${verb} aria-label=${`${zone.name}: ${label}`}
    aria-pressed=${isSo === undefined ? undefined : String(isSo)} onClick=${() => orders.give({ verb, value })}>${label}</button>`
}

/** Two buttons rather than a switch: a switch cannot say that nobody knows. */
function onOff(facts: ControlFacts): VNode {
  const { verb } = facts.orders.held ?? {}
  const now = verb === 'on' ? true : verb === 'off' ? false : isOn(facts.zone)
  return html`<div class="duo" key="on">${press({ ...facts, verb: 'off', label: 'Off', isSo: now === false })}
    ${press({ ...facts, verb: 'on', label: 'On', isSo: now === true })}</div>`
}

function openClose(facts: ControlFacts): VNode {
  return html`<div class="duo" key="open">${press({ ...facts, verb: 'open', label: 'Open' })}
    ${press({ ...facts, verb: 'stop', label: 'Stop' })}${press({ ...facts, verb: 'close', label: 'Close' })}</div>`
}

function mute(facts: ControlFacts): VNode | null {
  const { held } = facts.orders
  const isMuted = held?.verb === 'mute' ? held.value === true : facts.zone.values.mute === true
  return press({ ...facts, verb: 'mute', label: isMuted ? 'Muted' : 'Mute', value: !isMuted, isSo: isMuted })
}

function heldNumber({ orders: { held } }: ControlFacts, verb: string): number | undefined {
  return held?.verb === verb && typeof held.value === 'number' ? held.value : undefined
}

/** While a hand is on it, it stands where the hand is; where nobody knows, it stands at its foot and says so. */
function slider(facts: ControlFacts, verb: 'level' | 'volume'): VNode {
  const { zone, orders } = facts
  const { min, max, step, unit } = rangeOf(zone, verb)
  const { values } = zone
  // A blind tells where it stands as its position, and is told where to go as a level.
  const told = isUnknown(zone) ? undefined : (values[verb] ?? (verb === 'level' ? values.position : undefined))
  const shown = heldNumber(facts, verb) ?? (typeof told === 'number' ? told : undefined)
  const at = shown === undefined ? min : Math.min(max, Math.max(min, shown))
  const fill = `${((at - min) / (max - min)) * 100}%`
  return html`<input type="range" key=${verb} min=${min} max=${max} step=${step} value=${at} disabled=${isLost.value}
    class=${shown === undefined ? 'unknown' : undefined} style=${{ '--fill': fill }}
    aria-label=${`${zone.name}: ${verb}`} aria-valuetext=${shown === undefined ? 'unknown' : textOf(quantity(shown, unit))}
    onInput=${(event: Event) => orders.give({ verb, value: Number((event.target as HTMLInputElement).value) })} />`
}

function setpoint(facts: ControlFacts): VNode {
  const { zone, orders } = facts
  const range = rangeOf(zone, 'setpoint')
  const told = zone.values.setpoint
  const now = heldNumber(facts, 'setpoint') ?? (typeof told === 'number' ? told : undefined)
  const move = (by: 1 | -1): void => orders.give({ verb: 'setpoint', value: stepped(now, by, range) })
  const button = (
    by: 1 | -1,
  ): VNode => html`<button class="btn icon" type="button" aria-label=${`${zone.name}: ${by > 0 ? 'warmer' : 'cooler'}`}
    disabled=${isLost.value || now === (by > 0 ? range.max : range.min)} onClick=${() => move(by)}>${icon(by > 0 ? 'plus' : 'minus')}</button>`
  return html`<div class="set" key="setpoint">${button(-1)}<output aria-live="polite"><span class="small soft">set to</span>
    <b>${now === undefined ? '–' : textOf(quantity(now, range.unit))}</b></output>${button(1)}</div>`
}

/** From an unknown setpoint the first press goes to the middle. */
function stepped(now: number | undefined, by: 1 | -1, { min, max, step }: Range): number {
  const from = now ?? (min + max) / 2 - by * step
  return Math.min(max, Math.max(min, Math.round((from + by * step) / step) * step))
}
