/** The audit page: sentences of who did what, and what came of it; dates are picked in the site's zone. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { instantOf } from '#kit/pure/wall-time.ts'
import { NoContact, sentenceOf } from '#kit/web/call.ts'
import { daemonNow, isLost, zone } from '#kit/web/contact.ts'
import { segments } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lazy } from '#kit/web/lazy.ts'
import { dateOf, many, timeOf } from '#kit/web/numbers.ts'
import { Act, lamp, say } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { focusMain } from '#kit/web/shell.ts'
import { filterInput } from '#kit/web/tools.ts'
import { type AuditEntry, type AuditPage as AuditRows, api } from './api.ts'
import { auditSentence, outcomeLit, reasonChoices } from './audit-words.ts'
import * as texts from './texts.ts'

const AuditDetails = lazy(async () => (await import('./audit-details.ts')).AuditDetails)

/** The filter of the list. */
export interface AuditChoice {
  outcome: 'all' | 'trouble' | 'done'
  user: string
  /** Part of a name, or an id. */
  zone: string
  device: string
  reason: string
  /** Hours back, `picked` to use `from` and `until`, empty for all. */
  hours: string
  /** Wall time of the site as picked, `2031-03-09T14:00`; empty if open on that side. */
  from: string
  until: string
}

/** What was refused or failed: that is why one opens the audit. */
export const FIRST_CHOICE: AuditChoice = {
  outcome: 'trouble',
  user: '',
  zone: '',
  device: '',
  reason: '',
  hours: '',
  from: '',
  until: '',
}

/** The controller's time in epoch ms, and the site's zone. */
interface AuditTime {
  nowMs: number
  zone: string | undefined
}

const MINUTE_MS = 60_000

/** Start (inclusive) and end (exclusive); undefined if open on that side. */
function auditSpan({ hours, from, until }: AuditChoice, { nowMs, zone }: AuditTime) {
  const at = (text: string): number | undefined => {
    const ms = instantOf(text, zone)
    return Number.isNaN(ms) ? undefined : Math.max(0, ms)
  }
  if (hours === '') return { fromMs: undefined, untilMs: undefined }
  if (hours !== 'picked') return { fromMs: Math.floor(nowMs - Number(hours) * 3_600_000), untilMs: undefined }
  const last = at(until)
  // An end of 14:30 includes the calls of 14:30.
  return { fromMs: at(from), untilMs: last === undefined ? undefined : last + MINUTE_MS }
}

/** Whether nothing can match: the span ends before it begins. */
export function isBackward(choice: AuditChoice, time: AuditTime): boolean {
  const { fromMs, untilMs } = auditSpan(choice, time)
  return fromMs !== undefined && untilMs !== undefined && untilMs <= fromMs
}

/** The query for a filter. */
export function auditQuery(choice: AuditChoice, time: AuditTime, before: number | null): string {
  const query = new URLSearchParams({ limit: '100' })
  if (choice.outcome !== 'all') query.set('trouble', String(choice.outcome === 'trouble'))
  for (const part of ['user', 'zone', 'device'] as const)
    if (choice[part].trim() !== '') query.set(part, choice[part].trim())
  if (choice.reason !== '') query.set('reason', choice.reason)
  const { fromMs, untilMs } = auditSpan(choice, time)
  if (fromMs !== undefined) query.set('from', String(fromMs))
  if (untilMs !== undefined) query.set('to', String(untilMs))
  if (before !== null) query.set('before', String(before))
  return query.toString()
}

// The filter controls above the list: outcome, user, path, reason, and the span of time.

const TIMES = [
  ['', texts.anyTime],
  ['1', texts.lastHour],
  ['24', texts.lastDay],
  ['168', texts.lastWeek],
  ['picked', 'from … until …'],
] as const

/** Properties of the filter controls. */
interface AuditToolsFacts {
  choice: AuditChoice
  choose(choice: AuditChoice): void
  children?: Child
}

/** The filter controls. Times are those of the building, which may differ from the reader's. */
function AuditTools({ choice, choose, children }: AuditToolsFacts): VNode {
  const change = (part: Partial<AuditChoice>): void => choose({ ...choice, ...part })
  const isDone = choice.outcome === 'done'
  return html`<header class="tools audit-tools">
    ${segments({
      label: texts.outcome,
      name: 'outcome',
      value: choice.outcome,
      options: [
        ['trouble', texts.refusedOrFailed],
        ['done', texts.wasDone],
        ['all', texts.all],
      ],
      choose: (outcome) =>
        change({ outcome: outcome as AuditChoice['outcome'], reason: outcome === 'done' ? '' : choice.reason }),
    })}
    ${filterInput({ filter: choice.user, setFilter: (user) => change({ user }), label: texts.filterByUser, placeholder: texts.user, isFirst: true })}
    ${filterInput({ filter: choice.zone, setFilter: (zone) => change({ zone }), label: texts.filterByZone, placeholder: texts.zoneOf })}
    ${filterInput({ filter: choice.device, setFilter: (device) => change({ device }), label: texts.filterByDevice, placeholder: texts.deviceOf })}
    ${select({ label: texts.filterByReason, value: choice.reason, options: [['', texts.anyReason], ...reasonChoices], isOff: isDone, pick: (reason) => change({ reason }) })}
    ${select({ label: texts.filterByTime, value: choice.hours, options: TIMES, pick: (hours) => change({ hours }) })}
    <div class="acts">${children}</div>
    ${choice.hours === 'picked' ? span(choice, change) : null}</header>`
}

interface SelectFacts {
  label: string
  value: string
  options: readonly (readonly [value: string, words: string])[]
  isOff?: boolean
  pick(value: string): void
}

function select({ label, value, options, isOff, pick }: SelectFacts): VNode {
  const picked = (event: Event): void => pick((event.target as HTMLSelectElement).value)
  return html`<div class="input"><select aria-label=${label} value=${value} disabled=${isOff} onChange=${picked}>
    ${options.map(([each, words]) => html`<option value=${each} selected=${each === value}>${words}</option>`)}</select></div>`
}

/** Both ends of a picked span; one may stay open. */
function span(choice: AuditChoice, change: (part: Partial<AuditChoice>) => void): VNode {
  const end = (name: 'from' | 'until', label: string): VNode => html`<label class="span-end"><span>${label}</span>
    <span class="input"><input type="datetime-local" value=${choice[name]}
      onChange=${(event: Event) => change({ [name]: (event.target as HTMLInputElement).value })} /></span></label>`
  return html`<div class="span">${end('from', texts.from)}${end('until', texts.until)}
    <span class="small faint">${zone.value ? texts.timeOfBuilding(zone.value) : texts.timeOfBrowser}</span></div>`
}

// The page.
/** A filter is applied after typing pauses: each search is itself recorded in the audit. */
const REST_MS = 400

export function AuditPage(): VNode {
  const [choice, setChoice] = useState(FIRST_CHOICE)
  const [rows, setRows] = useState<AuditEntry[] | null>(null)
  const [before, setBefore] = useState<number | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [opened, setOpened] = useState<number | null>(null)

  /** The filter that is requested, and the one that was answered last. */
  const latest = useRef('')
  const answered = useRef('')
  const about = JSON.stringify(choice)

  async function read(older: number | null): Promise<void> {
    latest.current = about
    setBusy(true)
    try {
      const isVain = isBackward(choice, time())
      const page = isVain ? NOTHING : await api.audit(auditQuery(choice, time(), older))
      // Only the latest request counts, whichever answer comes first.
      if (latest.current !== about) return
      answered.current = about
      setRows((known) => (older === null || known === null ? page.rows : [...known, ...page.rows]))
      setBefore(page.before)
      setRefused(null)
    } catch (thrown) {
      if (!(thrown instanceof NoContact)) setRefused(sentenceOf(thrown))
    } finally {
      setBusy(false)
    }
  }
  // A request that failed for lack of contact is repeated when contact is back.
  const isBack = !isLost.value
  useEffect(() => {
    if (!isBack || answered.current === about) return
    const timer = setTimeout(() => void read(null), rows === null ? 0 : REST_MS)
    return () => clearTimeout(timer)
  }, [about, isBack])
  // The button disappears with what it ends.
  function showAll(): void {
    setChoice({ ...FIRST_CHOICE, outcome: 'all' })
    focusMain()
  }
  const again = html`<${Act} waits=${isBusy} run=${() => void read(null)}>Read again</${Act}>`
  const older = html`<${Act} waits=${isBusy} run=${() => void read(before)}>Older</${Act}>`
  return html`<div class="head"><h1>Audit</h1><span class="faint small later">what was asked of this controller, newest first</span>
      <a class="btn quiet" href=${linkTo('today')}>Today</a></div>
    <section class="panel" aria-label="Calls"><${AuditTools} choice=${choice} choose=${setChoice}>${again}</${AuditTools}>
      ${refused === null ? null : html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p>`}
      ${rows?.length === 0 ? nothing(choice, showAll, before === null ? null : older) : table(rows, { opened, open: setOpened })}
      ${
        rows && rows.length > 0
          ? html`<footer class="account"><span class="small faint">${many(rows.length, 'call')}${before === null ? texts.allFit : ''}</span>
        ${before === null ? null : older}</footer>`
          : null
      }
    </section>`
}

const NOTHING: AuditRows = { rows: [], before: null }

function time(): AuditTime {
  return { nowMs: daemonNow(), zone: zone.value }
}

interface Opening {
  opened: number | null
  open(id: number | null): void
}

function table(rows: AuditEntry[] | null, opening: Opening): Child {
  if (rows === null) return say('busy', texts.askingForRecord, texts.newest100Calls)
  return html`<table class="table fold journal audit"><thead><tr><th class="lit"><span class="sr">State</span></th><th>What happened</th><th class="when">When</th><th class="wide">From</th></tr></thead>
    <tbody>${rows.flatMap((entry) => rowsOf(entry, opening))}</tbody></table>`
}

/** @param older shown if one search did not look at everything */
function nothing(choice: AuditChoice, showAll: () => void, older: VNode | null): Child {
  const all = html`<div class="acts start">${older}<button class="btn" type="button" onClick=${showAll}>Show all calls</button></div>`
  if (isBackward(choice, time())) return say('warn', texts.untilLiesBefore, texts.noCallCanMatch, all)
  if (older !== null) return say('off', texts.noneOfNewestMatches, texts.olderWereNotSearched, all)
  const { outcome, ...others } = choice
  if (Object.values(others).some((part) => part !== ''))
    return say('off', texts.noCallFitsChoice, texts.noCallMatchesAll, all)
  if (outcome === 'trouble') return say('ok', texts.noCallWasRefused, texts.grantedAreUnderAll, all)
  return say('off', texts.nothingWasAskedYet, texts.everyCallOfRestApi)
}

function rowsOf(entry: AuditEntry, { opened, open }: Opening): VNode[] {
  const { id, at, granted, client_ip: from } = entry
  const lit = outcomeLit(entry)
  const isOpen = opened === id
  const toggle = (): void => open(isOpen ? null : id)
  const isToday = dateOf(at, zone.value) === dateOf(daemonNow(), zone.value)
  const when = `${isToday ? '' : `${dateOf(at, zone.value)} `}${timeOf(at, zone.value)}`
  const press = (event: Event): void => {
    event.stopPropagation()
    toggle()
  }
  const row = html`<tr key=${id} class=${isOpen ? 'chosen' : ''} onClick=${toggle}>
    <td class="lit">${lamp(lit, granted ? (lit === 'ok' ? texts.grantedLit : texts.grantedSeeOutcome) : texts.refusedLit)}</td>
    <td class="name"><button class="link" type="button" aria-expanded=${isOpen} onClick=${press}>${auditSentence(entry)}</button></td>
    <td class="when">${when}</td><td class="wide mono faint">${from}</td></tr>`
  return isOpen
    ? [row, html`<tr key=${`${id} facts`} class="facts"><td colspan="4"><${AuditDetails} entry=${entry} /></td></tr>`]
    : [row]
}
