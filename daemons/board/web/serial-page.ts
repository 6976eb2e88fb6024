/**
 * Serial: the lines and their clients. Words for a line, its card, its settings form, and the page over all of them.
 */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { factTable, segments, spark } from '#kit/web/figures.ts'
import { choice, type Form, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, baudText, bytesText, capital, count, many, sinceText, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, icon, type Lit, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import type { AdapterDevice } from '../roles/serial/core/ports.ts'
import { api, type SerialClient, type SerialLine, type SerialPort, type SerialState } from './api.ts'
import { status } from './state.ts'
import * as texts from './texts.ts'
import { litOf } from './words.ts'

// Byte rates, from the page's samples of counters that only grow.

/** A counter's value at a time of the page's clock, ms. */
interface Sample {
  atMs: number
  total: number
}

/** Samples kept: one minute of polls. */
const MOST = 60

/** Adds a sample. A counter that went down has restarted, so the samples start over. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1)
  if (last && sample.total < last.total) return [sample]
  if (last && sample.atMs <= last.atMs) return samples
  return [...samples, sample].slice(-MOST)
}

/** Bytes per second between consecutive samples, oldest first. */
export function byteRates(samples: readonly Sample[]): number[] {
  return samples.slice(1).map((sample, at) => {
    const before = samples[at] as Sample
    return ((sample.total - before.total) * 1000) / (sample.atMs - before.atMs)
  })
}

/** Samples of bytes from a line and to it. */
interface Traffic {
  from: readonly Sample[]
  to: readonly Sample[]
}

/** Adds one poll of a port's counters; missing counters get no samples. */
export function withLook(
  before: Traffic | undefined,
  counters: Readonly<Record<string, number | null>>,
  atMs: number,
): Traffic {
  const add = (samples: readonly Sample[] = [], total: number | null | undefined): readonly Sample[] =>
    total === null || total === undefined ? samples : withSample(samples, { atMs, total })
  return { from: add(before?.from, counters.bytes_from_line), to: add(before?.to, counters.bytes_to_line) }
}

// The ports of the serial server: state, settings, clients, faults and what to do about them.

/** Lamp and words of a port. */
export function portState(port: SerialPort): { lit: Lit; words: string } {
  if (!port.enabled) return { lit: 'off', words: texts.notShared }
  switch (port.state) {
    case 'open':
      return troubles(port).length > 0 ? { lit: 'warn', words: texts.hasErrors } : { lit: 'ok', words: texts.open }
    case 'absent':
      return { lit: 'gone', words: texts.notPlugged }
    case 'failed':
      return { lit: 'fault', words: texts.willNotOpen }
    default:
      return { lit: 'busy', words: texts.isBeingOpened }
  }
}

/** The name of a port: its label, else its number. */
export function portName({ port, label }: SerialPort): string {
  return label || texts.serialPort(port)
}

const MODES: Readonly<Record<string, string>> = { raw: 'raw', rfc2217: texts.rfc2217 }

/** `4001 raw`. */
export function serviceText({ tcp_port: tcpPort, mode }: SerialPort): string {
  return `${tcpPort} ${MODES[mode] ?? mode}`
}

/** `9600 8E1`. */
export function lineText({ baud, data_bits: bits, parity, stop_bits: stop }: SerialLine): string {
  return `${baudText(baud)} ${bits}${parity.charAt(0).toUpperCase()}${stop}`
}

/** `FTDI FT232R A50285BI`, or the path if the system knows no name. */
export function deviceText(port: SerialPort, devices: readonly AdapterDevice[]): string {
  const device = devices.find((each) => each.port === port.port)
  const facts = device ? [device.maker, device.product, device.serial_number].filter(Boolean).join(' ') : ''
  return facts || port.path
}

/** Which client may write; the sentence follows `Of several clients`. */
const writeWords: Readonly<Record<string, string>> = {
  all: texts.allWrite,
  first: texts.firstWritesOthersRead,
  exclusive: texts.firstWritesAlone,
}

/** One fault of a line: how often it happened, and which setting to check. */
interface Trouble {
  name: string
  sentence: string
}

/** Faults by counter, with what to do. Counted since the daemon started. */
const REMEDIES: readonly (readonly [
  counter: string,
  one: string,
  more: string,
  remedy: (port: SerialPort) => string,
])[] = [
  ['framing', texts.framingError, texts.framingErrors, (port) => texts.framingMeans(lineText(nowOf(port)))],
  ['parity', texts.parityError, texts.parityErrors, (port) => texts.parityMeans(nowOf(port).parity)],
  ['overruns', 'overrun', 'overruns', () => texts.overrunMeans],
  ['clients_dropped', texts.clientWasDropped, texts.clientsWereDropped, () => texts.slowClientMeans],
  [
    'clients_refused',
    texts.connectionWasRefused,
    texts.connectionsWereRefused,
    (port) => (port.allow === '' ? texts.wereTooManyAtOnce : texts.refusedMeans(port.allow)),
  ],
]

/** The line settings in effect now. */
function nowOf(port: SerialPort): SerialLine {
  return port.line_now ?? port
}

/** The faults of a line, worst first. */
export function troubles(port: SerialPort): Trouble[] {
  return REMEDIES.flatMap(([name, one, more, remedy]) => {
    const seen = port.counters[name] ?? 0
    return seen > 0 ? [{ name, sentence: `${capital(many(seen, one, more))}. ${remedy(port)}` }] : []
  })
}

const COUNTERS: Readonly<Record<string, string>> = {
  bytes_from_line: texts.bytesFromLine,
  bytes_to_line: texts.bytesToLine,
  bytes_discarded: texts.bytesNotPassed,
  clients_total: texts.clientsSoFar,
  clients: texts.clientsNow,
  telnet_faults: texts.telnetMessagesNotUnderstood,
}

/** All counters by readable names; one that the hardware lacks is n/a. */
export function counterRows({ counters }: SerialPort): [name: string, value: string][] {
  return Object.entries(counters).map(([name, value]) => [
    COUNTERS[name] ?? capital(name.replaceAll('_', ' ')),
    value === null ? 'n/a' : count(value),
  ])
}

/** Address of the form of a port. */
function editLink({ port }: SerialPort): string {
  return linkTo('live', 'edit', String(port))
}

// The card of one port: device, state, clients, faults.

interface CardProps {
  port: SerialPort
  devices: readonly AdapterDevice[]
  traffic?: Traffic
  drop: (client: SerialClient) => void
}

/** The card. */
function SerialCard({ port, devices, traffic, drop }: CardProps): VNode {
  const { lit, words } = portState(port)
  const name = portName(port)
  return html`<section class="panel port-card" data-port=${port.port} tabindex="-1" aria-label=${texts.line(port.port, name)}>
    <header>${lamp(lit)}<h2><span class="faint">${port.port}</span> ${name}</h2><span class="faint">${words}</span>
      <div class="acts"><a class="btn" href=${editLink(port)} aria-label=${texts.edit(name)}>Edit</a></div></header>
    <div class="in stack"><dl class="pairs">
        <div><dt>TCP</dt><dd>${serviceText(port)}</dd></div><div><dt>Line</dt><dd>${lineText(nowOf(port))}</dd></div>
        ${rate(texts.serialIn, traffic?.from)}${rate(texts.out, traffic?.to)}</dl>
      <p class="small faint device">${deviceText(port, devices)}</p>
      ${port.line_now ? html`<p class="small soft">A client has set the line; saved is ${lineText(port)}.</p>` : null}
      ${port.fault ? html`<p class="note small" data-s=${lit === 'fault' ? 'fault' : 'warn'}>${port.fault.message}</p>` : null}
      ${troubles(port).map(({ name: which, sentence }) => html`<p class="note small" data-s="warn" key=${which}>${sentence}</p>`)}</div>
    ${clients(port, drop)}
    <details class="counted"><summary>Counted</summary>${factTable(counterRows(port), 'tight')}</details></section>`
}

/** Present byte rate, and the last minute; in is from the line. */
function rate(name: string, samples: readonly Sample[] | undefined): VNode {
  const rates = byteRates(samples ?? [])
  const now = rates.at(-1)
  const text = now === undefined ? UNKNOWN : `${bytesText(Math.round(now))}/s`
  return html`<div><dt>${name}</dt><dd>${text}${spark(rates)}</dd></div>`
}

function clients(port: SerialPort, drop: (client: SerialClient) => void): Child {
  if (!port.enabled) return html`<p class="foot small faint">Nobody can connect.</p>`
  if (port.clients.length === 0)
    return html`<p class="foot small faint">Nobody is connected. ${port.allow ? texts.allowed(port.allow) : texts.everyAddressMayConnect}</p>`
  return html`<ul class="clients" aria-label=${many(port.clients.length, 'client')}>${port.clients.map(
    (client) => html`<li key=${client.id} data-client=${client.id}><div><b class="mono">${client.address}</b>
      <span class="under">since ${sinceText(client.since_at, daemonNow(), zone.value)}, ${age(Math.max(1000, daemonNow() - client.since_at), 1)} · ${client.may_write ? texts.writes : texts.readsOnly}${client.rfc2217 ? texts.serialRfc2217 : ''}</span></div>
      <${Act} kind="quiet icon" label=${texts.drop(client.address)} run=${() => drop(client)}>${icon('close')}</${Act}></li>`,
  )}</ul>${port.clients.length > 1 ? html`<p class="foot small faint">Of several clients, ${writeWords[port.write] ?? port.write}.</p>` : null}`
}

// The settings of one serial port. Applied and saved at once; clients stay if only the line changes.

const same = (values: readonly string[]): (readonly [string, string])[] => values.map((value) => [value, value])
const BAUDS = ['300', '1200', '2400', '4800', '9600', '19200', '38400', '57600', '115200', '230400', '460800', '921600']
const PARITIES = [
  ['none', texts.none],
  ['odd', texts.odd],
  ['even', texts.even],
  ['mark', texts.mark],
  ['space', 'Space'],
] as const
const FLOWS = [
  ['none', texts.none],
  ['rtscts', 'RTS/CTS'],
  ['xonxoff', 'XON/XOFF'],
] as const
const WRITES = [
  ['all', texts.allMayWrite],
  ['first', texts.firstWrites],
  ['exclusive', texts.whoWritesFirstAlone],
] as const
/** Settings whose change ends connections, since the service is then another. */
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
function SerialForm({ port, again }: { port: SerialPort; again: () => Promise<void> }): VNode {
  const form = useForm(valuesOf(port), 'edit')
  const name = portName(port)
  useKeys(texts.settingsOf(name), [{ key: 'Escape', what: texts.discards, run: () => void goTo('live') }])

  async function save(): Promise<void> {
    form.settle(valuesOf(await api.setPort({ ...form.values.value, port: port.port })))
    await again()
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (!(await form.submit(save))) return
    toast(texts.isSaved(String(form.values.value.label) || name))
    goTo('live')
  }
  return html`<form class="panel dense" aria-label=${texts.settingsOf(name)} onSubmit=${(event: Event) => void submit(event)} novalidate>
    <header><h2>Line ${port.port}</h2><span class="faint mono">${port.path}</span></header>
    <div class="in stack">${toggle({ form, name: 'enabled', label: texts.shareLine })}
      ${service(form)}${line(form)}${refusal(form)}</div>
    <footer class="save in"><p class="small soft grow">${consequence(form, port)}</p>
      <div class="acts"><a class="btn quiet" href=${linkTo('live')}>Discard</a>
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Save</${Act}></div></footer></form>`
}

function service(form: Form): VNode {
  const mode = segments({
    label: texts.mode,
    name: 'mode',
    value: String(form.values.value.mode),
    options: [
      ['raw', texts.rawBytes],
      ['rfc2217', texts.rfc2217],
    ],
    choose: (value) => form.set('mode', value),
  })
  return html`<div class="form">${input({ form, name: 'label', label: texts.label, kind: 'wide', hint: texts.labelHint })}
      <div class="field wide"><span class="label">Mode</span>${mode}<p>${form.values.value.mode === 'rfc2217' ? texts.rfc2217Hint : texts.rawHint}</p></div>
      ${input({ form, name: 'tcp_port', label: texts.tcpPort, type: 'number' })}
      ${choice({ form, name: 'write', label: texts.severalClients, options: WRITES, kind: 'wide' })}
      ${input({ form, name: 'allow', label: texts.allowedAddresses, mono: true, kind: 'wide', placeholder: texts.allowExample, hint: texts.allowHint })}</div>`
}

function line(form: Form): VNode {
  return html`<div class="form">${input({ form, name: 'baud', label: texts.baudRate, type: 'number', options: BAUDS })}
      ${choice({ form, name: 'data_bits', label: texts.dataBits, options: same(['5', '6', '7', '8']) })}
      ${choice({ form, name: 'parity', label: texts.parity, options: PARITIES })}
      ${choice({ form, name: 'stop_bits', label: texts.stopBits, options: same(['1', '1.5', '2']) })}
      ${choice({ form, name: 'flow', label: texts.flowControl, options: FLOWS })}</div>`
}

/** Says what saving will do. */
function consequence(form: Form, port: SerialPort): string {
  const isService = SERVICE.some((name) => form.isChanged(name))
  if (isService && port.clients.length > 0) return texts.savingEndsConnections
  return texts.savingKeepsClients
}

// The page.

const LOOK_SERIAL_MS = 1000

/** The client that a question asks whether to drop. */
interface Dropping {
  port: SerialPort
  client: SerialClient
}

/** The page. `what`: `edit` and the number of the port, or nothing. */
export function SerialPage({ what, which }: { what?: string; which?: string }): VNode {
  const [state, setState] = useState<SerialState | null>(null)
  const traffic = useRef(new Map<number, Traffic>())
  const [dropping, setDropping] = useState<Dropping | null>(null)
  const look = useLook(async () => {
    const told = await api.serial()
    for (const port of told.ports)
      traffic.current.set(port.port, withLook(traffic.current.get(port.port), port.counters, Date.now()))
    setState(told)
  }, LOOK_SERIAL_MS)
  useSerialKeys(state, setDropping)
  const edited = what === 'edit' ? state?.ports.find(({ port }) => String(port) === which) : undefined
  const judged = status.value?.verdict
  return html`<h1 class="sr">Serial server</h1>${judged ? verdict({ lit: litOf(judged.state), sentence: judged.text }) : null}
    <div class=${edited ? 'cols with-form' : ''}>${cards(state, look.refused, { traffic: traffic.current, ask: setDropping })}
    ${edited ? html`<${SerialForm} port=${edited} again=${look.again} key=${edited.port} />` : null}</div>
    ${dropping ? drop(dropping, () => setDropping(null), look.again) : null}`
}

interface CardFacts {
  traffic: ReadonlyMap<number, Traffic>
  ask: (dropping: Dropping) => void
}

function cards(state: SerialState | null, refused: string | null, { traffic, ask }: CardFacts): Child {
  if (state === null) {
    const words = firstAnswer(refused, texts.askingBoardForLines, texts.linesCouldNotBeRead)
    return html`<section class="panel">${words}</section>`
  }
  const { devices, text } = state.adapter
  const { ports } = state
  if (ports.length === 0)
    return html`<section class="panel">${say('off', texts.noLineToShare, text, html`<a class="btn" href=${linkTo('settings')}>Settings</a>`)}</section>`
  return html`<div class="stack"><div class="cards">${ports.map(
    (port) =>
      html`<${SerialCard} port=${port} devices=${devices} traffic=${traffic.get(port.port)} drop=${(client: SerialClient) => ask({ port, client })} key=${port.port} />`,
  )}</div></div>`
}

function drop({ port, client }: Dropping, close: () => void, again: () => Promise<void>): VNode {
  async function run(): Promise<void> {
    try {
      await api.dropClient(port.port, client.id)
      toast(texts.wasDropped(client.address, portName(port)))
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await again()
  }
  return html`<${Confirm} title=${texts.serialDrop(client.address)} text=${texts.droppingMeans(portName(port))}
    act="Drop client" keep="Keep client" close=${close} run=${() => void run()} />`
}

/** The port whose card has the focus. */
function chosen(state: SerialState | null): SerialPort | undefined {
  const number = document.activeElement?.closest<HTMLElement>('[data-port]')?.dataset.port
  return state?.ports.find(({ port }) => String(port) === number)
}

function useSerialKeys(state: SerialState | null, ask: (dropping: Dropping) => void): void {
  const focus = (number: number): boolean => {
    const card = document.querySelector<HTMLElement>(`[data-port="${number}"]`)
    card?.focus()
    return card !== null
  }
  useKeys(texts.serial, [
    ...[1, 2, 3, 4].map((number) => ({
      key: String(number),
      what: texts.serialLine(number),
      run: () => focus(number),
    })),
    {
      key: 'e',
      what: texts.editsLineWithFocus,
      run: () => {
        const port = chosen(state) ?? state?.ports[0]
        if (!port) return false
        goTo('live', 'edit', String(port.port))
        return undefined
      },
    },
    {
      key: 'x',
      what: texts.keyDropsClient,
      run: () => {
        const port = chosen(state)
        const id = document.activeElement?.closest<HTMLElement>('[data-client]')?.dataset.client
        const client = port?.clients.find((each) => String(each.id) === id) ?? port?.clients[0]
        if (!port || !client) return false
        ask({ port, client })
        return undefined
      },
    },
  ])
}
