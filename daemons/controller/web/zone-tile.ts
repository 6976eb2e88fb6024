/** One zone: its name, what it does, one place to touch, and what came of that. */
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { lamp } from '#kit/web/lamp.ts'
import { daemonNow, zone as zoneOfTime } from '#kit/web/now.ts'
import type { ZoneView } from '../core/zone-view.ts'
import { type Orders, useOrders } from './use-orders.ts'
import { controls } from './zone-controls.ts'
import { footnote, headline, isUnknown, quantity, rangeOf, type Shown, textOf } from './zone-words.ts'

/** The tile. Its foot is always there, so that nothing moves when something is said. */
export function ZoneTile({ zone }: { zone: ZoneView }): VNode {
  const orders = useOrders(zone)
  const { value, unit } = heldHeadline(zone, orders) ?? headline(zone)
  return html`<article class=${isUnknown(zone) ? 'tile away' : 'tile'}>
    <header><h3>${zone.name}</h3><output class="val" aria-live="off">${value}${unit ? html`<span class="unit"> ${unit}</span>` : null}</output></header>
    ${controls({ zone, orders })}${foot(zone, orders)}</article>`
}

/** A slider that is moved tells its value large, so that the hand sees what it asks for. */
function heldHeadline(zone: ZoneView, { held }: Orders): Shown | null {
  if (held === null || typeof held.value !== 'number' || held.verb === 'setpoint') return null
  return quantity(held.value, rangeOf(zone, held.verb === 'volume' ? 'volume' : 'level').unit)
}

function foot(zone: ZoneView, orders: Orders): VNode {
  const { fault, sent } = orders
  if (fault !== null) return html`<p class="said" role="alert" data-s="fault">${lamp('fault')}<span>${fault}</span></p>`
  const isSent = sent !== null && isUnknown(zone)
  const { lit, text } = footnote(zone, () => ({ nowMs: daemonNow(), zone: zoneOfTime.value }), isSent)
  const note = isSent ? `${sentText(zone, orders)} ${text}` : text
  return html`<p class="said">${lit ? lamp(lit) : null}<span>${note}</span></p>`
}

/** What went out is no knowledge of what it does, and is told as what it is. */
function sentText(zone: ZoneView, { sent }: Orders): string {
  if (sent === null) return ''
  const { verb, value } = sent
  if (typeof value !== 'number') return `Sent: ${verb}.`
  const kind = verb === 'setpoint' || verb === 'volume' ? verb : 'level'
  return `Sent: ${textOf(quantity(value, rangeOf(zone, kind).unit))}.`
}
