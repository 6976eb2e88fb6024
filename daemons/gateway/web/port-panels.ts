/**
 * The panels beside the traffic of a port: units, registers, points, counters, the remedy in the verdict, and the
 * removal. They are loaded together.
 */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { factTable, spark } from '#kit/web/figures.ts'
import { choice, type Form, input, refusal, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { age, capital, count, msText, sinceText, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, lamp, say, toast } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import type { UnitView as BusUnit } from '../core/bus/units.ts'
import type { RegisterTable, RegisterView } from '../core/modbus/slave-registers.ts'
import { api, busApi, type Port } from './api.ts'
import { ageCell, createPointTable, judgePoints, type PointTable, type Shown, valueCell } from './points.ts'
import { Switch } from './port-head.ts'
import { lateOf, replyMs, type UnitView, unitLit, unitWord, waitOf } from './port-verdict.ts'
import { SilentUnit } from './silent-unit.ts'
import { isAdmin, LOOK_MS, lookAtPorts } from './state.ts'
import * as texts from './texts.ts'
import type { Traffic } from './traffic.ts'
import { listOf } from './typed.ts'
import { shortPath, type When } from './words.ts'

// The remedy right beside the verdict of a port.

/** The button with the remedy; none for users who may change nothing. */
export function Remedy({ port, units }: { port: Port; units: readonly UnitView[] }): VNode | null {
  const [isBusy, setBusy] = useState(false)
  if (!isAdmin.value) return null
  const settings = linkTo('port', port.path, 'settings')
  if (!port.configured) return html`<a href=${settings}>Set up ${shortPath(port.path)}</a>`
  if (port.state === 'failed') return html`<a href=${settings}>Look at its settings</a>`
  const longer = port.state === 'open' ? longerWait(port, units) : null
  if (!longer) return null
  const before = waitOf(port)
  async function run(waitMs: number): Promise<void> {
    setBusy(true)
    const changed = await setWait(port, waitMs)
    setBusy(false)
    if (!changed) return
    toast(texts.waitsLongerNow(shortPath(port.path), waitMs), () => void setWait(changed, before))
  }
  return html`<${Act} kind="remedy" waits=${isBusy} run=${() => void run(longer.waitMs)}>Wait ${longer.waitMs}\u202fms for unit ${longer.unitId}</${Act}>`
}

/** @returns the changed port; undefined if the change was refused, which a toast reports */
async function setWait(port: Port, waitMs: number): Promise<Port | undefined> {
  if (!port.protocol || !port.line) return undefined
  try {
    const settings = { ...port.settings, response_timeout_ms: waitMs }
    const body = { protocol: port.protocol, line: { ...port.line }, settings }
    const changed = await api.setUpPort(port.path, body, port.revision ?? undefined)
    await lookAtPorts()
    return changed
  } catch (thrown) {
    toast(sentenceOf(thrown))
    return undefined
  }
}

/** The longest response timeout that the gateway accepts. */
const LONGEST_WAIT_MS = 60_000

/**
 * The response timeout that a late unit needs: 15 % more than its longest reply time, rounded up to 100 ms; null if
 * none.
 */
export function longerWait(port: Port, units: readonly UnitView[]): { unitId: number; waitMs: number } | null {
  if ((port.settings?.mode ?? 'master') !== 'master') return null
  const slow = units.filter(({ state }) => state === 'slow')
  const first = slow.toSorted((a, b) => (lateOf(b) ?? 0) - (lateOf(a) ?? 0))[0]
  const lateMs = first ? lateOf(first) : null
  if (!first || lateMs === null || lateMs < waitOf(port)) return null
  const waitMs = Math.ceil((lateMs * 1.15) / 100) * 100
  return waitMs > waitOf(port) && waitMs <= LONGEST_WAIT_MS ? { unitId: first.unitId, waitMs } : null
}

// The removal of one port.

/** Removes the port after a confirmation; on phones there is also a button to close it. */
export function Removal({ port }: { port: Port }): VNode {
  const [isAsked, setAsked] = useState(false)
  const name = shortPath(port.path)
  async function run(): Promise<void> {
    try {
      await api.removePort(port.path)
      await lookAtPorts()
      toast(texts.isRemoved(name))
      goTo('ports')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  const text = texts.removingMeans(port.webhooks)
  return html`<div class="end"><a class="btn" href=${linkTo('port', port.path, 'points', 'report')}>${texts.report}</a>${port.state === 'closed' ? null : html`<span class="thumb"><${Switch} port=${port} /></span>`}<${Act} kind="danger" run=${() => setAsked(true)}>Remove port</${Act}></div>
    ${isAsked ? html`<${Confirm} title=${texts.removeQuestion(name)} text=${text} act="Remove port" keep="Keep port" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}

// All counters of a port.

const COUNTER_NAMES: Record<string, string> = {
  rxBytes: texts.bytesReceived,
  txBytes: texts.bytesSent,
  rxFrames: texts.framesReceived,
  txFrames: texts.framesSent,
}

/** `lateReplies` reads `Late replies`. */
function counterName(name: string): string {
  const words = name.replaceAll(/([A-Z])/g, ' $1').toLowerCase()
  return COUNTER_NAMES[name] ?? capital(words)
}

/** The counters panel; empty if the port is not set up. */
export function Counted({ port }: { port: Port }): VNode | null {
  const { counters } = port
  if (!counters) return null
  const { driver, ...own } = counters
  const all = Object.entries(own).filter(([, value]) => typeof value === 'number')
  const told = all.filter(([name, value]) => value !== 0 || name in COUNTER_NAMES)
  const rows: [string, Child][] = told.map(([name, value]) => [counterName(name), count(value)])
  if (driver) {
    rows.push([texts.framingErrors, count(driver.frame)], [texts.parityErrors, count(driver.parity)])
    rows.push([texts.breaks, count(driver.brk)], [texts.lostInDriver, count(driver.overrun + driver.buf_overrun)])
  } else if (port.state === 'open')
    rows.push([texts.framingErrors, html`<span title="This line's driver does not count them">n/a</span>`])
  return html`<section class="panel" aria-label="Counted"><header><h2>Counted</h2><span class="faint">since it was set up or started</span></header>
    ${factTable(rows, 'tight')}
    ${all.length > told.length ? html`<p class="foot small faint">${all.length - told.length} other counters: 0</p>` : null}</section>`
}

// What is counted of one unit: facts by name, and how long its replies took.

/** The facts of a unit as name and text, without those that never happened. */
export function unitFacts(bus: BusUnit, { nowMs }: When): [name: string, text: string][] {
  const facts: [string, string][] = [
    [texts.requests, count(bus.requests)],
    [texts.replies, count(bus.replies)],
  ]
  const wrong: [string, number][] = [
    [texts.withoutReply, bus.timeouts],
    [texts.lateReplies, bus.lateReplies],
    [texts.exceptions, bus.exceptions],
    [texts.checksumErrors, bus.crcErrors],
    [texts.wrongReplies, bus.badReplies],
    [texts.cameTwice, bus.copies],
  ]
  for (const [name, value] of wrong) if (value > 0) facts.push([name, count(value)])
  const { damaged, exchanges, missing, twice } = bus.lately
  const bad = [
    damaged > 0 && texts.damaged(damaged),
    missing > 0 && texts.missing(missing),
    twice > 0 && texts.twice(twice),
  ]
  if (damaged + missing + twice > 0) facts.push([texts.ofTheLast(exchanges), bad.filter(Boolean).join(', ')])
  facts.push([
    texts.lastReply,
    bus.lastReplyAt === null ? texts.noneYet : texts.ago(age(Math.max(0, nowMs - bus.lastReplyAt), 1)),
  ])
  if (bus.heldUntil !== null && bus.heldUntil > nowMs)
    facts.push([texts.heldBack, texts.more(age(bus.heldUntil - nowMs, 1))])
  return facts
}

/**
 * Whether the unit may be removed from the verdict: one that does not answer, such as a number asked by mistake, and
 * one that was noisy until its cable was repaired.
 */
export function mayForget({ replies, lateReplies, state }: BusUnit): boolean {
  return ['silent', 'probing', 'noisy'].includes(state) || (state !== 'well' && replies + lateReplies === 0)
}

/** A bar of the histogram: replies that took from `fromMs` to `toMs` (null: longer than all bounds). */
export interface Bar {
  fromMs: number
  toMs: number | null
  count: number
  /** The length relative to the fullest bar, 0..1. */
  share: number
}

/** The bars from cumulative counts, without the empty ones at both ends. */
export function barsOf(histogram: BusUnit['histogram']): Bar[] {
  const bars = histogram.map(({ leMs, count: within }, at) => ({
    fromMs: histogram[at - 1]?.leMs ?? 0,
    toMs: leMs,
    count: within - (histogram[at - 1]?.count ?? 0),
  }))
  const first = bars.findIndex((bar) => bar.count > 0)
  const last = bars.findLastIndex((bar) => bar.count > 0)
  if (first < 0) return []
  const most = Math.max(...bars.map((bar) => bar.count))
  return bars.slice(first, last + 1).map((bar) => ({ ...bar, share: bar.count / most }))
}

// The units of a line: lamp, word and reply time; a row opens the unit's counts.

/** Props of the units panel. */
export interface UnitsPanelProps {
  port: Port
  units: readonly UnitView[]
  /** Why the units could not be fetched; null if they could. */
  refused: string | null
  /** Fetches them anew. */
  again(): Promise<void>
}

/** The units panel. */
export function UnitsPanel({ port, units, refused, again }: UnitsPanelProps): VNode {
  const [opened, setOpened] = useState<number | null>(null)
  const isListening = port.settings?.mode === 'listen'
  const scan = isListening
    ? null
    : html`<div class="acts"><a class="btn quiet" href=${linkTo('port', port.path, 'scan')}>${isAdmin.value ? texts.scan : texts.lastScan}</a></div>`
  async function forget(unitId: number): Promise<void> {
    const isNoisy = units.find((view) => view.unitId === unitId)?.state === 'noisy'
    try {
      await busApi.forgetUnit(port.path, unitId)
      setOpened(null)
      toast(texts.unitIsForgotten(unitId, isNoisy))
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await Promise.all([again(), lookAtPorts()])
  }
  const note = units.length === 0 ? '' : isListening ? texts.heardInLastMinute : texts.onLine(units.length)
  return html`<section class="panel" aria-label="Units"><header><h2>Units</h2><span class="faint grow">${note}</span>${scan}</header>
    ${units.length === 0 ? empty(isListening, refused) : rows(port, units, { opened, setOpened, forget })}</section>`
}

function empty(isListening: boolean, refused: string | null): VNode {
  if (refused !== null) return say('fault', texts.unitsCouldNotBeRead, refused)
  if (isListening) return say('off', texts.noUnitHeard, texts.unitsAppearWhenAsked)
  return say('off', texts.noUnitAsked, texts.askUnits)
}

interface RowActs {
  opened: number | null
  setOpened(unitId: number | null): void
  forget(unitId: number): Promise<void>
}

function rows(port: Port, units: readonly UnitView[], { opened, setOpened, forget }: RowActs): VNode {
  return html`<table class="table tight units"><colgroup><col class="c1" /><col class="c2" /><col /><col class="c4" /><col class="c5" /></colgroup><thead class="sr"><tr><th>State</th><th>Unit</th><th>How it does</th><th>Reply times</th><th>Usual reply</th></tr></thead>
    <tbody>${units.flatMap((view) => {
      const isOpen = view.unitId === opened
      const row = unitRow(view, isOpen, () => setOpened(isOpen ? null : view.unitId))
      return isOpen && view.bus ? [row, factsRow(port, view.bus, units, () => void forget(view.unitId))] : [row]
    })}</tbody></table>`
}

function unitRow(view: UnitView, isOpen: boolean, toggle: () => void): VNode {
  const lit = unitLit(view)
  const took = replyMs(view)
  const word = unitWord(view, { nowMs: daemonNow(), zone: zone.value })
  const id = view.bus
    ? html`<button class="link" type="button" aria-expanded=${isOpen} aria-label=${texts.unitAndWord(view.unitId, word)}><b>${view.unitId}</b></button>`
    : html`<b>${view.unitId}</b>`
  return html`<tr key=${view.unitId} class=${isOpen ? 'chosen' : ''} onClick=${view.bus ? toggle : undefined}>
    <td class="lit">${lamp(lit, true)}</td><td class="n id">${id}</td><td class="how">${word}</td>
    <td class="sparks">${spark(view.seen?.history.slice(-20))}</td>
    <td class="n ms">${msText(took)}${took === null ? '' : html` <span class="unit">ms</span>`}</td></tr>`
}

/** In these states a unit does not answer. */
const SILENT: readonly BusUnit['state'][] = ['silent', 'probing', 'failing']

function factsRow(port: Port, unit: BusUnit, units: readonly UnitView[], forget: () => void): VNode {
  const facts = unitFacts(unit, { nowMs: daemonNow(), zone: zone.value })
  const latency = unit.latencyMs
  if (latency)
    facts.push(
      [texts.reply95Within, `${msText(latency.p95)}\u202fms`],
      [texts.longestReply, `${msText(latency.max)}\u202fms`],
    )
  return html`<tr key=${`${unit.unitId} facts`} class="facts"><td colspan="5"><dl>${facts.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>${unit.lastError ? html`<p class="small soft">${unit.lastError.message}</p>` : null}${SILENT.includes(unit.state) ? html`<${SilentUnit} port=${port} unit=${unit} units=${units.flatMap(({ bus }) => bus ?? [])} />` : null}${histogram(barsOf(unit.histogram))}${isAdmin.value && mayForget(unit) ? html`<div class="acts start"><${Act} run=${forget}>${forgetWords(unit)}</${Act}></div>` : null}</td></tr>`
}

/** After a cable was repaired nobody should have to wait for a hundred exchanges. */
function forgetWords({ state, unitId }: BusUnit): string {
  return state === 'noisy' ? texts.countUnitFromZero(unitId) : texts.forgetUnit(unitId)
}

/** How long replies took: a bar for each span, with its count beside it. */
function histogram(bars: readonly Bar[]): Child {
  if (bars.length === 0) return null
  return html`<dl class="bars" aria-label="How long replies took">${bars.map(
    (bar) => html`<div key=${bar.toMs}><dt>${bar.toMs === null ? texts.over(bar.fromMs) : texts.upTo(bar.toMs)}</dt>
      <dd><i style=${{ '--share': `${bar.share * 100}%` }}></i>${count(bar.count)}</dd></div>`,
  )}</dl>`
}

// The registers that a slave serves to the master on its line; they can be read and set by hand.

/** The names of the tables. */
export const tableNames: readonly (readonly [RegisterTable, string])[] = [
  ['holding_registers', texts.holdingRegisters],
  ['input_registers', texts.inputRegisters],
  ['coils', texts.coils],
  ['discrete_inputs', texts.discreteInputs],
]

interface Block {
  table: RegisterTable
  address: number
  quantity: number
}

/** How many registers are shown at once. */
const MOST = 16

/** The registers panel. */
export function RegistersPanel({ port }: { port: Port }): VNode {
  const units = listed(port.settings?.slave_units)
  const blocks = (Array.isArray(port.settings?.slave_blocks) ? port.settings.slave_blocks : []) as Block[]
  const first = blocks[0]
  const form = useForm({
    unitId: units[0] ?? '1',
    table: first?.table ?? 'holding_registers',
    address: String(first?.address ?? 0),
    values: '',
  })
  const [known, setKnown] = useState<RegisterView | null>(null)
  const range = rangeOf(form, blocks)
  const { refused, again } = useLook(
    async () => {
      if (blocks.length > 0) setKnown(await busApi.registers(port.path, range))
    },
    LOOK_MS,
    JSON.stringify(range),
  )
  const choices = html`${choice({ form, name: 'unitId', label: texts.unit, options: units.map((unit) => [unit, unit] as const) })}
    ${choice({ form, name: 'table', label: texts.table, kind: 'more', options: tableNames })}${input({ form, name: 'address', label: texts.from, type: 'number' })}`
  return html`<section class="panel" aria-label="Registers"><header><h2>Registers</h2><span class="faint">served to the master</span></header>
    ${
      blocks.length === 0
        ? say('off', texts.noRegisters, texts.chooseServedRegisters)
        : html`<div class="in console">${choices}</div>
      ${refused === null ? values(known) : say('off', texts.notServed, refused)}
      ${isAdmin.value ? html`<${Write} port=${port} form=${form} again=${again} />` : null}`
    }</section>`
}

function listed(units: unknown): string[] {
  return Array.isArray(units) ? units.map(String) : []
}

/** The registers to show: from the typed address to the end of its block. */
function rangeOf(
  form: Form,
  blocks: readonly Block[],
): { unitId: number | string; table: string; address: number | string; quantity: number } {
  const { unitId, table, address } = form.values.value
  const from = typedNumber(address)
  const block = blocks.find(
    (each) =>
      each.table === table && typeof from === 'number' && from >= each.address && from < each.address + each.quantity,
  )
  const left = block && typeof from === 'number' ? block.address + block.quantity - from : 1
  return { unitId: typedNumber(unitId), table: String(table), address: from, quantity: Math.min(MOST, left) }
}

function values(known: RegisterView | null): Child {
  if (known === null) return null
  const written =
    known.writtenAt === null
      ? texts.nothingWasWrittenHereYet
      : texts.lastWritten(sinceText(known.writtenAt, daemonNow(), zone.value))
  return html`<div class="in"><ul class="values">${known.values.map((value, at) => {
    const hex = value !== null && value > 1 ? value.toString(16).toUpperCase().padStart(4, '0') : ''
    return html`<li key=${at}><span class="faint">${known.address + at}</span><b>${value ?? UNKNOWN}</b><span class="mono faint">${hex}</span></li>`
  })}</ul><p class="small faint">${written}${known.values.includes(null) ? texts.refusedUntilIsWritten(UNKNOWN) : ''}</p></div>`
}

function Write({ port, form, again }: { port: Port; form: Form; again: () => Promise<void> }): VNode {
  async function save(): Promise<void> {
    const { unitId, table, address, values: typed } = form.values.value
    const list = listOf(String(typed))
    await busApi.writeRegisters(port.path, {
      unitId: typedNumber(unitId),
      table,
      address: typedNumber(address),
      values: list,
    })
    form.set('values', '')
    await again()
    toast(texts.valuesAreSet(list.length, address))
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form onSubmit=${submit} novalidate aria-label="Set values"><footer class="in stack"><div class="console">${input({ form, name: 'values', label: texts.setFrom, kind: 'more', placeholder: '215, 0x10' })}
    <${Act} type="submit" waits=${form.isBusy.value}>Set</${Act}></div>${refusal(form)}</footer></form>`
}

/** How many points are shown beside the traffic. */
const MOST_POINTS = 8

/** The points panel. */
export function PointsPart({ port, traffic }: { port: Port; traffic: Traffic }): VNode {
  const [table] = useState<PointTable>(() => createPointTable(port.path))
  const { refused } = useLook(table.look, LOOK_MS, port.path)
  useEffect(() => {
    const stop = traffic.onOther(table.hear)
    return () => {
      stop()
      table.close()
    }
  }, [traffic])
  const rows = table.rows.value
  const all = linkTo('port', port.path, 'points')
  const note = rows && rows.length > MOST_POINTS ? texts.firstOfPoints(MOST_POINTS, count(rows.length)) : ''
  const act = rows && rows.length > 0 ? html`<a class="btn quiet" href=${all}>All</a>` : null
  return html`<section class="panel" aria-label="Points"><header><h2>Points</h2><span class="faint grow">${note}</span><div class="acts">${act}</div></header>
    ${body(rows, refused, port)}${rows && rows.length > 0 ? odd(rows, table, port) : null}</section>`
}

function body(rows: readonly Shown[] | null, refused: string | null, port: Port): Child {
  if (rows === null) return refused === null ? null : say('fault', texts.pointsCouldNotBeRead, refused)
  if (rows.length === 0) {
    if (port.protocol === 'mbus') return say('off', texts.noPoints, texts.whatMeterPointsAre)
    const add = html`<a class="btn" href=${linkTo('port', port.path, 'points', 'templates')}>Pick a device</a>`
    return say('off', texts.noPoints, texts.whatPointsAreInShort, isAdmin.value ? add : null)
  }
  const shown = [...rows].sort((a, b) => rank(a) - rank(b)).slice(0, MOST_POINTS)
  return html`<table class="table tight points"><thead class="sr"><tr><th>Name</th><th>Value</th><th>Age</th></tr></thead>
    <tbody>${shown.map((row) => html`<tr key=${row.name} class=${row.quality === 'stale' ? 'stale' : ''}><td class="point-name">${row.name}</td>${valueCell(row)}${ageCell(row, daemonNow())}</tr>`)}</tbody></table>`
}

/** Shows under the points what is wrong with reading them; nothing if all is well. */
function odd(rows: readonly Shown[], table: PointTable, port: Port): VNode | null {
  const { lit, sentence } = judgePoints(rows, table.polling.value, table.behind.value, port.state === 'open')
  return lit === 'warn' || lit === 'fault' ? html`<p class="foot small odd">${lamp(lit)} ${sentence}</p>` : null
}

/** Points that are not well come first; the others stay in the order of the table. */
function rank({ quality }: Shown): number {
  return quality === 'bad' ? 0 : quality === 'stale' ? 1 : 2
}
