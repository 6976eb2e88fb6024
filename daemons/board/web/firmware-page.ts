/** Firmware: an image is dropped or picked, sent, verified, installed, and the board restarted. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isLost } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { type Judgement, lamp, verdict } from '#kit/web/lamp.ts'
import { useLook } from '#kit/web/look.ts'
import { bytesText } from '#kit/web/numbers.ts'
import { sentence } from '#kit/web/sentences.ts'
import { steps } from '#kit/web/steps.ts'
import { api, type Status } from './api.ts'
import { awaitRestart, restarting } from './restart.ts'
import { status } from './state.ts'
import { sendImage, stepOf, type Upload, upload } from './upload.ts'

const STEPS = ['Sent', 'Verified', 'Installed', 'Restarted']
/** What is added to a refusal: the one thing an installer wants to know then. */
const UNTOUCHED = 'The running version is untouched.'
/** When the board does not say how long a restart takes. */
const RESTART_S = 60
/** How often it is asked whether the board can take an image: the keys may be set meanwhile. */
const READY_MS = 5000

/** The page. */
export function FirmwarePage(): VNode | null {
  const board = status.value
  const now = upload.value
  const field = useRef<HTMLInputElement>(null)
  const [isOver, setOver] = useState(false)
  useKeys('Firmware', [{ key: 'u', what: 'picks an image', run: () => void field.current?.click() }])
  const [missing, setMissing] = useState<string | null>(null)
  useEffect(() => holdPage(now), [now.phase])
  useLook(async () => setMissing((await api.firmwareReady()).missing?.message ?? null), READY_MS)
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
  return html`<h1 class="sr">Firmware</h1>${verdict(judge(board, now, others, missing))}
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
  if (answer) awaitRestart({ what: 'Installed.', startedAt, aboutS: answer.about_s ?? RESTART_S, places: [] })
}

/** A page that is left while it sends cuts the image: the browser asks first. */
function holdPage({ phase }: Upload): (() => void) | undefined {
  if (phase !== 'sending') return undefined
  const hold = (event: BeforeUnloadEvent): void => event.preventDefault()
  addEventListener('beforeunload', hold)
  return () => removeEventListener('beforeunload', hold)
}

/** Somebody else sends an image at this moment; null while nobody does. */
function otherSender({ ota }: Status): Judgement | null {
  if (!ota) return null
  if (ota.state !== 'receiving' && ota.state !== 'verifying' && ota.state !== 'installing') return null
  const much =
    ota.total_bytes === null
      ? bytesText(ota.received_bytes)
      : `${bytesText(ota.received_bytes)} of ${bytesText(ota.total_bytes)}`
  return {
    lit: 'busy',
    sentence: 'An image is being sent from somewhere else.',
    why: `${much} are there. One at a time; this page goes on after it.`,
  }
}

function judge(board: Status, now: Upload, others: Judgement | null, missing: string | null): Judgement {
  const running = `Version ${board.version} runs.`
  if (now.phase === 'sending')
    return { lit: 'busy', sentence: `Sending ${now.name}.`, why: `${running} It stays until the restart.` }
  if (now.phase === 'sent')
    return { lit: 'busy', sentence: `Checking ${now.name}.`, why: `${running} It stays until the restart.` }
  if (restarting.value)
    return { lit: 'busy', sentence: 'Installed. The board restarts.', why: 'This page goes on by itself.' }
  if (others) return others
  if (now.phase === 'refused')
    return { lit: 'fault', sentence: `${now.name} was not installed.`, why: `${now.sentence} ${UNTOUCHED} ${running}` }
  if (now.phase === 'installed') return { lit: 'ok', sentence: `Version ${board.version} runs since the restart.` }
  if (missing !== null)
    return { lit: 'warn', sentence: 'This board takes no image yet.', why: `${sentence(missing)} ${running}` }
  if (board.ota?.state === 'failed' && board.ota.fault)
    return {
      lit: 'warn',
      sentence: running,
      why: `The last image was not installed: ${board.ota.fault.message} ${UNTOUCHED}`,
    }
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
