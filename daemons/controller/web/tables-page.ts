/** The site page: each table of the site as rows and a form. What is saved here waits for Apply all. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { type Lit, lamp, say, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo, place } from '#kit/web/route.ts'
import { followRow, Tools, walkRows } from '#kit/web/tools.ts'
import type { RowView, TableView } from '../core/site/browse.ts'
import { api } from './api.ts'
import { pendingCount, pendingSentence } from './state.ts'
import { rowName, rowSummary, tableName } from './table-words.ts'
import * as texts from './texts.ts'

/** Loaded when a row is opened. */
const OpenRow = lazy(async () => (await import('./table-form.ts')).OpenRow)

/** The first one shown. */
const FIRST = 'zone'
/** Rows are changed by people: there is no need to hurry. */
const LOOK_ROWS_MS = 5000
const ROW_LINKS = '.rows a[data-row]'

/** `#/tables/zone/12`, `#/tables/zone/new`. */
export function TablesPage(): VNode {
  const [tables, setTables] = useState<readonly TableView[] | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const ask = (): void => {
    setRefused(null)
    api.tables().then(
      (answer) => setTables(answer.tables),
      (thrown) => setRefused(sentenceOf(thrown)),
    )
  }
  useEffect(ask, [])
  const [, word = FIRST, which] = place.value
  const table = tables?.find(({ name }) => name === word)
  if (tables && table) return html`<${TablePage} key=${word} tables=${tables} table=${table} which=${which} />`
  if (tables)
    return html`<div class="head"><h1>Site</h1></div><section class="panel">
      ${say('off', texts.tableIsNotHere(word), html`<a href=${linkTo('tables')}>${texts.showZones}</a>`)}</section>`
  return html`<div class="head"><h1>Site</h1></div><section class="panel">${firstAnswer(refused, texts.askingForTables, texts.tablesCouldNotBeRead, ask)}</section>`
}

interface TableFacts {
  tables: readonly TableView[]
  table: TableView
  which?: string
}

function TablePage({ tables, table, which }: TableFacts): VNode {
  const [rows, setRows] = useState<readonly RowView[]>([])
  const [next, setNext] = useState<number | null>(null)
  const [filter, setFilter] = useState('')
  const [shownFor, setShownFor] = useState<string | null>(null)
  const read = async (): Promise<void> => {
    const answer = await api.rows(table.name, filter)
    setRows(answer.rows)
    setNext(answer.next)
    setShownFor(filter)
  }
  const look = useLook(read, LOOK_ROWS_MS)
  useEffect(() => void look.again(), [filter, pendingCount.value])
  const more = async (): Promise<void> => {
    const answer = await api.rows(table.name, filter, next ?? 0)
    setRows([...rows, ...answer.rows])
    setNext(answer.next)
  }
  useKeys(texts.siteTables, [
    { key: 'n', what: texts.newRowKey, run: () => goTo('tables', table.name, 'new') as undefined },
    { key: 'ArrowDown', what: texts.nextRowKey, run: () => walkRows(ROW_LINKS, 1) },
    { key: 'ArrowUp', what: texts.rowBeforeKey, run: () => walkRows(ROW_LINKS, -1) },
  ])
  const count = pendingCount.value ?? 0
  const form =
    which === undefined ? null : html`<${OpenRow} key=${which} table=${table} which=${which} again=${look.again} />`
  return html`<h1 class="sr">Site: ${tableName(table.name)}</h1>
    ${verdict({ lit: count > 0 ? 'warn' : 'ok', sentence: pendingSentence(count) }, otherPages(count))}
    <div class=${form ? 'cols with-form' : ''}><section class="panel" aria-label=${tableName(table.name)}>
      <${Tools} filter=${filter} setFilter=${setFilter} label=${texts.filterRows} more=${chooser(tables, table.name)}>
        <a class=${form ? 'btn' : 'btn primary'} href=${linkTo('tables', table.name, 'new')}>${texts.newRow}</a></${Tools}>
      ${rowList({ table, rows, which, isAsked: shownFor !== null, refused: look.refused, filter })}
      ${next === null ? null : html`<p class="end"><button class="btn" type="button" onClick=${() => void more()}>${texts.showMoreRows}</button></p>`}
    </section>${form}</div>`
}

/** On a phone the navigation shows no pages below others. */
function otherPages(count: number): VNode {
  return html`<a href=${linkTo('pending')}>${count > 0 ? texts.showAndApply : texts.pending}</a> · <a href=${linkTo('devices')}>${texts.devices}</a> · <a href=${linkTo('definitions')}>${texts.definitions}</a> · <a href=${linkTo('system')}>${texts.system}</a>`
}

function chooser(tables: readonly TableView[], name: string): VNode {
  const choose = (event: Event): void => goTo('tables', (event.target as HTMLSelectElement).value)
  return html`<div class="input"><select aria-label=${texts.table} value=${name} onChange=${choose}>
    ${tables.map((each) => html`<option value=${each.name} selected=${each.name === name}>${tableName(each.name)}${each.count > 0 ? ` (${each.count})` : ''}</option>`)}
  </select></div>`
}

interface ListFacts {
  table: TableView
  rows: readonly RowView[]
  which?: string
  isAsked: boolean
  refused: string | null
  filter: string
}

function rowList({ table, rows, which, isAsked, refused, filter }: ListFacts): VNode | null {
  if (!isAsked) return refused === null ? null : say('fault', texts.rowsCouldNotBeRead, refused)
  if (rows.length === 0)
    return filter === ''
      ? say('off', texts.noRows(tableName(table.name)), texts.addTheFirstRow)
      : say('off', texts.noRowMatches(filter), texts.escShowsAll)
  return html`<table class="table fold rows"><thead><tr><th><span class="sr">State</span></th><th>Name</th><th>What it is</th><th class="n wide">Id</th></tr></thead>
    <tbody>${rows.map((row) => rowLine(table, row, String(row.id) === which))}</tbody></table>`
}

const PENDING: Readonly<Record<NonNullable<RowView['pending']>, { lit: Lit; word: string }>> = {
  add: { lit: 'warn', word: texts.newWaits },
  change: { lit: 'warn', word: texts.changeWaits },
  remove: { lit: 'off', word: texts.goesWithApplyAll },
}

function rowLine(table: TableView, row: RowView, isChosen: boolean): VNode {
  const href = linkTo('tables', table.name, String(row.id))
  const waits = row.pending === null ? null : PENDING[row.pending]
  const name = rowName(table, row)
  return html`<tr key=${row.id} class=${isChosen ? 'chosen' : ''} onClick=${(event: Event) => followRow(event, href)}>
    <td class="lit">${waits ? lamp(waits.lit, waits.word) : null}</td>
    <td class="name"><a href=${href} data-row aria-current=${isChosen || undefined}><b>${row.pending === 'remove' ? html`<del>${name}</del>` : name}</b></a></td>
    <td class="setup">${rowSummary(table, row)}${waits ? html` <span class="faint">${waits.word}</span>` : null}</td><td class="n wide">${row.id}</td></tr>`
}
