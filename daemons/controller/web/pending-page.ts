/** The pending page: what Apply All will change, in sentences, column by column. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallFault, type FieldFault, sentenceOf } from '#kit/web/call.ts'
import { daemonNow, isLost, zone } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { dateOf, sinceText, timeOf, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { focusMain } from '#kit/web/shell.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { Json } from '../core/json.ts'
import { api, type Change, type ChangedColumn, type Pending } from './api.ts'
import { pendingCount, pendingSentence } from './state.ts'
import * as texts from './texts.ts'

adoptStyle(`
.change > header:last-child { border-bottom: 0; }
.change[data-s="fault"] { border-color: var(--lamp); }
.change .err { display: flex; gap: .5rem; padding-block: var(--s2); color: var(--fault); font-size: var(--t-small); }
.change .err .lamp { width: .625rem; height: .625rem; translate: 0 .3rem; }
.diff { table-layout: fixed; }
.diff th:first-child { width: 16rem; }
.diff tbody th { font-weight: 400; color: var(--ink-2); font-size: var(--t-small); border-bottom: 1px solid var(--grid); white-space: normal; overflow-wrap: anywhere; }
.diff tbody tr:last-child th { border-bottom: 0; }
.diff td { overflow-wrap: anywhere; }
.diff ins { text-decoration: none; font-weight: 500; }
.diff del { color: var(--ink-3); text-decoration: line-through; text-decoration-thickness: 1px; }
@container app (max-width: 44rem) {
  .diff th:first-child { width: 7.5rem; }
}`)

// Changes as sentences: which row, what happens to it, and each column before and after.

const KINDS = { add: texts.pendingNew, change: texts.changed, remove: texts.removed } as const

/** Longer values are shortened: the difference matters, not the file. */
const LONGEST = 300

/** `Changed: zone 12, Lobby`. */
export function changeTitle({ kind, table, row_id: id, name }: Change): string {
  const row = `${table.replaceAll('_', ' ')}${id === null ? '' : ` ${id}`}`
  return `${KINDS[kind]}: ${row}${name === null ? '' : `, ${name}`}`
}

/** A value as text. */
function valueText(value: Json): string {
  if (value === null || value === '') return UNKNOWN
  if (typeof value === 'boolean') return value ? texts.yes : texts.no
  const text = typeof value === 'object' ? objectText(value) : String(value)
  return text.length > LONGEST ? texts.characters(text.slice(0, LONGEST), text.length) : text
}

/** `kind tcp, host 10.20.4.9, port 4352`; nested values stay JSON. */
function objectText(value: Exclude<Json, string | number | boolean | null>): string {
  const isFlat =
    !Array.isArray(value) && Object.values(value).every((each) => each === null || typeof each !== 'object')
  if (!isFlat || Object.keys(value).length === 0) return JSON.stringify(value)
  return Object.entries(value)
    .map(([key, each]) => `${key} ${valueText(each ?? null)}`)
    .join(', ')
}

/**
 * A column before and after; for secrets only whether there is one, or a new one. @param zone of the site, for times
 */
export function columnTexts(column: ChangedColumn, zone?: string): { name: string; before: string; after: string } {
  const name = column.column.replaceAll('_', ' ')
  if (column.secret) return { name, before: texts.secret, after: texts.newSecret }
  const { before, after, kind, names } = column
  if (kind === 'time') return { name, before: whenText(before, zone), after: whenText(after, zone) }
  if (kind === 'row')
    return {
      name: name.replace(/ id$/, ''),
      before: rowText(before, names?.before),
      after: rowText(after, names?.after),
    }
  return { name, before: valueText(before), after: valueText(after) }
}

/** `2031-03-09 14:02:31`, in the site's zone. */
function whenText(value: Json, zone: string | undefined): string {
  return typeof value === 'number' ? `${dateOf(value, zone)} ${timeOf(value, zone)}` : valueText(value)
}

/** `Lobby (7)`: people know the name, but two rows may share it. */
function rowText(id: Json, name: string | null | undefined): string {
  return id === null || !name ? valueText(id) : `${name} (${valueText(id)})`
}

/** Why rows do not fit, by the id of the change. */
export function refusedRows(fields: readonly FieldFault[]): ReadonlyMap<number, string> {
  return new Map(fields.map(({ field, message }) => [Number(field), message]))
}

// The page: names rows that do not fit; nothing is applied partially.

/** The rest is shown on request: an import may bring thousands. */
const MOST_SHOWN = 100

/** What is wrong, and with which rows. */
interface Refusal {
  sentence: string
  rows: ReadonlyMap<number, string>
}

export function PendingPage(): VNode {
  const [known, setKnown] = useState<Pending | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [isAsked, setAsked] = useState(false)
  const [isWhole, setWhole] = useState(false)

  async function read(): Promise<void> {
    const answer = await api.pending()
    pendingCount.value = answer.changes.length
    setKnown(answer)
  }
  async function run(what: () => Promise<void>): Promise<void> {
    setBusy(true)
    setRefusal(null)
    try {
      await what()
    } catch (thrown) {
      setRefusal({ sentence: sentenceOf(thrown), rows: refusedRows(thrown instanceof CallFault ? thrown.fields : []) })
      if (thrown instanceof CallFault && thrown.code === 'pending_changed') await read().catch(() => {})
    }
    setBusy(false)
  }
  const look = (): void => void run(read)
  const act = (what: (revision: number) => Promise<string>): void =>
    void run(async () => {
      if (known === null) return
      toast(await what(known.revision))
      await read()
      // The buttons disappear with the last change.
      focusMain()
    })
  // Others may add changes: their number shows it.
  const isBack = !isLost.value
  useEffect(() => {
    if (isBack && known?.changes.length !== pendingCount.value) look()
  }, [pendingCount.value, isBack])

  if (known === null)
    return html`<div class="head"><h1>Pending</h1></div><section class="panel">${firstAnswer(refusal?.sentence ?? null, texts.askingWhatWaits, texts.changesCouldNotBeRead, look)}</section>`
  const count = known.changes.length
  const undo = (): void =>
    act(async () => {
      await api.undo()
      return texts.undoWaits
    })
  const applyAll = (): void => act(async (revision) => appliedText((await api.apply(revision)).applied))
  const discardAll = (): void =>
    act(async (revision) => {
      await api.discard(revision)
      return texts.allChangesAreDiscarded
    })
  const buttons = html`<div class="acts start"><${Act} kind="primary" waits=${isBusy} run=${applyAll}>Apply all</${Act}>
    <${Act} kind="danger" waits=${isBusy} run=${() => setAsked(true)}>Discard all</${Act}></div>`
  return html`<h1 class="sr">Pending</h1>${verdict({ lit: count > 0 ? 'warn' : 'ok', sentence: pendingSentence(count) })}
    ${count > 0 ? buttons : null}
    ${refusal ? html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refusal.sentence} Nothing was applied.${refusal.rows.size > 0 ? ` ${REMEDY}` : ''}</span></p>` : null}
    ${count === 0 ? html`<section class="panel">${say('off', texts.noChangesWait, texts.whatWaitsHere, known.undoable > 0 ? html`<${Act} waits=${isBusy} run=${undo}>${texts.undoLast(known.undoable)}</${Act}>` : null)}</section>` : null}
    ${inOrder(known.changes, refusal)
      .slice(0, isWhole ? undefined : MOST_SHOWN)
      .map((change) => panel(change, refusal?.rows.get(change.id)))}
    ${count > MOST_SHOWN && !isWhole ? html`<p class="end"><button class="btn" type="button" onClick=${() => setWhole(true)}>Show ${count - MOST_SHOWN} more changes</button></p>` : null}
    ${
      isAsked
        ? html`<${Confirm} title=${texts.discard(count)} text="They are gone then, and have to be made again. What runs now stays as it is."
      act="Discard all" keep="Keep changes" run=${discardAll} close=${() => setAsked(false)} />`
        : null
    }`
}

const REMEDY = texts.howToMendChanges

/** Rows that do not fit come first: nobody would find them among a thousand. */
function inOrder(changes: readonly Change[], refusal: Refusal | null): readonly Change[] {
  if (refusal === null || refusal.rows.size === 0) return changes
  return changes.toSorted((one, other) => Number(refusal.rows.has(other.id)) - Number(refusal.rows.has(one.id)))
}

function appliedText(applied: number): string {
  return applied === 1 ? texts.n1ChangeIsApplied : texts.changesAreApplied(applied)
}

function panel(change: Change, fault: string | undefined): VNode {
  const when = sinceText(change.at, daemonNow(), zone.value)
  return html`<section class="panel change" key=${change.id} data-s=${fault ? 'fault' : undefined}>
    <header><h2>${changeTitle(change)}</h2><span class="faint">by ${change.by}, ${when}</span></header>
    ${fault ? html`<p class="in err" role="alert">${lamp('fault')}<span>${fault}</span></p>` : null}
    ${change.columns.length === 0 ? null : table(change)}</section>`
}

/** A new row has no "before", a removed one no "after". */
function table({ kind, columns }: Change): VNode {
  const hasBefore = kind !== 'add'
  const hasAfter = kind !== 'remove'
  return html`<table class="table diff"><thead><tr><th>Column</th>${hasBefore ? html`<th>Before</th>` : null}${hasAfter ? html`<th>${hasBefore ? texts.after : texts.value}</th>` : null}</tr></thead>
    <tbody>${columns.map((column) => {
      const { name, before, after } = columnTexts(column, zone.value)
      return html`<tr key=${name}><th scope="row">${name}</th>${hasBefore ? html`<td class="before">${hasAfter && before !== UNKNOWN ? html`<del>${before}</del>` : before}</td>` : null}
        ${hasAfter ? html`<td class="after">${hasBefore ? html`<ins>${after}</ins>` : after}</td>` : null}</tr>`
    })}</tbody></table>`
}
