/** Settings: the update key, the password, and the bounds of the server as they are set. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked } from '#kit/web/asked.ts'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { factTable } from '#kit/web/figures.ts'
import { input, refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, bytesText, sinceText } from '#kit/web/numbers.ts'
import { Act, type Judgement, lamp, toast, verdict } from '#kit/web/parts.ts'
import { api, type Health, type Settings } from './api.ts'
import { health, leave, lookAgain, signedIn, status } from './state.ts'
import * as texts from './texts.ts'

const LOOK_MS = 10_000

/** The page. */
export function SettingsPage(): VNode {
  const [known, setKnown] = useState<Settings | null>(null)
  const { again, refused } = useLook(async () => setKnown(await api.settings()), LOOK_MS)
  if (known === null)
    return html`<h1 class="sr">Settings</h1><section class="panel">${firstAnswer(refused, texts.askingSettings, texts.settingsNotRead, () => void again())}</section>`
  const both = async (): Promise<void> => {
    await Promise.all([again(), lookAgain()])
  }
  return html`<h1 class="sr">Settings</h1>${verdict(judge(known, health.value))}
    <div class="pair"><div class="stack"><${UpdateKey} settings=${known} again=${both} /><${Password} /></div>
      <div class="stack"><section class="panel" aria-label=${texts.bounds}><header><h2>${texts.bounds}</h2></header>${bounds(known)}<p class="in small faint">${texts.boundsAreSettings}</p></section>
        <section class="panel" aria-label=${texts.session}><header><h2 class="grow">${texts.session}</h2><div class="acts"><button class="btn" type="button" onClick=${() => void leave()}>${texts.signOut}</button></div></header>
          <p class="in small soft">${texts.sessionEnds}</p></section></div></div>`
}

/** Whether anything can be published. */
function judge({ update_key: { from } }: Settings, known: Health | null): Judgement {
  const disk = known?.disk
  if (disk && disk.freeBytes <= disk.reservedBytes)
    return {
      lit: 'fault',
      sentence: texts.diskIsFull,
      why: texts.diskIsFullMeans(bytesText(disk.freeBytes), bytesText(disk.reservedBytes)),
    }
  if (from === 'none') return { lit: 'warn', sentence: texts.noUpdateKey, why: texts.noUpdateKeyMeans }
  return { lit: 'ok', sentence: texts.canPublish, why: disk ? texts.diskHas(bytesText(disk.freeBytes)) : '' }
}

interface KeyFacts {
  settings: Settings
  again: () => Promise<void>
}

/** Where the key comes from; a new one is shown this once. */
function UpdateKey({ again, settings }: KeyFacts): VNode {
  const [made, setMade] = useState<string | null>(null)
  const [refused, setRefused] = useState('')
  const { from, made_at: madeAt } = settings.update_key
  async function make(): Promise<void> {
    setRefused('')
    try {
      setMade((await api.makeUpdateKey()).update_key)
      await again()
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    }
  }
  const run = () => void make()
  const said = {
    settings: texts.keyIsSetting,
    panel: madeAt === null ? texts.keyIsMade : texts.keyIsMadeAt(sinceText(madeAt, daemonNow(), zone.value)),
    none: texts.keyIsNone,
  }[from]
  const act = {
    settings: null,
    panel: html`<${Asked} act=${texts.makeNewKey} title=${texts.makeNewKeyQuestion} text=${texts.makingNewKeyMeans} sure=${texts.makeNewKeySure} keep=${texts.keepKey} run=${run} />`,
    none: html`<${Act} kind="primary" run=${run}>${texts.makeKey}</${Act}>`,
  }[from]
  return html`<section class="panel" aria-label=${texts.updateKey}><header><h2>${texts.updateKey}</h2></header>
    ${made === null ? html`<div class="in stack"><p>${said}</p>${refused === '' ? null : html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${refused}</span></p>`}${act === null ? null : html`<div class="acts start">${act}</div>`}</div>` : shownOnce(made, () => setMade(null))}</section>`
}

function shownOnce(made: string, close: () => void): VNode {
  const mark = (event: FocusEvent): void => (event.target as HTMLTextAreaElement).select()
  return html`<div class="in stack"><p role="status">${texts.shownOnce}</p>
      <div class="field"><label for="made-key">${texts.newUpdateKey}</label><div class="input"><textarea id="made-key" class="mono" rows="2" readonly value=${made} onFocus=${mark}></textarea></div>
        <p>${texts.howKeyIsUsed}</p></div></div>
    <footer class="save"><button class="btn" type="button" onClick=${() => void copyText(made, texts.keyIsCopied)}>${texts.copyKey}</button>
      <button class="btn primary" type="button" onClick=${close}>${texts.keptIt}</button></footer>`
}

function Password(): VNode {
  const form = useForm({ current: '', next: '' })
  async function save(): Promise<void> {
    const { current, next } = form.values.value
    await signedIn(await api.changePassword({ current: String(current), next: String(next) }))
    form.settle({ current: '', next: '' })
    toast(texts.passwordIsChanged)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${texts.passwordHead}><header><h2>${texts.passwordHead}</h2></header>
    <div class="in stack">
      ${input({ form, name: 'current', label: texts.passwordNow, type: 'password', autocomplete: 'current-password' })}
      ${input({ form, name: 'next', label: texts.newPassword, type: 'password', autocomplete: 'new-password', hint: texts.passwordHint })}${refusal(form)}</div>
    <footer class="save"><${Act} type="submit" waits=${form.isBusy.value}>${texts.changePassword}</${Act}></footer></form>`
}

function bounds(known: Settings): VNode {
  const running = health.value?.downloads
  return factTable([
    [texts.largestUpdate, bytesText(known.upload_bytes)],
    [texts.largestArtifact, bytesText(known.artifact_bytes)],
    [texts.sessionLasts, age(known.session_ms, 1)],
    [texts.fetchedFrom, known.public_url || texts.asAskedFor],
    [texts.haltsAt, known.halt_percent === 0 ? texts.haltsNever : texts.haltsAtPercent(known.halt_percent)],
    [texts.applyHours, known.window || texts.applyHoursFree],
    [texts.sentNow, running ? texts.sending(running.updates, running.installers) : '–'],
    [texts.ownVersion, status.value?.version ?? '–'],
  ])
}
