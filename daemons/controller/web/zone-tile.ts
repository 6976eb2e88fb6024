/** A tile: one zone with its state, its controls, and the result of an order; and why an order was not carried out. */
import { computed } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFault, NoContact, sendLatest } from '#kit/web/call.ts'
import { daemonNow, isLost, now, zone as zoneOfTime } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { lazy } from '#kit/web/lazy.ts'
import { age, ended, timeOf } from '#kit/web/numbers.ts'
import { icon, lamp } from '#kit/web/parts.ts'
import type { Json } from '../core/json.ts'
import type { Favourites } from '../core/live/favourites.ts'
import type { ZoneView } from '../core/live/zones.ts'
import { api, RunFault, type RunStep } from './api.ts'
import { favourites, isSlow, knownAt, markFavourite, me } from './state.ts'
import * as texts from './texts.ts'
import {
  footnote,
  headline,
  isOn,
  isUnknown,
  quantity,
  type Range,
  rangeOf,
  type Shown,
  shownText,
} from './zone-words.ts'

// Why a command was not carried out, in words for whoever stands in the room.

const SENTENCES: Readonly<Record<string, string>> = {
  unauthorized: texts.unauthorizedMeans,
  'unknown target': texts.unknownTargetMeans,
  'unknown macro': texts.unknownMacroMeans,
  'command required': texts.commandRequiredMeans,
  'not authorized': texts.notAuthorizedMeans,
  macro_busy: texts.macroRunsAlready,
  macro_wait_timeout: texts.macroWaitTimeoutMeans,
  macro_timed_out: texts.macroTimedOutMeans,
}

/** The same for what a device did, or did not, by the name of its zone. */
const OF_DEVICES: Readonly<Record<string, (name: string) => string>> = {
  driver_timeout: texts.doesNotAnswer,
  driver_failed: texts.couldNotDoIt,
  driver_queue_full: texts.isBusy,
  driver_unknown: texts.isNotSetUp,
  device_disabled: texts.isDisabled,
  command_disabled: texts.isDisabledThere,
  zone_without_device: texts.isNotSetUp,
}

/** Words of drivers and of the system that mean that nothing came back. */
const NO_ANSWER =
  /offline|\bE[A-Z]{4,}\b|cannot be reached|refuses connections|no answer|not answer|timed? ?out|closed/i

/** What a device did, in plain words; its driver's own are for those who can do something with them. */
function deviceSentence(code: string, said: string, name: string): string {
  const plain = OF_DEVICES[code] ?? texts.couldNotDoIt
  const isSilent = code === 'driver_failed' && NO_ANSWER.test(said)
  const sentence = isSilent ? texts.doesNotAnswer(name) : plain(name)
  return code === 'driver_failed' && said !== '' && me.value?.elevated
    ? `${sentence} ${texts.driverSays(ended(said))}`
    : sentence
}

/**
 * One or two sentences: what happened, and what to do if anything can be done.
 * @param name of the zone, by which whoever reads it knows the device
 */
export function commandSentence(thrown: unknown, name: string = texts.theDevice): string {
  if (thrown instanceof NoContact) return texts.noAnswerFromController
  if (!(thrown instanceof CallFault)) return thrown instanceof Error ? thrown.message : String(thrown)
  if (stepsOfFault(thrown).length > 0) return texts.notDoneStepFailedAndMacro
  const { code, message } = thrown
  const isNamed = !/without a reason/.test(message)
  if (Object.hasOwn(OF_DEVICES, code)) return deviceSentence(code, isNamed ? message : '', name)
  if (Object.hasOwn(SENTENCES, code)) return SENTENCES[code] ?? message
  if (thrown.status !== 200) return message
  return ended(texts.notDone(isNamed ? message : code))
}

/** The failed steps of a run, a sentence each, including those of macros that it called. */
export function failedSteps(steps: readonly RunStep[], place = ''): string[] {
  const last = new Map(steps.map(({ step }, at) => [step, at]))
  return steps.flatMap((one, at) => {
    // A step that a retry fixed has not failed; a parallel step failed by its branches, a call by its called steps.
    const inner = failedSteps(one.steps ?? [], `${place}${one.step}, `)
    if (inner.length > 0 || one.state !== 'failed' || one.type === 'parallel' || last.get(one.step) !== at) return inner
    return [ended(texts.step(place, one.step, stepWords(one), whyOf(one)))]
  })
}

function whyOf(step: RunStep): string {
  const { error = '', message } = step
  if (Object.hasOwn(OF_DEVICES, error)) return deviceSentence(error, message ?? '', targetOf(step) ?? texts.theDevice)
  return message ?? SENTENCES[error] ?? (error === '' ? texts.failed : error)
}

/** The failed steps that a refusal reports. */
export function stepsOfFault(thrown: unknown): string[] {
  return thrown instanceof RunFault ? failedSteps(thrown.steps) : []
}

function stepWords(step: RunStep): string {
  const { command } = decisionOf(step)
  const target = targetOf(step)
  return typeof command === 'string' && target !== undefined
    ? texts.commandOn(command, target)
    : texts.anotherStep(step.type)
}

/** What a step decided is told to elevated sessions alone. */
function decisionOf({ type, decided }: RunStep): { readonly [key: string]: Json } {
  return type === 'command' ? ((decided ?? {}) as { readonly [key: string]: Json }) : {}
}

function targetOf(step: RunStep): string | undefined {
  const { command, zone, device, zone_id: zoneId, device_id: deviceId } = decisionOf(step)
  if (command === undefined) return undefined
  return String(zone ?? device ?? (zoneId ? texts.zoneNumber(zoneId) : texts.deviceNumber(deviceId)))
}

// Orders to one zone: sent one at a time, keeping only the latest of a moving control, with the result of each.

/** One order. */
interface Order {
  verb: string
  /** Sent as the argument with the verb's own name. */
  value?: number | boolean
}

/** The orders of a tile. */
interface Orders {
  /** What the user asked for last, while that takes precedence over reported values. */
  held: Order | null
  /** Why the last order failed; null if it did not, and again after a while. */
  fault: string | null
  /** An order to a zone that does not report its state: `60 %`, or empty. */
  sent: Order | null
  give(order: Order): void
}

/** How long after the answer the user's value is kept: a device reports its new level a moment later. */
const SETTLE_MS = 1500
/** How long a refusal is shown; on a wall tablet, yesterday's would look like a current one. */
const FAULT_MS = 120_000

/** They live as long as the tile of their zone. */
function useOrders({ id, name }: Pick<ZoneView, 'id' | 'name'>): Orders {
  const [held, setHeld] = useState<Order | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [sent, setSent] = useState<Order | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])

  const refuse = (thrown: unknown): void => {
    clearTimeout(timer.current)
    setHeld(null)
    setFault(commandSentence(thrown, name))
    timer.current = setTimeout(() => setFault(null), FAULT_MS)
  }
  const send = async (order: Order): Promise<void> => {
    await api.command(id, order.verb, order.value === undefined ? {} : { [order.verb]: order.value })
    setSent(order)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setHeld(null), SETTLE_MS)
  }
  // Created once: it keeps track of the order in progress.
  const [queue] = useState(() => sendLatest(send, refuse))
  return {
    held,
    fault,
    sent,
    give(order) {
      clearTimeout(timer.current)
      setFault(null)
      setHeld(order)
      // A stop is never queued.
      if (order.verb === 'stop') void send(order).catch(refuse)
      else queue(order)
    },
  }
}

// The controls of a tile: a slider, on and off, open and close, a setpoint.

/** A zone and its orders. */
interface ControlFacts {
  zone: ZoneView
  orders: Orders
}

/** All controls of a zone, in the order in which people look for them. */
function controls(facts: ControlFacts): VNode | null {
  const { verbs } = facts.zone
  const has = (verb: string): boolean => verbs.includes(verb)
  const parts = [
    has('on') || has('off') ? onOff(facts) : null,
    has('open') || has('close') ? openClose(facts) : null,
    has('setpoint') ? setpoint(facts) : null,
    facts.zone.sources?.length && verbs.length > 0 ? sourcePicker(facts) : null,
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
  /** Whether the state is active; undefined if the button shows no state. */
  isSo?: boolean
}

function press({ zone, orders, verb, label, value, isSo }: PressFacts): VNode | null {
  if (!zone.verbs.includes(verb)) return null
  return html`<button class="btn" type="button" disabled=${isLost.value} key=${verb} aria-label=${`${zone.name}: ${label}`}
    aria-pressed=${isSo === undefined ? undefined : String(isSo)} onClick=${() => orders.give({ verb, value })}>${label}</button>`
}

/** Two buttons rather than a switch: a switch cannot show an unknown state. */
function onOff(facts: ControlFacts): VNode {
  const { verb } = facts.orders.held ?? {}
  const now = verb === 'on' ? true : verb === 'off' ? false : isOn(facts.zone)
  return html`<div class="duo" key="on">${press({ ...facts, verb: 'off', label: texts.off, isSo: now === false })}
    ${press({ ...facts, verb: 'on', label: texts.on, isSo: now === true })}</div>`
}

function openClose(facts: ControlFacts): VNode {
  return html`<div class="duo" key="open">${press({ ...facts, verb: 'open', label: texts.open })}
    ${press({ ...facts, verb: 'stop', label: texts.stop })}${press({ ...facts, verb: 'close', label: texts.close })}</div>`
}

function mute(facts: ControlFacts): VNode | null {
  const { held } = facts.orders
  const isMuted = held?.verb === 'mute' ? held.value === true : facts.zone.values.mute === true
  return press({ ...facts, verb: 'mute', label: isMuted ? texts.muted : texts.mute, value: !isMuted, isSo: isMuted })
}

/** What the zone plays. A stream that is no source of the building is named as it is, and cannot be selected. */
function sourcePicker(facts: ControlFacts): VNode {
  const { zone, orders } = facts
  const { held } = orders
  const told = isUnknown(zone) ? undefined : (zone.sourceId ?? null)
  const at = held?.verb === 'stop' ? null : (heldNumber(facts, 'source') ?? told)
  const other = at === undefined ? texts.unknownValue : at === null ? otherStream(zone, held) : null
  const pick = ({ target }: Event): void => {
    const { value } = target as HTMLSelectElement
    orders.give(value === '' ? { verb: 'stop' } : { verb: 'source', value: Number(value) })
  }
  const known = at ?? null
  return html`<div class="input" key="source"><select aria-label=${`${zone.name}: ${texts.source}`} disabled=${isLost.value} onChange=${pick}>
    ${other === null ? null : html`<option value="-" selected disabled>${other}</option>`}
    <option value="" selected=${other === null && known === null}>${texts.nothingPlays}</option>
    ${zone.sources?.map(({ id, name }) => html`<option key=${id} value=${String(id)} selected=${id === known}>${name}</option>`)}</select></div>`
}

function otherStream({ values }: ZoneView, held: Order | null): string | null {
  const isSilent = values.state === undefined || values.state === 'stopped' || held?.verb === 'stop'
  return isSilent || typeof values.source !== 'string' ? null : values.source
}

function heldNumber({ orders: { held } }: ControlFacts, verb: string): number | undefined {
  return held?.verb === verb && typeof held.value === 'number' ? held.value : undefined
}

/** While the user moves it, it follows the user; if the value is unknown, it stands at the minimum and says so. */
function slider(facts: ControlFacts, verb: 'level' | 'volume'): VNode {
  const { zone, orders } = facts
  const { min, max, step, unit } = rangeOf(zone, verb)
  const { values } = zone
  // A blind reports its place as a position, and is moved by a level.
  const told = isUnknown(zone) ? undefined : (values[verb] ?? (verb === 'level' ? values.position : undefined))
  const shown = heldNumber(facts, verb) ?? (typeof told === 'number' ? told : undefined)
  const at = shown === undefined ? min : Math.min(max, Math.max(min, shown))
  const fill = `${((at - min) / (max - min)) * 100}%`
  return html`<input type="range" key=${verb} min=${min} max=${max} step=${step} value=${at} disabled=${isLost.value}
    class=${shown === undefined ? 'unknown' : undefined} style=${{ '--fill': fill }}
    aria-label=${`${zone.name}: ${verb}`} aria-valuetext=${shown === undefined ? texts.unknownValue : shownText(quantity(shown, unit))}
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
  ): VNode => html`<button class="btn icon" type="button" aria-label=${`${zone.name}: ${by > 0 ? texts.warmer : texts.cooler}`}
    disabled=${isLost.value || now === (by > 0 ? range.max : range.min)} onClick=${() => move(by)}>${icon(by > 0 ? 'plus' : 'minus')}</button>`
  return html`<div class="set" key="setpoint">${button(-1)}<output aria-live="polite"><span class="small soft">set to</span>
    <b>${now === undefined ? '–' : shownText(quantity(now, range.unit))}</b></output>${button(1)}</div>`
}

/** From an unknown setpoint, the first press goes to the middle. */
function stepped(now: number | undefined, by: 1 | -1, { min, max, step }: Range): number {
  const from = now ?? (min + max) / 2 - by * step
  return Math.min(max, Math.max(min, Math.round((from + by * step) / step) * step))
}

// A tile: one zone with its name, state, control, and the result of an order.

const Still = lazy(async () => (await import('./still.ts')).Still)

/** The tile. Its foot is always present, so that nothing moves when a text appears. */
export function ZoneTile({ zone }: { zone: ZoneView }): VNode {
  const orders = useOrders(zone)
  const { value, unit } = heldHeadline(zone, orders) ?? headline(zone)
  return html`<article class=${isUnknown(zone) ? 'tile away' : 'tile'}>
    <header><h3>${zone.name}</h3><output class="val" aria-live="off">${value}${unit ? html`<span class="unit"> ${unit}</span>` : null}</output>
      <${Star} kind="zones" id=${zone.id} name=${zone.name} /></header>
    ${zone.type === 'camera' ? html`<${Still} zone=${zone} />` : null}${controls({ zone, orders })}${foot(zone, orders)}</article>`
}

const HEADED: ReadonlySet<string> = new Set(['level', 'volume'])

/** A slider being moved shows its value large, so that the user sees what is asked for. */
function heldHeadline(zone: ZoneView, { held }: Orders): Shown | null {
  if (held === null || typeof held.value !== 'number' || !HEADED.has(held.verb)) return null
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

/** A sent value is not a known state, and is labelled as sent. */
function sentText(zone: ZoneView, { sent }: Orders): string {
  if (sent === null) return ''
  const { verb, value } = sent
  if (typeof value !== 'number') return texts.sent(verb)
  if (verb === 'source') return texts.sent(zone.sources?.find(({ id }) => id === value)?.name ?? verb)
  const kind = verb === 'setpoint' || verb === 'volume' ? verb : 'level'
  return texts.sent(shownText(quantity(value, rangeOf(zone, kind).unit)))
}

/** Drawn once for each zone as it is: of a hundred tiles, only changed ones are drawn again. */
export function tileOf(zone: ZoneView): VNode {
  const known = tiles.get(zone)
  if (known) return known
  const tile = html`<${ZoneTile} zone=${zone} key=${zone.id} />`
  tiles.set(zone, tile)
  return tile
}

const tiles = new WeakMap<ZoneView, VNode>()

interface StarFacts {
  kind: keyof Favourites
  id: number
  name: string
}

const chosen = computed(() => ({ zones: new Set(favourites.value.zones), macros: new Set(favourites.value.macros) }))

/** Puts a zone or a macro on top for this person, or takes it from there. */
export function Star({ kind, id, name }: StarFacts): VNode {
  const isOne = chosen.value[kind].has(id)
  return html`<button class="btn quiet icon star" type="button" aria-pressed=${String(isOne)} disabled=${isLost.value}
    aria-label=${texts.isFavourite(name)} onClick=${() => void markFavourite(kind, id, !isOne)}>${icon('star')}</button>`
}

/** There is contact, but something in between blocks the socket: values that are seconds old must not look current. */
export function NotLive(): VNode | null {
  if (!isSlow.value || isLost.value) return null
  const ageMs = Math.max(1000, now.value - knownAt.value)
  return html`<p class="not-live" data-s="warn">${lamp('warn')}<span><b role="status">Levels are not live.</b>
    ${texts.theyAreFromAgo(timeOf(knownAt.value, zoneOfTime.value), age(ageMs, 1))}</span></p>`
}
