/** Journal: who changed or sent what, when, and from where. Newest first; older entries are loaded on request. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { JournalEntry } from '../records/journal.ts'
import { call, sentenceOf, useLook } from './call.ts'
import { daemonNow, zone } from './contact.ts'
import { download, saveFrom } from './copy-and-save.ts'
import { type Child, html } from './html.ts'
import { dateOf, many, timeOf } from './numbers.ts'
import { Act, say, toast } from './parts.ts'
import * as texts from './texts.ts'
import { filterInput, Tools } from './tools.ts'

// Reading the journal: pages of entries, merged without gaps or duplicates, and an entry in full.

/** A search; empty means all. */
export interface JournalFilter {
  who: string
  what: string
}

/** Entries per request. */
export const PAGE = 100

/** The calls. */
export const journalApi = {
  list: (filter: JournalFilter, before?: number) => call<JournalEntry[]>(`GET /api/journal?${queryOf(filter, before)}`),
}

/** The query of one page. @param before `seq`: only entries before that one */
export function queryOf({ who, what }: JournalFilter, before?: number): string {
  const query = new URLSearchParams({ limit: String(PAGE) })
  if (who !== '') query.set('who', who)
  if (what !== '') query.set('what', what)
  if (before !== undefined) query.set('before', String(before))
  return query.toString()
}

/** Newer entries before older ones, without duplicates. */
export function merged(newer: readonly JournalEntry[], older: readonly JournalEntry[]): JournalEntry[] {
  const known = new Set(newer.map(({ seq }) => seq))
  return [...newer, ...older.filter((entry) => !known.has(entry.seq))]
}

/** All facts of an entry, name and text. @param time of the entry, to the millisecond */
export function entryFacts(entry: JournalEntry, time: string): [name: string, text: string][] {
  const facts: [string, string][] = [
    [texts.exactlyAt, time],
    [texts.from, entry.from],
  ]
  if (entry.target) facts.push([texts.journalOn, entry.target])
  return [...facts, ...detailOf(entry.detail)]
}

/** The values of a detail, one a line: `line.baud` 9600. */
function detailOf(detail: unknown, prefix = ''): [string, string][] {
  if (detail === undefined || detail === null) return []
  if (typeof detail !== 'object') return [[prefix || texts.detail, String(detail)]]
  if (Array.isArray(detail) && detail.every((each) => typeof each !== 'object'))
    return [[prefix, detail.join(', ') || 'none']]
  return Object.entries(detail).flatMap(([name, value]) => {
    const path = prefix ? `${prefix}.${name}` : name
    return typeof value === 'object' && value !== null
      ? detailOf(value, path)
      : [[path, String(value)] as [string, string]]
  })
}

const LOOK_JOURNAL_MS = 5000
/** A filter is applied after a pause in typing. */
const REST_MS = 300

/** How a daemon displays the target of an action; the plain name by default. */
export type NameTarget = (target: string) => string

interface JournalFacts {
  nameTarget?: NameTarget
  /** What the page is called. */
  title?: string
  /** The browser itself carries the credentials of a download. */
  hasCookie?: boolean
}

/** The page. */
export function JournalPage(facts: JournalFacts): VNode {
  const { nameTarget = (target) => target, title = texts.journal, hasCookie = false } = facts
  const [what, setWhat] = useState('')
  const [who, setWho] = useState('')
  const filter = { what: useRested(what), who: useRested(who) }
  const about = JSON.stringify(filter)
  const [known, setKnown] = useState<{ of: string; entries: JournalEntry[]; isWhole: boolean } | null>(null)
  const [opened, setOpened] = useState<number | null>(null)
  const [isBusy, setBusy] = useState(false)

  const { refused } = useLook(
    async () => {
      const newest = await journalApi.list(filter)
      setKnown((before) => {
        if (before?.of !== about) return { of: about, entries: newest, isWhole: newest.length < PAGE }
        return { ...before, entries: merged(newest, before.entries) }
      })
    },
    LOOK_JOURNAL_MS,
    about,
  )
  async function older(): Promise<void> {
    const last = known?.entries.at(-1)
    if (!known || !last) return
    setBusy(true)
    try {
      const more = await journalApi.list(filter, last.seq)
      setKnown({ ...known, entries: merged(known.entries, more), isWhole: more.length < PAGE })
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    setBusy(false)
  }
  const entries = known?.entries ?? null
  return html`<div class="head"><h1>${title}</h1><span class="faint small later">who changed or sent what, newest first</span></div>
    <section class="panel" aria-label="Entries"><${Tools} filter=${what} setFilter=${setWhat} label="Filter by what was done" placeholder="What"
        more=${filterInput({ filter: who, setFilter: setWho, label: texts.filterByWhoDid, placeholder: texts.who })}>
        <${Act} run=${() => void save(hasCookie)}>Export</${Act}></${Tools}>
      ${body(entries, refused, filter.what || filter.who, { opened, setOpened, nameTarget })}
      ${
        entries && entries.length > 0
          ? html`<footer class="account"><span class="small faint">${many(entries.length, 'entry', 'entries')}${known?.isWhole ? texts.allAre : ''}</span>
        ${known?.isWhole ? null : html`<${Act} waits=${isBusy} run=${() => void older()}>Older</${Act}>`}</footer>`
          : null
      }</section>`
}

const EXPORT = '/api/journal/export'

/** A text once it has not changed for a moment. */
function useRested(text: string): string {
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text.trim()), REST_MS)
    return () => clearTimeout(timer)
  }, [text])
  return rested
}

async function save(hasCookie: boolean): Promise<void> {
  try {
    if (hasCookie) saveFrom(EXPORT)
    else await download(EXPORT)
    toast(texts.journalIsBeingSaved)
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}

interface Opening {
  opened: number | null
  setOpened: (seq: number | null) => void
  nameTarget: NameTarget
}

function body(entries: JournalEntry[] | null, refused: string | null, filter: string, opening: Opening): Child {
  if (entries === null) {
    if (refused !== null) return say('fault', texts.journalCouldNotBeRead, refused)
    return say('busy', texts.askingForJournal, texts.newestEntries(PAGE))
  }
  if (entries.length === 0)
    return filter === ''
      ? say('off', texts.nothingYet, texts.journalFills)
      : say('off', texts.nothingMatches(filter), texts.howToFilter)
  return html`<table class="table fold no-lit journal"><thead><tr><th>When</th><th>What</th><th>On</th><th>Who</th><th>From</th></tr></thead>
    <tbody>${entries.flatMap((entry) => rows(entry, opening))}</tbody></table>`
}

function rows(entry: JournalEntry, { opened, setOpened, nameTarget }: Opening): VNode[] {
  const target = entry.target ?? ''
  const key = entry.seq
  const isOpen = opened === key
  const toggle = (): void => setOpened(isOpen ? null : key)
  const isToday = dateOf(entry.at, zone.value) === dateOf(daemonNow(), zone.value)
  const when = `${isToday ? '' : `${dateOf(entry.at, zone.value)} `}${timeOf(entry.at, zone.value)}`
  const row = html`<tr key=${key} onClick=${toggle} class=${isOpen ? 'chosen' : ''}><td class="when">${when}</td>
    <td class="name" data-s=${entry.kind === 'refusal' ? 'warn' : undefined}><button class="link" type="button" aria-expanded=${isOpen} onClick=${(
      event: Event,
    ) => {
      event.stopPropagation()
      toggle()
    }}><b>${entry.what}</b></button></td><td class="setup">${nameTarget(target)}</td>
    <td class="state">${entry.who}</td><td class="wide mono faint">${entry.from}</td></tr>`
  if (!isOpen) return [row]
  const facts = entryFacts(entry, timeOf(entry.at, zone.value, 'ms'))
  return [
    row,
    html`<tr key=${`${key} facts`} class="facts"><td colspan="5"><dl>${facts.map(
      ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
    )}</dl></td></tr>`,
  ]
}
