/** A test read: registers of a unit, all that each of them may mean, and the point that a meaning makes. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { choice, type Form, input, refusal, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { timeOf } from '#kit/web/numbers.ts'
import { Act, icon, say } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { TestRead } from '../core/modbus/master.ts'
import type { Reading, TestedRegister } from '../core/modbus/readings.ts'
import { busApi, type Port } from './api.ts'
import { wordOfDraft } from './point-draft.ts'
import { pointValueText } from './points.ts'
import { noLine } from './port-head.ts'
import { isAdmin, portAt } from './state.ts'
import * as texts from './texts.ts'
import { shortPath } from './words.ts'

adoptStyle(`.tested > summary { display: grid; grid-template-columns: 4rem 3.5rem 4.5rem 1fr; gap: var(--s3); align-items: center; padding-inline: var(--s4); color: var(--ink); }
.tested > summary::before { content: none; }
.tested[open] > summary { background: var(--sunken); }
.tested + .tested { border-top: 1px solid var(--grid); }
.readings { display: grid; grid-template-columns: 8.5rem minmax(0, 1fr); gap: var(--s1) var(--s3); padding: var(--s2) var(--s4) var(--s3); }
.readings dt { color: var(--ink-2); font-size: var(--t-small); align-self: center; }
.readings dd { display: flex; flex-wrap: wrap; gap: var(--s1); margin: 0; }
.reading { display: inline-flex; gap: .4rem; align-items: center; min-height: 1.75rem; padding: 0 .5rem; border: 1px solid var(--edge); border-radius: var(--radius); color: var(--ink); text-decoration: none; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.reading:hover { background: var(--sunken); }
.reading i { font-style: normal; font-size: var(--t-small); color: var(--ink-2); }
.reading[data-doubt] { border-color: var(--grid); color: var(--ink-3); }
.reading[data-doubt] i { color: var(--ink-3); }
@container app (max-width: 44rem) { .readings { grid-template-columns: minmax(0, 1fr); } .readings dt { margin-top: var(--s2); } .reading { min-height: 2.75rem; } }`)

/** A value on the display of the device, found among the readings. `scale`: what the reading is multiplied with. */
interface Found {
  address: number
  reading: Reading
  scale: number
}

/** The value moves between the display and the read, and the display rounds. */
const NEAR = 0.005

/** Integers are sent in tenths to millionths, or in tens to thousands. */
const LEAST_POWER = -6
const MOST_POWER = 3

/** The readings that are about this value, as they are or, for integers, times a power of ten; exact ones first. */
export function foundOf(registers: readonly TestedRegister[], typed: string): Found[] {
  const text = typed.trim()
  const wanted = Number(text.replace(',', '.').replaceAll(/[\s\u202f]/g, ''))
  const all = registers.flatMap(({ address, readings }) => readings.map((reading) => ({ address, reading })))
  if (text === '') return []
  if (!Number.isFinite(wanted))
    return all
      .filter(({ reading: { type, value } }) => type === 'string' && String(value).includes(text))
      .map((one) => ({ ...one, scale: 1 }))
  if (wanted === 0) return []
  return all
    .flatMap((one) => {
      const scale = scaleOf(one.reading, wanted)
      return scale === undefined || one.reading.doubt !== null ? [] : [{ ...one, scale }]
    })
    .sort((a, b) => Math.abs(Math.log10(a.scale)) - Math.abs(Math.log10(b.scale)) || a.address - b.address)
}

/** What the reading has to be multiplied with to be the wanted value; undefined if no power of ten does it. */
function scaleOf({ type, value }: Reading, wanted: number): number | undefined {
  const raw = type === 'bit' || type === 'string' || value === null ? 0 : Number(value)
  if (raw === 0 || raw > 0 !== wanted > 0) return undefined
  const power = type === 'f32' || type === 'f64' ? 0 : Math.round(Math.log10(wanted / raw))
  if (power < LEAST_POWER || power > MOST_POWER) return undefined
  const scale = Number(`1e${power}`)
  return Math.abs((raw * scale) / wanted - 1) <= NEAR ? scale : undefined
}

/** The page. @param unitId of a unit that a scan found */
export function TestReadPage({ path, unitId }: { path: string; unitId?: string }): VNode {
  const port = portAt(path)
  if (!port) return noLine(texts.testRead, path)
  const name = shortPath(path)
  return html`<div class="head"><a class="btn quiet icon" href=${linkTo('port', path, 'points')} aria-label=${texts.backToPoints(name)}>${icon('back')}</a><h1>Test read of ${name}</h1></div>
    ${isAdmin.value ? html`<${Asking} port=${port} unitId=${unitId} />` : html`<section class="panel">${say('off', texts.onlyAdministratorsTestRead, texts.whatTestReadIs)}</section>`}`
}

const FUNCTIONS = [
  ['3', texts.holdingRegister],
  ['4', texts.inputRegister],
  ['1', texts.coil],
  ['2', texts.discreteInput],
] as const

/** Registers asked for where nothing else is typed; a number of 64 bits and something behind it. */
const COUNT = '8'

function Asking({ port, unitId }: { port: Port; unitId?: string }): VNode {
  const form = useForm({ unitId: unitId ?? '1', fc: '3', address: '0', quantity: COUNT })
  const [answer, setAnswer] = useState<{ read: TestRead; atMs: number } | null>(null)
  async function read(): Promise<void> {
    const { unitId: unit, fc, address, quantity } = form.values.value
    const body = {
      unitId: typedNumber(unit),
      fc: Number(fc),
      address: typedNumber(address),
      quantity: typedNumber(quantity),
    }
    setAnswer({ read: await busApi.testRead(port.path, body), atMs: daemonNow() })
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(read)
  }
  const isOpen = port.state === 'open'
  return html`<form class="panel dense" aria-label="What to read" onSubmit=${submit} novalidate><div class="in stack"><div class="form">${fields(form)}</div>${refusal(form)}</div>
      <footer class="save"><p class="small soft grow">${isOpen ? texts.whatTestReadIs : texts.nobodyCanBeAsked}</p>
        <${Act} kind="primary" type="submit" waits=${form.isBusy.value || !isOpen}>${answer ? texts.readAgain : texts.readNow}</${Act}></footer></form>
    ${answer ? html`<${Shown} port=${port} read=${answer.read} atMs=${answer.atMs} key=${placeOf(answer.read)} />` : null}`
}

function fields(form: Form): Child {
  const number = (name: string, label: string, more: object = {}): VNode =>
    input({ form, name, label, type: 'number', ...more })
  return html`${number('unitId', texts.unitId, { first: true })}${choice({ form, name: 'fc', label: texts.kind, options: FUNCTIONS })}
    ${number('address', texts.address, { hint: texts.registerAddressHint })}${number('quantity', texts.count)}`
}

function placeOf({ unitId, fc, address, quantity }: TestRead): string {
  return `${unitId} ${fc} ${address} ${quantity}`
}

/** So many addresses are open from the beginning. */
const OPEN = 2

/** What was read. It is drawn anew for another place, so that what is open stays open where the same is read again. */
function Shown({ port, read, atMs }: { port: Port; read: TestRead; atMs: number }): VNode {
  const form = useForm({ display: '' })
  const [opened, setOpened] = useState<ReadonlySet<number>>(
    () => new Set(read.registers.slice(0, OPEN).map(({ address }) => address)),
  )
  const typed = String(form.values.value.display)
  const toggle = (address: number, isOpen: boolean): void => {
    if (opened.has(address) === isOpen) return
    setOpened(isOpen ? new Set([...opened, address]) : new Set([...opened].filter((one) => one !== address)))
  }
  const isAllOpen = opened.size === read.registers.length
  const openAll = (): void => setOpened(new Set(isAllOpen ? [] : read.registers.map(({ address }) => address)))
  const title = texts.readOfUnit(read.unitId, timeOf(atMs, zone.value))
  return html`<section class="panel dense" aria-label="By its display"><div class="in stack">
      <div class="form">${input({ form, name: 'display', label: texts.valueOnDisplay, kind: 'wide', hint: texts.displayHint, placeholder: '230.1' })}</div>
      ${typed.trim() === '' ? null : found(port, read, typed)}</div></section>
    <section class="panel" aria-label="Registers"><header><h2><span role="status">${title}</span></h2><div class="acts"><${Act} run=${openAll}>${isAllOpen ? texts.closeAll : texts.openAll}</${Act}></div></header>
      ${read.registers.map((register) => tested({ port, read }, register, { isOpen: opened.has(register.address), toggle }))}
      <p class="foot small faint">${texts.dimmedIsUnlikely}</p></section>`
}

function found(port: Port, read: TestRead, typed: string): Child {
  const all = foundOf(read.registers, typed)
  if (all.length === 0) return html`<p class="small soft" role="status">${texts.noReadingIs(typed.trim())}</p>`
  return html`<ul class="readings" aria-label="Readings with this value">${all.slice(0, MOST_FOUND).map(
    ({ address, reading, scale }) => html`<li>${texts.atPlace(placeWord(read.fc, address))}</li>
      <li>${link({ port, read }, address, reading, scale)}</li>`,
  )}</ul>`
}

/** More are a value that is in every register, such as 1. */
const MOST_FOUND = 12

/** Where it was read. */
interface Asked {
  port: Port
  read: TestRead
}

interface Opening {
  isOpen: boolean
  toggle: (address: number, isOpen: boolean) => void
}

function tested(asked: Asked, register: TestedRegister, { isOpen, toggle }: Opening): VNode {
  const { address, value } = register
  const onToggle = (event: Event): void => toggle(address, (event.currentTarget as HTMLDetailsElement).open)
  const isWord = asked.read.fc > 2
  return html`<details class="tested" key=${address} open=${isOpen} onToggle=${onToggle}><summary><b>${address}</b>
      ${isWord ? html`<span class="mono">${value.toString(16).toUpperCase().padStart(4, '0')}</span><span class="n">${value}</span><span class="mono faint">${letters(value)}</span>` : html`<span>${value === 0 ? texts.off : texts.on}</span>`}</summary>
    ${isOpen ? html`<dl class="readings">${groups(register).map(([type, readings]) => html`<dt key=${type}>${typeNames[type]}</dt><dd>${readings.map((reading) => link(asked, address, reading))}</dd>`)}</dl>` : null}</details>`
}

/** Its two bytes as characters; a dot for what is none. */
function letters(word: number): string {
  return [word >> 8, word & 0xff].map((byte) => (byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·')).join('')
}

/** Its readings by type; bits from the highest, as they are written. */
function groups({ readings }: TestedRegister): [Reading['type'], Reading[]][] {
  const types = Map.groupBy(readings, ({ type }) => type)
  return [...types].map(([type, all]) => [type, type === 'bit' ? all.toReversed() : all])
}

const typeNames: Readonly<Record<Reading['type'], string>> = {
  bit: texts.bits,
  u16: texts.u16,
  s16: texts.s16,
  u32: texts.u32,
  s32: texts.s32,
  u64: texts.u64,
  s64: texts.s64,
  f32: texts.f32,
  f64: texts.f64,
  string: texts.asText,
}

/** A reading as a link to the form of the point that gives it. */
function link({ port, read }: Asked, address: number, reading: Reading, scale = 1): VNode {
  const { bit, byteOrder, doubt, length, type, wordOrder } = reading
  const { fc, unitId } = read
  const draft = { unitId, fc: fc as 1 | 2 | 3 | 4, address, type, wordOrder, byteOrder, bit, length, scale }
  const href = linkTo('port', port.path, 'points', 'new', wordOfDraft(draft))
  const order = orderName(reading)
  const times = scale === 1 ? '' : texts.timesScale(scale)
  const value = shortText(reading)
  const before = texts.makePointOf(placeWord(fc, address), typeNames[type])
  // What is read aloud is the text itself, so that it cannot differ from what is seen.
  return html`<a class="reading" href=${href} data-doubt=${doubt === null ? undefined : ''} title=${doubt ?? undefined} key=${`${type} ${order}`}><span class="sr">${before} </span>${order === '' ? null : html`<i>${order}</i> `}<span>${value}${times}</span>${doubt === null ? null : html`<span class="sr">. ${texts.unlikely(doubt)}</span>`}</a>`
}

/** As integrators name orders: A is the highest byte of the number. */
function orderName({ bit, byteOrder, length, type, wordOrder }: Reading): string {
  if (type === 'bit') return bit === null ? '' : String(bit)
  if (type === 'string') return byteOrder === 'big' ? texts.registersOf(length ?? 1) : texts.swapped(length ?? 1)
  if (type === 'u16' || type === 's16') return byteOrder === 'big' ? 'AB' : 'BA'
  if (wordOrder === 'big') return byteOrder === 'big' ? 'ABCD' : 'BADC'
  return byteOrder === 'big' ? 'CDAB' : 'DCBA'
}

/** A number with more characters is shortened. */
const MOST_CHARACTERS = 14

function shortText(reading: Reading): string {
  const { text, type, value } = reading
  if (type === 'bit') return value ? '1' : '0'
  if (text === null || text === '') return '–'
  const isLong = type !== 'string' && text.length > MOST_CHARACTERS
  const plain = pointValueText({ value, text, type })
  if (!isLong) return type === 'string' ? plain : plain.replaceAll('-', '\u2212')
  return Number(value).toExponential(3).replace('-', '\u2212').replace('e-', 'e\u2212').replace('e+', 'e')
}

function placeWord(fc: number, address: number): string {
  return `${texts.tableOf(fc)} ${address}`
}
