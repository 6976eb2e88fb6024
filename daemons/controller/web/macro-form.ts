/** The macro editor: its settings, its steps in order, a dry run of what is edited, and running what is applied. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallFault, sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { area, choice, type Form, input, refusal, toggle, typedNumber, useForm, type Values } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { Act, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import type { Json } from '../core/json.ts'
import type { MacroWish, OpenMacro } from '../core/macros/editing.ts'
import { api } from './api.ts'
import { macroApi } from './macro-api.ts'
import { macroTabs } from './macro-runs.ts'
import { fieldOfFault, openSteps, StepJsonFault, type StepList, stepsOf } from './macro-steps.ts'
import { TryOut } from './macro-try.ts'
import { pendingCount } from './state.ts'
import { StepsEditor } from './step-form.ts'
import * as texts from './texts.ts'

/** @param which the id, or `new` */
export function MacroEditor({ which }: { which: string }): VNode {
  const isNew = which === 'new'
  const [opened, setOpened] = useState<OpenMacro | null | undefined>(isNew ? null : undefined)
  const [refused, setRefused] = useState<string | null>(null)
  const [version, setVersion] = useState(0)
  async function open(): Promise<void> {
    try {
      setOpened(await macroApi.open(Number(which)))
      setVersion((now) => now + 1)
      setRefused(null)
    } catch (thrown) {
      if (thrown instanceof CallFault && thrown.status === 400) setOpened(null)
      else setRefused(sentenceOf(thrown))
    }
  }
  useEffect(() => {
    if (!isNew) void open()
  }, [])
  if (refused !== null || opened === undefined)
    return alone(firstAnswer(refused, texts.askingForMacro, texts.macrosCouldNotBeRead, () => void open()))
  if (opened === null && !isNew)
    return alone(
      say('off', texts.macroIsGone, texts.macroIsGoneWhy, html`<a href=${linkTo('macros')}>${texts.showMacros}</a>`),
    )
  return html`<${MacroForm} key=${version} opened=${opened} again=${open} />`
}

function alone(content: VNode): VNode {
  return html`<div class="head"><h1>Macro</h1></div><section class="panel">${content}</section>`
}

interface FormFacts {
  /** Null for a new one. */
  opened: OpenMacro | null
  again: () => Promise<void>
}

/** The macro's own columns among the fields of the form. */
const COLUMNS = ['name', 'description', 'mode', 'max_runs', 'timeout_ms', 'enabled', 'elevated', 'args_schema'] as const

function initial(opened: OpenMacro | null): Values {
  const row = opened?.macro.values ?? { mode: 'single', enabled: true, elevated: false }
  const { tree, values } = openSteps(opened?.steps ?? [], opened?.names ?? { zone: {}, device: {}, macro: {} })
  const own = COLUMNS.map((name): [string, string | boolean] => {
    const value = row[name] ?? null
    if (name === 'enabled' || name === 'elevated') return [name, value === true]
    if (name === 'args_schema') return [name, value === null ? '' : JSON.stringify(value, null, 1)]
    return [name, value === null ? '' : String(value)]
  })
  return { ...Object.fromEntries(own), ...values, steps: JSON.stringify(tree) }
}

/** The steps stand in the form too, so that it knows when they have changed. */
function treeOf(form: Form): StepList {
  return JSON.parse(String(form.values.value.steps)) as StepList
}

/** @throws CallFault for JSON that is none, at its field */
function wishOf(form: Form, opened: OpenMacro | null): MacroWish {
  try {
    const values = form.values.value
    const changed = COLUMNS.filter((name) => opened === null || form.isChanged(name))
    return {
      values: Object.fromEntries(changed.map((name) => [name, columnOf(name, values[name] ?? '')])),
      steps: stepsOf(treeOf(form), values),
      ...(opened === null ? {} : { id: opened.macro.id, seen: { values: opened.macro.values, steps: opened.steps } }),
    }
  } catch (thrown) {
    if (!(thrown instanceof StepJsonFault)) throw thrown
    throw new CallFault(400, { error: 'bad_fields', fields: [{ field: thrown.field, message: thrown.message }] })
  }
}

function columnOf(name: string, value: string | boolean): Json {
  if (typeof value === 'boolean') return value
  const text = value.trim()
  if (text === '') return null
  if (name === 'max_runs' || name === 'timeout_ms') return typedNumber(text)
  if (name !== 'args_schema') return text
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw new StepJsonFault(name, (error as Error).message)
  }
}

/** Puts the daemon's faults at the fields of their steps. @throws what `work` threw, so told */
async function atFields<Answer>(form: Form, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof CallFault) || thrown.fields.length === 0) throw thrown
    const fields = thrown.fields.map(({ field, message }) => ({
      field: fieldOfFault(field, treeOf(form), form.values.value),
      message,
    }))
    throw new CallFault(thrown.status, { error: thrown.code, message: thrown.message, fields })
  }
}

function MacroForm({ opened, again }: FormFacts): VNode {
  const [first] = useState(() => initial(opened))
  const form = useForm(first, opened ? 'edit' : 'draft')
  const name = opened?.macro.name ?? texts.newMacro
  const id = opened?.macro.id
  async function save(): Promise<void> {
    const { pending, macro_id: kept } = await atFields(form, async () => macroApi.save(wishOf(form, opened)))
    pendingCount.value = pending
    form.settle()
    toast(texts.macroKept)
    if (opened === null) goTo('macros', String(kept))
    else await again()
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  const tryOut = (args: Record<string, Json>, waits: 'met' | 'expired') =>
    atFields(form, async () => macroApi.tryOut({ ...wishOf(form, opened), args, waits }))
  useKeys(texts.macros, [{ key: 's', what: texts.dryRunKey, run: () => pressed('.try-out button[type=submit]') }])
  const isRemovable = opened !== null && opened.macro.pending !== 'remove'
  return html`<div class="head"><h1>${name}</h1>${id === undefined ? null : macroTabs(id, 'steps')}</div>
    ${stateOf(opened)}
    <form class="stack macro" onSubmit=${submit} novalidate aria-label=${name}>
      <section class="panel"><header><h2>${texts.macroSettings}</h2></header><${Settings} form=${form} isNew=${opened === null} /></section>
      <section class="panel"><header><h2>${texts.steps}</h2></header><${StepsEditor} form=${form} tree=${treeOf(form)} /></section>
      <section class="panel keep"><div class="in save">${refusal(form, stepsFault(form))}${isRemovable ? html`<${Removal} opened=${opened} />` : null}
        <${Act} kind="primary" type="submit" waits=${form.isBusy.value || (opened !== null && !form.hasChanges())}>${texts.keepMacro}</${Act}></div></section></form>
    <${TryOut} form=${form} tryOut=${tryOut} macro=${opened === null || (opened.macro.pending === 'add' && !isApplied(opened)) ? null : { id: opened.macro.id, name }} />`
}

function pressed(selector: string): boolean {
  const button = document.querySelector<HTMLElement>(selector)
  button?.click()
  return button !== null
}

/** What is wrong with the steps as a whole has no field of its own. */
function stepsFault(form: Form): string[] {
  const said = form.faults.value.steps
  return said === undefined ? [] : [said]
}

/** Others may have applied it since it was opened. */
function isApplied({ macro }: OpenMacro): boolean {
  return macro.pending === null || pendingCount.value === 0
}

function stateOf(opened: OpenMacro | null): VNode {
  if (opened === null) return verdict({ lit: 'off', sentence: texts.macroIsNew })
  if (isApplied(opened)) return verdict({ lit: 'ok', sentence: texts.macroInForce })
  return verdict(
    { lit: 'warn', sentence: texts.macroWaits, why: texts.macroWaitsWhy },
    html`<a href=${linkTo('pending')}>${texts.showAndApply}</a>`,
  )
}

/** Of these the usual values do for most macros. */
const SELDOM = ['mode', 'max_runs', 'timeout_ms', 'enabled', 'elevated', 'args_schema'] as const

function Settings({ form, isNew }: { form: Form; isNew: boolean }): VNode {
  const modes = Object.entries(texts.modes)
  const isWrong = SELDOM.some((name) => name in form.faults.value)
  return html`<div class="in stack"><div class="form">
    ${input({ form, name: 'name', label: texts.name, hint: texts.macroNameHint, first: isNew })}
    ${input({ form, name: 'description', label: texts.description })}</div>
    <details open=${isWrong}><summary>${texts.moreSettings}</summary><div class="form">
    ${choice({ form, name: 'mode', label: texts.modeLabel, options: modes })}
    ${input({ form, name: 'max_runs', label: texts.maxRuns, type: 'number', hint: texts.emptyForUsual })}
    ${input({ form, name: 'timeout_ms', label: texts.timeLimit, type: 'number', unit: 'ms', hint: texts.emptyForUsual })}
    ${toggle({ form, name: 'enabled', label: texts.enabled })}
    ${toggle({ form, name: 'elevated', label: texts.elevatedMacro, hint: texts.elevatedMacroHint })}
    ${area({ form, name: 'args_schema', label: texts.argsSchema, rows: 3, kind: 'wide', hint: texts.argsSchemaHint })}</div></details></div>`
}

function Removal({ opened }: { opened: OpenMacro }): VNode {
  const [isAsked, setAsked] = useState(false)
  const { id, name } = opened.macro
  async function run(): Promise<void> {
    try {
      pendingCount.value = (await api.removeRow('macro', id)).pending
      toast(texts.removalIsKept)
      goTo('macros')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}>
    ${isAsked ? html`<${Confirm} title=${texts.removeMacroQuestion(name ?? '')} text=${texts.removeMacroMeans} act="Remove" keep="Keep it" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}
