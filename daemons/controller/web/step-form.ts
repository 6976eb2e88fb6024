/** The steps of a macro as forms: added, put in order, removed, and edited, in branches too. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { area, choice, type Form, input, toggle } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { Act, icon, lamp, toast } from '#kit/web/parts.ts'
import type { KnownVerb } from '../core/control/gates.ts'
import type { RowView } from '../core/site/browse.ts'
import { api } from './api.ts'
import { macroApi } from './macro-api.ts'
import {
  changeList,
  changeStep,
  freshKey,
  movedBy,
  newStep,
  STEP_TYPES,
  StepJsonFault,
  type StepList,
  type StepNode,
  stepsOf,
  withFields,
  withJson,
} from './macro-steps.ts'
import { decidedOf, sayStep } from './macro-words.ts'
import * as texts from './texts.ts'

/** How the editor changes the tree, which stands in the form. */
interface Editing {
  form: Form
  /** Key of the step that is open; empty if none is. */
  open: string
  setOpen: (key: string) => void
  /** Key of the step that was added last: typing goes on there. */
  added: string
  setAdded: (key: string) => void
  change: (change: (tree: StepList) => StepList) => void
}

export function StepsEditor({ form, tree }: { form: Form; tree: StepList }): VNode {
  const [open, setOpen] = useState('')
  const [added, setAdded] = useState('')
  const editing: Editing = {
    ...{ form, open, setOpen, added, setAdded },
    change: (change) => {
      const now = JSON.parse(String(form.values.value.steps)) as StepList
      form.set('steps', JSON.stringify(change(now)))
    },
  }
  useKeys(texts.steps, [{ key: 'n', what: texts.addStepKey, run: focusAdding }])
  return html`<${StepsList} editing=${editing} list=${tree} place="" add=${(list: StepList) => editing.change(() => list)} empty=${texts.noSteps} />`
}

function focusAdding(): undefined {
  document.querySelector<HTMLElement>('.macro .add-step select')?.focus()
}

interface ListFacts {
  editing: Editing
  list: StepList
  /** Before the numbers of the steps: `3.1.`. */
  place: string
  /** Replaces the list. */
  add: (list: StepList) => void
  empty: string
}

function StepsList({ editing, list, place, add, empty }: ListFacts): VNode {
  return html`<ol class="step-list">${list.length === 0 ? html`<li class="soft small">${empty}</li>` : null}
    ${list.map((node, at) => html`<${StepItem} key=${node.key} editing=${editing} node=${node} place=${`${place}${at + 1}`} isFirst=${at === 0} isLast=${at === list.length - 1} />`)}
    <li><${AddStep} editing=${editing} add=${(node: StepNode) => add([...list, node])} /></li></ol>`
}

function AddStep({ editing, add }: { editing: Editing; add: (node: StepNode) => void }): VNode {
  const [type, setType] = useState('command')
  function run(): void {
    const { node, values } = newStep(type)
    const { form } = editing
    form.values.value = { ...form.values.value, ...values }
    add(node)
    editing.setOpen(node.key)
    editing.setAdded(node.key)
  }
  return html`<div class="add-step"><div class="input"><select aria-label=${texts.stepToAdd} value=${type} onChange=${(event: Event) => setType((event.target as HTMLSelectElement).value)}>
      ${STEP_TYPES.map((each) => html`<option value=${each} selected=${each === type}>${texts.stepTypes[each]}</option>`)}</select></div>
    <button class="btn" type="button" onClick=${run}>${icon('plus')} ${texts.addStep}</button></div>`
}

interface ItemFacts {
  editing: Editing
  node: StepNode
  place: string
  isFirst: boolean
  isLast: boolean
}

function StepItem({ editing, node, place, isFirst, isLast }: ItemFacts): VNode {
  const { form, open, setOpen, change } = editing
  const { key } = node
  const faults = Object.keys(form.faults.value).filter((name) => name.startsWith(`${key}.`))
  const isOpen = open === key || faults.length > 0 || holds(node, open)
  const move = (by: number): void => change((tree) => changeList(tree, key, (list, at) => movedBy(list, at, by)))
  function remove(): void {
    const before = { values: form.values.value, steps: form.values.value.steps }
    change((tree) => changeList(tree, key, (list) => list.filter((each) => each.key !== key)))
    toast(texts.stepRemoved(place), () => {
      form.values.value = before.values
    })
  }
  return html`<li class="step-item" data-s=${faults.length > 0 ? 'fault' : undefined}>
    <div class="step-head"><button class="link" type="button" aria-expanded=${isOpen} onClick=${() => setOpen(isOpen ? '' : key)}>
        ${faults.length > 0 ? lamp('fault', true) : null}<b>${place}</b> <span>${summaryOf(node, form)}</span></button>
      <div class="acts">
        <button class="btn quiet icon" type="button" aria-label=${texts.moveUp(place)} disabled=${isFirst} onClick=${() => move(-1)}><span class="up">${icon('back')}</span></button>
        <button class="btn quiet icon" type="button" aria-label=${texts.moveDown(place)} disabled=${isLast} onClick=${() => move(1)}><span class="down">${icon('back')}</span></button>
        <button class="btn quiet icon" type="button" aria-label=${texts.removeStep(place)} onClick=${remove}>${icon('close')}</button></div></div>
    ${isOpen ? html`<${StepFields} editing=${editing} node=${node} place=${place} />` : null}</li>`
}

/** Whether a step is this one, or in one of its branches. */
function holds(node: StepNode, key: string): boolean {
  return node.branches.some((branch) => branch.some((each) => each.key === key || holds(each, key)))
}

/** In words, from what is typed; a step whose JSON is none yet by its kind alone. */
function summaryOf(node: StepNode, form: Form): string {
  const type = String(form.values.value[`${node.key}.type`] ?? '')
  const known = String(form.values.value[`${node.key}.known`] ?? '').split(' ')
  try {
    const [step] = stepsOf([node], form.values.value)
    if (step === undefined) return ''
    // The name that is shown for the id.
    const name = { [known[0] ?? '']: known.slice(1).join(' ') }
    return sayStep(type, decidedOf(step), { zone: name, device: name, macro: name })
  } catch (thrown) {
    if (!(thrown instanceof StepJsonFault)) throw thrown
    return texts.stepTypes[type] ?? type
  }
}

// The fields of one step.

interface FieldsFacts {
  editing: Editing
  node: StepNode
  place: string
}

function StepFields({ editing, node, place }: FieldsFacts): VNode {
  const { form } = editing
  const { key } = node
  const at = (name: string): string => `${key}.${name}`
  const type = String(form.values.value[at('type')])
  const first = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (editing.added === key) first.current?.querySelector<HTMLElement>('input, select')?.focus()
  }, [])
  const isJson = form.values.value[at('isJson')] === true
  const fields = isJson
    ? area({ form, name: at('json'), label: texts.argsAsJson, rows: 6, kind: 'wide' })
    : typeFields({ editing, node, place }, type)
  const types = STEP_TYPES.map((each) => [each, texts.stepTypes[each] ?? each] as const)
  const columns =
    isJson && type === 'command' ? html`<${CommandFields} form=${form} node=${node} editing=${editing} />` : null
  return html`<div class="in step-fields" ref=${first}><div class="form">
    ${choice({ form, name: at('type'), label: texts.kindOfStep, options: types })}${columns}${fields}
    ${type === 'stop' ? null : errorFields(form, key)}
    </div><${JsonSwitch} editing=${editing} node=${node} isJson=${isJson} />
    ${type === 'parallel' && !isJson ? html`<${Branches} editing=${editing} node=${node} place=${place} />` : null}</div>`
}

function JsonSwitch({ editing, node, isJson }: { editing: Editing; node: StepNode; isJson: boolean }): VNode {
  const { form, change, setOpen } = editing
  function toFields(): void {
    try {
      const fresh = withFields(node, form.values.value)
      if (fresh === undefined) {
        toast(texts.staysJson)
        return
      }
      form.values.value = fresh.values
      change((tree) => changeStep(tree, node.key, () => fresh.node))
      setOpen(fresh.node.key)
    } catch (thrown) {
      if (!(thrown instanceof StepJsonFault)) throw thrown
      form.faults.value = { ...form.faults.value, [thrown.field]: thrown.message }
    }
  }
  function toJson(): void {
    form.values.value = withJson(node, form.values.value)
  }
  return html`<div class="acts start"><button class="btn quiet" type="button" onClick=${isJson ? toFields : toJson}>${isJson ? texts.asFields : texts.asJson}</button></div>`
}

function errorFields(form: Form, key: string): Child {
  const retries =
    form.values.value[`${key}.on_error`] === 'retry'
      ? input({ form, name: `${key}.retries`, label: texts.tries, type: 'number' })
      : null
  return html`${choice({ form, name: `${key}.on_error`, label: texts.onError, options: Object.entries(texts.onErrors) })}${retries}`
}

function typeFields({ editing, node }: FieldsFacts, type: string): Child {
  const { form } = editing
  const at = (name: string): string => `${node.key}.${name}`
  switch (type) {
    case 'command':
      return html`<${CommandFields} form=${form} node=${node} editing=${editing} /><${Args} editing=${editing} node=${node} />`
    case 'delay':
      return html`${input({ form, name: at('ms'), label: texts.pauseMs, unit: 'ms', type: 'number' })}
        ${input({ form, name: at('spread_ms'), label: texts.spreadMs, unit: 'ms', type: 'number' })}`
    case 'wait':
      return html`${testFields(form, node.key)}${input({ form, name: at('timeout_ms'), label: texts.waitsAtMost, unit: 'ms', type: 'number' })}`
    case 'condition':
      return html`${testFields(form, node.key)}${input({ form, name: at('skip'), label: texts.otherwise, type: 'number', hint: texts.otherwiseHint })}`
    case 'set':
      return html`<${PlaceField} form=${form} stepKey=${node.key} none=${texts.targetNone} />
        ${input({ form, name: at('attribute'), label: texts.attributeName })}
        ${input({ form, name: at('value'), label: texts.argValue, hint: texts.valueHint })}`
    case 'macro':
      return html`<${NamedField} form=${form} name=${at('macro')} table="macro" label=${texts.macroToRun} /><${Args} editing=${editing} node=${node} />`
    case 'notify':
      return html`${input({ form, name: at('text'), label: texts.noticeText, kind: 'wide' })}
        ${input({ form, name: at('to'), label: texts.noticeTo, hint: texts.noticeToHint })}${input({ form, name: at('subject'), label: texts.subject })}`
    case 'stop':
      return html`${input({ form, name: at('reason'), label: texts.stopReason })}${toggle({ form, name: at('failed'), label: texts.stopFailed })}`
    default:
      return null
  }
}

function testFields(form: Form, key: string): Child {
  const at = (name: string): string => `${key}.${name}`
  const isField = form.values.value[at('reads')] === 'field'
  const reads = [
    ['attribute', texts.readsAttribute],
    ['field', texts.readsField],
  ] as const
  return html`${choice({ form, name: at('reads'), label: texts.readsWhat, options: reads })}
    <${PlaceField} form=${form} stepKey=${key} none=${isField ? undefined : texts.targetNone} />
    ${input({ form, name: at('read'), label: isField ? texts.fieldName : texts.attributeName })}
    ${choice({ form, name: at('op'), label: texts.comparison, options: Object.entries(texts.ops) })}
    ${input({ form, name: at('value'), label: texts.comparedWith, hint: texts.valueHint })}`
}

// Targets and verbs: suggested from what the building has.

/** Suggestions per fetch. */
const SUGGESTED = 20

/** Rows whose texts hold what is typed. */
function useRows(table: string, typed: string): readonly RowView[] {
  const [rows, setRows] = useState<readonly RowView[]>([])
  useEffect(() => {
    if (table === '') return setRows([])
    let isOver = false
    api.rows(table, typed, 0, SUGGESTED).then(
      (answer) => {
        if (!isOver) setRows(answer.rows)
      },
      () => {}, // Without suggestions the name is typed.
    )
    return () => {
      isOver = true
    }
  }, [table, typed])
  return rows
}

function namesIn(rows: readonly RowView[]): string[] {
  return rows.flatMap(({ name }) => name ?? [])
}

function NamedField({ form, name, table, label }: { form: Form; name: string; table: string; label: string }): VNode {
  const rows = useRows(table, String(form.values.value[name] ?? ''))
  return input({ form, name, label, options: namesIn(rows), hint: texts.nameOrId })
}

interface PlaceFacts {
  form: Form
  stepKey: string
  /** What no target means; absent where there has to be one. */
  none?: string
}

function PlaceField({ form, stepKey, none }: PlaceFacts): VNode {
  const kind = String(form.values.value[`${stepKey}.kind`] ?? '')
  const rows = useRows(kind, String(form.values.value[`${stepKey}.place`] ?? ''))
  const kinds: (readonly [string, string])[] = [
    ...(none === undefined && kind !== '' ? [] : [['', none ?? texts.none] as const]),
    ['zone', texts.targetZone],
    ['device', texts.targetDevice],
  ]
  const label = kind === 'device' ? texts.targetDevice : texts.targetZone
  return html`${choice({ form, name: `${stepKey}.kind`, label: texts.targetKind, options: kinds })}
    ${kind === '' ? null : input({ form, name: `${stepKey}.place`, label, options: namesIn(rows), hint: texts.placeHint })}`
}

/** The verbs of the zone or device that is typed, once it is one. */
function useVerbs(form: Form, key: string): readonly KnownVerb[] {
  const [verbs, setVerbs] = useState<readonly KnownVerb[]>([])
  const kind = String(form.values.value[`${key}.kind`] ?? '')
  const place = String(form.values.value[`${key}.place`] ?? '')
  const [known = ''] = String(form.values.value[`${key}.known`] ?? '').split(' ', 1)
  const rows = useRows(kind, place)
  const same = rows.filter(({ name, id }) => name === place || String(id) === place)
  const id = same.length === 1 ? same[0]?.id : same.find((row) => String(row.id) === known)?.id
  useEffect(() => {
    if (id === undefined) return setVerbs([])
    let isOver = false
    macroApi.verbs(kind === 'device' ? { device_id: id } : { zone_id: id }).then(
      (answer) => {
        if (!isOver) setVerbs(answer.verbs)
      },
      () => {}, // A target that waits for Apply all has none yet; the verb is typed.
    )
    return () => {
      isOver = true
    }
  }, [kind, id])
  return verbs
}

/** Most verbs that a hint names. */
const MOST_NAMED = 8

function CommandFields({ form, node, editing }: { form: Form; node: StepNode; editing: Editing }): VNode {
  const { key } = node
  const verbs = useVerbs(form, key)
  const names = verbs.map(({ name }) => name)
  const hint = names.length === 0 ? texts.verbUnknown : texts.verbHint(names.slice(0, MOST_NAMED).join(', '))
  const verb = String(form.values.value[`${key}.command`] ?? '')
  const wanted = argNamesOf(verbs.find(({ name }) => name === verb))
  // A verb that is chosen brings its arguments along.
  useEffect(() => {
    const given = new Set(node.args.map((arg) => form.values.value[`${key}.${arg}.name`]))
    const missing = wanted.filter((name) => !given.has(name))
    if (missing.length > 0) addArgs(editing, node, missing)
  }, [verb, wanted.join()])
  return html`<${PlaceField} form=${form} stepKey=${key} />
    ${input({ form, name: `${key}.command`, label: texts.verb, options: names, hint })}`
}

/** The names of the args that a verb takes. */
function argNamesOf(verb: KnownVerb | undefined): string[] {
  const schema = verb?.schema as { properties?: object } | null | undefined
  return Object.keys(schema?.properties ?? {})
}

function addArgs({ form, change }: Editing, { key }: StepNode, names: readonly string[]): void {
  const fresh = names.map((name) => [freshKey(), name] as const)
  const values = fresh.flatMap(([arg, name]): [string, string][] => [
    [`${key}.${arg}.name`, name],
    [`${key}.${arg}.value`, ''],
  ])
  form.values.value = { ...form.values.value, ...Object.fromEntries(values) }
  change((tree) => changeStep(tree, key, (node) => ({ ...node, args: [...node.args, ...fresh.map(([arg]) => arg)] })))
}

function Args({ editing, node }: { editing: Editing; node: StepNode }): VNode {
  const { form, change } = editing
  const { key } = node
  const remove = (arg: string): void =>
    change((tree) => changeStep(tree, key, (own) => ({ ...own, args: own.args.filter((each) => each !== arg) })))
  return html`<div class="wide stack">${node.args.map((arg) => {
    const name = String(form.values.value[`${key}.${arg}.name`] ?? '')
    return html`<div class="name-row" key=${arg}>${input({ form, name: `${key}.${arg}.name`, label: texts.argName })}
      ${input({ form, name: `${key}.${arg}.value`, label: texts.argValue })}
      <button class="btn quiet icon" type="button" aria-label=${texts.removeArg(name)} onClick=${() => remove(arg)}>${icon('close')}</button></div>`
  })}
    <div class="acts start"><button class="btn" type="button" onClick=${() => addArgs(editing, node, [''])}>${icon('plus')} ${texts.addArg}</button></div></div>`
}

function Branches({ editing, node, place }: FieldsFacts): VNode {
  const { change } = editing
  const { key, branches } = node
  const replace = (at: number, list: StepList): void =>
    change((tree) =>
      changeStep(tree, key, (own) => ({ ...own, branches: own.branches.map((each, n) => (n === at ? list : each)) })),
    )
  const set = (next: (branches: readonly StepList[]) => readonly StepList[]): void =>
    change((tree) => changeStep(tree, key, (own) => ({ ...own, branches: next(own.branches) })))
  return html`<div class="stack">${branches.map(
    (branch, at) => html`<fieldset class="branch" key=${at}><legend>${texts.branchNumber(at + 1)}</legend>
      <${StepsList} editing=${editing} list=${branch} place=${`${place}.${at + 1}.`} add=${(list: StepList) => replace(at, list)} empty=${texts.noStepsInBranch} />
      <${Act} kind="quiet" run=${() => set((all) => all.filter((_, n) => n !== at))}>${texts.removeBranch(at + 1)}</${Act}></fieldset>`,
  )}
    <div class="acts start"><button class="btn" type="button" onClick=${() => set((all) => [...all, []])}>${icon('plus')} ${texts.addBranch}</button></div></div>`
}
