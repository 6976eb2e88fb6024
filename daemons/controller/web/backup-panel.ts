/** Backups on the system page: one button makes and saves one; a file is sent, checked, and confirmed by name. */
import { effect, signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFault, NoContact, sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, isLost, zone } from '#kit/web/contact.ts'
import { saveFrom } from '#kit/web/copy-and-save.ts'
import { factTable } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { bytesText, many, sentence, sinceText, timeOf } from '#kit/web/numbers.ts'
import { Act, chip, lamp, say, toast } from '#kit/web/parts.ts'
import { api, type Backup, type BackupFacts } from './api.ts'
import { isSignedOut } from './state.ts'
import * as texts from './texts.ts'

const TypeToConfirm = lazy(async () => (await import('#kit/web/type-to-confirm.ts')).TypeToConfirm)

// Sending a file, with progress, which fetch does not report. It goes on while other pages are shown.

type Sending = { phase: 'none' } | { phase: 'sending'; sentBytes: number; ofBytes: number; cancel(): void } | Refused
interface Refused {
  phase: 'refused'
  name: string
  sentence: string
}

const sending = signal<Sending>({ phase: 'none' })

function send(file: File, mostBytes: number): Promise<void> {
  const request = new XMLHttpRequest()
  return new Promise((resolve) => {
    const refuse = (text: string): void => {
      sending.value = { phase: 'refused', name: file.name, sentence: sentence(text) }
      resolve()
    }
    const progress = (sentBytes: number): void => {
      sending.value = { phase: 'sending', sentBytes, ofBytes: file.size, cancel: () => request.abort() }
    }
    if (file.size > mostBytes) return refuse(texts.backupIsTooLarge(bytesText(file.size), bytesText(mostBytes)))
    request.upload.onprogress = ({ loaded }) => progress(loaded)
    request.onabort = () => refuse(texts.backupWasStopped)
    request.onerror = () => refuse(texts.backupWasCut)
    request.onload = () => {
      if (request.status !== 200) return refuse(new CallFault(request.status, answerOf(request)).message)
      sending.value = { phase: 'none' }
      resolve()
    }
    progress(0)
    request.open('POST', '/ui/backup/file')
    request.setRequestHeader('content-type', 'application/gzip')
    request.send(file)
  })
}

function answerOf({ responseText }: XMLHttpRequest): { error?: string; message?: string } {
  try {
    return JSON.parse(responseText) as { error?: string; message?: string }
  } catch {
    return {}
  }
}

// The panel.

/** Between two looks: while something is under way, and otherwise. */
const [BUSY_MS, IDLE_MS] = [500, 5000]

type Question = 'restore' | 'undo' | null

export function BackupPanel(): VNode {
  const [backup, setBackup] = useState<Backup | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const [question, setQuestion] = useState<Question>(null)
  /** Whether the one that is being made here is saved once it is made. */
  const saves = useRef(false)
  const isBusy = backup !== null && BUSY.has(backup.state)
  const look = useLook(
    async () => {
      const next = await api.backup()
      if (saves.current && next.state === 'made') save()
      if (next.state !== 'making') saves.current = false
      setBackup(next)
    },
    isBusy || sending.value.phase === 'sending' ? BUSY_MS : IDLE_MS,
    backup?.state,
  )
  useEffect(() => (backup?.state === 'restarting' ? awaitNewStart() : undefined), [backup?.state])

  async function act(what: () => Promise<unknown>): Promise<void> {
    try {
      await what()
      setRefused(null)
    } catch (thrown) {
      saves.current = false
      if (!(thrown instanceof NoContact)) setRefused(sentenceOf(thrown))
    }
    await look.again()
  }
  function make(): void {
    saves.current = true
    void act(api.makeBackup)
  }
  const told = refused ?? look.refused
  return html`<section class="panel narrow-panel" aria-label="Backup"><header><h2>Backup</h2>${backup ? stateChip(backup) : null}</header>
    ${backup === null ? firstAnswer(look.refused, texts.askingForBackup, texts.backupCouldNotBeRead, () => void look.again()) : body(backup, { make, act, ask: setQuestion, told })}</section>
    ${backup !== null && question !== null ? html`<${Ask} backup=${backup} question=${question} close=${() => setQuestion(null)} done=${() => void look.again()} />` : null}`
}

const BUSY: ReadonlySet<string> = new Set(['making', 'taking', 'checking', 'restarting'])

function save(): void {
  saveFrom('/ui/backup/file')
  toast(texts.backupIsSaved)
}

/**
 * After the restart no session is valid: the page reloads and asks for a sign-in. A refused call reloads it at once, so
 * that nobody types a password into a dialog that is about to vanish.
 */
function awaitNewStart(): () => void {
  const stop = effect(() => {
    if (isSignedOut.value) location.reload()
  })
  const timer = setInterval(() => {
    api.site().then(
      ({ me }) => {
        if (me === null) location.reload()
      },
      () => {},
    )
  }, 1000)
  return () => {
    stop()
    clearInterval(timer)
  }
}

function stateChip({ state }: Backup): VNode | null {
  if (!BUSY.has(state)) return null
  return chip('busy', texts.backupStates[state] ?? state)
}

interface Doing {
  make(): void
  act(what: () => Promise<unknown>): Promise<void>
  ask(question: Question): void
  /** Why the last act was refused. */
  told: string | null
}

function body(backup: Backup, doing: Doing): VNode {
  const { state, failed, former } = backup
  if (state === 'restarting')
    return html`<div class="in">${say('busy', texts.restartsWithIt, texts.signInAfterwards)}</div>`
  const why = doing.told ?? failed
  return html`<div class="in stack">
    <p class="soft">${texts.whatIsInBackup} <code>plantroom backup controller FILE</code> ${texts.whatElseHasThem}</p>
    ${making(backup, doing)}
    ${why === null ? null : html`<p class="rest-note" role="alert" data-s="fault">${lamp('fault')}<span>${sentence(why)}</span></p>`}
    <h3>Restore</h3>${restoring(backup, doing)}
    ${former === null ? null : formerLine(backup, doing)}</div>`
}

function making({ state, progress, backup: facts }: Backup, { make }: Doing): VNode {
  if (state === 'making')
    return html`<div>${bar(progress?.done_bytes ?? 0, progress?.of_bytes ?? null, texts.makingBackup)}</div>`
  const isMade = state === 'made' && facts !== null
  const ready = isMade
    ? html`<p class="small">${texts.backupIsReady(bytesText(facts.size_bytes), timeOf(facts.made_at, zone.value, 'min'))}</p>`
    : null
  const again = isMade
    ? html`<button class="btn" type="button" disabled=${isLost.value} onClick=${save}>Save it again</button>`
    : null
  return html`<div>${ready}<div class="acts start"><${Act} kind=${isMade ? '' : 'primary'} waits=${BUSY.has(state)} run=${make}>Make and save a backup</${Act}>${again}</div></div>`
}

function bar(doneBytes: number, ofBytes: number | null, words: string): VNode {
  const much =
    ofBytes === null ? bytesText(doneBytes) : `${bytesText(Math.min(doneBytes, ofBytes))} of ${bytesText(ofBytes)}`
  return html`<progress aria-label=${words} max=${ofBytes ?? undefined} value=${ofBytes === null ? undefined : doneBytes}></progress>
    <p class="small soft" role="status">${words}: <span aria-live="off">${much}</span></p>`
}

function restoring(backup: Backup, doing: Doing): VNode {
  const now = sending.value
  const { state, progress, backup: facts } = backup
  if (state === 'checking')
    return html`<div>${bar(progress?.done_bytes ?? 0, progress?.of_bytes ?? null, texts.checkingBackup)}</div>`
  if (now.phase === 'sending')
    return html`<div>${bar(now.sentBytes, now.ofBytes, texts.sendingBackup)}
      <button class="btn" type="button" onClick=${now.cancel}>Stop sending</button></div>`
  if (state === 'taking') return html`<p class="soft">${texts.somebodySendsBackup}</p>`
  if (state === 'checked' && facts) return checked(facts, doing)
  return html`<div class="stack"><${Picker} backup=${backup} doing=${doing} />
    ${now.phase === 'refused' ? html`<p class="rest-note" role="alert" data-s="fault">${lamp('fault')}<span><b>${now.name}</b>: ${now.sentence}</span></p>` : null}</div>`
}

function Picker({ backup, doing }: { backup: Backup; doing: Doing }): VNode {
  const field = useRef<HTMLInputElement>(null)
  const waits = BUSY.has(backup.state)
  const picked = (event: Event): void => {
    const element = event.target as HTMLInputElement
    const file = element.files?.[0]
    if (file) void doing.act(() => send(file, backup.most_bytes))
    element.value = ''
  }
  return html`<div><p class="soft">${texts.howToRestore}</p>
    <div class="acts start"><${Act} waits=${waits} run=${() => field.current?.click()}>Pick a backup</${Act}>
    <input ref=${field} type="file" aria-label="Backup file" class="sr" tabindex="-1" onChange=${picked} /></div></div>`
}

function checked(facts: BackupFacts, { act, ask }: Doing): VNode {
  const secrets = facts.all_secrets ? texts.secretsOfBackup : texts.secretsThatAreHere
  return html`<div class="stack"><p><b>${texts.backupIsGood(facts.site ?? texts.unnamedSite)}</b></p>
    ${factTable([
      [texts.backupMade, whenText(facts.made_at)],
      [texts.backupVersion, facts.version],
      [texts.backupSize, `${bytesText(facts.size_bytes)}, ${many(facts.files, 'file')}`],
      [texts.backupHolds, `${many(facts.zones, 'zone')}, ${many(facts.people, 'person', 'people')}`],
      [texts.backupSecrets, secrets],
    ])}
    <div class="acts start"><${Act} kind="danger" run=${() => ask('restore')}>Restore this backup</${Act}>
      <${Act} kind="quiet" run=${() => void act(api.discardBackup)}>Leave it</${Act}></div></div>`
}

function whenText(at: number): string {
  return sinceText(at, daemonNow(), zone.value)
}

function formerLine({ former, state }: Backup, { ask }: Doing): Child {
  if (former === null) return null
  const words =
    former.what === 'undo'
      ? texts.restoreWasUndone(former.by)
      : texts.backupWasRestored(former.by, whenText(former.made_at))
  return html`<div><p class="small soft">${whenText(former.at)}: ${words} ${texts.formerIsKept}</p>
    <${Act} waits=${BUSY.has(state)} run=${() => ask('undo')}>Put back what was there before</${Act}></div>`
}

interface AskProps {
  backup: Backup
  question: 'restore' | 'undo'
  close(): void
  done(): void
}

function Ask({ backup, question, close, done }: AskProps): VNode {
  const { name, backup: facts, former } = backup
  const isUndo = question === 'undo'
  async function run(): Promise<void> {
    await (isUndo ? api.undoRestore(name) : api.restore(name))
    done()
  }
  const text = isUndo
    ? texts.whatUndoMeans(former === null ? '' : whenText(former.at))
    : texts.whatRestoreMeans(facts === null ? '' : whenText(facts.made_at))
  return html`<${TypeToConfirm} title=${isUndo ? texts.undoQuestion(name) : texts.restoreQuestion(name)} text=${text}
    name=${name} act=${isUndo ? texts.putBack : texts.restoreAct} keep=${texts.keepAsItIs} run=${run} close=${close} />`
}
