/** Updates on the system page: what runs, what is there, the button, what an update says while it runs, and the restart. */
import { effect } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Asked } from '#kit/web/asked.ts'
import { NoContact, sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, isLost, zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { sentence, sinceText, timeOf } from '#kit/web/numbers.ts'
import { Act, chip, type Lit, lamp, say } from '#kit/web/parts.ts'
import { api, type Update } from './api.ts'
import { isSignedOut, update } from './state.ts'
import * as texts from './texts.ts'

/** Between two looks: the socket tells each line, and without it they are fetched. */
const LOOK_MS = 5000

export function UpdatePanel(): VNode {
  const [refused, setRefused] = useState<string | null>(null)
  const [restarts, setRestarts] = useState(false)
  const look = useLook(async () => {
    update.value = await api.update()
  }, LOOK_MS)
  const now = update.value
  const isChanging = restarts || now?.state === 'applying'
  // The next controller brings pages of its own, and no session is valid any more.
  useEffect(() => (isChanging ? effect(() => void (isSignedOut.value && location.reload())) : undefined), [isChanging])

  async function act(what: () => Promise<Update | null>): Promise<void> {
    try {
      update.value = (await what()) ?? update.value
      setRefused(null)
    } catch (thrown) {
      if (!(thrown instanceof NoContact)) setRefused(sentenceOf(thrown))
      await look.again()
    }
  }
  async function restart(): Promise<null> {
    await api.restart()
    setRestarts(true)
    return null
  }
  const doing: Doing = {
    look: () => void act(api.lookForUpdate),
    apply: () => void act(api.applyUpdate),
    restart: () => void act(restart),
    restarts,
  }
  return html`<section class="panel narrow-panel" aria-label="Updates"><header><h2>Updates</h2>${now ? stateChip(now) : null}</header>
    ${now === null ? firstAnswer(look.refused, texts.askingForUpdates, texts.updatesCouldNotBeRead, () => void look.again()) : body(now, doing, refused ?? look.refused)}</section>`
}

interface Doing {
  look(): void
  apply(): void
  restart(): void
  restarts: boolean
}

function stateChip({ state }: Update): VNode | null {
  const words = texts.updateStates[state]
  return words === undefined ? null : chip('busy', words)
}

function body(now: Update, doing: Doing, refused: string | null): VNode {
  const isOurs = ['idle', 'looking', 'applying'].includes(now.state)
  const waits = now.state !== 'idle'
  const [lit, head, text] = judged(now)
  return html`<div class="in stack">
    <div class="update-state">${say(lit, head, text)}</div>
    ${runOf(now)}
    ${refused === null ? null : html`<p class="rest-note" role="alert" data-s="fault">${lamp('fault')}<span>${sentence(refused)}</span></p>`}
    <div class="acts start">${isOurs ? acts(now, doing, waits) : null}
      ${
        doing.restarts
          ? html`<span class="soft" role="status">${texts.controllerRestarts}</span>`
          : html`<${Asked} act=${texts.restartAct} title=${texts.restartControllerQuestion} text=${texts.whatRestartMeans}
        sure=${texts.restartAct} keep=${texts.letItRun} kind="quiet" run=${doing.restart} />`
      }</div>
    ${lastOf(now)}</div>`
}

function acts({ looked, version }: Update, { apply, look }: Doing, waits: boolean): Child {
  const newest = looked?.newest
  const isThere = newest && looked.bad === null
  const button =
    isThere && !waits
      ? html`<${Asked} act=${texts.applyAct(newest)} title=${texts.applyQuestion(newest)} text=${texts.whatApplyMeans(version)}
        sure=${texts.applyAct(newest)} keep=${texts.keepVersion(version)} kind="primary" run=${apply} />`
      : null
  return html`${button}<${Act} waits=${waits} run=${look}>${texts.lookAct}</${Act}>`
}

type Judged = readonly [lit: Lit, head: string, text: string]

function judged(now: Update): Judged {
  const { looked, state, version, why, window } = now
  if (state === 'applying') return ['busy', texts.isBeingUpdated, texts.whatHappensMeanwhile]
  if (why !== null) return [state === 'absent' ? 'warn' : 'off', texts.versionRuns(version), sentence(why)]
  const failed = failureOf(now)
  if (failed !== null) return failed
  if (looked === null) return ['off', texts.versionRuns(version), texts.nobodyLooked]
  const when = texts.lookedAt(sinceText(looked.at, daemonNow(), zone.value))
  if (looked.newest === null) return ['ok', texts.isCurrent(version), when]
  if (looked.bad !== null)
    return ['fault', texts.newestIsBad(looked.newest), `${sentence(looked.bad)} ${texts.notTriedAgain} ${when}`]
  const [from, until] = window?.split('-') ?? []
  const plan = from !== undefined && until !== undefined ? texts.appliedBetween(from, until) : texts.appliedByHand
  return ['warn', texts.newerIsThere(looked.newest, version), `${plan} ${when}`]
}

/** Why the last look or update did not come to its end. */
function failureOf({ run, version }: Update): Judged | null {
  if (run === null) return null
  const head = texts.versionRuns(version)
  if (run.is_cut) return ['warn', head, texts.wasCutOff]
  if (run.end?.outcome === 'put_off') return ['warn', head, sentence(run.end.text)]
  if (run.end?.outcome !== 'failed') return null
  return [
    'fault',
    run.task === 'check' ? texts.couldNotLook(version) : texts.couldNotUpdate(version),
    sentence(run.end.text),
  ]
}

/** What an update says, in the words of the log. */
function runOf({ run, state }: Update): Child {
  if (run === null || run.task === 'check' || run.lines.length === 0) return null
  const lines = html`<ol class="update-lines" aria-live=${state === 'applying' ? 'polite' : 'off'} aria-label=${texts.whatUpdateSays}>
    ${run.lines.map(({ at, text }) => html`<li key=${`${at} ${text}`}><time>${timeOf(at, zone.value)}</time> <span>${text}</span></li>`)}</ol>`
  if (state === 'applying') return lines
  return html`<details><summary>${texts.whatLastUpdateSaid}</summary>${lines}</details>`
}

function lastOf({ last, state }: Update): Child {
  if (last === null || state === 'applying' || isLost.value) return null
  const lit: Lit = last.outcome === 'applied' ? 'ok' : 'fault'
  return html`<p class="small soft">${lamp(lit)} ${texts.lastUpdate(sinceText(last.at, daemonNow(), zone.value))} ${sentence(last.text)}</p>`
}
