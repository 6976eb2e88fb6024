/** The values of a device by definition on the page of its line, each with its age and a way to its history. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { fixed, sinceText } from '#kit/web/numbers.ts'
import { lamp, say } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { api, type EquipmentValue, type Port } from './api.ts'
import { LOOK_MS } from './state.ts'
import * as texts from './texts.ts'

/** The panel. */
export function EquipmentPanel({ port }: { port: Port }): VNode {
  const [values, setValues] = useState<readonly EquipmentValue[] | null>(null)
  const { refused } = useLook(
    async () => setValues((await api.equipment(port.path)).values),
    LOOK_MS,
    `${port.path} ${port.revision} ${port.state}`,
  )
  const isHeard = port.state === 'open' && !port.fault
  return html`<section class="panel" aria-label=${texts.deviceValues}><header><h2>${texts.deviceValues}</h2></header>
    ${values && values.length > 0 ? table(port.path, values, isHeard) : empty(values !== null, refused)}</section>`
}

function empty(isRead: boolean, refused: string | null): VNode | null {
  if (refused !== null) return say('fault', texts.deviceValuesNotRead, refused)
  return isRead ? say('off', texts.noDeviceValues, texts.deviceValuesAppear) : null
}

function table(path: string, values: readonly EquipmentValue[], isHeard: boolean): VNode {
  return html`<table class="table tight units"><colgroup><col class="c1" /><col /><col class="c5" /><col class="c5" /></colgroup><thead class="sr"><tr><th>State</th><th>Value</th><th>Changed</th><th>History</th></tr></thead>
    <tbody>${values.map(
      (one) => html`<tr key=${`${one.zone} ${one.name}`}><td>${lamp(isHeard ? 'ok' : 'off')}</td>
        <td class="how"><span class="faint">${nameOf(one)}</span> <b>${deviceValueText(one)}</b></td>
        <td class="n">${sinceText(one.changedAt, daemonNow(), zone.value)}</td>
        <td class="n">${one.series === null ? '' : html`<a href=${linkTo('port', path, 'points', 'history', one.series)}>${texts.pointHistory}</a>`}</td></tr>`,
    )}</tbody></table>`
}

function nameOf({ name, zone: of }: EquipmentValue): string {
  return of === null ? name : `${name} (${of})`
}

/** A value in words. */
export function deviceValueText({ unit, value }: Pick<EquipmentValue, 'unit' | 'value'>): string {
  if (typeof value === 'boolean') return value ? texts.pointIsOn : texts.pointIsOff
  if (typeof value !== 'number') return String(value ?? '–')
  const digits = Number.isInteger(value) ? 0 : 2
  return [fixed(value, digits), unit ?? ''].join(' ').trim()
}
