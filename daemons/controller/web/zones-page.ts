/** Zones by room: what is on, and one place to touch for each. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { isLost } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lamp, say, verdict } from '#kit/web/lamp.ts'
import { now, zone } from '#kit/web/now.ts'
import { age, timeOf } from '#kit/web/numbers.ts'
import { rowLinks } from '#kit/web/rows.ts'
import { filterInput, matches } from '#kit/web/tools.ts'
import type { ZoneGroup } from '../core/zone-groups.ts'
import type { ZoneView } from '../core/zone-view.ts'
import { MacrosPanel } from './macros-panel.ts'
import { me } from './session.ts'
import { allZones, current, isSlow, knownAt, list, loadZones, zonesRefused } from './state.ts'
import { ZoneTile } from './zone-tile.ts'
import { judgeZones } from './zone-words.ts'

/** Fewer are found by looking. */
const FILTERED_FROM = 7
/** More tiles are drawn when they are asked for. */
const MOST_TILES = 240
const IMPORT = 'plantroom controller import FILE'

/** The page. */
export function ZonesPage(): VNode {
  const [filter, setFilter] = useState('')
  const [isWhole, setWhole] = useState(false)
  useKeys('Zones', [
    { key: 'ArrowDown', what: 'next zone', run: () => walk(1) },
    { key: 'ArrowUp', what: 'zone before', run: () => walk(-1) },
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
        : html`<div class="tools">${filterInput({ filter, setFilter, label: 'Filter rooms and zones', placeholder: 'Room or zone', isFirst: true })}</div>`
    }
    ${groups.length === 0 ? html`<section class="panel">${say('off', `No room and no zone matches ${filter}`, `${zones.length} are hidden. Esc empties the filter.`)}</section>` : null}
    <div class=${isSlow.value ? 'rooms old' : 'rooms'}>${shown.map(room)}</div>
    ${rest > 0 ? html`<p class="end"><button class="btn" type="button" onClick=${() => setWhole(true)}>Show ${rest} more zones</button></p>` : null}
    ${filter === '' ? macros() : null}`
}

/** There is contact, but something between lets no socket through: what is seconds old must not look like now. */
function NotLive(): VNode {
  const ageMs = Math.max(1000, now.value - knownAt.value)
  return html`<p class="not-live" data-s="warn">${lamp('warn')}<span><b role="status">Levels are not live.</b>
    ${` They are from ${timeOf(knownAt.value, zone.value)}, ${age(ageMs, 1)} ago, and are read every 10 s until changes arrive by themselves again.`}</span></p>`
}

function waiting(): VNode {
  const words =
    zonesRefused.value === null
      ? say('busy', 'Asking the controller for the zones', 'This usually takes less than a second.')
      : say(
          'fault',
          'The zones could not be read',
          zonesRefused.value,
          html`<${Act} run=${loadZones}>Ask again</${Act}>`,
        )
  return html`<div class="head"><h1>Zones</h1></div><section class="panel">${words}</section>`
}

/** Nothing to command is no fault; it says what to do next, to those who can. */
function empty(): VNode {
  if (!me.value?.elevated)
    return say(
      'off',
      'No zones are yours to command yet',
      'An administrator puts rooms or zones onto a UI that your role allows. They appear here by themselves.',
    )
  const act = html`<div class="copy"><code tabindex="0">${IMPORT}</code>
    <button class="btn" type="button" onClick=${() => void copyText(IMPORT, 'The command is copied.')}>Copy command</button></div>`
  return say(
    'off',
    'This building has no zones yet',
    'Import a site file on the machine that the controller runs on. Its changes wait under Pending until they are applied.',
    act,
  )
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
  const label = name ?? (list.value?.groups.length === 1 ? 'All zones' : 'Not in a room')
  return html`<section class="room" key=${id ?? 'none'} aria-label=${label}>
    <h2>${label}${within.length > 0 ? html`<span class="faint small"> ${within.join(' › ')}</span>` : null}</h2>
    <div class="tiles">${zones.map(tileOf)}</div></section>`
}

/** A zone that did not change keeps the very tile that was drawn: of a hundred tiles, those are drawn anew that have to. */
function tileOf(zone: ZoneView): VNode {
  const known = tiles.get(zone)
  if (known) return known
  const tile = html`<${ZoneTile} zone=${zone} key=${zone.id} />`
  tiles.set(zone, tile)
  return tile
}

const tiles = new WeakMap<ZoneView, VNode>()

/** From tile to tile: the first control of each. */
function walk(step: 1 | -1): boolean {
  const tiles = rowLinks('.tile')
  const here = tiles.findIndex((tile) => tile.contains(document.activeElement))
  const order = step > 0 ? tiles.slice(here + 1) : tiles.slice(0, Math.max(0, here)).reverse()
  const next = order.map((tile) => tile.querySelector<HTMLElement>('button, input')).find((each) => each !== null)
  next?.focus()
  return next !== undefined
}
