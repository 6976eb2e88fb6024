/** The devices page: which devices are there, and why the others are not; those that are away first. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { many, sinceText } from '#kit/web/numbers.ts'
import { type Judgement, type Lit, lamp, say, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo, place } from '#kit/web/route.ts'
import { followRow, Tools } from '#kit/web/tools.ts'
import { api, type DeviceSeen, type Devices } from './api.ts'
import * as texts from './texts.ts'

/** Loaded when a device is opened. */
const DevicePanel = lazy(async () => (await import('./device-panel.ts')).DevicePanel)

/** Devices are lost and come back by the second. */
const LOOK_MS = 2000

/** What comes first: who is away, and since when. */
export function devicesVerdict(
  { online, offline, unknown, devices }: Devices,
  nowMs: number,
  timeZone?: string,
): Judgement {
  const all = online + offline + unknown
  if (all === 0) return { lit: 'off', sentence: texts.noDeviceIsDriven, why: texts.addADevice }
  const [first] = devices.filter(({ state }) => state === 'offline')
  if (offline > 0)
    return {
      lit: 'fault',
      sentence: texts.devicesAreAway(offline, all),
      ...(first ? { why: awayText(first, nowMs, timeZone) } : {}),
    }
  if (unknown > 0) return { lit: 'warn', sentence: texts.devicesNotHeard(unknown, all) }
  return { lit: 'ok', sentence: texts.allDevicesAreThere(all) }
}

function awayText({ name, last_seen: at, error }: DeviceSeen, nowMs: number, timeZone?: string): string {
  const since = at === null ? texts.neverHeard : texts.lastHeard(sinceText(at, nowMs, timeZone))
  return `${name}: ${since}${error === null ? '' : `; ${error}`}.`
}

/** `#/devices`, `#/devices/3`. */
export function DevicesPage(): VNode {
  const which = place.value[1]
  const [seen, setSeen] = useState<Devices | null>(null)
  const [filter, setFilter] = useState('')
  const look = useLook(async () => setSeen(await api.devices(filter)), LOOK_MS)
  useEffect(() => void look.again(), [filter])
  useKeys(texts.devices, [{ key: 'n', what: texts.newRowKey, run: () => goTo('tables', 'device', 'new') as undefined }])
  if (seen === null)
    return html`<div class="head"><h1>Devices</h1></div><section class="panel">${firstAnswer(look.refused, texts.askingForDevices, texts.devicesCouldNotBeRead)}</section>`
  const more = seen.matching - seen.devices.length
  const open = seen.devices.find(({ id }) => String(id) === which)
  const panel = which === undefined ? null : html`<${DevicePanel} key=${which} id=${Number(which)} device=${open} />`
  return html`<h1 class="sr">Devices</h1>${verdict(devicesVerdict(seen, daemonNow(), zone.value))}
    <div class=${panel ? 'cols with-form with-traffic' : ''}><section class="panel" aria-label=${texts.devices}>
      <${Tools} filter=${filter} setFilter=${setFilter} label=${texts.filterDevices}>
        <a class="btn primary" href=${linkTo('tables', 'device', 'new')}>${texts.newDevice}</a></${Tools}>
      ${list(seen, filter, which)}${more > 0 ? html`<p class="in small soft">${texts.moreDevices(more)}</p>` : null}</section>${panel}</div>`
}

function list({ devices }: Devices, filter: string, which?: string): VNode {
  if (devices.length === 0)
    return filter === ''
      ? say('off', texts.noDevices, texts.addADevice)
      : say('off', texts.noRowMatches(filter), texts.escShowsAll)
  return html`<table class="table fold rows"><thead><tr><th><span class="sr">State</span></th><th>Name</th><th>What it does</th><th class="n">Last heard</th></tr></thead>
    <tbody>${devices.map((device) => rowOf(device, String(device.id) === which))}</tbody></table>`
}

const STATES: Readonly<Record<DeviceSeen['state'], { lit: Lit; word: string }>> = {
  online: { lit: 'ok', word: texts.isThere },
  offline: { lit: 'fault', word: texts.isAway },
  unknown: { lit: 'off', word: texts.notHeardYet },
  off: { lit: 'off', word: texts.isSwitchedOff },
}

function rowOf(device: DeviceSeen, isChosen: boolean): VNode {
  const { id, name, driver, state, error, last_seen: at, ip_address: ip, zones } = device
  const href = linkTo('devices', String(id))
  const { lit, word } = STATES[state]
  const facts = [driver, ip, many(zones, 'zone', 'zones')].filter((each) => each !== null && each !== '').join(', ')
  return html`<tr key=${id} class=${isChosen ? 'chosen' : ''} onClick=${(event: Event) => followRow(event, href)}>
    <td class="lit">${lamp(lit, word)}</td><td class="name"><a href=${href} aria-current=${isChosen || undefined}><b>${name}</b></a></td>
    <td class="setup">${facts}${state === 'online' ? null : html`<span class="under" data-s=${lit}>${error ?? word}</span>`}</td>
    <td class="n load">${at === null ? texts.neverHeard : sinceText(at, daemonNow(), zone.value)}</td></tr>`
}
