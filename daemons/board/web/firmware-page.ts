/** Firmware: the user drops or picks an image, which is sent, verified and installed; then the board restarts. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFault, useLook } from '#kit/web/call.ts'
import { isLost } from '#kit/web/contact.ts'
import { steps } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { bytesText, sentence } from '#kit/web/numbers.ts'
import { type Judgement, lamp, verdict } from '#kit/web/parts.ts'
import { api, type FirmwareReady, type Status, signedInWith } from './api.ts'
import { awaitRestart, restarting, status } from './state.ts'
import * as texts from './texts.ts'

// Sends a firmware image, with progress, which fetch does not report, and with the board's own words if it refuses.

/** State of an upload. */
type Upload =
  | { phase: 'none' }
  | { phase: 'sending'; name: string; sentBytes: number; totalBytes: number; cancel: () => void }
  /** All was sent; the board verifies and installs. */
  | { phase: 'sent'; name: string; totalBytes: number }
  | { phase: 'installed'; version: string | null }
  | { phase: 'refused'; name: string; sentence: string }

/** The upload of this page; it continues while other pages are shown. */
const upload = signal<Upload>({ phase: 'none' })

/** The board's answer once an image is installed. */
interface Installed {
  version?: string
  about_s?: number
}

/** Sends an image. Resolves with the board's answer, or null if it was refused, cut or cancelled. */
function sendImage(file: File): Promise<Installed | null> {
  const request = new XMLHttpRequest()
  const { name, size: totalBytes } = file
  return new Promise((resolve) => {
    function refuse(sentence: string): void {
      upload.value = { phase: 'refused', name, sentence }
      resolve(null)
    }
    function progress(sentBytes: number): void {
      upload.value = { phase: 'sending', name, sentBytes, totalBytes, cancel: () => request.abort() }
    }
    request.upload.onprogress = ({ loaded }) => progress(loaded)
    request.upload.onload = () => {
      upload.value = { phase: 'sent', name, totalBytes }
    }
    request.onabort = () => refuse(texts.sendingWasStopped)
    // A board that refuses early closes the connection, and its answer may be lost with it; its status gives the
    // reason.
    request.onerror = () => void whyCut().then(refuse)
    request.onload = () => {
      const answer = bodyOf(request.responseText)
      if (request.status !== 200) return refuse(sentence(new CallFault(request.status, answer).message))
      upload.value = { phase: 'installed', version: (answer as Installed).version ?? null }
      resolve(answer as Installed)
    }
    progress(0)
    request.open('POST', '/api/ota')
    request.setRequestHeader('content-type', 'application/octet-stream')
    const authorization = signedInWith()
    if (authorization !== null) request.setRequestHeader('authorization', authorization)
    request.send(file)
  })
}

async function whyCut(): Promise<string> {
  const told = await api.status().catch(() => null)
  const fault = told?.ota?.state === 'failed' ? told.ota.fault : null
  return fault ? sentence(fault.message) : texts.connectionWasCut
}

function bodyOf(text: string): { error?: string; message?: string } {
  try {
    return JSON.parse(text) as { error?: string; message?: string }
  } catch {
    return {}
  }
}

/**
 * Current step of Sent, Verified, Installed, Restarted; 4 when all are done. @param ota the board's state of the update
 */
export function stepOf(now: Upload, ota: string, isRestarting: boolean): number {
  if (now.phase === 'installed') return isRestarting ? 3 : 4
  if (now.phase !== 'sent') return 0
  return ota === 'installing' || ota === 'installed' ? 2 : 1
}

// The page.

const STEPS = [texts.sent, texts.verified, texts.installed, texts.restarted]
/** Added to a refusal: an installer wants to know whether the board still runs as before. */
const UNTOUCHED = texts.runningVersionIsUntouched
/** Assumed if the board does not say how long a restart takes. */
const RESTART_S = 60
/** Interval of checks whether the board can take an image: the keys may be set meanwhile. */
const READY_MS = 5000

/** The page. */
export function FirmwarePage(): VNode | null {
  const board = status.value
  const now = upload.value
  const field = useRef<HTMLInputElement>(null)
  const [isOver, setOver] = useState(false)
  useKeys(texts.firmware, [{ key: 'u', what: texts.picksImage, run: () => void field.current?.click() }])
  const [ready, setReady] = useState<FirmwareReady>({ missing: null, last: null })
  const missing = ready.missing?.message ?? null
  useEffect(() => holdPage(now), [now.phase])
  useLook(async () => setReady(await api.firmwareReady()), READY_MS)
  if (!board) return null

  const isBusy = now.phase === 'sending' || now.phase === 'sent' || restarting.value !== null
  const others = now.phase === 'none' || now.phase === 'refused' ? otherSender(board) : null
  function take(files: FileList | null | undefined): void {
    const file = files?.[0]
    if (file && board && !isBusy && !others && missing === null && !isLost.value) void install(file, board.started_at)
  }
  function drop(event: DragEvent): void {
    event.preventDefault()
    setOver(false)
    take(event.dataTransfer?.files)
  }
  function over(event: DragEvent): void {
    event.preventDefault()
    setOver(true)
  }
  return html`<h1 class="sr">Firmware</h1>${verdict(judge(board, now, others, ready))}
    <section class="panel" aria-label="Image"><div class="in stack">
      ${isBusy || now.phase === 'installed' ? under(now, board) : null}
      <div class=${isOver ? 'drop over' : 'drop'} onDragOver=${over} onDragLeave=${() => setOver(false)} onDrop=${drop} hidden=${isBusy || others !== null || missing !== null}>
        <p><b>A firmware image</b><span class="soft">Pick it, or drop it here as it was downloaded. It is checked before anything is written over.</span></p>
        <button class="btn primary" type="button" disabled=${isLost.value} onClick=${() => field.current?.click()}>Pick an image</button>
        <input ref=${field} type="file" disabled=${missing !== null} aria-label="Firmware image" class="sr" tabindex="-1" onChange=${(
          event: Event,
        ) => {
          const element = event.target as HTMLInputElement
          take(element.files)
          element.value = ''
        }} /></div></div></section>`
}

async function install(file: File, startedAt: number): Promise<void> {
  const answer = await sendImage(file)
  if (answer)
    awaitRestart({ what: texts.firmwareInstalled, startedAt, aboutS: answer.about_s ?? RESTART_S, places: [] })
}

/** Leaving the page while it sends would cut the image, so the browser asks first. */
function holdPage({ phase }: Upload): (() => void) | undefined {
  if (phase !== 'sending') return undefined
  const hold = (event: BeforeUnloadEvent): void => event.preventDefault()
  addEventListener('beforeunload', hold)
  return () => removeEventListener('beforeunload', hold)
}

/** Set while somebody else sends an image, else null. */
function otherSender({ ota }: Status): Judgement | null {
  if (!ota) return null
  if (ota.state !== 'receiving' && ota.state !== 'verifying' && ota.state !== 'installing') return null
  const much =
    ota.total_bytes === null
      ? bytesText(ota.received_bytes)
      : `${bytesText(ota.received_bytes)} of ${bytesText(ota.total_bytes)}`
  return {
    lit: 'busy',
    sentence: texts.imageIsSentElsewhere,
    why: texts.oneAtATime(much),
  }
}

function judge(board: Status, now: Upload, others: Judgement | null, { missing, last }: FirmwareReady): Judgement {
  const running = texts.versionRuns(board.version)
  if (now.phase === 'sending')
    return { lit: 'busy', sentence: texts.firmwareSending(now.name), why: texts.staysUntilRestart(running) }
  if (now.phase === 'sent')
    return { lit: 'busy', sentence: texts.checking(now.name), why: texts.staysUntilRestart(running) }
  if (restarting.value) return { lit: 'busy', sentence: texts.installedBoardRestarts, why: texts.pageContinues }
  if (others) return others
  if (now.phase === 'refused')
    return { lit: 'fault', sentence: texts.wasNotInstalled(now.name), why: `${now.sentence} ${UNTOUCHED} ${running}` }
  if (now.phase === 'installed') return { lit: 'ok', sentence: texts.versionRunsSinceRestart(board.version) }
  if (missing !== null)
    return { lit: 'warn', sentence: texts.boardTakesNoImageYet, why: `${sentence(missing.message)} ${running}` }
  if (board.ota?.state === 'failed' && board.ota.fault)
    return {
      lit: 'warn',
      sentence: running,
      why: texts.lastImageFailed(board.ota.fault.message, UNTOUCHED),
    }
  if (last?.result === 'fell_back')
    return { lit: 'warn', sentence: texts.fellBack(last.runs), why: texts.whyFellBack(last.version, last.why ?? '') }
  if (last?.result === 'on_trial') return { lit: 'busy', sentence: running, why: texts.onTrial(last.why) }
  return { lit: 'ok', sentence: running, why: board.machine.model ?? undefined }
}

function under(now: Upload, board: Status): Child {
  const at = stepOf(now, board.ota?.state ?? 'idle', restarting.value !== null)
  const bar =
    now.phase === 'sending'
      ? html`<progress aria-label="Sending" max=${now.totalBytes} value=${now.sentBytes}></progress>
        <div class="account"><p class="small soft">${bytesText(now.sentBytes)} of ${bytesText(now.totalBytes)}. Keep this page open until it is sent.</p>
        <button class="btn" type="button" onClick=${now.cancel}>Stop sending</button></div>`
      : now.phase === 'sent'
        ? html`<p class="small soft">${bytesText(now.totalBytes)} are there. The board checks who made it and whether it fits, then writes it beside the running version.</p>`
        : null
  return html`${steps(STEPS, at)}${bar}${at === 4 ? html`<p class="small">${lamp('ok')} All four steps are done.</p>` : null}`
}
