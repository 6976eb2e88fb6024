/** The ways to add points: one at a time with a form, or all points of a known device from its template. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { choice, type Form, input, refusal, typedNumber, useForm, type Values } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { baudText, many } from '#kit/web/numbers.ts'
import { Act, icon, say, toast } from '#kit/web/parts.ts'
import { useRevision } from '#kit/web/revision.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { filterInput, matches } from '#kit/web/tools.ts'
import type { PointDefinition, PointTemplate } from '../core/points/definition.ts'
import { type Port, pointsApi } from './api.ts'
import { draftOfWord } from './point-draft.ts'
import { definitionOf, isRecordPoint, type Shown } from './points.ts'
import { recordBody, recordFields, recordValues } from './record-points.ts'
import { isAdmin } from './state.ts'
import * as texts from './texts.ts'
import { framingOf, shortPath } from './words.ts'

// The device picker: find a device, look at it, and add it as one unit with all its points.

/** Props of the picker. */
export interface PickerProps {
  port: Port
  rows: readonly Shown[]
  /** The unit that a scan found, and the device that it could be: `17`, or `17 eastron-sdm630`. */
  found?: string
  again: () => Promise<void>
}

/** The picker: a searchable list, then the chosen device and the unit id to add it as. */
export function TemplatePicker({ port, rows, found = '', again }: PickerProps): VNode {
  const [unitId, guessed] = found.split(' ')
  const [templates, setTemplates] = useState<PointTemplate[] | string | null>(null)
  const [filter, setFilter] = useState('')
  const [chosen, setChosen] = useState<PointTemplate | null>(null)
  useEffect(() => {
    void pointsApi.templates().then(
      (all) => {
        setTemplates(all)
        setChosen(all.find(({ id }) => id === guessed) ?? null)
      },
      (thrown: unknown) => setTemplates(sentenceOf(thrown)),
    )
  }, [])
  const close = html`<div class="acts"><a class="btn quiet icon" href=${linkTo('port', port.path, 'points')} aria-label="Close devices">${icon('close')}</a></div>`
  if (chosen)
    return html`<${Chosen} port=${port} rows=${rows} unitId=${unitId} again=${again} template=${chosen} back=${() => setChosen(null)} />`
  return html`<section class="panel" aria-label="Devices"><header><h2>${unitId ? texts.whatIsUnit(unitId) : texts.addDevice}</h2>${close}</header>
    <div class="filter">${filterInput({ filter, setFilter, label: texts.searchDevices, placeholder: texts.makerModelKind, isFirst: true })}</div>
    ${list(templates, filter, setChosen)}</section>`
}

function list(
  templates: PointTemplate[] | string | null,
  filter: string,
  choose: (template: PointTemplate) => void,
): Child {
  if (templates === null) return say('busy', texts.askingForDevices, texts.devicesAreOnGateway)
  if (typeof templates === 'string') return say('fault', texts.devicesCouldNotBeRead, templates)
  const shown = templates.filter(({ maker, model, kind, title }) =>
    matches(`${maker} ${model} ${kind} ${title}`, filter),
  )
  if (shown.length === 0) return say('off', texts.noDeviceMatches(filter), texts.devicesAreKnown(templates.length))
  return html`<ul class="devices">${shown.map(
    (template) => html`<li key=${template.id}><button type="button" onClick=${() => choose(template)}>
      <b>${template.maker} ${template.model}</b><span class="faint small">${template.kind} · ${many(template.points.length, 'point')}</span></button></li>`,
  )}</ul>`
}

interface ChosenProps extends Omit<PickerProps, 'found'> {
  unitId?: string
  template: PointTemplate
  back: () => void
}

function Chosen({ port, rows, unitId, again, template, back }: ChosenProps): VNode {
  const known = new Set(rows.map(({ name }) => name))
  const clashes = template.points.some(({ name }) => known.has(name))
  const unit = unitId ?? String(template.unitId)
  const form = useForm({ unitId: unit, prefix: clashes ? texts.pointUnit(unit) : '', pollMs: '' })
  async function save(): Promise<void> {
    const { prefix, pollMs, unitId: typed } = form.values.value
    const body = {
      template: template.id,
      unitId: typedNumber(typed),
      ...(prefix === '' ? {} : { prefix }),
      ...(pollMs === '' ? {} : { pollMs: typedNumber(pollMs) }),
    }
    await pointsApi.addTemplate(port.path, body)
    await again()
    toast(texts.pointsAreAdded(template.points.length, typed))
    goTo('port', port.path, 'points')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel dense" onSubmit=${submit} novalidate aria-label=${template.title}>
    <header><button class="btn quiet icon" type="button" aria-label="All devices" onClick=${back}>${icon('back')}</button><h2>${template.maker} ${template.model}</h2>
      <div class="acts"><a class="btn quiet icon" href=${linkTo('port', port.path, 'points')} aria-label="Close devices">${icon('close')}</a></div></header>
    <div class="in stack"><p>${template.title}</p><p class="small soft">${sourceText(template)}</p>${lineNote(port, template)}
      <div class="form">${input({ form, name: 'unitId', label: texts.unitId, type: 'number', first: true, hint: texts.fromMaker(template.unitId) })}
        ${input({ form, name: 'pollMs', label: texts.readEvery, type: 'number', unit: 'ms', hint: texts.pollHint })}
        ${input({ form, name: 'prefix', label: texts.namesBegin, kind: 'wide', hint: clashes ? texts.namesAreTaken : texts.prefixHint })}</div>
      ${refusal(form)}
      <details><summary>${many(template.points.length, 'point')}</summary>${preview(template, String(form.values.value.prefix))}</details></div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Add ${many(template.points.length, 'point')}</${Act}></footer></form>`
}

function sourceText({ source }: PointTemplate): VNode {
  const words = [source.title, source.revision].filter(Boolean).join(', ')
  return html`Source: ${words}. ${source.note}${source.url ? html`<br /><span class="mono">${source.url}</span>` : null}`
}

/** Points out that a device leaves its maker with other line settings than this line has. */
function lineNote(port: Port, { line }: PointTemplate): Child {
  const { line: own } = port
  if (!own || !line.baud) return null
  const parity = line.parity ?? own.parity
  const stop = line.stop_bits ?? own.stop_bits
  if (line.baud === own.baud && parity === own.parity && stop === own.stop_bits) return null
  const theirs = `${baudText(line.baud)} ${own.data_bits}${parity.charAt(0).toUpperCase()}${stop}`
  return html`<p class="small note" data-s="warn">It leaves the maker with ${theirs}; ${shortPath(port.path)} runs at ${framingOf(own)}. One of the two must change.</p>`
}

function preview({ points }: PointTemplate, prefix: string): VNode {
  return html`<table class="table tight"><thead class="sr"><tr><th>Name</th><th>Unit of measure</th><th>Register</th></tr></thead>
    <tbody>${points.map((point) => html`<tr key=${point.name}><td class="point-name">${prefix}${point.name}</td><td>${point.unit ?? ''}</td><td class="n faint">${point.fc === 3 ? 'holding' : point.fc === 4 ? 'input' : point.fc === 1 ? 'coil' : 'discrete'} ${point.address}</td></tr>`)}</tbody></table>`
}

/** Props of the form. */
export interface PointFormProps {
  port: Port
  /** Left out for a new point. */
  point?: Shown
  /** What is known of a new point, as `wordOfDraft` writes it. */
  draft?: string
  rows: readonly Shown[]
  again: () => Promise<void>
}

const FUNCTIONS = [
  ['3', texts.holdingRegister],
  ['4', texts.inputRegister],
  ['1', texts.coil],
  ['2', texts.discreteInput],
] as const
const TYPES = [
  ['u16', texts.u16],
  ['s16', texts.s16],
  ['u32', texts.u32],
  ['s32', texts.s32],
  ['u64', texts.u64],
  ['s64', texts.s64],
  ['f32', texts.f32],
  ['f64', texts.f64],
  ['bit', texts.oneBit],
  ['string', texts.asText],
] as const
const ORDERS = [
  ['big', texts.highFirst],
  ['little', texts.lowFirst],
] as const
const MANY_WORDS = ['u32', 's32', 'u64', 's64', 'f32', 'f64']

/** The form of a point; read-only for users who may change nothing. */
export function PointForm({ port, point, draft, rows, again }: PointFormProps): VNode {
  const isOfMeters = port.protocol === 'mbus'
  const kind = isOfMeters ? ofRecords : ofRegisters
  const form = useForm({ ...kind.valuesOf(point), ...draftOfWord(draft ?? '') }, point ? 'edit' : 'draft')
  const revision = useRevision(point?.revision)
  const close = linkTo('port', port.path, 'points')
  async function save(): Promise<void> {
    const body = kind.bodyOf(form)
    if (point) await revision.save((ifMatch) => pointsApi.change(port.path, point.name, body, ifMatch))
    else await pointsApi.insert(port.path, body)
    await again()
    toast(point ? texts.isChanged(body.name) : texts.pointIsAdded(body.name))
    goTo('port', port.path, 'points')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel dense" onSubmit=${submit} novalidate aria-label=${point ? texts.point(point.name) : texts.newPoint}>
    <header><h2>${point?.name ?? texts.newPoint}</h2><div class="acts">${point && point.value !== null && typeof point.value !== 'string' ? html`<a class="btn" href=${linkTo('port', port.path, 'points', 'history', point.name)}>History</a>` : null}<a class="btn quiet icon" href=${close} aria-label="Close form">${icon('close')}</a></div></header>
    <div class="in stack">${point?.fault ? html`<p class="small" data-s="warn">${point.fault.message}</p>` : null}
      <fieldset class="plain" disabled=${!isAdmin.value}><div class="form">${kind.fields(form, point === undefined)}</div></fieldset>${refusal(form)}</div>
    ${
      isAdmin.value
        ? html`<footer class="save">${point ? html`<${Removal} port=${port} point=${point} rows=${rows} again=${again} />` : null}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${point ? texts.save : texts.addPoint}</${Act}></footer>`
        : html`<p class="foot small faint">An administrator changes points.</p>`
    }
  </form>`
}

/** What the form of a point has: those of a Modbus line are registers, those of meters records. */
const ofRegisters = {
  fields,
  valuesOf: (point: Shown | undefined) => valuesOf(point && !isRecordPoint(point) ? point : undefined),
  bodyOf,
}
const ofRecords = {
  fields: recordFields,
  valuesOf: (point: Shown | undefined) => recordValues(point && isRecordPoint(point) ? point : undefined),
  bodyOf: recordBody,
}

function fields(form: Form, isNew: boolean): VNode {
  const { fc, type } = form.values.value
  const isRegister = fc === '3' || fc === '4'
  const isNumber = isRegister && type !== 'bit' && type !== 'string'
  const number = (name: string, label: string, more: object = {}): VNode =>
    input({ form, name, label, type: 'number', ...more })
  return html`${input({ form, name: 'name', label: texts.name, kind: 'wide', first: isNew, placeholder: texts.voltageL1 })}
    ${number('unitId', texts.unitId)}${choice({ form, name: 'fc', label: texts.kind, options: FUNCTIONS })}
    ${number('address', texts.address, { hint: texts.registerAddressHint })}
    ${isRegister ? choice({ form, name: 'type', label: texts.readAs, options: TYPES }) : null}
    ${isRegister && type === 'bit' ? number('bit', texts.bit, { hint: texts.bitHint }) : null}
    ${isRegister && type === 'string' ? number('length', texts.registers, { hint: texts.lengthHint }) : null}
    ${isRegister && MANY_WORDS.includes(String(type)) ? choice({ form, name: 'wordOrder', label: texts.registerOrder, options: ORDERS }) : null}
    ${isRegister && type !== 'bit' ? choice({ form, name: 'byteOrder', label: texts.byteOrder, options: ORDERS }) : null}
    ${
      isNumber
        ? html`${number('scale', texts.times)}${number('offset', texts.plus)}${input({ form, name: 'unit', label: texts.unitOfMeasure, placeholder: 'V' })}
      ${number('decimals', texts.decimals, { hint: texts.decimalsHint })}`
        : null
    }
    ${number('pollMs', texts.readEvery, { unit: 'ms' })}${isNumber ? number('deadband', texts.deadband, { hint: texts.deadbandHint }) : null}`
}

function valuesOf(point: PointDefinition | undefined): Values {
  const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value))
  const from = (name: keyof PointDefinition, otherwise: string): string => (point ? text(point[name]) : otherwise)
  return {
    name: from('name', ''),
    unitId: from('unitId', '1'),
    fc: from('fc', '3'),
    address: from('address', '0'),
    type: from('type', 'u16'),
    bit: from('bit', ''),
    length: from('length', ''),
    wordOrder: from('wordOrder', 'big'),
    byteOrder: from('byteOrder', 'big'),
    scale: from('scale', '1'),
    offset: from('offset', '0'),
    unit: from('unit', ''),
    decimals: from('decimals', ''),
    pollMs: from('pollMs', '10000'),
    deadband: from('deadband', '0'),
  }
}

/** The body to save. A field that this kind of point does not have gets the value the gateway expects. */
function bodyOf(form: Form): Record<string, unknown> & { name: string } {
  const typed = form.values.value
  const number = (name: string): number | string => typedNumber(typed[name])
  const orNull = (name: string, isMeant: boolean): number | string | null =>
    isMeant && typed[name] !== '' ? number(name) : null
  const isRegister = typed.fc === '3' || typed.fc === '4'
  const type = isRegister ? String(typed.type) : 'bit'
  const isNumber = isRegister && type !== 'bit' && type !== 'string'
  return {
    name: String(typed.name).trim(),
    unitId: number('unitId'),
    fc: Number(typed.fc),
    address: number('address'),
    type,
    bit: orNull('bit', isRegister && type === 'bit'),
    length: orNull('length', type === 'string'),
    wordOrder: MANY_WORDS.includes(type) ? typed.wordOrder : 'big',
    byteOrder: isRegister && type !== 'bit' ? typed.byteOrder : 'big',
    scale: isNumber ? number('scale') : 1,
    offset: isNumber ? number('offset') : 0,
    unit: isNumber && typed.unit !== '' ? typed.unit : null,
    decimals: orNull('decimals', isNumber),
    pollMs: number('pollMs'),
    deadband: isNumber ? number('deadband') : 0,
  }
}

/** Removes without asking; the toast offers to undo it, at the same place in the list. */
function Removal({
  port,
  point,
  again,
}: {
  port: Port
  point: Shown
  rows: readonly Shown[]
  again: () => Promise<void>
}): VNode {
  async function run(): Promise<void> {
    try {
      const { points } = await pointsApi.points(port.path)
      const at = points.findIndex(({ name }) => name === point.name)
      await pointsApi.remove(port.path, point.name)
      goTo('port', port.path, 'points')
      toast(texts.isRemoved(point.name), () => void putBack(port.path, point, at).then(again))
      await again()
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<${Act} kind="danger apart" run=${() => void run()}>Remove</${Act}>`
}

async function putBack(path: string, point: Shown, at: number): Promise<void> {
  try {
    await pointsApi.insert(path, definitionOf(point), at < 0 ? undefined : at)
    toast(texts.isBack(point.name))
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}
