/** Webhooks: does what happens here arrive there. A row a target, the form beside it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lamp, say, verdict } from '#kit/web/lamp.ts'
import { useLook } from '#kit/web/look.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { count, listed } from '#kit/web/numbers.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { followRow } from '#kit/web/rows.ts'
import { toast } from '#kit/web/toast.ts'
import { matches, Tools } from '#kit/web/tools.ts'
import { deliveryOf, type Hook, hooks, judgeHooks, lookAtHooks, targetOf } from './hook-state.ts'
import { isAdmin, ports } from './state.ts'
import { WebhookForm } from './webhook-form.ts'
import { sendSample } from './webhook-test.ts'
import { nameOf } from './words.ts'

/** Deliveries are looked at as often as lines. */
const LOOK_HOOKS_MS = 2000

/** The page. @param port and @param id the webhook whose form is open; id `new` for a new one */
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
  useKeys('Webhooks', [
    { key: 'n', what: 'new webhook', run: () => goTo('webhooks', 'new') as undefined },
    { key: 't', what: 'sends a sample to the open one', run: () => sample(chosen) },
  ])
  if (!isAdmin.value)
    return html`<div class="head"><h1>Webhooks</h1></div><section class="panel">
      ${say('off', 'Only administrators see webhooks', 'They hold addresses and headers of other systems.')}</section>`
  if (!known)
    return html`<div class="head"><h1>Webhooks</h1></div><section class="panel">${say('busy', 'Asking the gateway for its webhooks', 'One question for each line that has some.')}</section>`
  const shown = known.filter((hook) => matches(`${hook.url} ${hook.port}`, filter))
  const form = isNew || chosen ? html`<${WebhookForm} hook=${chosen} key=${isNew ? 'new' : `${port} ${id}`} />` : null
  return html`<h1 class="sr">Webhooks</h1>${verdict(judgeHooks(known))}
    <div class=${form ? 'cols with-form' : ''}><section class="panel" aria-label="Targets"><${Tools} filter=${filter} setFilter=${setFilter} label="Filter targets">
        <a class=${isNew ? 'btn' : 'btn primary'} href=${linkTo('webhooks', 'new')}>New webhook</a></${Tools}>
      ${known.length === 0 ? empty() : table(shown, filter, chosen, known.length)}</section>${form}</div>`
}

function empty(): VNode {
  return say('off', 'No webhooks', "Add one to have a line's events posted to a system of yours.")
}

function table(shown: readonly Hook[], filter: string, chosen: Hook | undefined, all: number): VNode {
  if (shown.length === 0) return say('off', `No target matches ${filter}`, `${count(all)} are hidden.`)
  return html`<table class="table fold hooks"><thead><tr><th><span class="sr">State</span></th><th>Target</th><th>Events</th>
      <th>Delivery</th><th class="n wide">Delivered</th><th class="n">Dropped</th></tr></thead>
    <tbody>${shown.map((hook) => row(hook, hook === chosen))}</tbody></table>`
}

function row(hook: Hook, isChosen: boolean): VNode {
  const { lit, words } = deliveryOf(hook, { nowMs: daemonNow(), zone: zone.value })
  const href = linkTo('webhooks', hook.port, String(hook.id))
  return html`<tr key=${`${hook.port} ${hook.id}`} class=${isChosen ? 'chosen' : ''} onClick=${(event: Event) => followRow(event, href)}>
    <td class="lit">${lamp(lit)}</td>
    <td class="name"><a href=${href} aria-current=${isChosen || undefined}><b>${targetOf(hook.url)}</b></a><span class="under">${nameOf(hook.port)}</span></td>
    <td class="setup">${hook.events.length === 0 ? 'all events' : listed(hook.events)}</td>
    <td class="state" data-s=${lit}>${words}</td>
    <td class="n wide">${count(hook.counters.delivered)}</td>
    <td class="n load">${count(hook.counters.dropped)}<span class="thumb-word faint"> dropped</span></td></tr>`
}

function sample(hook: Hook | undefined): boolean {
  if (!hook) return false
  void sendSample(hook).then(toast)
  return true
}
