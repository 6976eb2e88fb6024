/** The units of a Modbus line: a lamp, a word, the reply time; a row opens what was counted of it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { spark } from '#kit/web/figure.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lamp, say } from '#kit/web/lamp.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { count, msText } from '#kit/web/numbers.ts'
import { linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import type { UnitView as BusUnit } from '../core/modbus/units.ts'
import type { Port } from './api.ts'
import { busApi } from './bus-api.ts'
import { isAdmin, lookAtPorts } from './state.ts'
import { type Bar, barsOf, mayForget, unitFacts } from './unit-facts.ts'
import { replyMs, type UnitView, unitLit, unitWord } from './unit-view.ts'

/** What the panel is told. */
export interface UnitsPanelProps {
  port: Port
  units: readonly UnitView[]
  /** Why the gateway would not say. */
  refused: string | null
  /** Reads them once more. */
  again(): Promise<void>
}

/** The panel. */
export function UnitsPanel({ port, units, refused, again }: UnitsPanelProps): VNode {
  const [opened, setOpened] = useState<number | null>(null)
  const isListening = port.settings?.mode === 'listen'
  const scan = isListening
    ? null
    : html`<div class="acts"><a class="btn quiet" href=${linkTo('port', port.path, 'scan')}>${isAdmin.value ? 'Scan' : 'Last scan'}</a></div>`
  async function forget(unitId: number): Promise<void> {
    const isNoisy = units.find((view) => view.unitId === unitId)?.state === 'noisy'
    try {
      await busApi.forgetUnit(port.path, unitId)
      setOpened(null)
      toast(`Unit ${unitId} is ${isNoisy ? 'counted anew' : 'forgotten'}.`)
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await Promise.all([again(), lookAtPorts()])
  }
  const note = units.length === 0 ? '' : isListening ? 'heard in the last minute' : `${units.length} on the line`
  return html`<section class="panel" aria-label="Units"><header><h2>Units</h2><span class="faint grow">${note}</span>${scan}</header>
    ${units.length === 0 ? empty(isListening, refused) : rows(units, { opened, setOpened, forget })}</section>`
}

function empty(isListening: boolean, refused: string | null): VNode {
  if (refused !== null) return say('fault', 'The units could not be read', refused)
  if (isListening)
    return say('off', 'No unit heard', 'Units appear as soon as another master asks them and they answer.')
  return say(
    'off',
    'No unit asked',
    'Ask one from the console, scan for them, or add points; whoever asks over HTTP shows here as well.',
  )
}

interface RowActs {
  opened: number | null
  setOpened(unitId: number | null): void
  forget(unitId: number): Promise<void>
}

function rows(units: readonly UnitView[], { opened, setOpened, forget }: RowActs): VNode {
  return html`<table class="table tight units"><colgroup><col class="c1" /><col class="c2" /><col /><col class="c4" /><col class="c5" /></colgroup><thead class="sr"><tr><th>State</th><th>Unit</th><th>How it does</th><th>Reply times</th><th>Usual reply</th></tr></thead>
    <tbody>${units.flatMap((view) => {
      const isOpen = view.unitId === opened
      const row = unitRow(view, isOpen, () => setOpened(isOpen ? null : view.unitId))
      return isOpen && view.bus ? [row, factsRow(view.bus, () => void forget(view.unitId))] : [row]
    })}</tbody></table>`
}

function unitRow(view: UnitView, isOpen: boolean, toggle: () => void): VNode {
  const lit = unitLit(view)
  const took = replyMs(view)
  const word = unitWord(view, { nowMs: daemonNow(), zone: zone.value })
  const id = view.bus
    ? html`<button class="link" type="button" aria-expanded=${isOpen} aria-label=${`Unit ${view.unitId}, ${word}`}><b>${view.unitId}</b></button>`
    : html`<b>${view.unitId}</b>`
  return html`<tr key=${view.unitId} class=${isOpen ? 'chosen' : ''} onClick=${view.bus ? toggle : undefined}>
    <td class="lit">${lamp(lit, true)}</td><td class="n id">${id}</td><td class="how">${word}</td>
    <td class="sparks">${spark(view.seen?.history.slice(-20))}</td>
    <td class="n ms">${msText(took)}${took === null ? '' : html` <span class="unit">ms</span>`}</td></tr>`
}

function factsRow(unit: BusUnit, forget: () => void): VNode {
  const facts = unitFacts(unit, { nowMs: daemonNow(), zone: zone.value })
  const latency = unit.latencyMs
  if (latency)
    facts.push(
      ['Reply, 95 % within', `${msText(latency.p95)}\u202fms`],
      ['Longest reply', `${msText(latency.max)}\u202fms`],
    )
  return html`<tr key=${`${unit.unitId} facts`} class="facts"><td colspan="5"><dl>${facts.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>${unit.lastError ? html`<p class="small soft">${unit.lastError.message}</p>` : null}${histogram(barsOf(unit.histogram))}${isAdmin.value && mayForget(unit) ? html`<div class="acts start"><${Act} run=${forget}>${forgetWords(unit)}</${Act}></div>` : null}</td></tr>`
}

/** Whoever has mended a cable does not wait until a hundred answers are over. */
function forgetWords({ state, unitId }: BusUnit): string {
  return state === 'noisy' ? `Count unit ${unitId} anew` : `Forget unit ${unitId}`
}

/** How long replies took, a bar for each span, with its count beside it. */
function histogram(bars: readonly Bar[]): Child {
  if (bars.length === 0) return null
  return html`<dl class="bars" aria-label="How long replies took">${bars.map(
    (bar) => html`<div key=${bar.toMs}><dt>${bar.toMs === null ? `over ${bar.fromMs}` : `to ${bar.toMs}`}\u202fms</dt>
      <dd><i style=${{ '--share': `${bar.share * 100}%` }}></i>${count(bar.count)}</dd></div>`,
  )}</dl>`
}
