/** The system page: is this gateway well? Each part is fetched, and fails, on its own. */
import type { VNode } from 'preact'
import { aheadMs, daemonNow, zone } from '#kit/web/contact.ts'
import { factTable, figures } from '#kit/web/figures.ts'
import { input, refusal, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lazy } from '#kit/web/lazy.ts'
import { age, bytesText, dateOf, fixed, many, timeOf } from '#kit/web/numbers.ts'
import { Act, type Judgement, say, toast, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { signOut } from '#kit/web/session.ts'
import { api, type System } from './api.ts'
import { isAdmin, lookAtSystem, me, system } from './state.ts'
import * as texts from './texts.ts'

const CertificatePanel = lazy(async () => (await import('./certificate-panel.ts')).CertificatePanel)

/** If the clocks of browser and gateway differ by more than this, the page says so. */
const CLOCK_APART_MS = 5000
/** Below this share of free memory the system is short of it. */
const LEAST_FREE = 0.05

const LicencePanel = lazy(async () => (await import('#kit/web/licence-panel.ts')).LicencePanel)

const MqttPanel = lazy(async () => (await import('./mqtt-panel.ts')).MqttPanel)

/** The system page. */
export function SystemPage(): VNode {
  const facts = system.value
  if (!facts)
    return html`<div class="head"><h1>System</h1></div><section class="panel">${say('busy', texts.askingGatewayHow, texts.usuallyBrief)}</section>`
  return html`<h1 class="sr">System</h1>${verdict(judge(facts))}${figures(boxFigures(facts), 'box')}
    <div class="pair"><div class="stack">${isAdmin.value ? html`<${Name} name=${facts.name} />` : null}${addresses(facts)}<${Account} /></div>
      <div class="stack"><${CertificatePanel} tls=${facts.tls} /><${MqttPanel} />${about(facts)}<${LicencePanel} from="/api/system" /></div></div>
`
}

function judge(facts: System): Judgement {
  const apartMs = Math.abs(aheadMs.value)
  const share = facts.memory.freeBytes / facts.memory.totalBytes
  if (apartMs > CLOCK_APART_MS)
    return {
      lit: 'warn',
      sentence: texts.clockIsOff(age(apartMs), aheadMs.value),
      why: texts.oneClockIsWrong,
    }
  if (share < LEAST_FREE)
    return {
      lit: 'warn',
      sentence: texts.littleMemoryIsFree(bytesText(facts.memory.freeBytes)),
      why: texts.ofMemory(bytesText(facts.memory.totalBytes)),
    }
  return {
    lit: 'ok',
    sentence: texts.hasRun(facts.name || texts.thisGateway, age(Math.max(1000, daemonNow() - facts.startedAt))),
  }
}

function boxFigures(facts: System): Parameters<typeof figures>[0] {
  const { memory, load } = facts
  const [perMinute, , perQuarter] = load
  return [
    {
      name: texts.time,
      value: timeOf(daemonNow(), zone.value),
      note: `${dateOf(daemonNow(), zone.value)}, ${facts.timeZone}`,
    },
    {
      name: texts.up,
      value: age(Math.max(1000, daemonNow() - facts.startedAt), 2),
      note: texts.machine(age(facts.systemUptimeMs, 2)),
    },
    {
      name: texts.memoryUsed,
      value: bytesText(memory.rssBytes),
      note: texts.memoryFree(bytesText(memory.freeBytes), bytesText(memory.totalBytes)),
    },
    { name: texts.load, value: fixed(perMinute, 2), note: texts.over15Min(fixed(perQuarter, 2)) },
  ]
}

function about(facts: System): VNode {
  const started = `${dateOf(facts.startedAt, zone.value)} ${timeOf(facts.startedAt, zone.value)}`
  return html`<section class="panel" aria-label="About"><header><h2>About</h2></header>${factTable([
    [texts.product, `${facts.product} ${facts.version}`],
    [texts.host, html`<span class="mono">${facts.hostname}</span>`],
    [texts.system, `${facts.os}, ${facts.arch}`],
    [texts.kernel, html`<span class="mono">${facts.kernel}</span>`],
    [texts.node, facts.node.replace(/^v/, '')],
    [texts.started, started],
    ...facts.temperatures.map(({ name, celsius }): [string, Child] => [
      `${texts.temperature}, ${name}`,
      `${fixed(celsius, 1)} °C`,
    ]),
    ...(isAdmin.value
      ? [[texts.journal, html`<a href=${linkTo('journal')}>who changed or sent what</a>`] as [string, Child]]
      : []),
  ])}</section>`
}

function addresses(facts: System): VNode {
  const known = facts.addresses.filter((each) => each.address)
  return html`<section class="panel" aria-label="Addresses"><header><h2>Addresses</h2><span class="faint">${many(known.length, 'address', 'addresses')}</span></header>
    ${known.length === 0 ? say('warn', texts.noAddress, texts.noInterfaceIsReachable) : factTable(known.map((each) => [`${each.name}, ${each.family}`, html`<span class="mono">${each.address}</span>`]))}</section>`
}

function Name({ name }: { name: string }): VNode {
  const form = useForm({ name }, 'edit')
  async function save(): Promise<void> {
    await api.rename(String(form.values.value.name))
    form.settle()
    await lookAtSystem()
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (await form.submit(save)) toast(texts.gatewayIsCalled(form.values.value.name))
  }
  return html`<form class="panel" aria-label="Name" onSubmit=${(event: Event) => void submit(event)} novalidate><header><h2>Name</h2></header>
    <div class="in name-row">${input({ form, name: 'name', label: texts.nameOnPlate, kind: 'most' })}
      <${Act} type="submit" waits=${form.isBusy.value || !form.isChanged('name')}>Rename</${Act}></div>${refusal(form)}</form>`
}

function Account(): VNode {
  async function leave(): Promise<void> {
    try {
      await api.logout()
    } finally {
      signOut()
    }
  }
  return html`<section class="panel" aria-label="Signed in"><header><h2>Signed in</h2></header><div class="in account">
    <span><b>${me.value?.username}</b> <span class="faint">${me.value?.role === 'admin' ? texts.administrator : texts.viewer}</span></span>
    <div class="acts"><a class="btn" href=${linkTo('users', 'password')}>Own password</a>
      <button class="btn" type="button" onClick=${() => void leave()}>Sign out</button></div></div></section>`
}
