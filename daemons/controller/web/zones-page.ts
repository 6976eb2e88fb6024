/** The zones page: zones by room with their state and controls, and macros with a button. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFault, NoContact, sendLatest } from '#kit/web/call.ts'
import { daemonNow, isLost, now, zone, zone as zoneOfTime } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { age, ended, timeOf } from '#kit/web/numbers.ts'
import { Act, icon, type Lit, lamp, say, verdict } from '#kit/web/parts.ts'
import { filterInput, matches, rowLinks } from '#kit/web/tools.ts'
import type { Json } from '../core/json.ts'
import type { MacroView, ZoneGroup, ZoneView } from '../core/live/zones.ts'
import { api, RunFault, type RunStep } from './api.ts'
import { allZones, current, isSlow, knownAt, list, loadZones, me, zonesRefused } from './state.ts'
import * as texts from './texts.ts'
import {
  footnote,
  headline,
  isOn,
  isUnknown,
  judgeZones,
  quantity,
  type Range,
  rangeOf,
  type Shown,
  shownText,
} from './zone-words.ts'

// Why a command was not carried out, in words for the user.

const SENTENCES: Readonly<Record<string, string>> = {
  unauthorized: texts.unauthorizedMeans,
  'unknown target': texts.unknownTargetMeans,
  'unknown macro': texts.unknownMacroMeans,
  'command required': texts.commandRequiredMeans,
  driver_timeout: texts.driverTimeoutMeans,
  driver_failed: texts.driverFailedMeans,
  driver_queue_full: texts.driverQueueFullMeans,
  driver_unknown: texts.driverUnknownMeans,
  device_disabled: texts.deviceDisabledMeans,
  command_disabled: texts.commandDisabledMeans,
  zone_without_device: texts.zoneWithoutDeviceMeans,
  'not authorized': texts.notAuthorizedMeans,
  macro_busy: texts.macroRunsAlready,
  macro_wait_timeout: texts.macroWaitTimeoutMeans,
  macro_timed_out: texts.macroTimedOutMeans,
}

/** One or two sentences: what happened, and what to do if anything can be done. */
export function commandSentence(thrown: unknown): string {
  if (thrown instanceof NoContact) return texts.noAnswerFromController
  if (!(thrown instanceof CallFault)) return thrown instanceof Error ? thrown.message : String(thrown)
  if (stepsOfFault(thrown).length > 0) return texts.notDoneStepFailedAndMacro
  if (Object.hasOwn(SENTENCES, thrown.code)) return SENTENCES[thrown.code] ?? thrown.message
  if (thrown.status !== 200) return thrown.message
  // A device's failure: its driver's own words.
  const said = /without a reason/.test(thrown.message) ? thrown.code : thrown.message
  return ended(texts.notDone(said))
}

/** The failed steps of a run, a sentence each, including those of macros that it called. */
export function failedSteps(steps: readonly RunStep[], place = ''): string[] {
  const last = new Map(steps.map(({ step }, at) => [step, at]))
  return steps.flatMap((one, at) => {
    // A step that a retry fixed has not failed; a parallel step failed by its branches, a call by its called steps.
    const inner = failedSteps(one.steps ?? [], `${place}${one.step}, `)
    if (inner.length > 0 || one.state !== 'failed' || one.type === 'parallel' || last.get(one.step) !== at) return inner
    const why = one.message ?? SENTENCES[one.error ?? ''] ?? one.error ?? texts.failed
    return [ended(texts.step(place, one.step, stepWords(one), why))]
  })
}

/** The failed steps that a refusal reports. */
export function stepsOfFault(thrown: unknown): string[] {
  return thrown instanceof RunFault ? failedSteps(thrown.steps) : []
}

function stepWords({ type, decided }: RunStep): string {
  const said = (decided ?? {}) as { readonly [key: string]: Json }
  if (type !== 'command' || typeof said.command !== 'string') return texts.anotherStep(type)
  const target =
    said.zone ?? said.device ?? (said.zone_id ? texts.zoneNumber(said.zone_id) : texts.deviceNumber(said.device_id))
  return texts.commandOn(said.command, String(target))
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
function useOrders({ id }: Pick<ZoneView, 'id'>): Orders {
  const [held, setHeld] = useState<Order | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [sent, setSent] = useState<Order | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])

  const refuse = (thrown: unknown): void => {
    clearTimeout(timer.current)
    setHeld(null)
    setFault(commandSentence(thrown))
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

/** The tile. Its foot is always present, so that nothing moves when a text appears. */
function ZoneTile({ zone }: { zone: ZoneView }): VNode {
  const orders = useOrders(zone)
  const { value, unit } = heldHeadline(zone, orders) ?? headline(zone)
  return html`<article class=${isUnknown(zone) ? 'tile away' : 'tile'}>
    <header><h3>${zone.name}</h3><output class="val" aria-live="off">${value}${unit ? html`<span class="unit"> ${unit}</span>` : null}</output></header>
    ${controls({ zone, orders })}${foot(zone, orders)}</article>`
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

// Macros with a button each, and the result of a run.

function MacrosPanel({ macros }: { macros: readonly MacroView[] }): VNode {
  return html`<section class="panel macros" aria-label="Macros"><header><h2>Macros</h2></header>
    <ul>${macros.map((macro) => html`<${MacroRow} macro=${macro} key=${macro.id} />`)}</ul></section>`
}

interface Told {
  lit: Lit
  text: string
  /** Failed steps, a line each. */
  steps: readonly string[]
}

function MacroRow({ macro }: { macro: MacroView }): VNode {
  const [told, setTold] = useState<Told | null>(null)
  const [isBusy, setBusy] = useState(false)
  async function run(): Promise<void> {
    setBusy(true)
    setTold({ lit: 'busy', text: texts.runs, steps: [] })
    try {
      const { state, steps = [] } = await api.macro(macro.id)
      const at = timeOf(daemonNow(), zone.value)
      const failed = failedSteps(steps)
      if (state === 'running' || state === 'queued')
        setTold({ lit: 'busy', text: texts.stillRunsBegunBefore(at), steps: [] })
      else if (failed.length > 0) setTold({ lit: 'warn', text: texts.endedAt(at, failed.length), steps: failed })
      else setTold({ lit: 'ok', text: texts.ranEnded(at), steps: [] })
    } catch (thrown) {
      setTold({ lit: 'fault', text: commandSentence(thrown), steps: stepsOfFault(thrown) })
    }
    setBusy(false)
  }
  return html`<li><div><b>${macro.name}</b><p class="small soft">${macro.description}</p>
    <p class="small told" role="status" data-s=${told?.lit}>${told ? html`${lamp(told.lit)} ${told.text}` : null}</p>
    ${told && told.steps.length > 0 ? html`<ul class="small failed-steps" aria-label="Steps that failed">${told.steps.map((step) => html`<li key=${step}>${step}</li>`)}</ul>` : null}</div>
    <${Act} waits=${isBusy} label=${texts.run(macro.name)} run=${() => void run()}>Run</${Act}></li>`
}

// The page.
/** With fewer zones than this there is no filter. */
const FILTERED_FROM = 7
/** More tiles are drawn on request. */
const MOST_TILES = 240
const IMPORT = 'plantroom controller import FILE'

export function ZonesPage(): VNode {
  const [filter, setFilter] = useState('')
  const [isWhole, setWhole] = useState(false)
  useKeys(texts.zones, [
    { key: 'ArrowDown', what: texts.nextZone, run: () => walk(1) },
    { key: 'ArrowUp', what: texts.zoneBefore, run: () => walk(-1) },
  ])
  const known = list.value
  if (known === null) return waiting()
  const zones = allZones.value
  if (zones.length === 0) return html`<h1 class="sr">Zones</h1><section class="panel">${empty()}</section>${macros()}`
  const groups = known.groups
    .map((group) => ({ ...group, zones: found(group, filter) }))
    .filter((group) => group.zones.length > 0)
  const { groups: shown, rest } = isWhole ? { groups, rest: 0 } : firstOf(groups, MOST_TILES)
  return html`<h1 class="sr">Zones</h1>${verdict(judgeZones(zones))}${isSlow.value && !isLost.value ? html`<${NotLive} />` : null}
    ${
      zones.length < FILTERED_FROM
        ? null
        : html`<div class="tools">${filterInput({ filter, setFilter, label: texts.filterRoomsAndZones, placeholder: texts.roomOrZone, isFirst: true })}</div>`
    }
    ${groups.length === 0 ? html`<section class="panel">${say('off', texts.noRoomAndNoZoneMatches(filter), texts.zonesAreHidden(zones.length))}</section>` : null}
    <div class=${isSlow.value ? 'rooms old' : 'rooms'}>${shown.map(room)}</div>
    ${rest > 0 ? html`<p class="end"><button class="btn" type="button" onClick=${() => setWhole(true)}>Show ${rest} more zones</button></p>` : null}
    ${filter === '' ? macros() : null}`
}

/** There is contact, but something in between blocks the socket: values that are seconds old must not look current. */
function NotLive(): VNode {
  const ageMs = Math.max(1000, now.value - knownAt.value)
  return html`<p class="not-live" data-s="warn">${lamp('warn')}<span><b role="status">Levels are not live.</b>
    ${texts.theyAreFromAgo(timeOf(knownAt.value, zone.value), age(ageMs, 1))}</span></p>`
}

function waiting(): VNode {
  const words =
    zonesRefused.value === null
      ? say('busy', texts.askingControllerForZones, texts.usuallyBrief)
      : say('fault', texts.zonesCouldNotBeRead, zonesRefused.value, html`<${Act} run=${loadZones}>Ask again</${Act}>`)
  return html`<div class="head"><h1>Zones</h1></div><section class="panel">${words}</section>`
}

/** Having nothing to command is not an error; this says what to do next, to those who can. */
function empty(): VNode {
  if (!me.value?.elevated) return say('off', texts.noZonesForYou, texts.howZonesBecomeYours)
  const act = html`<div class="copy"><code tabindex="0">${IMPORT}</code>
    <button class="btn" type="button" onClick=${() => void copyText(IMPORT, texts.commandIsCopied)}>Copy command</button></div>`
  return say('off', texts.buildingHasNoZonesYet, texts.howToImport, act)
}

function macros(): VNode | null {
  const known = list.value?.macros ?? []
  return known.length === 0 ? null : html`<${MacrosPanel} macros=${known} />`
}

function found({ name, within, zones }: ZoneGroup, filter: string): ZoneView[] {
  const room = [...within, name ?? ''].join(' ')
  return zones.filter((zone) => matches(`${room} ${zone.name} ${zone.type ?? ''}`, filter)).map(current)
}

function firstOf(groups: readonly ZoneGroup[], most: number): { groups: ZoneGroup[]; rest: number } {
  const shown: ZoneGroup[] = []
  let left = most
  let rest = 0
  for (const group of groups) {
    const zones = group.zones.slice(0, left)
    left -= zones.length
    rest += group.zones.length - zones.length
    if (zones.length > 0) shown.push({ ...group, zones })
  }
  return { groups: shown, rest }
}

function room({ id, name, within, zones }: ZoneGroup): VNode {
  const label = name ?? (list.value?.groups.length === 1 ? texts.allZones : texts.notInRoom)
  return html`<section class="room" key=${id ?? 'none'} aria-label=${label}>
    <h2>${label}${within.length > 0 ? html`<span class="faint small"> ${within.join(' › ')}</span>` : null}</h2>
    <div class="tiles">${zones.map(tileOf)}</div></section>`
}

/** A zone that did not change keeps its drawn tile: of a hundred tiles, only changed ones are drawn again. */
function tileOf(zone: ZoneView): VNode {
  const known = tiles.get(zone)
  if (known) return known
  const tile = html`<${ZoneTile} zone=${zone} key=${zone.id} />`
  tiles.set(zone, tile)
  return tile
}

const tiles = new WeakMap<ZoneView, VNode>()

/** Moves from tile to tile: to the first control of each. */
function walk(step: 1 | -1): boolean {
  const tiles = rowLinks('.tile')
  const here = tiles.findIndex((tile) => tile.contains(document.activeElement))
  const order = step > 0 ? tiles.slice(here + 1) : tiles.slice(0, Math.max(0, here)).reverse()
  const next = order.map((tile) => tile.querySelector<HTMLElement>('button, input')).find((each) => each !== null)
  next?.focus()
  return next !== undefined
}
