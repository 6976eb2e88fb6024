/** How points come to be: one by one from a form, or all of a known device from its template. */
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
import type { PointTemplate } from '../core/points/definition.ts'
import type { PointView } from '../core/points/values.ts'
import { type Port, pointsApi } from './api.ts'
import { definitionOf, type Shown } from './points.ts'
import { isAdmin } from './state.ts'
import { framingOf, nameOf } from './words.ts'

// Devices known by heart: searched, looked at, added as one unit with all their points.

/** What the picker is told. */
export interface PickerProps {
  port: Port
  rows: readonly Shown[]
  /** The unit a scan found. */
  unitId?: string
  again: () => Promise<void>
}

/** The picker: a list to search, then the device with the unit it is added as. */
export function TemplatePicker({ port, rows, unitId, again }: PickerProps): VNode {
  const [templates, setTemplates] = useState<PointTemplate[] | string | null>(null)
  const [filter, setFilter] = useState('')
  const [chosen, setChosen] = useState<PointTemplate | null>(null)
  useEffect(() => {
    void pointsApi.templates().then(setTemplates, (thrown: unknown) => setTemplates(sentenceOf(thrown)))
  }, [])
  const close = html`<div class="acts"><a class="btn quiet icon" href=${linkTo('port', port.path, 'points')} aria-label="Close devices">${icon('close')}</a></div>`
  if (chosen)
    return html`<${Chosen} port=${port} rows=${rows} unitId=${unitId} again=${again} template=${chosen} back=${() => setChosen(null)} />`
  return html`<section class="panel" aria-label="Devices"><header><h2>${unitId ? `What is unit ${unitId}?` : 'Add a device'}</h2>${close}</header>
    <div class="filter">${filterInput({ filter, setFilter, label: 'Search devices', placeholder: 'maker, model, kind', isFirst: true })}</div>
    ${list(templates, filter, setChosen)}</section>`
}

function list(
  templates: PointTemplate[] | string | null,
  filter: string,
  choose: (template: PointTemplate) => void,
): Child {
  if (templates === null) return say('busy', 'Asking for the devices', 'The gateway has them on board.')
  if (typeof templates === 'string') return say('fault', 'The devices could not be read', templates)
  const shown = templates.filter(({ maker, model, kind, title }) =>
    matches(`${maker} ${model} ${kind} ${title}`, filter),
  )
  if (shown.length === 0)
    return say(
      'off',
      `No device matches ${filter}`,
      `${many(templates.length, 'device')} are known. Any other one is added point by point, from its register list.`,
    )
  return html`<ul class="devices">${shown.map(
    (template) => html`<li key=${template.id}><button type="button" onClick=${() => choose(template)}>
      <b>${template.maker} ${template.model}</b><span class="faint small">${template.kind} · ${many(template.points.length, 'point')}</span></button></li>`,
  )}</ul>`
}

interface ChosenProps extends PickerProps {
  template: PointTemplate
  back: () => void
}

function Chosen({ port, rows, unitId, again, template, back }: ChosenProps): VNode {
  const known = new Set(rows.map(({ name }) => name))
  const clashes = template.points.some(({ name }) => known.has(name))
  const unit = unitId ?? String(template.unitId)
  const form = useForm({ unitId: unit, prefix: clashes ? `Unit ${unit} ` : '', pollMs: '' })
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
    toast(`${many(template.points.length, 'point')} of unit ${typed} are read from now on.`)
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
      <div class="form">${input({ form, name: 'unitId', label: 'Unit id', type: 'number', first: true, hint: `From the maker: ${template.unitId}` })}
        ${input({ form, name: 'pollMs', label: 'Read every', type: 'number', unit: 'ms', hint: 'Empty: as the device list says.' })}
        ${input({ form, name: 'prefix', label: 'Names begin with', kind: 'wide', hint: clashes ? 'Some names are taken already.' : 'Empty: names as below.' })}</div>
      ${refusal(form)}
      <details><summary>${many(template.points.length, 'point')}</summary>${preview(template, String(form.values.value.prefix))}</details></div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Add ${many(template.points.length, 'point')}</${Act}></footer></form>`
}

function sourceText({ source }: PointTemplate): VNode {
  const words = [source.title, source.revision].filter(Boolean).join(', ')
  return html`Source: ${words}. ${source.note}${source.url ? html`<br /><span class="mono">${source.url}</span>` : null}`
}

/** A device comes with other line settings than this line has: that is the first thing to look at. */
function lineNote(port: Port, { line }: PointTemplate): Child {
  const { line: own } = port
  if (!own || !line.baud) return null
  const parity = line.parity ?? own.parity
  const stop = line.stop_bits ?? own.stop_bits
  if (line.baud === own.baud && parity === own.parity && stop === own.stop_bits) return null
  const theirs = `${baudText(line.baud)} ${own.data_bits}${parity.charAt(0).toUpperCase()}${stop}`
  return html`<p class="small note" data-s="warn">It leaves the maker with ${theirs}; ${nameOf(port.path)} runs at ${framingOf(own)}. One of the two must change.</p>`
}

function preview({ points }: PointTemplate, prefix: string): VNode {
  return html`<table class="table tight"><thead class="sr"><tr><th>Name</th><th>Unit of measure</th><th>Register</th></tr></thead>
    <tbody>${points.map((point) => html`<tr key=${point.name}><td class="point-name">${prefix}${point.name}</td><td>${point.unit ?? ''}</td><td class="n faint">${point.fc === 3 ? 'holding' : point.fc === 4 ? 'input' : point.fc === 1 ? 'coil' : 'discrete'} ${point.address}</td></tr>`)}</tbody></table>`
}

/** What the form is told. */
export interface PointFormProps {
  port: Port
  /** Absent: a new one. */
  point?: Shown
  rows: readonly Shown[]
  again: () => Promise<void>
}

const FUNCTIONS = [
  ['3', 'Holding register'],
  ['4', 'Input register'],
  ['1', 'Coil'],
  ['2', 'Discrete input'],
] as const
const TYPES = [
  ['u16', '16 bits, unsigned'],
  ['s16', '16 bits, signed'],
  ['u32', '32 bits, unsigned'],
  ['s32', '32 bits, signed'],
  ['u64', '64 bits, unsigned'],
  ['f32', 'Float, 32 bits'],
  ['f64', 'Float, 64 bits'],
  ['bit', 'One bit'],
  ['string', 'Text'],
] as const
const ORDERS = [
  ['big', 'High first'],
  ['little', 'Low first'],
] as const
const MANY_WORDS = ['u32', 's32', 'u64', 'f32', 'f64']

/** The form; for those who may change nothing it only shows. */
export function PointForm({ port, point, rows, again }: PointFormProps): VNode {
  const form = useForm(valuesOf(point), point ? 'edit' : 'draft')
  const revision = useRevision(point?.revision)
  const close = linkTo('port', port.path, 'points')
  async function save(): Promise<void> {
    const body = bodyOf(form)
    if (point) await revision.save((ifMatch) => pointsApi.change(port.path, point.name, body, ifMatch))
    else await pointsApi.insert(port.path, body)
    await again()
    toast(point ? `${body.name} is changed.` : `${body.name} is read from now on.`)
    goTo('port', port.path, 'points')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel dense" onSubmit=${submit} novalidate aria-label=${point ? `Point ${point.name}` : 'New point'}>
    <header><h2>${point?.name ?? 'New point'}</h2><div class="acts"><a class="btn quiet icon" href=${close} aria-label="Close form">${icon('close')}</a></div></header>
    <div class="in stack">${point?.fault ? html`<p class="small" data-s="warn">${point.fault.message}</p>` : null}
      <fieldset class="plain" disabled=${!isAdmin.value}><div class="form">${fields(form, point === undefined)}</div></fieldset>${refusal(form)}</div>
    ${
      isAdmin.value
        ? html`<footer class="save">${point ? html`<${Removal} port=${port} point=${point} rows=${rows} again=${again} />` : null}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${point ? 'Save' : 'Add point'}</${Act}></footer>`
        : html`<p class="foot small faint">An administrator changes points.</p>`
    }
  </form>`
}

function fields(form: Form, isNew: boolean): VNode {
  const { fc, type } = form.values.value
  const isRegister = fc === '3' || fc === '4'
  const isNumber = isRegister && type !== 'bit' && type !== 'string'
  const number = (name: string, label: string, more: object = {}): VNode =>
    input({ form, name, label, type: 'number', ...more })
  return html`${input({ form, name: 'name', label: 'Name', kind: 'wide', first: isNew, placeholder: 'Voltage L1' })}
    ${number('unitId', 'Unit id')}${choice({ form, name: 'fc', label: 'Kind', options: FUNCTIONS })}
    ${number('address', 'Address', { hint: 'From 0: 40001 is 0.' })}
    ${isRegister ? choice({ form, name: 'type', label: 'Read as', options: TYPES }) : null}
    ${isRegister && type === 'bit' ? number('bit', 'Bit', { hint: '0 is the lowest, 15 the highest.' }) : null}
    ${isRegister && type === 'string' ? number('length', 'Registers', { hint: 'Two letters each.' }) : null}
    ${isRegister && MANY_WORDS.includes(String(type)) ? choice({ form, name: 'wordOrder', label: 'Register order', options: ORDERS }) : null}
    ${isRegister && type !== 'bit' ? choice({ form, name: 'byteOrder', label: 'Byte order', options: ORDERS }) : null}
    ${
      isNumber
        ? html`${number('scale', 'Times')}${number('offset', 'Plus')}${input({ form, name: 'unit', label: 'Unit of measure', placeholder: 'V' })}
      ${number('decimals', 'Decimals', { hint: 'Empty: all there are.' })}`
        : null
    }
    ${number('pollMs', 'Read every', { unit: 'ms' })}${isNumber ? number('deadband', 'Told when it moves by', { hint: '0: by anything.' }) : null}`
}

function valuesOf(point: PointView | undefined): Values {
  const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value))
  const from = (name: keyof PointView, otherwise: string): string => (point ? text(point[name]) : otherwise)
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

/** What is kept of the form: what a kind of point has not is as the gateway wants it left. */
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

/** Goes at once; the toast takes it back to the place where it stood. */
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
      toast(`${point.name} is removed.`, () => void putBack(port.path, point, at).then(again))
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
    toast(`${point.name} is back.`)
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}
