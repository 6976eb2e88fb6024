/** The webhooks page: where events are sent, and whether they arrive; the form of a webhook, and its test. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { area, choice, type Form, input, refusal, toggle, useForm, type Values } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { age, count, listed, sinceText } from '#kit/web/numbers.ts'
import { Act, icon, type Judgement, type Lit, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { followRow, matches, Tools } from '#kit/web/tools.ts'
import { api, type Webhook } from './api.ts'
import { isAdmin, lookAtPorts, ports } from './state.ts'
import * as texts from './texts.ts'
import { headersOf, headersText, namesOf } from './typed.ts'
import { shortPath, type When } from './words.ts'

// The webhooks of all lines, and the verdict on their delivery.

/** A webhook, and the line it belongs to. */
export interface Hook extends Webhook {
  port: string
}

/** Null until they have been fetched. */
export const hooks = signal<Hook[] | null>(null)

/** Fetches the webhooks of every line that has some. */
export async function lookAtHooks(): Promise<void> {
  const known = ports.value
  if (known === null) return
  const lists = await Promise.all(
    known
      .filter((port) => port.webhooks > 0)
      .map(async ({ path }) => (await api.webhooks(path)).map((hook) => ({ ...hook, port: path }))),
  )
  hooks.value = lists.flat().sort((a, b) => rank(a) - rank(b) || a.url.localeCompare(b.url))
}

function rank(hook: Hook): number {
  return ['fault', 'warn', 'ok', 'busy', 'off'].indexOf(deliveryOf(hook).lit)
}

/** Whether the latest delivery to a target failed. */
function isFailing({ lastError, lastDeliveredAt }: Webhook): boolean {
  return lastError !== null && lastError.at >= (lastDeliveredAt ?? 0)
}

/** The lamp and the words for a target: how the latest delivery went, and when. */
export function deliveryOf(hook: Webhook, when?: When): { lit: Lit; words: string } {
  if (!hook.enabled) return { lit: 'off', words: texts.switchedOff }
  if (isFailing(hook)) {
    const since = when && hook.lastError ? ` at ${sinceText(hook.lastError.at, when.nowMs, when.zone)}` : ''
    const paused = hook.pausedUntil === null ? '' : texts.paused
    return { lit: 'fault', words: `${hook.lastError?.message ?? ''}${since}${paused}` }
  }
  if (hook.lastDeliveredAt === null) return { lit: 'busy', words: texts.nothingSentYet }
  const ago = when ? age(Math.max(0, when.nowMs - hook.lastDeliveredAt), 1) : ''
  return { lit: hook.counters.dropped > 0 ? 'warn' : 'ok', words: texts.lastAgo(ago) }
}

/** The verdict on all targets. */
export function judgeHooks(all: readonly Hook[]): Judgement {
  const failing = all.filter((hook) => deliveryOf(hook).lit === 'fault')
  const taken = all.reduce((sum, hook) => sum + hook.counters.delivered, 0)
  const dropped = all.reduce((sum, hook) => sum + hook.counters.dropped, 0)
  const lost = dropped > 0 ? texts.eventsDropped(dropped) : ''
  if (all.length === 0) return { lit: 'off', sentence: texts.noWebhooks }
  if (failing.length === 0) {
    const sentence = taken === 0 ? texts.nothingSentSoFar : texts.targetsTakeWhatIsSent(all.length)
    return {
      lit: dropped > 0 ? 'warn' : 'ok',
      sentence,
      why: `${taken > 0 ? texts.eventsDelivered(taken) : ''} ${lost}`.trim(),
    }
  }
  const sentence = texts.targetsTakeNothing(count(failing.length), all.length, failing.length)
  const others = all.length > failing.length ? texts.eventsDeliveredInAll(taken) : ''
  return { lit: failing.length === all.length ? 'fault' : 'warn', sentence, why: `${others}${lost}`.trim() }
}

/** Host and path of a target, by which people tell targets apart. */
export function hostAndPath(url: string): string {
  return url.replace(/^https?:\/\//, '').replace(/\/$/, '')
}

// Sending a sample event to a target.

/** Sends a sample event and returns a sentence on what came back. */
export async function sendSample(hook: Hook): Promise<string> {
  try {
    const { delivered, message, tookMs } = await api.testWebhook(hook.port, hook.id)
    const took = `${Math.round(tookMs)}\u202fms`
    return texts.sampleArrived(delivered, took, message).replace(/\.\.$/, '.')
  } catch (thrown) {
    return sentenceOf(thrown)
  }
}

/** The button that sends a sample event. */
export function Test({ hook, tell }: { hook: Hook; tell: (sentence: string) => void }): VNode {
  const [isBusy, setBusy] = useState(false)
  async function run(): Promise<void> {
    setBusy(true)
    tell(texts.waitingForTarget)
    tell(await sendSample(hook))
    setBusy(false)
  }
  return html`<${Act} waits=${isBusy} run=${() => void run()}>Test</${Act}>`
}

// The form of one webhook: address, events, signature. A secret is only replaced, never shown.

/** The events by name, with their meanings. */
const EVENTS: readonly (readonly [name: string, what: string])[] = [
  ['frame', texts.everyFrame],
  ['value', texts.pointChanged],
  ['unit', texts.unitFellSilentOrCameBack],
  ['control', texts.masterWroteToLine],
  ['master', texts.masterCameOrWent],
  ['time', texts.masterSetTime],
  ['port', texts.lineChanged],
  ['error', texts.somethingWentWrong],
]

/** The form of a webhook, existing or new. */
export function WebhookForm({ hook }: { hook?: Hook }): VNode {
  const lines = (ports.value ?? []).filter((port) => port.configured)
  const form = useForm(valuesOf(hook, lines[0]?.path), hook ? 'edit' : 'draft')
  const [tested, setTested] = useState('')
  const { port, isSigned } = form.values.value

  async function save(): Promise<void> {
    const path = String(port)
    const body = bodyOf(form, hook)
    const saved = hook ? await api.changeWebhook(path, hook.id, body) : await api.addWebhook(path, body)
    await lookAtPorts()
    await lookAtHooks()
    form.settle(valuesOf({ ...saved, port: path }, path))
    if (!hook) goTo('webhooks', path, String(saved.id))
    toast(hook ? texts.hookIsSaved : texts.hookIsAdded(shortPath(path)))
  }
  function submit(event: Event): void {
    event.preventDefault()
    setTested('')
    void form.submit(save)
  }

  const lineChoice = lines.map((line) => [line.path, shortPath(line.path)] as const)
  return html`<form class="panel hook-form" onSubmit=${submit} novalidate aria-label=${hook ? texts.webhook(hostAndPath(hook.url)) : texts.newWebhook}>
    <header><h2>${hook ? hostAndPath(hook.url) : texts.newWebhook}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('webhooks')} aria-label="Close form">${icon('close')}</a></div></header>
    <div class="in stack">
      ${lines.length === 0 ? html`<p>No line is set up yet, so there are no events. Set one up under Ports first.</p>` : null}
      ${hook ? html`<p class="small soft">Events of ${shortPath(hook.port)}</p>` : choice({ form, name: 'port', label: texts.eventsOf, options: lineChoice })}
      ${input({ form, name: 'url', label: texts.address, mono: true, placeholder: 'https://bms.example/in', first: !hook, hint: texts.addressHint })}
      ${eventChoice(form)}
      ${toggle({ form, name: 'isSigned', label: texts.signDeliveries, hint: texts.signHint })}
      ${isSigned ? input({ form, name: 'secret', label: texts.secret, type: 'password', autocomplete: 'new-password', hint: hook?.hasSecret ? texts.secretIsSet : texts.secretIsNotSet }) : null}
      ${area({ form, name: 'headers', label: texts.headers, rows: 2, placeholder: texts.headersExample, hint: texts.headersHint })}
      ${toggle({ form, name: 'enabled', label: texts.switchedOn })}
      ${refusal(form)}<p class="tested" role="status">${tested}</p></div>
    <footer class="save">${hook ? html`<${Removal} hook=${hook} /><${Test} hook=${hook} tell=${setTested} />` : null}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || lines.length === 0}>${hook ? texts.save : texts.addWebhook}</${Act}></footer>
  </form>`
}

/** Checkboxes for events; none ticked means all. Other names may be in the list, and stay. */
function eventChoice(form: Form): VNode {
  const names = namesOf(String(form.values.value.events))
  const toggleName = (name: string): void =>
    form.set('events', (names.includes(name) ? names.filter((each) => each !== name) : [...names, name]).join(', '))
  const others = names.filter((name) => !EVENTS.some(([each]) => each === name))
  const fault = form.faults.value.events
  return html`<fieldset class="ticks"><legend>Events</legend>${fault ? html`<p class="small" data-s="fault">${fault}</p>` : null}${[
    ...EVENTS,
    ...others.map((name) => [name, texts.anotherEvent] as const),
  ].map(
    ([
      name,
      what,
    ]) => html`<label key=${name}><input type="checkbox" checked=${names.includes(name)} onChange=${() => toggleName(name)} />
      <span><b>${name}</b> <span class="faint">${what}</span></span></label>`,
  )}<p class="small faint">${names.length === 0 ? texts.noneIsTicked : texts.onlyThoseTickedArePosted}</p></fieldset>`
}

function valuesOf(hook: Hook | undefined, port: string | undefined): Values {
  return {
    port: hook?.port ?? port ?? '',
    url: hook?.url ?? '',
    events: hook?.events.join(', ') ?? '',
    isSigned: hook?.hasSecret ?? false,
    secret: '',
    headers: headersText(hook?.headers ?? {}),
    enabled: hook?.enabled ?? true,
  }
}

/**
 * For an existing webhook only what was changed is sent, because others may have changed the rest meanwhile. An empty
 * secret keeps the present one; switching signing off removes it.
 */
function bodyOf(form: Form, hook: Hook | undefined): object {
  const { url, events, isSigned, secret, headers, enabled } = form.values.value
  const all = { url, events: namesOf(String(events)), headers: headersOf(String(headers)), enabled }
  const body = hook ? Object.fromEntries(Object.entries(all).filter(([name]) => form.isChanged(name))) : all
  if (!isSigned) return hook?.hasSecret ? { ...body, secret: null } : body
  return secret === '' && hook?.hasSecret ? body : { ...body, secret }
}

function Removal({ hook }: { hook: Hook }): VNode {
  const [isAsked, setAsked] = useState(false)
  async function run(): Promise<void> {
    try {
      await api.removeWebhook(hook.port, hook.id)
      await lookAtPorts()
      await lookAtHooks()
      toast(texts.hookIsRemoved(hostAndPath(hook.url)))
      goTo('webhooks')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  const text = texts.removingHookMeans(shortPath(hook.port), hook.url)
  return html`<${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}>
    ${isAsked ? html`<${Confirm} title="Remove this webhook?" text=${text} act="Remove webhook" keep="Keep webhook" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}

/** Deliveries are fetched as often as lines. */
const LOOK_HOOKS_MS = 2000

/** The webhooks page. @param port and @param id the webhook whose form is open; `id` is `new` for a new one */
export function WebhooksPage({ port, id }: { port?: string; id?: string }): VNode {
  const [filter, setFilter] = useState('')
  useLook(
    async () => (isAdmin.value ? lookAtHooks() : undefined),
    LOOK_HOOKS_MS,
    String(ports.value === null || !isAdmin.value),
  )
  const known = hooks.value
  const chosen = known?.find((hook) => hook.port === port && String(hook.id) === id)
  const isNew = port === 'new'
  useKeys(texts.webhooks, [
    { key: 'n', what: texts.newWebhookKey, run: () => goTo('webhooks', 'new') as undefined },
    { key: 't', what: texts.sendsSampleToOpen, run: () => sample(chosen) },
  ])
  if (!isAdmin.value)
    return html`<div class="head"><h1>Webhooks</h1></div><section class="panel">
      ${say('off', texts.onlyAdministratorsSeeWebhooks, texts.hooksHoldAddresses)}</section>`
  if (!known)
    return html`<div class="head"><h1>Webhooks</h1></div><section class="panel">${say('busy', texts.askingGatewayForWebhooks, texts.oneQuestionALine)}</section>`
  const shown = known.filter((hook) => matches(`${hook.url} ${hook.port}`, filter))
  const form = isNew || chosen ? html`<${WebhookForm} hook=${chosen} key=${isNew ? 'new' : `${port} ${id}`} />` : null
  return html`<h1 class="sr">Webhooks</h1>${verdict(judgeHooks(known))}
    <div class=${form ? 'cols with-form' : ''}><section class="panel" aria-label="Targets"><${Tools} filter=${filter} setFilter=${setFilter} label="Filter targets">
        <a class=${isNew ? 'btn' : 'btn primary'} href=${linkTo('webhooks', 'new')}>New webhook</a></${Tools}>
      ${known.length === 0 ? empty() : table(shown, filter, chosen, known.length)}</section>${form}</div>`
}

function empty(): VNode {
  return say('off', texts.noWebhooksYet, texts.whatHooksDo)
}

function table(shown: readonly Hook[], filter: string, chosen: Hook | undefined, all: number): VNode {
  if (shown.length === 0) return say('off', texts.noTargetMatches(filter), texts.areHidden(count(all)))
  return html`<table class="table fold hooks"><thead><tr><th><span class="sr">State</span></th><th>Target</th><th>Events</th>
      <th>Delivery</th><th class="n wide">Delivered</th><th class="n">Dropped</th></tr></thead>
    <tbody>${shown.map((hook) => row(hook, hook === chosen))}</tbody></table>`
}

function row(hook: Hook, isChosen: boolean): VNode {
  const { lit, words } = deliveryOf(hook, { nowMs: daemonNow(), zone: zone.value })
  const href = linkTo('webhooks', hook.port, String(hook.id))
  return html`<tr key=${`${hook.port} ${hook.id}`} class=${isChosen ? 'chosen' : ''} onClick=${(event: Event) => followRow(event, href)}>
    <td class="lit">${lamp(lit)}</td>
    <td class="name"><a href=${href} aria-current=${isChosen || undefined}><b>${hostAndPath(hook.url)}</b></a><span class="under">${shortPath(hook.port)}</span></td>
    <td class="setup">${hook.events.length === 0 ? texts.allEvents : listed(hook.events)}</td>
    <td class="state" data-s=${lit}>${words}</td>
    <td class="n wide">${count(hook.counters.delivered)}</td>
    <td class="n load">${count(hook.counters.dropped)}<span class="thumb-word faint"> dropped</span></td></tr>`
}

function sample(hook: Hook | undefined): boolean {
  if (!hook) return false
  void sendSample(hook).then(toast)
  return true
}
