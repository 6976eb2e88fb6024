/** The commissioning report of one line: what is on it, how it does, and every value, as of one moment, to be printed. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallFault, sentenceOf } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { factTable } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, count, dateOf, fixed, listed, msText, timeOf, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, icon, type Judgement, lamp, say, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { UnitView } from '../core/bus/units.ts'
import type { PointList } from '../core/points/book.ts'
import { busApi, type Port, pointsApi } from './api.ts'
import { pointPlace, pointValueText, qualityLits, qualityWords } from './points.ts'
import { noLine } from './port-head.ts'
import { me, portAt, system } from './state.ts'
import * as texts from './texts.ts'
import { deviceOf, framingOf, protocolNames, shortPath } from './words.ts'

adoptStyle('.sign { display: block; min-height: 2.25rem; border-bottom: 1px solid var(--edge); }')

type Point = PointList['points'][number]

/** A line as of one moment. Null: its protocol, or its mode, has none. */
export interface Report {
  atMs: number
  port: Port
  units: UnitView[] | null
  points: Point[] | null
}

/** The page: it is taken when it is opened, and stays as it is until it is taken anew. */
export function ReportPage({ path }: { path: string }): VNode {
  const port = portAt(path)
  const [report, setReport] = useState<Report | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  async function take(): Promise<void> {
    if (!port) return
    try {
      setReport(await reportOf(port))
      setRefused(null)
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    }
  }
  useEffect(() => void take(), [port === null])
  if (!port) return noLine(texts.report, path)
  const acts = html`<div class="acts"><${Act} run=${() => void take()}>${texts.takeAnew}</${Act}><${Act} kind="primary" run=${() => window.print()}>${texts.print}</${Act}></div>`
  return html`<div class="head"><a class="btn quiet icon" href=${linkTo('port', path)} aria-label=${texts.backTo(shortPath(path))}>${icon('back')}</a>
      <h1>${texts.report}</h1><span class="faint small later">${shortPath(path)}</span>${acts}</div>
    ${report ? written(report) : html`<section class="panel">${firstAnswer(refused, texts.takingReport, texts.reportCouldNotBeTaken, () => void take())}</section>`}`
}

async function reportOf(port: Port): Promise<Report> {
  const [units, list] = await Promise.all([orNone(busApi.units(port.path)), orNone(pointsApi.points(port.path))])
  return { atMs: daemonNow(), port, units, points: list?.points ?? null }
}

/** A line without units or points is no fault of the report. */
async function orNone<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked
  } catch (thrown) {
    if (thrown instanceof CallFault && thrown.code === 'wrong_protocol') return null
    throw thrown
  }
}

function instant(atMs: number | null): string {
  return atMs === null ? UNKNOWN : `${dateOf(atMs, zone.value)} ${timeOf(atMs, zone.value)}`
}

function written(report: Report): VNode {
  const { points, units } = report
  return html`${verdict(judgeReport(report))}
    <section class="panel" aria-label=${texts.lineAndBox}><header><h2>${texts.lineAndBox}</h2></header>${factTable(lineFacts(report))}</section>
    ${units ? unitPanel(units) : null}${points ? pointPanel(points) : null}
    <section class="panel" aria-label=${texts.countedOfLine}><header><h2>${texts.countedOfLine}</h2></header>${factTable(countFacts(report.port))}</section>
    ${settingsPanel(report.port)}<section class="panel" aria-label=${texts.signed}><header><h2>${texts.signed}</h2></header>${factTable(
      [
        [texts.takenBy, me.value?.username ?? UNKNOWN],
        [texts.takenAt, instant(report.atMs)],
        [texts.remarks, html`<span class="sign"></span>`],
        [texts.nameAndSignature, html`<span class="sign"></span>`],
      ],
    )}</section>`
}

/** What the report says at the top: whether all of it is well. */
export function judgeReport({ points, port, units }: Report): Judgement {
  if (port.state !== 'open') return { lit: 'fault', sentence: texts.lineIsNotOpen(shortPath(port.path)) }
  const ill = (units ?? []).filter(({ state }) => state !== 'well')
  const old = (points ?? []).filter(({ quality }) => quality !== 'good')
  const why = [
    ill.length > 0 && texts.unitsNotWell(listed(ill.map(({ unitId }) => String(unitId)))),
    old.length > 0 && texts.pointsWithoutValue(listed(old.map(({ name }) => name))),
  ].filter(Boolean)
  if (why.length > 0) return { lit: 'warn', sentence: texts.notAllIsWell(shortPath(port.path)), why: why.join(' ') }
  return { lit: 'ok', sentence: texts.allIsWell(units?.length ?? 0, points?.length ?? 0) }
}

function lineFacts({ port }: Report): [string, Child][] {
  const box = system.value
  return [
    [texts.gatewayName, `${box?.name ?? UNKNOWN} (${location.host}, ${texts.version(box?.version ?? UNKNOWN)})`],
    [texts.deviceOfLine, html`<span class="mono">${port.byId ?? port.path}</span>`],
    [texts.adapterOfLine, deviceOf(port) || UNKNOWN],
    [texts.protocol, port.protocol ? protocolNames[port.protocol] : texts.notSetUp],
    [texts.lineSettings, port.line ? framingOf(port.line) : UNKNOWN],
  ]
}

function settingsPanel({ settings }: Port): VNode {
  const known = Object.entries(settings ?? {}).filter(([, value]) => value !== null && value !== undefined)
  const words = known.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(' · ')
  return html`<section class="panel" aria-label=${texts.protocolSettings}><header><h2>${texts.protocolSettings}</h2></header><p class="in small">${words || UNKNOWN}</p></section>`
}

function unitPanel(units: readonly UnitView[]): VNode {
  const rows = units.map((unit) => {
    const { exceptions, lastError, lastReplyAt, latencyMs, requests, state, timeouts, unitId } = unit
    return html`<tr key=${unitId}><td class="lit">${lamp(state === 'well' ? 'ok' : state === 'silent' ? 'fault' : 'warn', state)}</td><td class="n">${unitId}</td><td>${state}</td>
      <td class="n">${count(requests)}</td><td class="n">${shareText(timeouts, requests)}</td><td class="n">${shareText(damagedOf(unit), requests)}</td><td class="n">${count(exceptions)}</td>
      <td class="n">${msText(latencyMs?.p95)}</td><td class="n">${instant(lastReplyAt)}</td><td class="small">${lastError?.message ?? ''}</td></tr>`
  })
  const table = html`<div class="scroll"><table class="table"><thead><tr><th><span class="sr">State</span></th><th class="n">Unit</th><th>State</th><th class="n">Asked</th><th class="n">No reply</th><th class="n">Damaged</th><th class="n">Refused</th>
      <th class="n">95 % within, ms</th><th class="n">Last reply</th><th>Last fault</th></tr></thead><tbody>${rows}</tbody></table></div>`
  return html`<section class="panel" aria-label="Units"><header><h2>Units</h2></header>${units.length === 0 ? say('off', texts.noUnitAsked, texts.askUnits) : table}</section>`
}

function damagedOf({ badReplies, crcErrors }: UnitView): number {
  return badReplies + crcErrors
}

/** In percent with one decimal, never 0 where there was one. */
export function shareText(part: number, whole: number): string {
  if (whole === 0) return UNKNOWN
  if (part === 0) return '0\u202f%'
  const percent = (100 * part) / whole
  return percent < 0.05 ? '<0.1\u202f%' : `${fixed(percent, 1)}\u202f%`
}

function pointPanel(points: readonly Point[]): VNode {
  const rows = points.map((point) => {
    const { fault, name, quality, readAt, unit, unitId } = point
    return html`<tr key=${name}><td class="lit">${lamp(qualityLits[quality], qualityWords[quality])}</td><td>${name}</td><td class="n">${unitId}</td><td class="faint">${pointPlace(point)}</td>
      <td class="n"><b>${pointValueText(point)}</b>${point.value !== null && unit ? ` ${unit}` : ''}</td><td class="n">${instant(readAt)}</td><td class="small">${quality === 'good' ? '' : (fault?.message ?? qualityWords[quality])}</td></tr>`
  })
  const table = html`<div class="scroll"><table class="table"><thead><tr><th><span class="sr">Quality</span></th><th>Point</th><th class="n">Unit</th><th>Where</th><th class="n">Value</th><th class="n">Read at</th><th>Fault</th></tr></thead><tbody>${rows}</tbody></table></div>`
  return html`<section class="panel" aria-label="Points"><header><h2>Points</h2></header>${points.length === 0 ? say('off', texts.noPoints, texts.reportHasNoPoints) : table}</section>`
}

function countFacts({ counters, errorsLastHour, state, stateSince }: Port): [string, Child][] {
  const { driver, rxBytes, txBytes } = counters ?? {}
  const since = stateSince === null ? UNKNOWN : age(Math.max(0, daemonNow() - stateSince))
  const facts: [string, Child][] = [
    [texts.stateOfLine, `${state ?? UNKNOWN}, ${since}`],
    [texts.bytesReceived, count(rxBytes)],
    [texts.bytesSent, count(txBytes)],
    [texts.errorsInHour, count(errorsLastHour)],
  ]
  if (driver) facts.push([texts.framingErrors, count(driver.frame)], [texts.parityErrors, count(driver.parity)])
  return facts
}
