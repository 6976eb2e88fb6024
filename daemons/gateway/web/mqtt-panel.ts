/** The MQTT broker: whether it takes what the gateway tells, since when, what waits, and a button that tries it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CallFault, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { factTable } from '#kit/web/figures.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, count, many, msText, sinceText } from '#kit/web/numbers.ts'
import { Act, say, toast } from '#kit/web/parts.ts'
import { type Mqtt, mqttApi } from './api.ts'
import { isAdmin, LOOK_MS } from './state.ts'
import * as texts from './texts.ts'

/** The panel. */
export function MqttPanel(): VNode {
  const [mqtt, setMqtt] = useState<Mqtt | null>(null)
  const { refused } = useLook(async () => setMqtt(await mqttApi.state()), LOOK_MS)
  const shown = mqtt ? [verdictOf(mqtt), ...factsOf(mqtt)] : firstAnswer(refused, texts.askingMqtt, texts.mqttNotRead)
  return html`<section class="panel" aria-label=${texts.mqtt}><header><h2 class="grow">${texts.mqtt}</h2>
    ${mqtt && mqtt.state !== 'off' && isAdmin.value ? html`<${Test} />` : null}</header>${shown}</section>`
}

function verdictOf({ broker, fault, nextTryAt, since, state, topics }: Mqtt): VNode {
  const name = broker ?? ''
  const sinceWhen = since === null ? '' : sinceText(since, daemonNow(), zone.value)
  if (state === 'off' || state === 'closed') return say('off', texts.mqttIsOff, texts.mqttIsOffMeans)
  if (state === 'connected')
    return say('ok', texts.mqttIsThere(name), texts.mqttIsThereMeans(sinceWhen, many(topics, 'topic')))
  if (!fault) return say('busy', texts.mqttIsAsked(name), texts.mqttIsAskedMeans)
  const leftMs = (nextTryAt ?? 0) - daemonNow()
  const again = leftMs > 1000 ? texts.inAWhile(age(leftMs, 1)) : texts.brokerAtOnce
  return say('warn', texts.mqttIsAway(name, sinceWhen), texts.mqttIsAwayMeans(fault.message, again))
}

/** Counts that should stay 0 are shown once they do not. */
function factsOf({ dropped, due, isEncrypted, prefix, published, refused, state, waiting }: Mqtt): VNode[] {
  if (state === 'off' || state === 'closed') return []
  const facts: [string, string | VNode][] = [
    [texts.underTopic, html`<span class="mono">${prefix}/…</span>`],
    [texts.encryption, isEncrypted ? texts.mqttIsSecure : texts.mqttIsPlain],
    [texts.messagesTaken, count(published)],
    [texts.messagesWait, texts.messagesWaiting(many(due, 'topic'), many(waiting, 'event'))],
  ]
  if (dropped > 0) facts.push([texts.brokerDropped, texts.raiseQueue(count(dropped))])
  if (refused > 0) facts.push([texts.topicsRefused, texts.raiseTopics(count(refused))])
  return [factTable(facts)]
}

function Test(): VNode {
  const [isBusy, setBusy] = useState(false)
  async function run(): Promise<void> {
    setBusy(true)
    try {
      const { topic, tookMs } = await mqttApi.test()
      toast(texts.testArrived(topic, `${msText(tookMs)} ms`))
    } catch (thrown) {
      if (!(thrown instanceof CallFault)) throw thrown
      toast(thrown.message)
    } finally {
      setBusy(false)
    }
  }
  return html`<${Act} kind="quiet" waits=${isBusy} run=${() => void run()}>Send a test</${Act}>`
}
