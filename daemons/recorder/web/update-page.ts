/** Updates by a release file: what runs, the file that is sent, what the updater says, and what came of it after the restart. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFault, call, useLook } from '#kit/web/call.ts'
import { daemonNow, isLost, zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { bytesText, dateOf, sentence, sinceText, timeOf } from '#kit/web/numbers.ts'
import { Act, type Judgement, lamp, verdict } from '#kit/web/parts.ts'
import { cookieCredentials } from './state.ts'
import * as texts from './texts.ts'

/** Answer of GET /api/update. */
interface Update {
  version: string
  why: string | null
  isUploading: boolean
  isRunning: boolean
  run: {
    task: string
    begunAt: number
    lines: { at: number; text: string }[]
    end: { at: number; outcome: string; text: string } | null
  } | null
  last: { at: number; outcome: string; text: string } | null
  limits: { bytes: number }
  anyRelease: boolean
  updatesUntil: number | null
}

type Sending =
  | { phase: 'none' }
  | { phase: 'sending'; name: string; sentBytes: number; ofBytes: number; cancel(): void }
  /** All of it is there, and is being proven. */
  | { phase: 'sent'; name: string }
  | { phase: 'begun'; version: string }
  | { phase: 'refused'; name: string; sentence: string }

/** Goes on while other pages are shown. */
const sending = signal<Sending>({ phase: 'none' })

const [BUSY_MS, IDLE_MS] = [1000, 5000]

/** The page. */
export function UpdatePage(): VNode {
  const [update, setUpdate] = useState<Update | null>(null)
  const now = sending.value
  const isBusy = update?.isRunning === true || now.phase === 'begun' || now.phase === 'sent'
  const look = useLook(
    async () => {
      const next = await call<Update>('GET /api/update', undefined, { isPolled: true })
      // The next recorder brings pages of its own.
      if (update !== null && update.version !== next.version) location.reload()
      if (now.phase === 'begun' && !next.isRunning && next.run?.end) sending.value = { phase: 'none' }
      setUpdate(next)
    },
    isBusy ? BUSY_MS : IDLE_MS,
    now.phase,
  )
  useEffect(() => (now.phase === 'sending' || now.phase === 'sent' ? holdPage() : undefined), [now.phase])
  if (update === null)
    return html`<h1 class="sr">Updates</h1><section class="panel">${firstAnswer(look.refused, texts.askingUpdate, texts.updateNotRead)}</section>`
  return html`<h1 class="sr">Updates</h1>${verdict(judgeUpdate(update, now.phase === 'begun', when))}
    ${update.why === null ? html`<${FilePanel} update=${update} isBusy=${isBusy} />` : null}${runOf(update)}`
}

const when = {
  day: (at: number) => dateOf(at, zone.value),
  since: (at: number) => sinceText(at, daemonNow(), zone.value),
}

/** Leaving the page would cut the upload. */
function holdPage(): () => void {
  const hold = (event: BeforeUnloadEvent) => event.preventDefault()
  addEventListener('beforeunload', hold)
  return () => removeEventListener('beforeunload', hold)
}

/** @param isBegun whether a file was taken here, and its update goes on */
export function judgeUpdate(
  { isRunning, last, run, version, why }: Pick<Update, 'isRunning' | 'last' | 'run' | 'version' | 'why'>,
  isBegun: boolean,
  { since }: Pick<typeof when, 'since'>,
): Judgement {
  if (why !== null) return { lit: 'off', sentence: texts.versionRuns(version), why: sentence(why) }
  if (isRunning || isBegun) return { lit: 'busy', sentence: texts.isBeingUpdated, why: texts.recordingGoesOn }
  if (run?.end === null) return { lit: 'warn', sentence: texts.versionRuns(version), why: texts.updateWasCut }
  if (last === null) return { lit: 'ok', sentence: texts.versionRuns(version) }
  const lit = last.outcome === 'applied' ? 'ok' : 'fault'
  return { lit, sentence: texts.versionRuns(version), why: texts.lastUpdate(since(last.at), sentence(last.text)) }
}

function FilePanel({ isBusy, update }: { isBusy: boolean; update: Update }): VNode {
  const field = useRef<HTMLInputElement>(null)
  const now = sending.value
  const waits = isBusy || now.phase === 'sending' || update.isUploading
  function picked(event: Event): void {
    const element = event.target as HTMLInputElement
    const file = element.files?.[0]
    element.value = ''
    if (file) send(file, update.limits.bytes)
  }
  return html`<section class="panel" aria-label=${texts.releaseFile}><header><h2>${texts.releaseFile}</h2></header>
    <div class="in stack"><p class="soft">${texts.releaseFileHint}</p>${licenceLine(update)}${stateOf(now)}</div>
    <footer class="save">${now.phase === 'sending' ? html`<${Act} kind="quiet" run=${now.cancel}>Stop</${Act}>` : null}
      <button class="btn primary" type="button" disabled=${waits || isLost.value} onClick=${() => field.current?.click()}>${texts.pickRelease}</button>
      <input ref=${field} class="sr" type="file" tabindex="-1" aria-label=${texts.releaseFile} disabled=${waits} onChange=${picked} /></footer></section>`
}

/** What the licence takes, before anybody carries a file up a ladder. */
function licenceLine({ anyRelease, updatesUntil }: Update): Child {
  if (anyRelease) return null
  return html`<p class="soft">${updatesUntil === null ? texts.onlySecurityFixes : texts.releasesUntil(when.day(updatesUntil))}</p>`
}

function stateOf(now: Sending): Child {
  if (now.phase === 'none') return null
  if (now.phase === 'refused')
    return html`<p class="rest-note" role="alert" data-s="fault">${lamp('fault')} <span><b class="mono">${now.name}</b> ${now.sentence}</span></p>`
  if (now.phase === 'begun') return html`<p role="status">${lamp('busy')} ${texts.releaseIsTaken(now.version)}</p>`
  if (now.phase === 'sent') return html`<p role="status">${lamp('busy')} ${texts.releaseIsProven(now.name)}</p>`
  const { name, ofBytes, sentBytes } = now
  return html`<div class="stack tight"><p><b class="mono">${name}</b> <span class="soft">${texts.sentOf(bytesText(sentBytes), bytesText(ofBytes))}</span></p>
    <progress max=${ofBytes} value=${sentBytes} aria-label=${texts.sending}></progress></div>`
}

/** What the updater says, in the words of its log. */
function runOf({ isRunning, run }: Update): Child {
  if (run === null || run.task === 'check' || run.lines.length === 0) return null
  return html`<section class="panel" aria-label=${texts.whatUpdaterSays}><header><h2>${texts.whatUpdaterSays}</h2></header>
    <ol class="update-lines in" aria-live=${isRunning ? 'polite' : 'off'}>
    ${run.lines.map(({ at, text }) => html`<li key=${`${at} ${text}`}><time class="soft">${timeOf(at, zone.value)}</time><span>${text}</span></li>`)}</ol></section>`
}

/** Progress is not told by fetch. */
function send(file: File, mostBytes: number): void {
  const { name, size: ofBytes } = file
  const refuse = (text: string) => {
    sending.value = { phase: 'refused', name, sentence: sentence(text) }
  }
  if (ofBytes > mostBytes) {
    refuse(texts.releaseIsTooLarge(bytesText(ofBytes), bytesText(mostBytes)))
    return
  }
  const request = new XMLHttpRequest()
  const progress = (sentBytes: number) => {
    sending.value = { phase: 'sending', name, sentBytes, ofBytes, cancel: () => request.abort() }
  }
  request.upload.onprogress = ({ loaded }) => progress(loaded)
  request.upload.onload = () => {
    sending.value = { phase: 'sent', name }
  }
  request.onabort = () => refuse(texts.uploadWasStopped)
  request.onerror = () => refuse(texts.uploadWasCut)
  request.onload = () => {
    const answer = answerOf(request)
    if (request.status !== 202) return refuse(new CallFault(request.status, answer).message)
    sending.value = { phase: 'begun', version: answer.version ?? '' }
  }
  progress(0)
  request.open('POST', '/api/update/upload')
  request.setRequestHeader('content-type', 'application/octet-stream')
  for (const [header, value] of Object.entries(cookieCredentials.ofWrites?.() ?? {}))
    request.setRequestHeader(header, value)
  request.send(file)
}

function answerOf({ responseText }: XMLHttpRequest): { error?: string; message?: string; version?: string } {
  try {
    return JSON.parse(responseText) as { error?: string; message?: string; version?: string }
  } catch {
    return {}
  }
}
