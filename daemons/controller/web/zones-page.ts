/** The zones page: favourites and macros on top, then zones by room with their state and controls. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { timeOf } from '#kit/web/numbers.ts'
import { Act, icon, type Lit, lamp, say, verdict } from '#kit/web/parts.ts'
import { linkTo, place } from '#kit/web/route.ts'
import { filterInput, matches, rowLinks } from '#kit/web/tools.ts'
import type { MacroView, ZoneGroup, ZoneView } from '../core/live/zones.ts'
import { api } from './api.ts'
import { allZones, current, favourites, isNarrow, isSlow, list, loadZones, me, zonesRefused } from './state.ts'
import * as texts from './texts.ts'
import { commandSentence, failedSteps, NotLive, Star, stepsOfFault, tileOf, ZoneTile } from './zone-tile.ts'
import { judgeZones, roomState } from './zone-words.ts'

// Macros with a button each, and the result of a run.

/** With more macros than this, the others than the favourites are behind a word that opens them. */
const MOST_MACROS = 4

/** The favourites first; all of them are on top while they are few. */
function MacrosPanel({ macros }: { macros: readonly MacroView[] }): VNode {
  const isFirst = ({ id }: MacroView): boolean => favourites.value.macros.includes(id)
  const rows = (some: readonly MacroView[]): VNode =>
    html`<ul>${some.map((macro) => html`<${MacroRow} macro=${macro} key=${macro.id} />`)}</ul>`
  const first = macros.filter(isFirst)
  const others = macros.filter((macro) => !isFirst(macro))
  const body =
    macros.length <= MOST_MACROS
      ? rows([...first, ...others])
      : html`${first.length > 0 ? rows(first) : null}
        ${others.length > 0 ? html`<details><summary>${first.length > 0 ? texts.otherMacros(others.length) : texts.allMacros(others.length)}</summary>${rows(others)}</details>` : null}`
  return html`<section class="panel macros" aria-label="Macros"><header><h2>Macros</h2></header>${body}</section>`
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
      setTold({ lit: 'fault', text: commandSentence(thrown, macro.name), steps: stepsOfFault(thrown) })
    }
    setBusy(false)
  }
  // What came of it stands where the description was, so that nothing moves.
  return html`<li><div><b>${macro.name}</b>
    <p class="small told" role="status" data-s=${told?.lit}>${told ? html`${lamp(told.lit)} ${told.text}` : macro.description}</p>
    ${told && told.steps.length > 0 ? html`<ul class="small failed-steps" aria-label="Steps that failed">${told.steps.map((step) => html`<li key=${step}>${step}</li>`)}</ul>` : null}</div>
    <div class="acts"><${Star} kind="macros" id=${macro.id} name=${macro.name} />
      <${Act} waits=${isBusy} label=${texts.run(macro.name)} run=${() => void run()}>Run</${Act}></div></li>`
}

// The page: what is wanted first on top, then the rooms.

/** With fewer zones than this there is no filter. */
const FILTERED_FROM = 7
/** More tiles are drawn on request. */
const MOST_TILES = 240
const IMPORT = 'plantroom controller import FILE'

/** `#/zones`, and `#/zones/room/12` for one room alone; `none` are the zones without one. */
export function ZonesPage(): VNode {
  useKeys(texts.zones, [
    { key: 'ArrowDown', what: texts.nextZone, run: () => walk(1) },
    { key: 'ArrowUp', what: texts.zoneBefore, run: () => walk(-1) },
  ])
  const known = list.value
  if (known === null) return waiting()
  const zones = allZones.value
  if (zones.length === 0) return html`<h1 class="sr">Zones</h1><section class="panel">${empty()}</section>${macros()}`
  const [, word, id] = place.value
  const room = word === 'room' ? known.groups.find((group) => roomWord(group) === id) : undefined
  return room === undefined ? html`<${Rooms} groups=${known.groups} />` : oneRoom(room)
}

function Rooms({ groups: all }: { groups: readonly ZoneGroup[] }): VNode {
  const [filter, setFilter] = useState('')
  const [isWhole, setWhole] = useState(false)
  const zones = allZones.value
  const groups = all
    .map((group) => ({ ...group, zones: found(group, filter) }))
    .filter((group) => group.zones.length > 0)
  const { groups: shown, rest } = isWhole ? { groups, rest: 0 } : firstOf(groups, MOST_TILES)
  // A phone has room for one room: of several it lists which there are.
  const isList = isNarrow.value && filter === '' && all.length > 1
  const rooms = isList
    ? roomList(all)
    : html`<div class=${isSlow.value ? 'rooms old' : 'rooms'}>${shown.map(room)}</div>`
  return html`<h1 class="sr">Zones</h1>${verdict(judgeZones(zones), planLink())}<${NotLive} />
    ${filter === '' ? favouritesOf(zones) : null}${filter === '' ? macros() : null}
    ${
      zones.length < FILTERED_FROM
        ? null
        : html`<div class="tools">${filterInput({ filter, setFilter, label: texts.filterRoomsAndZones, placeholder: texts.roomOrZone, isFirst: true })}</div>`
    }
    ${groups.length === 0 ? html`<section class="panel">${say('off', texts.noRoomAndNoZoneMatches(filter), texts.zonesAreHidden(zones.length))}</section>` : null}
    ${rooms}
    ${rest > 0 && !isList ? html`<p class="end"><button class="btn" type="button" onClick=${() => setWhole(true)}>Show ${rest} more zones</button></p>` : null}`
}

/** On a phone, where the navigation shows no pages below others. */
function planLink(): VNode | null {
  return (list.value?.plans.length ?? 0) === 0 ? null : html`<a href=${linkTo('plan')}>${texts.floorPlan}</a>`
}

function favouritesOf(zones: readonly ZoneView[]): VNode | null {
  const byId = new Map(zones.map((zone) => [zone.id, zone]))
  const own = favourites.value.zones.flatMap((id) => byId.get(id) ?? [])
  return own.length === 0
    ? null
    : html`<section class="room" aria-label=${texts.favouritesTitle}><h2>${texts.favouritesTitle}</h2><div class=${isSlow.value ? 'tiles old' : 'tiles'}>${own.map((zone) => html`<${ZoneTile} zone=${zone} key=${zone.id} />`)}</div></section>`
}

/** Rooms as links, each with what is on there. */
function roomList(groups: readonly ZoneGroup[]): VNode {
  return html`<section class="panel room-list" aria-label=${texts.rooms}><header><h2>${texts.rooms}</h2></header><ul>
    ${groups.map((group) => {
      const { lit, words } = roomState(group.zones.map(current))
      return html`<li key=${roomWord(group)}><a href=${linkTo('zones', 'room', roomWord(group))}><span class="grow"><b>${roomName(group)}</b>${' '}<span class="small soft">${words}</span></span>${lit === 'ok' ? null : lamp(lit, texts.someDoNotAnswer)}${icon('forward')}</a></li>`
    })}</ul></section>`
}

/** One room alone: on a phone all of it is in sight. */
function oneRoom(group: ZoneGroup): VNode {
  const within = group.within.length > 0 ? html`<span class="meta">${group.within.join(' › ')}</span>` : null
  return html`<div class="head"><a class="btn quiet icon" href=${linkTo('zones')} aria-label=${texts.allRooms}>${icon('back')}</a><h1>${roomName(group)}</h1>${within}</div>
    <${NotLive} />
    <div class=${isSlow.value ? 'rooms old' : 'rooms'}><section class="room" aria-label=${roomName(group)}><h2 class="sr">${texts.zones}</h2><div class="tiles">${group.zones.map((zone) => tileOf(current(zone)))}</div></section></div>`
}

function roomWord({ id }: ZoneGroup): string {
  return id === null ? 'none' : String(id)
}

function roomName({ name }: ZoneGroup): string {
  return name ?? (list.value?.groups.length === 1 ? texts.allZones : texts.notInRoom)
}

function waiting(): VNode {
  const words = firstAnswer(zonesRefused.value, texts.askingControllerForZones, texts.zonesCouldNotBeRead, loadZones)
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

function room(group: ZoneGroup): VNode {
  const { within, zones } = group
  const label = roomName(group)
  return html`<section class="room" key=${roomWord(group)} aria-label=${label}>
    <h2>${label}${within.length > 0 ? html`<span class="faint small"> ${within.join(' › ')}</span>` : null}</h2>
    <div class="tiles">${zones.map(tileOf)}</div></section>`
}

/** Moves from tile to tile: to the first control of each. */
function walk(step: 1 | -1): boolean {
  const tiles = rowLinks('.tile')
  const here = tiles.findIndex((tile) => tile.contains(document.activeElement))
  const order = step > 0 ? tiles.slice(here + 1) : tiles.slice(0, Math.max(0, here)).reverse()
  const next = order
    .map((tile) => tile.querySelector<HTMLElement>('.ctl :is(button, input)'))
    .find((each) => each !== null)
  next?.focus()
  return next !== undefined
}
