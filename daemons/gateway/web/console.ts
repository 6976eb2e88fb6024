/** The console and the capture of a port, which are loaded only when needed. */
import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { daemonNow, now, zone } from '#kit/web/contact.ts'
import { copyText, saveBytes } from '#kit/web/copy-and-save.ts'
import { segments } from '#kit/web/figures.ts'
import { choice, type Form, input, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lazy } from '#kit/web/lazy.ts'
import { age, bytesText, dateOf, fixed, timeOf } from '#kit/web/numbers.ts'
import { icon, lamp, toast } from '#kit/web/parts.ts'
import { token } from '#kit/web/session.ts'
import {
  api,
  type Equipment,
  type EquipmentAnswer,
  type ModbusAnswer,
  type Port,
  type ProtocolName,
  portRoute,
} from './api.ts'
import { consoleForm } from './console-form.ts'
import * as texts from './texts.ts'
import { hexOfText, listOf } from './typed.ts'
import { functionName, modbusFunctions, rangeText, shortPath } from './words.ts'

// A capture that the page itself takes: it holds the gateway's stream until it is saved.

/** The most bytes the page holds: an hour of a busy line at 115200. For longer captures there is Wireshark. */
export const CAPTURE_BYTES = 64_000_000
/** The length of the file header: a capture without frames is no longer than this. */
const HEADER_BYTES = 24

/** A running capture. */
export interface Capture {
  readonly sizeBytes: Signal<number>
  /** Why it ended by itself; null while it runs, and after it was stopped by hand. */
  readonly ended: Signal<string | null>
  readonly startedAt: number
  /** Whether it contains a frame yet. */
  hasFrames(): boolean
  /** Ends it. @returns what was captured */
  stop(): Uint8Array<ArrayBuffer>[]
}

/** Where the stream comes from: the browser's own fetch, except in tests. */
export type Fetch = (path: string, init: RequestInit) => Promise<Response>

/** Starts to capture the frames of a line. @param atMs now, epoch ms of the browser */
export function startCapture(path: string, atMs: number, from: Fetch = (at, init) => fetch(at, init)): Capture {
  const leave = new AbortController()
  const parts: Uint8Array<ArrayBuffer>[] = []
  const sizeBytes = signal(0)
  const ended = signal<string | null>(null)
  let isStopped = false

  async function run(): Promise<void> {
    const headers: Record<string, string> = token.value ? { authorization: `Bearer ${token.value}` } : {}
    const response = await from(portRoute(path, '/capture.pcap'), { headers, signal: leave.signal })
    if (!response.ok || !response.body) throw new Error(await refusalOf(response))
    const reader = response.body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw new Error(texts.captureEnded)
      if (sizeBytes.value + value.length > CAPTURE_BYTES) throw new Error(texts.captureIsFull)
      parts.push(value)
      sizeBytes.value += value.length
    }
  }

  run().catch((thrown: unknown) => {
    if (!isStopped) ended.value = sentenceOf(thrown)
    leave.abort()
  })
  return {
    sizeBytes,
    ended,
    startedAt: atMs,
    hasFrames: () => sizeBytes.value > HEADER_BYTES,
    stop() {
      isStopped = true
      leave.abort()
      return parts
    },
  }
}

async function refusalOf(response: Response): Promise<string> {
  try {
    return ((await response.json()) as { message: string }).message
  } catch {
    return texts.answeredWithoutReason(response.status)
  }
}

/** `meters-2031-03-09-140231.pcap`. @param date `2031-03-09` @param time `14:02:31` */
export function captureName(name: string, date: string, time: string): string {
  return `${name.replaceAll(/[^\w-]+/g, '-')}-${date}-${time.replaceAll(':', '')}.pcap`
}

/** A command that shows the frames in Wireshark as they come. KEY stands for an API key. */
export function liveCommand(origin: string, path: string): string {
  return `curl -sN -H 'Authorization: Bearer KEY' '${origin}${portRoute(path, '/capture.pcap')}' | wireshark -k -i -`
}

// The row over the log for capturing, so that one can use the line meanwhile.

/** The row: it starts to capture when it appears, and ends when it is closed. */
export function CaptureRow({ port, close }: { port: Port; close: () => void }): VNode {
  const [capture] = useState<Capture>(() => startCapture(port.path, Date.now()))
  useEffect(() => () => void capture.stop(), [])
  const { ended, sizeBytes } = capture
  const isEmpty = !capture.hasFrames()
  function save(): void {
    const parts = capture.stop()
    const name = captureName(shortPath(port.path), dateOf(daemonNow(), zone.value), timeOf(daemonNow(), zone.value))
    saveBytes(parts, name, 'application/vnd.tcpdump.pcap')
    toast(texts.captureIsSaved(name))
    close()
  }
  const command = liveCommand(location.origin, port.path)
  const running = texts.capturingFor(
    age(Math.max(1000, now.value - capture.startedAt)),
    isEmpty,
    bytesText(sizeBytes.value),
  )
  return html`<div class="capture"><div class="capture-now">${lamp(ended.value === null ? 'busy' : 'warn')}<span class="grow">${ended.value ?? running}</span>
      <button class="btn" type="button" disabled=${isEmpty} onClick=${save}>Save capture</button>
      <button class="btn quiet icon" type="button" aria-label="Drop capture" onClick=${close}>${icon('close')}</button></div>
    <details><summary>Live in Wireshark</summary><p class="small soft">Run this where Wireshark is; KEY is an API key of a viewer, made on the page Users.</p>
      <div class="copy"><code tabindex="0">${command}</code><button class="btn quiet" type="button" onClick=${() => void copyText(command, texts.commandIsCopied)}>Copy</button></div></details></div>`
}

/** The console: sends requests or bytes to the line of a port. */
export function Console({ port }: { port: Port }): VNode {
  return html`<${consoles[port.protocol ?? 'raw']} port=${port} />`
}

const consoles: Readonly<Record<ProtocolName, (props: { port: Port }) => VNode>> = {
  raw: RawConsole,
  'modbus-rtu': ModbusConsole,
  mbus: lazy(async () => (await import('./mbus-console.ts')).MbusConsole) as (props: { port: Port }) => VNode,
  'bacnet-mstp': lazy(async () => (await import('./mstp-console.ts')).MstpConsole) as (props: { port: Port }) => VNode,
  dnp3: lazy(async () => (await import('./outstation-console.ts')).OutstationConsole) as (props: {
    port: Port
  }) => VNode,
  equipment: EquipmentConsole,
}

const ENDINGS = [
  ['', texts.endsWithNothing],
  ['\r', texts.cr],
  ['\n', texts.lf],
  ['\r\n', texts.crLf],
] as const

function RawConsole({ port }: { port: Port }): VNode {
  const form = useForm({ hex: '', as: 'hex', ending: '\r\n' })
  const [answer, setAnswer] = useState<Child>(null)
  const isText = form.values.value.as === 'text'

  async function send(): Promise<void> {
    const { hex, ending } = form.values.value
    const bytes = isText ? hexOfText(`${hex}${ending}`) : String(hex).trim()
    const { sent } = await api.transmit(port.path, bytes)
    setAnswer(texts.consoleSent(sent))
  }

  const fields = html`<div class="as">${segments({
    label: texts.typeAs,
    name: 'as',
    value: isText ? 'text' : 'hex',
    options: [
      ['hex', texts.hex],
      ['text', texts.asText],
    ],
    choose: (as) => form.set('as', as),
  })}</div>
    ${input({ form, name: 'hex', label: isText ? texts.textToSend : texts.bytesToSend, mono: true, kind: 'most', placeholder: isText ? 'PWR?' : '02 50 03' })}
    ${isText ? choice({ form, name: 'ending', label: texts.endsWith, options: ENDINGS }) : null}`
  return consoleForm({ port, form, fields, answer, setAnswer, send, act: texts.send, label: texts.sendToLine })
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
  const fields = html`${number('unitId', texts.unit)}
    ${choice({ form, name: 'fc', label: texts.consoleFunction, kind: 'more', options: modbusFunctions.map((each) => [String(each.fc), `${String(each.fc).padStart(2, '0')} ${each.name}`]) })}
    ${number('address', fc === 5 || fc === 6 || fc === 22 ? texts.atAddressShort : texts.from)}
    ${fc <= 4 || fc === 23 ? number('quantity', texts.count) : null}
    ${fc === 23 ? number('write_address', texts.writeFrom) : null}
    ${isWrite ? input({ form, name: 'values', label: WRITES_MANY.includes(fc) || fc === 23 ? texts.values : texts.value, kind: 'more', placeholder: WRITES_MANY.includes(fc) ? '1, 0, 1' : '' }) : null}
    ${fc === 22 ? html`${number('and_mask', texts.andMask)}${number('or_mask', texts.orMask)}` : null}`
  return consoleForm({
    port,
    form,
    fields,
    answer,
    setAnswer,
    send,
    act: isWrite || fc === 22 ? texts.write : texts.send,
    label: texts.askBus,
  })
}

/** A form made from the definition of the device: its commands, and a field for each argument. */
function EquipmentConsole({ port }: { port: Port }): VNode {
  const form = useForm({ command: '', zone: '' })
  const [device, setDevice] = useState<Equipment | string | null>(null)
  const [answer, setAnswer] = useState<Child>(null)
  useEffect(() => {
    void api.equipment(port.path).then(setDevice, (thrown: unknown) => setDevice(sentenceOf(thrown)))
  }, [port.path, port.revision])
  if (device === null || typeof device === 'string') return html`<div class="answer" role="status">${device}</div>`
  const { commands, zone } = device
  const chosen = commands.find(({ name }) => name === form.values.value.command) ?? commands[0]
  const args = chosen?.args ?? []

  async function send(): Promise<void> {
    const typed = form.values.value
    const given = args
      .map(({ name }) => [name, String(typed[`args.${name}`] ?? '')] as const)
      .filter(([, text]) => text !== '')
    const body = { command: chosen?.name ?? '', args: Object.fromEntries(given) }
    setAnswer(html`<${Said} reply=${await api.command(port.path, body)} />`)
  }

  const fields = html`${choice({ form, name: 'command', label: texts.command, kind: 'more', options: commands.map(({ name, title }) => [name, title ?? name]) })}
    ${args.map((arg) => argField(form, arg, arg.name === zone))}`
  return consoleForm({ port, form, fields, answer, setAnswer, send, act: texts.send, label: texts.sendCommand })
}

function argField(form: Form, arg: Equipment['commands'][number]['args'][number], isZone: boolean): VNode {
  const facts = { form, name: `args.${arg.name}`, label: isZone ? texts.zoneOfCommand : (arg.title ?? arg.name) }
  const initial = arg.value === null ? '' : String(arg.value)
  if (arg.choices) return choice({ ...facts, options: ['', ...arg.choices].map((each) => [each, each]) })
  return input({ ...facts, placeholder: initial })
}

/** What the device answered: each value by its name. */
function Said({ reply }: { reply: EquipmentAnswer }): VNode {
  const values = Object.entries(reply.values)
  return html`<p>${lamp('ok', true)} ${texts.deviceDid(reply.command)}</p>
    ${values.length > 0 ? html`<ul class="values">${values.map(([name, value]) => html`<li key=${name}><span class="faint">${name}</span><b>${String(value ?? '–')}</b></li>`)}</ul>` : null}`
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

/** The reply of a unit: each value with its address, in decimal and hex. */
function Answer({ reply, tookMs }: { reply: ModbusAnswer; tookMs: number }): VNode {
  const head = texts.consoleUnit(
    reply.unitId,
    functionName(reply.fc).toLowerCase(),
    rangeText(reply.address, reply.quantity),
  )
  const values = reply.values ?? []
  const isRead = values.length > 0 && !WRITES_MANY.includes(reply.fc) && reply.fc !== 5 && reply.fc !== 6
  return html`<p>${lamp('ok', true)} ${head}${isRead ? '' : texts.consoleTaken} <span class="faint">${fixed(tookMs, 0)}\u202fms</span></p>
    ${isRead ? html`<ul class="values">${values.map((value, at) => valueItem(reply.address + at, value))}</ul>` : null}`
}

function valueItem(address: number, value: unknown): VNode {
  const isWord = typeof value === 'number' && value > 1
  const hex = isWord ? (value as number).toString(16).toUpperCase().padStart(4, '0') : ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return html`<li key=${address}><span class="faint">${address}</span><b>${text}</b><span class="mono faint">${hex}</span></li>`
}
