/** One point by hand: where it stands in a unit, how it is read, how often. */
import type { VNode } from 'preact'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { choice, input, refusal } from '#kit/web/field.ts'
import { type Form, typedNumber, useForm, type Values } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { useRevision } from '#kit/web/revision.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import type { PointView } from '../core/points/values.ts'
import type { Port } from './api.ts'
import { definitionOf, type Shown } from './points.ts'
import { pointsApi } from './points-api.ts'
import { isAdmin } from './state.ts'

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
