/** The console of a port: one line to send from, and what came of it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { choice, input, refusal } from '#kit/web/field.ts'
import { type Form, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lamp } from '#kit/web/lamp.ts'
import { fixed, many } from '#kit/web/numbers.ts'
import { segments } from '#kit/web/segments.ts'
import { api, type ModbusAnswer, type Port } from './api.ts'
import { hexOfText, listOf } from './typed.ts'
import { functionName, modbusFunctions, rangeText } from './words.ts'

/** Asks or tells the line of a port. */
export function Console({ port }: { port: Port }): VNode {
  return port.protocol === 'modbus-rtu' ? html`<${ModbusConsole} port=${port} />` : html`<${RawConsole} port=${port} />`
}

const ENDINGS = [
  ['', 'nothing'],
  ['\r', 'CR'],
  ['\n', 'LF'],
  ['\r\n', 'CR LF'],
] as const

function RawConsole({ port }: { port: Port }): VNode {
  const form = useForm({ hex: '', as: 'hex', ending: '\r\n' })
  const [answer, setAnswer] = useState<Child>(null)
  const isText = form.values.value.as === 'text'

  async function send(): Promise<void> {
    const { hex, ending } = form.values.value
    const bytes = isText ? hexOfText(`${hex}${ending}`) : String(hex).trim()
    const { sent } = await api.transmit(port.path, bytes)
    setAnswer(`${many(sent, 'byte')} sent.`)
  }

  const fields = html`<div class="as">${segments({
    label: 'Type as',
    name: 'as',
    value: isText ? 'text' : 'hex',
    options: [
      ['hex', 'Hex'],
      ['text', 'Text'],
    ],
    choose: (as) => form.set('as', as),
  })}</div>
    ${input({ form, name: 'hex', label: isText ? 'Text to send' : 'Bytes to send', mono: true, kind: 'most', placeholder: isText ? 'PWR?' : '02 50 03' })}
    ${isText ? choice({ form, name: 'ending', label: 'Ends with', options: ENDINGS }) : null}`
  return consoleForm({ port, form, fields, answer, setAnswer, send, act: 'Send', label: 'Send to the line' })
}

const WRITES_MANY = [15, 16]
const WRITES = [5, 6, 15, 16, 23]

function ModbusConsole({ port }: { port: Port }): VNode {
  const form = useForm({
    unitId: '1',
    fc: '3',
    address: '0',
    quantity: '1',
    values: '',
    and_mask: '65535',
    or_mask: '0',
    write_address: '0',
  })
  const [answer, setAnswer] = useState<Child>(null)
  const fc = Number(form.values.value.fc)

  async function send(): Promise<void> {
    const startedMs = performance.now()
    const reply = await api.request(port.path, requestBody(form, fc))
    setAnswer(html`<${Answer} reply=${reply} tookMs=${performance.now() - startedMs} />`)
  }

  const isWrite = WRITES.includes(fc)
  const number = (name: string, label: string): VNode => input({ form, name, label, type: 'number' })
  const fields = html`${number('unitId', 'Unit')}
    ${choice({ form, name: 'fc', label: 'Function', kind: 'more', options: modbusFunctions.map((each) => [String(each.fc), `${String(each.fc).padStart(2, '0')} ${each.name}`]) })}
    ${number('address', fc === 5 || fc === 6 || fc === 22 ? 'At' : 'From')}
    ${fc <= 4 || fc === 23 ? number('quantity', 'Count') : null}
    ${fc === 23 ? number('write_address', 'Write from') : null}
    ${isWrite ? input({ form, name: 'values', label: WRITES_MANY.includes(fc) || fc === 23 ? 'Values' : 'Value', kind: 'more', placeholder: WRITES_MANY.includes(fc) ? '1, 0, 1' : '' }) : null}
    ${fc === 22 ? html`${number('and_mask', 'And mask')}${number('or_mask', 'Or mask')}` : null}`
  return consoleForm({
    port,
    form,
    fields,
    answer,
    setAnswer,
    send,
    act: isWrite || fc === 22 ? 'Write' : 'Send',
    label: 'Ask the bus',
  })
}

function requestBody(form: Form, fc: number): object {
  const typed = form.values.value
  const number = (name: string): number | string => typedNumber(typed[name])
  const values = listOf(String(typed.values))
  const body = { unitId: number('unitId'), fc, address: number('address') }
  if (fc <= 4) return { ...body, quantity: number('quantity') }
  if (fc === 22) return { ...body, quantity: 1, and_mask: number('and_mask'), or_mask: number('or_mask') }
  if (fc === 23) return { ...body, quantity: number('quantity'), write_address: number('write_address'), values }
  return { ...body, quantity: WRITES_MANY.includes(fc) ? values.length : 1, values }
}

interface ConsoleFacts {
  port: Port
  form: Form
  fields: VNode
  answer: Child
  setAnswer: (answer: Child) => void
  send: () => Promise<void>
  act: string
  label: string
}

function consoleForm({ port, form, fields, answer, setAnswer, send, act, label }: ConsoleFacts): VNode {
  function submit(event: Event): void {
    event.preventDefault()
    setAnswer(null)
    void form.submit(send)
  }
  const isOpen = port.state === 'open'
  return html`<form class="console" aria-label=${label} onSubmit=${submit} novalidate>${fields}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || !isOpen}>${act}</${Act}></form>
    ${refusal(form)}
    <div class="answer" role="status">${isOpen ? answer : 'The line is not open, so nothing can be sent.'}</div>`
}

/** What a unit answered: each value by its address, in decimal and hex. */
function Answer({ reply, tookMs }: { reply: ModbusAnswer; tookMs: number }): VNode {
  const head = `Unit ${reply.unitId}, ${functionName(reply.fc).toLowerCase()} ${rangeText(reply.address, reply.quantity)}`
  const values = reply.values ?? []
  const isRead = values.length > 0 && !WRITES_MANY.includes(reply.fc) && reply.fc !== 5 && reply.fc !== 6
  return html`<p>${lamp('ok', true)} ${head}${isRead ? '' : ': taken'} <span class="faint">${fixed(tookMs, 0)}\u202fms</span></p>
    ${isRead ? html`<ul class="values">${values.map((value, at) => valueItem(reply.address + at, value))}</ul>` : null}`
}

function valueItem(address: number, value: unknown): VNode {
  const isWord = typeof value === 'number' && value > 1
  const hex = isWord ? (value as number).toString(16).toUpperCase().padStart(4, '0') : ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return html`<li key=${address}><span class="faint">${address}</span><b>${text}</b><span class="mono faint">${hex}</span></li>`
}
