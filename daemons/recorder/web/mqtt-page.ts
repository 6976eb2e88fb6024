/** The MQTT broker: whether it takes what the recorder tells, and which one it is. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { factTable } from '#kit/web/figures.ts'
import { input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, count, many, sinceText } from '#kit/web/numbers.ts'
import { Act, type Judgement, toast, verdict } from '#kit/web/parts.ts'
import { type Mqtt, type MqttWish, mqttApi } from './licence-api.ts'
import { LOOK_MS } from './state.ts'
import * as texts from './texts.ts'

/** The page. */
export function MqttPage(): VNode {
  const [mqtt, setMqtt] = useState<Mqtt | null>(null)
  const { again, refused } = useLook(async () => setMqtt(await mqttApi.state()), LOOK_MS)
  if (mqtt === null)
    return html`<h1 class="sr">MQTT</h1><section class="panel">${firstAnswer(refused, texts.askingMqtt, texts.mqttNotRead)}</section>`
  const { discoveryPrefix, enabled, hasPassword, topicPrefix, url, username } = mqtt
  const saved = JSON.stringify([enabled, url, username, hasPassword, topicPrefix, discoveryPrefix])
  return html`<h1 class="sr">MQTT</h1>${verdict(judgeMqtt(mqtt, daemonNow()))}
    ${mqtt.state === 'off' ? null : told(mqtt, again)}
    <${Broker} mqtt=${mqtt} again=${again} key=${saved} />`
}

export function judgeMqtt({ enabled, fault, nextTryAt, since, state, topics, url }: Mqtt, nowMs: number): Judgement {
  const host = URL.parse(url)?.host || url
  if (!enabled) return { lit: 'off', sentence: texts.mqttIsOff, why: texts.mqttWouldTell }
  if (state === 'connected') {
    const why = texts.mqttSince(sinceText(since ?? nowMs, nowMs, zone.value), many(topics, 'topic'))
    return { lit: 'ok', sentence: texts.brokerTakes(host), why }
  }
  if (!fault) return { lit: 'busy', sentence: texts.brokerIsAsked(host) }
  const leftMs = (nextTryAt ?? 0) - nowMs
  const again = leftMs > 1000 ? ` ${texts.triedAgainIn(age(leftMs, 1))}` : ''
  return { lit: 'warn', sentence: texts.brokerIsAway(host), why: `${fault.message}.${again}` }
}

/** Counts that should stay 0 are shown once they do not. */
function told({ dropped, due, prefix, published, refused, waiting }: Mqtt, again: () => Promise<void>): VNode {
  const facts: [string, string | VNode][] = [
    [texts.underTopic, html`<span class="mono">${prefix}/…</span>`],
    [texts.messagesTaken, count(published)],
    [texts.messagesWait, texts.messagesWaiting(many(due, 'topic'), many(waiting, 'message'))],
  ]
  if (dropped > 0) facts.push([texts.messagesDropped, texts.brokerWasAway(count(dropped))])
  if (refused > 0) facts.push([texts.topicsRefused, texts.raiseTopics(count(refused))])
  const test = () => void doneOrSaid(() => mqttApi.test(), again, texts.testArrived)
  return html`<section class="panel" aria-label="Messages"><header><h2 class="grow">Messages</h2>
    <div class="acts"><${Act} kind="quiet" run=${test}>Send a test</${Act}></div></header>${factTable(facts)}</section>`
}

function Broker({ mqtt, again }: { mqtt: Mqtt; again: () => Promise<void> }): VNode {
  const { discoveryPrefix, enabled, hasPassword, topicPrefix, url, username } = mqtt
  const form = useForm({ enabled, url, username, password: '', topicPrefix, discoveryPrefix }, 'edit')
  async function save(): Promise<void> {
    const { values, isChanged } = form
    const names = ['enabled', 'url', 'username', 'password', 'topicPrefix', 'discoveryPrefix'] as const
    const wish = Object.fromEntries(names.filter(isChanged).map((name) => [name, trimmed(values.value[name])]))
    // Another broker takes no user of the old one along, unless it is said again; this form shows one, so it is said.
    if (wish.url !== undefined) wish.username = trimmed(values.value.username)
    if (wish.username === '') wish.password = null
    await mqttApi.change(wish as MqttWish)
    form.settle({ ...values.value, password: '' })
    toast(texts.mqttIsSaved)
    await again()
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  const passwordHint = hasPassword && !form.isChanged('url') ? texts.passwordIsKept : texts.noPasswordYet
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="Broker"><header><h2>Broker</h2></header>
    <div class="in stack">${toggle({ form, name: 'enabled', label: texts.tellOverMqtt, hint: texts.tellOverMqttHint })}
      ${input({ form, name: 'url', label: texts.brokerAddress, mono: true, placeholder: 'mqtts://broker.example:8883', hint: texts.brokerAddressHint })}
      ${input({ form, name: 'username', label: texts.brokerUser, hint: texts.brokerUserHint })}
      ${input({ form, name: 'password', type: 'password', autocomplete: 'new-password', label: texts.brokerPassword, hint: passwordHint })}
      ${input({ form, name: 'topicPrefix', label: texts.topicPrefix, mono: true, hint: texts.topicPrefixHint })}
      ${input({ form, name: 'discoveryPrefix', label: texts.discoveryPrefix, mono: true, hint: texts.discoveryPrefixHint })}
      ${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value || !form.hasChanges()}>${texts.save}</${Act}></footer></form>`
}

function trimmed(value: string | boolean | undefined): string | boolean | null {
  return typeof value === 'string' ? value.trim() : (value ?? null)
}
