/** One row of a table, open in a form that is made from the fields of the table. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallFault, sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { area, choice, type Form, input, refusal, toggle, typedNumber, useForm, type Values } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { Act, icon, say, toast } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import type { Json } from '../core/json.ts'
import type { FieldView, RowView, TableView } from '../core/site/browse.ts'
import { api } from './api.ts'
import { pendingCount } from './state.ts'
import { rowName, tableName } from './table-words.ts'
import * as texts from './texts.ts'

/** Prefixes of form values beside the columns: a secret to forget, an item of a list. */
const FORGET = 'forget.'
const itemKey = (field: string, item: string): string => `${field}.${item}`

/** The form's values for a row; for a new one the defaults. */
function initialValues({ fields }: TableView, row: RowView | null): Values {
  const entries = fields.flatMap((field): [string, string | boolean][] => {
    const { name, kind } = field
    if (kind === 'secret' || kind === 'password')
      return [
        [name, ''],
        [FORGET + name, false],
      ]
    const value = (row ? row.values[name] : field.default) ?? null
    if (kind === 'rows') return itemsOf(value).map((item) => [itemKey(name, item), true])
    if (kind === 'boolean') return [[name, value === true]]
    if (kind === 'row') return [[name, row?.names[name] ?? textOf(value)]]
    if (kind === 'time') return [[name, typeof value === 'number' ? new Date(value).toISOString() : '']]
    return [[name, kind === 'json' ? jsonText(value) : textOf(value)]]
  })
  return Object.fromEntries(entries)
}

/**
 * The columns that differ from the row, as a site file has them.
 * @throws CallFault for a value that cannot be sent, at its field
 */
function rowBody({ fields }: TableView, form: Form, row: RowView | null): Record<string, Json> {
  const body: Record<string, Json> = {}
  for (const field of fields) {
    const said = saidOf(field, form, row)
    if (said !== undefined) body[field.name] = said
  }
  return body
}

function saidOf({ name, kind }: FieldView, form: Form, row: RowView | null): Json | undefined {
  const value = form.values.value[name] ?? ''
  if (kind === 'secret' || kind === 'password') {
    if (form.values.value[FORGET + name] === true) return null
    return value === '' ? undefined : String(value)
  }
  if (kind === 'rows') {
    const items = Object.entries(form.values.value).filter(([key, is]) => key.startsWith(`${name}.`) && is === true)
    const now = items.map(([key]) => key.slice(name.length + 1))
    const before = itemsOf(row?.values[name] ?? null)
    const isSame = now.length === before.length && now.every((item) => before.includes(item))
    return isSame ? undefined : now
  }
  if (!form.isChanged(name)) return undefined
  if (kind === 'boolean') return value === true
  const text = String(value).trim()
  if (text === '') return null
  if (kind === 'integer' || kind === 'real') return typedNumber(text)
  if (kind === 'row') return /^\d+$/.test(text) ? Number(text) : text
  return kind === 'json' ? parsed(name, text) : text
}

function parsed(name: string, text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    const fields = [{ field: name, message: texts.notJson((error as Error).message) }]
    throw new CallFault(400, { error: 'bad_fields', message: '', fields })
  }
}

function itemsOf(value: Json): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function textOf(value: Json): string {
  return value === null ? '' : String(value)
}

function jsonText(value: Json): string {
  return value === null ? '' : JSON.stringify(value, null, 1)
}

// The fields.

interface FieldsFacts {
  table: TableView
  row: RowView | null
  form: Form
}

/** All fields of a row, and what is wrong with it as a whole. */
function RowFields({ table, row, form }: FieldsFacts): VNode {
  return html`<div class="in form">${table.fields.map((field) => html`<${Field} key=${field.name} field=${field} row=${row} form=${form} />`)}
    <div class="wide">${refusal(form)}</div></div>`
}

function Field({ field, row, form }: { field: FieldView; row: RowView | null; form: Form }): VNode {
  const { name, kind, choices, isRequired } = field
  const facts = { form, name, label: fieldLabel(name), hint: hintOf(field) }
  if (kind === 'boolean') return toggle(facts)
  if (kind === 'rows') return html`<${ListField} field=${field} form=${form} />`
  if (kind === 'row') return html`<${ReferenceField} field=${field} form=${form} />`
  if (kind === 'json') return area({ ...facts, rows: 4, kind: 'wide' })
  if (kind === 'secret' || kind === 'password') return secretField(field, row, form)
  if (choices !== null) {
    const options = choices.map((each) => [each, each] as const)
    return choice({ ...facts, options: isRequired ? options : [['', texts.none], ...options] })
  }
  return input({
    ...facts,
    type: kind === 'integer' || kind === 'real' ? 'number' : 'text',
    first: row === null && isRequired,
  })
}

/** Columns whose names are not plain words. */
const LABELS: Readonly<Record<string, string>> = texts.fieldLabels

/** `Poll ms`, `IP address`. */
export function fieldLabel(name: string): string {
  const known = LABELS[name]
  if (known !== undefined) return known
  const words = name.replace(/_id$/, '').replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function hintOf({ kind, isRequired, minimum, maximum }: FieldView): string | undefined {
  if (kind === 'time') return texts.timeHint
  if (kind === 'json') return texts.jsonHint
  if (minimum !== null && maximum !== null) return texts.between(minimum, maximum)
  if (minimum !== null) return texts.atLeast(minimum)
  return isRequired && kind === 'text' ? texts.mustBeGiven : undefined
}

/** A secret is replaced or forgotten, never shown. */
function secretField({ name, kind }: FieldView, row: RowView | null, form: Form): VNode {
  const isSet = row?.secrets.includes(name) ?? false
  const isForgotten = form.values.value[FORGET + name] === true
  const hint = isForgotten ? texts.isForgotten : isSet ? texts.secretIsSet : texts.secretIsNotSet
  const forget: Child =
    isSet && kind === 'secret'
      ? toggle({ form, name: FORGET + name, label: texts.forgetSecret(fieldLabel(name)) })
      : null
  return html`<div class="stack">${input({ form, name, label: fieldLabel(name), type: 'password', autocomplete: 'new-password', hint })}${forget}</div>`
}

/** Suggestions per fetch. */
const SUGGESTED = 20

/** A row of another table by its name or id, with suggestions while one types. */
function ReferenceField({ field, form }: { field: FieldView; form: Form }): VNode {
  const [options, setOptions] = useState<string[]>([])
  const { name, tables, by } = field
  const typed = String(form.values.value[name] ?? '')
  const to = by === null ? tables[0] : tables.find((each) => each === form.values.value[by])
  useEffect(() => {
    if (to === undefined) return setOptions([])
    let isOver = false
    api.rows(to, typed, 0, SUGGESTED).then(
      ({ rows }) => {
        if (!isOver) setOptions(rows.flatMap(({ name }) => name ?? []))
      },
      () => {}, // Without suggestions the name is typed.
    )
    return () => {
      isOver = true
    }
  }, [to, typed])
  return input({ form, name, label: fieldLabel(name), options, hint: texts.nameOrId })
}

/** Several rows of another table, each with a switch. */
function ListField({ field: { name, tables }, form }: { field: FieldView; form: Form }): VNode {
  const [known, setKnown] = useState<string[]>([])
  useEffect(() => {
    api.rows(tables[0] ?? '', '').then(
      ({ rows }) => setKnown(rows.flatMap(({ name }) => name ?? [])),
      () => {}, // Those that the user has are shown.
    )
  }, [])
  const own = Object.keys(form.values.value).flatMap((key) =>
    key.startsWith(`${name}.`) ? key.slice(name.length + 1) : [],
  )
  const all = [...new Set([...known, ...own])]
  const fault = form.faults.value[name]
  return html`<fieldset class="ticks wide"><legend class="small">${fieldLabel(name)}</legend>
    ${fault ? html`<p class="err" role="alert">${fault}</p>` : null}
    ${all.length === 0 ? html`<p class="small soft">${texts.noneToChoose}</p>` : all.map((item) => toggle({ form, name: itemKey(name, item), label: item }))}</fieldset>`
}

// The open row.

interface OpenFacts {
  table: TableView
  which: string
  again: () => Promise<void>
}

/** @param which the id, or `new` */
export function OpenRow({ table, which, again }: OpenFacts): VNode {
  const isNew = which === 'new'
  const [row, setRow] = useState<RowView | null | undefined>(isNew ? null : undefined)
  const [refused, setRefused] = useState<string | null>(null)
  useEffect(() => {
    if (isNew) return
    api.row(table.name, Number(which)).then(
      ({ rows }) => setRow(rows[0] ?? null),
      (thrown) => setRefused(sentenceOf(thrown)),
    )
  }, [])
  if (refused !== null) return shell(table, texts.row, say('fault', texts.rowsCouldNotBeRead, refused))
  if (row === undefined) return shell(table, texts.row, say('busy', texts.askingForRow, texts.usuallyBrief))
  if (row === null && !isNew) return shell(table, texts.row, say('off', texts.rowIsGone, texts.somebodyRemovedRow))
  return html`<${RowForm} table=${table} row=${row} again=${again} />`
}

function head(table: TableView, title: string): VNode {
  return html`<header><h2>${title}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('tables', table.name)} aria-label="Close form">${icon('close')}</a></div></header>`
}

function shell(table: TableView, title: string, content: VNode): VNode {
  return html`<section class="panel">${head(table, title)}${content}</section>`
}

interface RowFormFacts {
  table: TableView
  /** Null for a new row. */
  row: RowView | null
  again: () => Promise<void>
}

function RowForm({ table, row, again }: RowFormFacts): VNode {
  const form = useForm(initialValues(table, row), row ? 'edit' : 'draft')
  const title = row ? rowName(table, row) : texts.newIn(tableName(table.name))
  async function save(): Promise<void> {
    const values = rowBody(table, form, row)
    const body = { table: table.name, values, ...(row ? { id: row.id, seen: row.values } : {}) }
    pendingCount.value = (await api.saveRow(body)).pending
    await again()
    toast(texts.keptForApplyAll)
    goTo('tables', table.name)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${title}>${head(table, title)}
    <${RowFields} table=${table} row=${row} form=${form} />
    <footer class="save">${row && row.pending !== 'remove' ? html`<${Removal} table=${table} row=${row} again=${again} />` : null}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || (row !== null && !form.hasChanges())}>${texts.keepChange}</${Act}></footer></form>`
}

function Removal({ table, row, again }: { table: TableView; row: RowView; again: () => Promise<void> }): VNode {
  const [isAsked, setAsked] = useState(false)
  async function run(): Promise<void> {
    try {
      pendingCount.value = (await api.removeRow(table.name, row.id)).pending
      await again()
      toast(texts.removalIsKept)
      goTo('tables', table.name)
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}>
    ${isAsked ? html`<${Confirm} title=${texts.removeRowQuestion(rowName(table, row))} text=${texts.removingRowMeans} act="Remove" keep="Keep it" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}
