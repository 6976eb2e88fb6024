/** Speaking through a camera, on its page: which message, how often, and stopping it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { choice, refusal, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { Act, say, toast } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import type { Camera } from './api.ts'
import { isAdmin, look, mayOperate, me } from './state.ts'
import * as texts from './texts.ts'
import { type TalkMessage, talkApi } from './turning-api.ts'

const LOOK_MS = 10_000

/** Nothing for who may not speak through a camera that is known to have a loudspeaker, nor ask it for one. */
export function TalkPanel({ camera }: { camera: Camera }): VNode | null {
  const { id, name, talkback } = camera
  const maySpeak = mayOperate.value && me.value?.permissions.includes('talk') === true
  if (!isAdmin.value && !(talkback.supported && maySpeak)) return null
  const ask = () => void doneOrSaid(() => talkApi.probe(id), look, texts.loudspeakerAsked(name))
  const asker = isAdmin.value
    ? html`<div class="acts"><a class="btn" href=${linkTo('messages')}>${texts.messages}</a><${Act} run=${ask}>${talkback.probedAt === null ? texts.askForLoudspeaker : texts.askAgain}</${Act}></div>`
    : null
  const head = html`<header><h2 class="grow">${texts.speak}</h2>${asker}</header>`
  if (talkback.supported && maySpeak) return html`<${Speak} id=${id} name=${name} head=${head} />`
  const why = talkback.supported
    ? say('off', texts.mayNotSpeak, texts.talkPermission)
    : say(
        'off',
        talkback.probedAt === null ? texts.loudspeakerUnknown : texts.noLoudspeaker,
        talkback.reason ?? texts.whatTalkIs,
      )
  return html`<section class="panel" aria-label=${texts.speak}>${head}${why}</section>`
}

interface SpeakFacts {
  id: string
  name: string
  head: Child
}

function Speak({ head, ...camera }: SpeakFacts): VNode {
  const [messages, setMessages] = useState<readonly TalkMessage[] | null>(null)
  const { refused } = useLook(async () => setMessages(await talkApi.messages()), LOOK_MS)
  if (messages && messages.length > 0) return html`<${SpeakForm} ...${camera} head=${head} messages=${messages} />`
  const none = () => say('off', texts.noMessages, isAdmin.value ? texts.makeMessageFirst : texts.askForMessages)
  return html`<section class="panel" aria-label=${texts.speak}>${head}${messages ? none() : firstAnswer(refused, texts.askingMessages, texts.messagesNotRead)}</section>`
}

function SpeakForm({ head, id, messages, name }: SpeakFacts & { messages: readonly TalkMessage[] }): VNode {
  const form = useForm({ messageId: messages[0]?.id ?? '', repeat: '1' })
  const options = messages.map((one) => [one.id, one.name] as const)
  async function speak(): Promise<void> {
    const { messageId, repeat } = form.values.value
    const { seconds } = await talkApi.say(id, String(messageId), Number(repeat))
    toast(texts.cameraSpeaks(name, Math.ceil(seconds)))
  }
  const stop = () =>
    void form.submit(async () => {
      const { spoke } = await talkApi.hush(id)
      toast(spoke ? texts.cameraIsQuiet(name) : texts.cameraWasQuiet(name))
    })
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(speak)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${texts.speak}>${head}<div class="in stack">
      ${choice({ form, name: 'messageId', label: texts.whichMessage, options })}
      ${choice({ form, name: 'repeat', label: texts.howOften, options: texts.repeatOptions })}${refusal(form)}</div>
    <footer class="save"><${Act} run=${stop}>${texts.stopSpeaking}</${Act}><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${texts.speakNow}</${Act}></footer></form>`
}
