/** The settings of one port: protocol, line, and the settings of the protocol. They are saved and applied at once. */
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { segments } from '#kit/web/figures.ts'
import { area, choice, type Form, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lazy } from '#kit/web/lazy.ts'
import { Act, icon, say, toast } from '#kit/web/parts.ts'
import { useRevision } from '#kit/web/revision.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { api, type Port, type ProtocolName } from './api.ts'
import { lineFields, type PortField, portBody, portValues, protocolFields } from './port-fields.ts'
import { noLine } from './port-head.ts'
import { isAdmin, lookAtPorts, portAt, ports } from './state.ts'
import * as texts from './texts.ts'
import { deviceOf, protocolNames, shortPath, usualLine } from './words.ts'

/** Fields that a hunt has found, in the order of the words it found them in. */
const FOUND = ['protocol', 'line.baud', 'line.data_bits', 'line.parity', 'line.stop_bits', 'settings.mode'] as const

/**
 * The settings page. It is drawn once the line is known, because the form starts with the present settings.
 * @param taken values of `FOUND`, separated by spaces
 */
export function PortSettings({ path, taken }: { path: string; taken?: string }): VNode {
  const port = portAt(path)
  if (ports.value === null) return noLine(texts.settings, path)
  if (!isAdmin.value) return alone(say('off', texts.onlyAdministratorChangesSettings, texts.signInAsOne))
  return html`<${Settings} port=${port ?? blankPort(path)} taken=${taken} />`
}

function alone(words: VNode): VNode {
  return html`<h1 class="sr">Settings</h1><section class="panel">${words}</section>`
}

/** A line that the system does not list can be set up, too; the gateway decides whether it may be used. */
function blankPort(path: string): Port {
  return {
    path,
    byId: null,
    maker: null,
    product: null,
    serialNumber: null,
    found: false,
    configured: false,
    state: null,
    stateSince: null,
    fault: null,
    nextTryAt: null,
    enabled: false,
    protocol: null,
    line: null,
    settings: null,
    revision: null,
    counters: null,
    errorsLastHour: null,
    units: null,
    unsupported: [],
    webhooks: 0,
  }
}

function Settings({ port, taken }: { port: Port; taken?: string }): VNode {
  const form = useForm(portValues(port), port.configured ? 'edit' : 'draft')
  useEffect(() => taken?.split(' ').forEach((value, at) => void form.set(FOUND[at] ?? '', value)), [taken])
  const revision = useRevision(port.revision)
  const name = shortPath(port.path)
  useKeys(texts.settingsOf(name), [{ key: 'Enter', what: texts.inFieldSaves, run: () => false }])

  async function save(): Promise<void> {
    const saved = await revision.save((ifMatch) => api.setUpPort(port.path, portBody(form, port), ifMatch))
    form.settle(portValues(saved))
    await lookAtPorts()
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (!(await form.submit(save))) return
    toast(texts.isSetUp(name))
    goTo('port', port.path)
  }

  const protocol = String(form.values.value.protocol) as ProtocolName
  return html`<div class="head"><a class="btn quiet icon" href=${linkTo('port', port.path)} aria-label=${texts.backTo(name)}>${icon('back')}</a>
      <h1>${port.configured ? texts.settingsOf(name) : texts.setUp(name)}</h1><p class="meta mono">${deviceOf(port) || port.path}</p></div>
    <form class="panel settings" onSubmit=${(event: Event) => void submit(event)} novalidate><div class="in stack">
      <section class="group"><h2>Protocol</h2>${protocolChoice(form, protocol, port.configured)}</section>
      <section class="group"><h2>Line</h2><div class="form">${drawn(lineFields, form)}</div>
        <p class="small"><a href=${linkTo('port', port.path, 'hunt')}>${texts.findSettings}</a></p></section>
      <section class="group"><h2>${protocolNames[protocol]}</h2><${protocol === 'dnp3' ? OfOutstation : OfProtocol} protocol=${protocol} form=${form} /></section>
      ${refusal(form)}</div>
      <footer class="save"><p class="small soft">${consequence(port)}</p><div class="acts">
        <a class="btn quiet" href=${linkTo('port', port.path)}>Discard</a>
        <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${port.configured ? texts.saveAndReopen : texts.saveAndOpen}</${Act}></div></footer>
    </form>`
}

function protocolChoice(form: Form, protocol: ProtocolName, isConfigured: boolean): VNode {
  function choose(value: string): void {
    form.set('protocol', value)
    if (isConfigured) return
    for (const [name, usual] of Object.entries(usualLine(value))) form.set(`line.${name}`, String(usual))
  }
  return segments({
    label: texts.protocol,
    name: 'protocol',
    value: protocol,
    options: Object.entries(protocolNames),
    choose,
  })
}

function OfProtocol({ protocol, form }: { protocol: ProtocolName; form: Form }): VNode {
  return html`<div class="form">${drawn(common(protocol), form)}</div>${rare(protocol, form)}`
}

const OfOutstation = lazy(async () => {
  protocolFields.dnp3 = (await import('./outstation-fields.ts')).outstationFields
  return OfProtocol
})

function common(protocol: ProtocolName): readonly PortField[] {
  return protocolFields[protocol].filter((field) => !field.rare)
}

/** Fields that most people never change; unfolded if one of them was refused. */
function rare(protocol: ProtocolName, form: Form): VNode | null {
  const fields = protocolFields[protocol].filter((field) => field.rare)
  if (!fields.some((field) => field.when?.(form.values.value) ?? true)) return null
  const isRefused = fields.some((field) => field.name in form.faults.value)
  return html`<details open=${isRefused || undefined}><summary>Limits and timing</summary>
    <p class="small soft">A field left empty takes the gateway's default.</p><div class="form">${drawn(fields, form)}</div></details>`
}

function drawn(fields: readonly PortField[], form: Form): VNode[] {
  return fields.filter((field) => field.when?.(form.values.value) ?? true).map((field) => drawnField(field, form))
}

function drawnField(field: PortField, form: Form): VNode {
  const facts = { form, name: field.name, label: field.label, hint: field.hint }
  if (field.kind === 'toggle') return toggle({ ...facts, kind: 'wide' })
  if (field.kind === 'choice') return choice({ ...facts, options: field.options ?? [] })
  if (field.kind === 'blocks') return area({ ...facts, rows: 3, kind: 'wide', placeholder: field.placeholder })
  const options = field.options?.map(([value]) => value)
  return input({
    ...facts,
    unit: field.unit,
    type: field.kind === 'number' ? 'number' : 'text',
    options,
    mono: field.kind === 'text',
    placeholder: field.placeholder,
  })
}

/** What saving will do. */
function consequence(port: Port): string {
  if (!port.configured) return texts.savingOpens
  return port.state === 'open' ? texts.savingReopens : texts.appliedAtOnceAndSaved
}
