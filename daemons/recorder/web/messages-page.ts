/** Messages that cameras say: listening to them, adding files and texts, deleting. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { area, input, refusal, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { fixed } from '#kit/web/numbers.ts'
import { Act, say, toast } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { FileField } from './file-field.ts'
import { isAdmin } from './state.ts'
import * as texts from './texts.ts'
import { soundPath, type TalkMessage, talkApi } from './turning-api.ts'

adoptStyle(`
.messages{display:grid;gap:var(--s3);margin:0;list-style:none}
.messages li{display:flex;flex-wrap:wrap;align-items:center;gap:var(--s2) var(--s3)}
.messages li+li{border-top:1px solid var(--line);padding-top:var(--s3)}
.messages .what{flex:1 1 12rem;min-width:0}
.messages .what p{margin:0;overflow-wrap:anywhere}
.messages audio{flex:1 1 14rem;max-width:22rem;height:2.5rem}
`)

const LOOK_MS = 10_000

/** The page. @param what `file` or `text`: the open form */
export function MessagesPage({ what }: { what?: string }): VNode {
  const [messages, setMessages] = useState<readonly TalkMessage[] | null>(null)
  const { again, refused } = useLook(async () => setMessages(await talkApi.messages()), LOOK_MS)
  if (messages === null)
    return html`<h1 class="sr">${texts.messages}</h1><section class="panel">${firstAnswer(refused, texts.askingMessages, texts.messagesNotRead)}</section>`
  const form = !isAdmin.value
    ? null
    : what === 'file'
      ? html`<${FromFile} again=${again} />`
      : what === 'text'
        ? html`<${FromText} again=${again} />`
        : null
  const acts = isAdmin.value
    ? html`<a class="btn" href=${linkTo('messages', 'file')}>${texts.fromFile}</a><a class=${form ? 'btn' : 'btn primary'} href=${linkTo('messages', 'text')}>${texts.fromText}</a>`
    : null
  return html`<div class="head"><h1>${texts.messages}</h1><div class="acts">${acts}</div></div>
    <div class=${form ? 'cols with-form' : ''}><section class="panel" aria-label=${texts.messages}>${list(messages, again)}</section>${form}</div>`
}

function list(messages: readonly TalkMessage[], again: () => Promise<void>): Child {
  if (messages.length === 0)
    return say('off', texts.noMessages, isAdmin.value ? texts.whatMessagesAre : texts.askForMessages)
  return html`<ul class="in messages">${messages.map((message) => row(message, again))}</ul>`
}

function row({ id, name, seconds, text }: TalkMessage, again: () => Promise<void>): VNode {
  const remove = () => void doneOrSaid(() => talkApi.remove(id), again, texts.messageIsDeleted(name))
  const end = isAdmin.value
    ? html`<${Asked} kind="quiet" act=${texts.deleteMessage} label=${texts.deleteNamed(name)} title=${texts.deleteMessageQuestion(name)} text=${texts.deletingMeans} sure=${texts.deleteMessage} keep=${texts.keepMessage} run=${remove} />`
    : null
  return html`<li key=${id}><div class="what"><b>${name}</b><p class="small soft">${texts.messageIs(fixed(seconds, 1), text)}</p></div>
    <audio controls preload="none" src=${soundPath(id)} aria-label=${texts.listenTo(name)}></audio>${end}</li>`
}

function FromFile({ again }: { again: () => Promise<void> }): VNode {
  const form = useForm({ name: '' }, 'draft')
  const [file, setFile] = useState<File | null>(null)
  async function take(picked: File): Promise<void> {
    setFile(picked)
    if (form.values.value.name === '') form.set('name', picked.name.replace(/\.wav$/i, '').slice(0, 64))
  }
  async function save(): Promise<void> {
    if (!file) throw new Error(texts.fileFirst)
    await added(await talkApi.addFile(String(form.values.value.name).trim(), file), again)
    form.settle()
    goTo('messages')
  }
  return html`<form class="panel" onSubmit=${submitOf(form, save)} novalidate aria-label=${texts.fromFile}><header><h2>${texts.fromFile}</h2></header>
    <div class="in stack"><${FileField} label=${texts.soundFile} act=${file ? file.name : texts.chooseFile} hint=${texts.soundHint} accept=".wav,audio/wav,audio/x-wav" take=${take} />
      ${input({ form, name: 'name', label: texts.messageName })}${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${form.isBusy.value ? texts.sending : texts.addMessage}</${Act}></footer></form>`
}

function FromText({ again }: { again: () => Promise<void> }): VNode {
  const form = useForm({ name: '', text: '', voice: 'en' }, 'draft')
  async function save(): Promise<void> {
    const { name, text, voice } = form.values.value
    const body = { name: String(name).trim(), text: String(text).trim(), voice: String(voice).trim() }
    await added(await talkApi.addText(body), again)
    form.settle()
    goTo('messages')
  }
  return html`<form class="panel" onSubmit=${submitOf(form, save)} novalidate aria-label=${texts.fromText}><header><h2>${texts.fromText}</h2></header>
    <div class="in stack">${input({ form, name: 'name', label: texts.messageName, first: true })}
      ${area({ form, name: 'text', label: texts.whatIsSaid, rows: 4, placeholder: texts.saidExample })}
      ${input({ form, name: 'voice', label: texts.voice, options: texts.voiceOptions, hint: texts.voiceHint })}${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${form.isBusy.value ? texts.readingAloud : texts.addMessage}</${Act}></footer></form>`
}

async function added({ name }: TalkMessage, again: () => Promise<void>): Promise<void> {
  toast(texts.messageIsAdded(name))
  await again()
}

function submitOf(form: ReturnType<typeof useForm>, save: () => Promise<void>): (event: Event) => void {
  return (event) => {
    event.preventDefault()
    void form.submit(save)
  }
}
