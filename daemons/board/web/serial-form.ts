/** The settings of one serial port. Applied at once and saved; clients stay where only the line changes. */
import type { VNode } from 'preact'
import { Act } from '#kit/web/button.ts'
import { choice, input, refusal, toggle } from '#kit/web/field.ts'
import { type Form, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { segments } from '#kit/web/segments.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type SerialPort } from './api.ts'
import { portName } from './serial-words.ts'

const same = (values: readonly string[]): (readonly [string, string])[] => values.map((value) => [value, value])
const BAUDS = ['300', '1200', '2400', '4800', '9600', '19200', '38400', '57600', '115200', '230400', '460800', '921600']
const PARITIES = [
  ['none', 'None'],
  ['odd', 'Odd'],
  ['even', 'Even'],
  ['mark', 'Mark'],
  ['space', 'Space'],
] as const
const FLOWS = [
  ['none', 'None'],
  ['rtscts', 'RTS/CTS'],
  ['xonxoff', 'XON/XOFF'],
] as const
const WRITES = [
  ['all', 'All may write'],
  ['first', 'The first writes, others read'],
  ['exclusive', 'Who writes first, alone'],
] as const
/** Settings whose change ends connections: they are another service afterwards. */
const SERVICE = ['enabled', 'mode', 'tcp_port', 'allow']

const FIELDS = [
  'mode',
  'tcp_port',
  'baud',
  'data_bits',
  'parity',
  'stop_bits',
  'flow',
  'write',
  'label',
  'allow',
] as const

function valuesOf(port: SerialPort): Record<string, string | boolean> {
  const texts = FIELDS.map((name) => [name, String(port[name])])
  return { ...Object.fromEntries(texts), enabled: port.enabled }
}

/** The form beside the cards. */
export function SerialForm({ port, again }: { port: SerialPort; again: () => Promise<void> }): VNode {
  const form = useForm(valuesOf(port), 'edit')
  const name = portName(port)
  useKeys(`Settings of ${name}`, [{ key: 'Escape', what: 'discards', run: () => void goTo('live') }])

  async function save(): Promise<void> {
    form.settle(valuesOf(await api.setPort({ ...form.values.value, port: port.port })))
    await again()
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (!(await form.submit(save))) return
    toast(`${String(form.values.value.label) || name} is saved.`)
    goTo('live')
  }
  return html`<form class="panel dense" aria-label=${`Settings of ${name}`} onSubmit=${(event: Event) => void submit(event)} novalidate>
    <header><h2>Line ${port.port}</h2><span class="faint mono">${port.path}</span></header>
    <div class="in stack">${toggle({ form, name: 'enabled', label: 'Share this line' })}
      ${service(form)}${line(form)}${refusal(form)}</div>
    <footer class="save in"><p class="small soft grow">${consequence(form, port)}</p>
      <div class="acts"><a class="btn quiet" href=${linkTo('live')}>Discard</a>
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Save</${Act}></div></footer></form>`
}

function service(form: Form): VNode {
  const mode = segments({
    label: 'Mode',
    name: 'mode',
    value: String(form.values.value.mode),
    options: [
      ['raw', 'Raw bytes'],
      ['rfc2217', 'RFC 2217'],
    ],
    choose: (value) => form.set('mode', value),
  })
  return html`<div class="form">${input({ form, name: 'label', label: 'Label', kind: 'wide', hint: 'What is at the other end: Lift, Heat meters.' })}
      <div class="field wide"><span class="label">Mode</span>${mode}<p>${form.values.value.mode === 'rfc2217' ? 'The client sets the line, as a COM port of its own.' : 'Bytes as they are; the line is set here.'}</p></div>
      ${input({ form, name: 'tcp_port', label: 'TCP port', type: 'number' })}
      ${choice({ form, name: 'write', label: 'Several clients', options: WRITES, kind: 'wide' })}
      ${input({ form, name: 'allow', label: 'Allowed addresses', mono: true, kind: 'wide', placeholder: '10.20.4.0/24, fd00::7', hint: 'Addresses and networks, by commas. Empty: every address.' })}</div>`
}

function line(form: Form): VNode {
  return html`<div class="form">${input({ form, name: 'baud', label: 'Baud rate', type: 'number', options: BAUDS })}
      ${choice({ form, name: 'data_bits', label: 'Data bits', options: same(['5', '6', '7', '8']) })}
      ${choice({ form, name: 'parity', label: 'Parity', options: PARITIES })}
      ${choice({ form, name: 'stop_bits', label: 'Stop bits', options: same(['1', '1.5', '2']) })}
      ${choice({ form, name: 'flow', label: 'Flow control', options: FLOWS })}</div>`
}

/** What a save will do, before it does. */
function consequence(form: Form, port: SerialPort): string {
  const isService = SERVICE.some((name) => form.isChanged(name))
  if (isService && port.clients.length > 0)
    return 'Applied at once and saved. Connections that no longer fit are ended.'
  return 'Applied at once and saved. Clients stay connected.'
}
