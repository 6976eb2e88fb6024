/** One webhook: where to, which events, signed with what. A secret is only replaced, never shown. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { area, choice, input, refusal, toggle } from '#kit/web/field.ts'
import { type Form, useForm, type Values } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import { api } from './api.ts'
import { type Hook, lookAtHooks, targetOf } from './hook-state.ts'
import { lookAtPorts, ports } from './state.ts'
import { headersOf, headersText, namesOf } from './typed.ts'
import { Test } from './webhook-test.ts'
import { nameOf } from './words.ts'

/** What happens on lines, by the names of the events. */
const EVENTS: readonly (readonly [name: string, what: string])[] = [
  ['frame', 'every frame'],
  ['value', 'a point changed'],
  ['unit', 'a unit fell silent or came back'],
  ['control', 'a master wrote to this line'],
  ['port', 'the line opened, closed or is gone'],
  ['error', 'something went wrong'],
]

/** The form of a webhook, or of a new one. */
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
    toast(hook ? 'Saved. Events go out this way from now on.' : `Events of ${nameOf(path)} are posted from now on.`)
  }
  function submit(event: Event): void {
    event.preventDefault()
    setTested('')
    void form.submit(save)
  }

  const lineChoice = lines.map((line) => [line.path, nameOf(line.path)] as const)
  return html`<form class="panel hook-form" onSubmit=${submit} novalidate aria-label=${hook ? `Webhook ${targetOf(hook.url)}` : 'New webhook'}>
    <header><h2>${hook ? targetOf(hook.url) : 'New webhook'}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('webhooks')} aria-label="Close form">${icon('close')}</a></div></header>
    <div class="in stack">
      ${lines.length === 0 ? html`<p>No line is set up yet, so there are no events. Set one up under Ports first.</p>` : null}
      ${hook ? html`<p class="small soft">Events of ${nameOf(hook.port)}</p>` : choice({ form, name: 'port', label: 'Events of', options: lineChoice })}
      ${input({ form, name: 'url', label: 'Address', mono: true, placeholder: 'https://bms.example/in', first: !hook, hint: 'Every event is posted there as JSON. Redirects are not followed.' })}
      ${eventChoice(form)}
      ${toggle({ form, name: 'isSigned', label: 'Sign deliveries', hint: 'HMAC-SHA-256 of the body, in X-Svc-Signature.' })}
      ${isSigned ? input({ form, name: 'secret', label: 'Secret', type: 'password', autocomplete: 'new-password', hint: hook?.hasSecret ? 'Set. Type a new one to replace it.' : 'Not set. The receiver needs the same one.' }) : null}
      ${area({ form, name: 'headers', label: 'Headers', rows: 2, placeholder: 'Authorization: Basic …', hint: 'One a line, name and value.' })}
      ${toggle({ form, name: 'enabled', label: 'Switched on' })}
      ${refusal(form)}<p class="tested" role="status">${tested}</p></div>
    <footer class="save">${hook ? html`<${Removal} hook=${hook} /><${Test} hook=${hook} tell=${setTested} />` : null}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || lines.length === 0}>${hook ? 'Save' : 'Add webhook'}</${Act}></footer>
  </form>`
}

/** Events to tick; none ticked means all. Names of others may be in it as well and stay. */
function eventChoice(form: Form): VNode {
  const names = namesOf(String(form.values.value.events))
  const toggleName = (name: string): void =>
    form.set('events', (names.includes(name) ? names.filter((each) => each !== name) : [...names, name]).join(', '))
  const others = names.filter((name) => !EVENTS.some(([each]) => each === name))
  const fault = form.faults.value.events
  return html`<fieldset class="ticks"><legend>Events</legend>${fault ? html`<p class="small" data-s="fault">${fault}</p>` : null}${[
    ...EVENTS,
    ...others.map((name) => [name, 'another event'] as const),
  ].map(
    ([
      name,
      what,
    ]) => html`<label key=${name}><input type="checkbox" checked=${names.includes(name)} onChange=${() => toggleName(name)} />
      <span><b>${name}</b> <span class="faint">${what}</span></span></label>`,
  )}<p class="small faint">${names.length === 0 ? 'None ticked: every event is posted.' : 'Only those ticked are posted.'}</p></fieldset>`
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
 * Of a webhook that is there only what was changed: the rest may be another's work by now. An empty secret keeps the one
 * that is set; signing switched off removes it.
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
      toast(`Nothing is posted to ${targetOf(hook.url)} any more.`)
      goTo('webhooks')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  const text = `Events of ${nameOf(hook.port)} are no longer posted to ${hook.url}. Those that wait are dropped.`
  return html`<${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}>
    ${isAsked ? html`<${Confirm} title="Remove this webhook?" text=${text} act="Remove webhook" keep="Keep webhook" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}
