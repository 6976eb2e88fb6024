/** Today: what is wrong now, and what was: since when, how long, how often, and who saw to it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { LedgerEntry, Severity } from '../records/ledger-entry.ts'
import { call, sentenceOf, useLook } from './call.ts'
import { daemonNow, zone } from './contact.ts'
import { download, saveFrom } from './copy-and-save.ts'
import { type Child, html } from './html.ts'
import { age, dateOf, many, sinceText, timeOf } from './numbers.ts'
import { Act, type Judgement, type Lit, lamp, say, toast, verdict } from './parts.ts'
import * as texts from './texts.ts'
import { Tools } from './tools.ts'

/** The answer of the list. */
interface LedgerAnswer {
  entries: LedgerEntry[]
  open: Record<Severity, number>
  keptSince: number
}

/** Entries per request that are over, and that last. */
export const PAGE = 100
const MOST_OPEN = 500

const LOOK_MS = 5000

/** What a daemon's page says about its ledger. */
export interface TodayFacts {
  /** Where its routes begin: `/api/ledger`. */
  path: `/${string}`
  mayAcknowledge: boolean
  /** Whether the daemon takes forms instead of JSON. */
  takesForms?: boolean
  /** Whether the browser itself carries the credentials; else a file needs a ticket. */
  hasCookie?: boolean
  /** Grows when the daemon says that something has changed: the page asks at once. */
  revision?: number
  /** How a place is displayed; the plain text by default. */
  nameWhere?: (where: string) => string
  /** Beside the heading: a link to the journal. */
  more?: Child
}

/** What is shown. */
interface Known {
  of: string
  open: LedgerEntry[]
  over: LedgerEntry[]
  counts: Record<Severity, number>
  keptSince: number
  isWhole: boolean
}

/** The page. */
export function TodayPage(facts: TodayFacts): VNode {
  const { path, mayAcknowledge, hasCookie, takesForms, nameWhere = (where) => where, more, revision = 0 } = facts
  const [filter, setFilter] = useState('')
  const [known, setKnown] = useState<Known | null>(null)
  const [isBusy, setBusy] = useState(false)
  const about = filter.trim()
  const { refused, again } = useLedger(path, about, revision, setKnown)

  async function act(work: () => Promise<unknown>): Promise<void> {
    setBusy(true)
    try {
      await work()
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    setBusy(false)
  }
  async function acknowledge(id: number): Promise<void> {
    await call(`POST ${path}/acknowledge`, takesForms ? new URLSearchParams({ id: String(id) }) : { id })
    await again()
  }
  const save = async () => (hasCookie ? saveFrom(`${path}/export`) : await download(`${path}/export`))
  async function older(): Promise<void> {
    const last = known?.over.at(-1)
    if (!known || !last) return
    const { entries } = await ask(path, { open: false, where: about, before: last.id })
    setKnown({ ...known, over: merged(known.over, entries), isWhole: entries.length < PAGE })
  }
  const row = (entry: LedgerEntry) =>
    entryRow(entry, nameWhere, mayAcknowledge ? () => void act(() => acknowledge(entry.id)) : undefined)
  const waits = isBusy
  return html`<div class="head"><h1>Today</h1><span class="faint small later">what is wrong, and what was</span>${more}</div>
    ${known ? verdict(judge(known, about)) : null}
    <section class="panel" aria-label="Entries"><${Tools} filter=${filter} setFilter=${setFilter} label=${texts.filterByPlace} placeholder=${texts.place}>
        <${Act} waits=${waits} run=${() => void act(save)}>Export</${Act}></${Tools}>
      ${body(known, refused, about, row)}
      ${
        known && known.over.length > 0 && !known.isWhole
          ? html`<footer class="account"><span class="small faint">${many(known.over.length, 'entry', 'entries')} that ended</span>
        <${Act} waits=${waits} run=${() => void act(older)}>Older</${Act}></footer>`
          : null
      }</section>`
}

/** Asks every few seconds, at each change, and when the filter changes. */
function useLedger(
  path: TodayFacts['path'],
  about: string,
  revision: number,
  setKnown: (next: (before: Known | null) => Known) => void,
) {
  async function look(): Promise<void> {
    const [lasting, past] = await Promise.all([
      ask(path, { open: true, where: about }),
      ask(path, { open: false, where: about }),
    ])
    setKnown((before) => ({
      ...{ of: about, open: lasting.entries, counts: lasting.open, keptSince: lasting.keptSince },
      over: before?.of === about ? merged(past.entries, before.over) : past.entries,
      isWhole: past.entries.length < PAGE || (before?.of === about && before.isWhole),
    }))
  }
  const { refused } = useLook(look, LOOK_MS, `${about} ${revision}`)
  return { refused, again: look }
}

function ask(path: TodayFacts['path'], of: { open: boolean; where: string; before?: number }): Promise<LedgerAnswer> {
  const query = new URLSearchParams({ open: String(of.open), limit: String(of.open ? MOST_OPEN : PAGE) })
  if (of.where !== '') query.set('where', of.where)
  if (of.before !== undefined) query.set('before', String(of.before))
  return call<LedgerAnswer>(`GET ${path}?${query}`)
}

/** Newer entries before older ones, without duplicates; what has opened again is in the other list. */
export function merged(newer: readonly LedgerEntry[], older: readonly LedgerEntry[]): LedgerEntry[] {
  const last = newer.at(-1)?.id ?? Number.POSITIVE_INFINITY
  const known = new Set(newer.map(({ id }) => id))
  return [...newer, ...older.filter(({ id }) => id < last && !known.has(id))]
}

const LITS: Readonly<Record<Severity, Lit>> = { fault: 'fault', warning: 'warn', notice: 'busy' }

/** The verdict on all that lasts. */
export function judge({ counts, keptSince, open, over }: Known, filter: string): Judgement {
  const { fault, notice, warning } = counts
  const all = fault + warning + notice
  if (all === 0) {
    const last = filter === '' ? over[0]?.until : undefined
    const why = typeof last === 'number' ? texts.lastEnded(age(Math.max(1000, daemonNow() - last), 1)) : ''
    return { lit: 'ok', sentence: texts.nothingIsWrong, why }
  }
  const lit = fault > 0 ? 'fault' : warning > 0 ? 'warn' : 'busy'
  const unseen = open.filter(({ acknowledgedBy }) => acknowledgedBy === null).length
  const why = unseen === 0 && filter === '' ? texts.allSeen : texts.keptFrom(dateOf(keptSince, zone.value))
  return { lit, sentence: texts.lasting(fault, warning, notice), why }
}

function body(known: Known | null, refused: string | null, filter: string, row: (entry: LedgerEntry) => VNode): Child {
  if (known === null) {
    if (refused !== null) return say('fault', texts.ledgerCouldNotBeRead, refused)
    return say('busy', texts.askingForLedger, texts.newestEntries(PAGE))
  }
  const { keptSince, open, over } = known
  if (open.length + over.length === 0) {
    if (filter !== '') return say('off', texts.nothingMatches(filter), texts.howToFilterPlaces)
    const since = `${dateOf(keptSince, zone.value)} ${timeOf(keptSince, zone.value, 'min')}`
    return say('ok', texts.nothingSince(since), texts.ledgerFills)
  }
  return html`<table class="table fold ledger"><thead><tr><th><span class="sr">State</span></th><th>What</th><th>Where</th><th>Since</th><th>Lasted</th><th>Seen by</th></tr></thead>
    <tbody>${open.map(row)}${over.map(row)}</tbody></table>`
}

function entryRow(entry: LedgerEntry, nameWhere: (where: string) => string, acknowledge?: () => void): VNode {
  const { acknowledgedAt, acknowledgedBy, count, durationMs, id, sentence, severity, since, until, what, where } = entry
  const isOpen = until === null
  const lasted = entry.ended === 'momentary' ? '' : age(Math.max(1000, durationMs), 2)
  const often = count > 1 ? texts.times(count) : ''
  const how = isOpen ? texts.soFar(lasted) : entry.ended === 'restart' ? texts.untilRestart(lasted) : lasted
  const lit = isOpen ? LITS[severity] : 'off'
  const word = isOpen ? texts.severityWords[severity] : texts.over(texts.severityWords[severity])
  const seen =
    acknowledgedBy !== null && acknowledgedAt !== null
      ? html`<span class="small">${acknowledgedBy}, ${sinceText(acknowledgedAt, daemonNow(), zone.value)}</span>`
      : acknowledge
        ? html`<${Act} label=${texts.acknowledgeWhat(sentence)} run=${acknowledge}>Acknowledge</${Act}>`
        : null
  return html`<tr key=${id} class=${isOpen ? '' : 'over'}><td class="lit">${lamp(lit, word)}</td>
    <td class="name" title=${what}>${sentence}</td><td class="setup">${nameWhere(where)}</td>
    <td class="when">${sinceText(since, daemonNow(), zone.value)}</td>
    <td class="state">${[how, often].filter((text) => text !== '').join(', ')}</td><td class="act">${seen}</td></tr>`
}
