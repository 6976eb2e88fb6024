/** The points of one line: their values and ages, and everything one can do with them. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lazy } from '#kit/web/lazy.ts'
import { age, count } from '#kit/web/numbers.ts'
import { icon, lamp, say, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { openFeed } from '#kit/web/socket.ts'
import { followRow, rowLinks, Tools, walkRows } from '#kit/web/tools.ts'
import type { Port } from './api.ts'
import {
  ageCell,
  createPointTable,
  faultText,
  judgePoints,
  matchingPoints,
  type PointTable,
  pointPlace,
  qualityLits,
  qualityWords,
  type Shown,
  valueCell,
} from './points.ts'
import { noLine } from './port-head.ts'
import { isAdmin, LOOK_MS, portAt } from './state.ts'
import * as texts from './texts.ts'
import { shortPath } from './words.ts'

const HistoryPage = lazy(async () => (await import('./history-page.ts')).HistoryPage)
const ReportPage = lazy(async () => (await import('./report-page.ts')).ReportPage)
const TestReadPage = lazy(async () => (await import('./test-read-page.ts')).TestReadPage)
const TemplatePicker = lazy(async () => (await import('./point-forms.ts')).TemplatePicker)
const PointForm = lazy(async () => (await import('./point-forms.ts')).PointForm)

/** Selects the links of the rows. */
const LINKS = '.point-rows td.name a'

/**
 * Props of the page. `what`: `new`, `templates`, `point`, `test`, `history`, `report` or nothing; `which`: the unit id of a
 * device to add or to test, the point, or what is known of a new one. Test read, history and report have pages of their
 * own: here, so that the first page carries none.
 */
export interface PointsPageProps {
  path: string
  what?: string
  which?: string
}

/** The page of the points of one line. */
export function PointsPage({ path, what, which }: PointsPageProps): VNode {
  const port = portAt(path)
  if (what === 'history' && which !== undefined) return html`<${HistoryPage} path=${path} name=${which} key=${which} />`
  if (what === 'report') return html`<${ReportPage} path=${path} />`
  if (what === 'test') return html`<${TestReadPage} path=${path} unitId=${which} key=${`test ${path} ${which}`} />`
  if (!port) return noLine(texts.points, path)
  return html`<${Known} port=${port} what=${what} which=${which} key=${port.path} />`
}

function Known({ port, what, which }: { port: Port; what?: string; which?: string }): VNode {
  const [table] = useState<PointTable>(() => createPointTable(port.path))
  const [filter, setFilter] = useState('')
  const look = useLook(table.look, LOOK_MS, port.path)
  useEffect(() => {
    const hear: Parameters<typeof openFeed>[1] = (message) => {
      if (message.type === 'event') table.hear(message)
    }
    const feed = openFeed({ port: port.path, events: ['value'] }, hear, () => {})
    return () => {
      feed.close()
      table.close()
    }
  }, [port.path])
  usePointKeys(port)
  const rows = table.rows.value
  const form = formOf({ port, rows, what, which, again: look.again })
  const name = shortPath(port.path)
  return html`<div class="head"><a class="btn quiet icon" href=${linkTo('port', port.path)} aria-label=${texts.backTo(name)}>${icon('back')}</a><h1>Points of ${name}</h1></div>
    ${rows ? verdict(judgePoints(rows, table.polling.value, table.behind.value, port.state === 'open')) : null}
    <div class=${form ? 'cols with-form' : ''}><section class="panel" aria-label="Points">
      ${rows && rows.length > 0 ? tools(port, filter, setFilter, form !== null) : null}
      ${body({ port, rows, refused: look.refused, filter, which: what === 'point' ? which : undefined, isBeside: form !== null })}</section>${form}</div>`
}

function usePointKeys(port: Port): void {
  const open = (...words: string[]): undefined => {
    if (isAdmin.value) goTo('port', port.path, 'points', ...words)
    return undefined
  }
  useKeys(texts.points, [
    { key: 'n', what: texts.addsDevice, run: () => open('templates') },
    { key: 'a', what: texts.addsPointByHand, run: () => open('new') },
    { key: 'e', what: texts.editsOneWithFocus, run: edit },
    { key: 'ArrowDown', what: texts.nextPoint, run: () => walkRows(LINKS, 1) },
    { key: 'ArrowUp', what: texts.pointBefore, run: () => walkRows(LINKS, -1) },
  ])
}

function edit(): boolean {
  const all = rowLinks(LINKS)
  const chosen = all.find((link) => link === document.activeElement) ?? all[0]
  chosen?.click()
  return chosen !== undefined
}

function tools(port: Port, filter: string, setFilter: (text: string) => void, isBeside: boolean): VNode {
  const acts = isAdmin.value
    ? port.protocol === 'mbus'
      ? html`<a class="btn" href=${linkTo('port', port.path, 'points', 'new')}>Add point</a>`
      : html`${testLink(port)}<a class="btn" href=${linkTo('port', port.path, 'points', 'new')}>Add point</a>
      <a class=${isBeside ? 'btn' : 'btn primary'} href=${linkTo('port', port.path, 'points', 'templates')}>Add device</a>`
    : html`<span class="small faint">An administrator changes points.</span>`
  return html`<${Tools} filter=${filter} setFilter=${setFilter} label="Filter points" placeholder="voltage, unit 17, old">${acts}</${Tools}>`
}

/** Only a master can ask. */
function testLink({ path, protocol, settings }: Port): VNode | null {
  if (protocol !== 'modbus-rtu' || settings?.mode !== 'master') return null
  return html`<a class="btn" href=${linkTo('port', path, 'points', 'test')}>Test read</a>`
}

interface FormFacts {
  port: Port
  rows: readonly Shown[] | null
  what?: string
  which?: string
  again: () => Promise<void>
}

function formOf({ port, rows, what, which, again }: FormFacts): VNode | null {
  if (rows === null) return null
  if (what === 'point') {
    const point = rows.find((row) => row.name === which)
    return point
      ? html`<${PointForm} port=${port} point=${point} rows=${rows} again=${again} key=${`point ${which}`} />`
      : null
  }
  if (!isAdmin.value) return null
  if (what === 'templates')
    return html`<${TemplatePicker} port=${port} rows=${rows} found=${which} again=${again} key=${`device ${which}`} />`
  return what === 'new'
    ? html`<${PointForm} port=${port} draft=${which} rows=${rows} again=${again} key=${`new ${which}`} />`
    : null
}

interface BodyFacts {
  port: Port
  rows: readonly Shown[] | null
  refused: string | null
  filter: string
  which?: string
  /** A form is open beside the table, and has its own buttons. */
  isBeside: boolean
}

function body({ port, rows, refused, filter, which, isBeside }: BodyFacts): Child {
  if (rows === null) {
    if (refused !== null) return say('fault', texts.pointsCouldNotBeRead, refused)
    return say('busy', texts.askingForPointsOfLine, texts.usuallyBrief)
  }
  if (rows.length === 0) return empty(port, isBeside)
  const shown = matchingPoints(rows, filter)
  if (shown.length === 0) return say('off', texts.noPointMatches(filter), texts.areHidden(count(rows.length)))
  return html`<table class="table fold point-rows"><thead><tr><th><span class="sr">Quality</span></th><th>Name</th><th class="narrow-only"></th><th class="n wide">Unit</th><th class="wide">Register</th>
      <th class="n wide">Every</th><th class="n">Value</th><th class="n">Age</th></tr></thead>
    <tbody>${shown.map((row) => pointRow(port, row, row.name === which))}</tbody></table>`
}

function empty(port: Port, isBeside: boolean): VNode {
  const isOfMeters = port.protocol === 'mbus'
  const text = isOfMeters ? texts.whatMeterPointsAre : texts.whatPointsAre
  const first = isOfMeters
    ? html`<a class="btn primary" href=${linkTo('port', port.path)}>Read a meter</a>`
    : html`<a class="btn primary" href=${linkTo('port', port.path, 'points', 'templates')}>Pick a device</a>`
  const acts = html`<div class="acts start">${first}
    <a class="btn" href=${linkTo('port', port.path, 'points', 'new')}>Add point by hand</a>${testLink(port)}</div>`
  return say(
    'off',
    texts.noPoints,
    text,
    isBeside ? null : isAdmin.value ? acts : html`<span>An administrator adds them.</span>`,
  )
}

function pointRow(port: Port, row: Shown, isChosen: boolean): VNode {
  const href = linkTo('port', port.path, 'points', 'point', row.name)
  const isOdd = row.quality === 'bad' || row.quality === 'stale'
  const note = faultText(row)
  return html`<tr key=${row.name} class=${`${isChosen ? 'chosen' : ''} ${row.quality === 'stale' ? 'old-row' : ''}`} onClick=${(event: Event) => followRow(event, href)}>
    <td class="lit">${lamp(qualityLits[row.quality], qualityWords[row.quality])}</td>
    <td class="name"><a href=${href} aria-current=${isChosen || undefined}>${row.name}</a>${isOdd ? html`<span class="under desk-only" data-s=${qualityLits[row.quality]}>${note}</span>` : null}</td>
    <td class="setup narrow-only" data-s=${isOdd ? qualityLits[row.quality] : undefined}>${isOdd ? note : texts.rowUnit(row.unitId)}</td>
    <td class="n wide">${row.unitId}</td><td class="wide faint">${pointPlace(row)}</td>
    <td class="n wide faint">${age(row.pollMs, 1)}</td>${valueCell(row)}${ageCell(row, daemonNow(), false)}</tr>`
}
