/** A camera that turns by itself: its patrol from preset to preset, and whom it follows; what both do now, and how they are set. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { CallFault, sentenceOf, useLook } from '#kit/web/call.ts'
import { zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { many, timeOf } from '#kit/web/numbers.ts'
import { Act, type Lit, lamp, say } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { type Camera, type Preset, ptzApi } from './api.ts'
import { isAdmin, mayOperate } from './state.ts'
import * as texts from './texts.ts'
import { type Follow, type Patrol, turningApi } from './turning-api.ts'

const PatrolForm = lazy(async () => (await import('./turning-forms.ts')).PatrolForm)
const FollowForm = lazy(async () => (await import('./turning-forms.ts')).FollowForm)

adoptStyle(
  '.turning{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:var(--s4);align-items:start}.turning>div{display:grid;gap:var(--s4);min-width:0}.turning .panel{margin:0}' +
    '.now{display:flex;flex-wrap:wrap;align-items:center;gap:var(--s2) var(--s3)}.now p{flex:1 1 14rem;margin:0}',
)

const LOOK_MS = 2000
/** What a camera keeps seldom changes. */
const PRESETS_MS = 20_000

/** The page. */
export function TurningPage({ camera: { id, name } }: { camera: Camera }): VNode {
  const [patrol, setPatrol] = useState<Patrol | null>(null)
  const [follow, setFollow] = useState<Follow | null>(null)
  const [presets, setPresets] = useState<readonly Preset[]>([])
  const [silence, setSilence] = useState<string | null>(null)
  const patrols = useLook(async () => setPatrol(await turningApi.patrol(id)), LOOK_MS)
  const follows = useLook(async () => setFollow(await turningApi.follow(id)), LOOK_MS)
  useLook(async () => {
    try {
      setPresets(await ptzApi.presets(id))
      setSilence(null)
    } catch (thrown) {
      if (!(thrown instanceof CallFault)) throw thrown
      setSilence(sentenceOf(thrown))
    }
  }, PRESETS_MS)
  const head = html`<div class="head"><h1>${texts.turningOf(name)}</h1><div class="acts"><a class="btn" href=${linkTo('camera', id)}>${texts.toCamera(name)}</a></div></div>`
  if (!mayOperate.value)
    return html`${head}<section class="panel">${say('off', texts.operatorsTurn, texts.askAdministrator)}</section>`
  const noPresets = silence ?? (presets.length === 0 ? texts.patrolNeedsPresets : null)
  const patrolPart =
    patrol &&
    html`<${PatrolPart} id=${id} known=${patrol} presets=${presets} noPresets=${noPresets} again=${patrols.again} />`
  const followPart =
    follow &&
    html`<${FollowPart} id=${id} known=${follow} presets=${presets} noPresets=${silence} again=${follows.again} />`
  return html`${head}<div class="turning">
    <div>${patrolPart ?? html`<section class="panel" aria-label=${texts.patrol}>${firstAnswer(patrols.refused, texts.askingPatrol, texts.patrolNotRead)}</section>`}</div>
    <div>${followPart ?? html`<section class="panel" aria-label=${texts.tracking}>${firstAnswer(follows.refused, texts.askingTracking, texts.trackingNotRead)}</section>`}</div></div>`
}

interface PartFacts<Known> {
  id: string
  known: Known
  presets: readonly Preset[]
  /** Why none can be chosen. */
  noPresets: string | null
  again: () => Promise<void>
}

const PATROL_LIT: Readonly<Record<Patrol['status']['state'], Lit>> = {
  ...{ off: 'off', waiting: 'warn', running: 'ok', paused: 'busy', held: 'busy' },
}

/** What a patrol does now, in a sentence. */
function patrolSentence({ patrol, status: { reason, state, step, until } }: Patrol): string {
  const at = patrol?.steps[step ?? -1]
  const steps = patrol?.steps.length ?? 0
  if (state === 'running')
    return at && step !== null ? texts.isAtStep(at.presetName || at.preset, step + 1, steps) : texts.patrolBegins
  if (state === 'waiting') return reason ?? texts.patrolBegins
  if (state === 'paused') return texts.patrolPaused(until === null ? '' : timeOf(until, zone.value))
  return state === 'held' ? texts.patrolHeld : texts.patrolOff
}

function PatrolPart({ again, id, known, noPresets, presets }: PartFacts<Patrol>): VNode {
  const { patrol, status } = known
  const form = isAdmin.value
    ? html`<${PatrolForm} id=${id} patrol=${patrol} presets=${presets} noPresets=${noPresets} again=${again} key=${JSON.stringify(patrol)} />`
    : null
  const panel = (body: Child) =>
    html`<section class="panel" aria-label=${texts.patrol}><header><h2>${texts.patrol}</h2></header>${body}</section>`
  if (patrol === null) return html`${panel(say('off', texts.noPatrol, texts.whatPatrolsAre))}${form}`
  const hold = (what: 'pause' | 'resume', done: string) => () =>
    void doneOrSaid(() => turningApi.hold(id, what), again, done)
  const isHeld = status.state === 'held' || status.state === 'paused'
  const act = isHeld
    ? html`<${Act} run=${hold('resume', texts.patrolGoesOn)}>${texts.goOn}</${Act}>`
    : html`<${Act} run=${hold('pause', texts.patrolIsHeld)}>${texts.holdPatrol}</${Act}>`
  const pause =
    status.state === 'paused'
      ? html`<${Act} run=${hold('pause', texts.patrolIsHeld)}>${texts.holdPatrol}</${Act}>`
      : null
  const now = html`<div class="in now">${lamp(PATROL_LIT[status.state])}<p aria-live="polite">${patrolSentence(known)}</p>${patrol.enabled ? html`${pause}${act}` : null}</div>`
  // An administrator has the steps in the form.
  const steps = form
    ? null
    : html`<ol class="in">${patrol.steps.map(({ dwellSeconds, presetName, preset }) => html`<li>${texts.stepSentence(presetName || preset, dwellSeconds)}</li>`)}</ol>`
  return html`${panel(html`${now}${steps}`)}${form}`
}

const FOLLOW_LIT: Readonly<Record<Follow['status']['state'], Lit>> = {
  ...{ off: 'off', watching: 'ok', following: 'busy', paused: 'warn' },
}

/** What auto tracking does now, in a sentence. */
function followSentence({ follow, status }: Follow): string {
  const { hops, label, since, state, until } = status
  if (state === 'following')
    return texts.isFollowing(label ?? '', since === null ? '' : timeOf(since, zone.value), many(hops ?? 0, 'move'))
  if (state === 'paused') return texts.trackingPaused(until === null ? '' : timeOf(until, zone.value))
  if (state === 'off') return texts.trackingOff
  return texts.isWatching((follow?.groups ?? []).map((group) => texts.groupNames[group] ?? group).join(', '))
}

function FollowPart({ again, id, known, noPresets, presets }: PartFacts<Follow>): VNode {
  const { follow, status, unavailable } = known
  const form = isAdmin.value
    ? html`<${FollowForm} id=${id} follow=${follow} presets=${presets} noPresets=${noPresets} again=${again} key=${JSON.stringify(follow)} />`
    : null
  const ended = status.lastEnded
  const last = ended
    ? html`<p class="in small soft">${texts.lastFollow(ended.label, timeOf(ended.at, zone.value), texts.followEnds[ended.why])}</p>`
    : null
  const stop = () => void doneOrSaid(() => turningApi.stopFollow(id), again, texts.followIsStopped)
  const now = html`<div class="in now">${lamp(FOLLOW_LIT[status.state])}<p aria-live="polite">${followSentence(known)}</p>
    ${status.state === 'following' ? html`<${Act} run=${stop}>${texts.stopFollowing}</${Act}>` : null}</div>`
  const none = unavailable === null ? say('off', texts.noTracking, texts.whatTrackingIs) : null
  return html`<section class="panel" aria-label=${texts.tracking}><header><h2>${texts.tracking}</h2></header>${cannot(id, unavailable, again)}${follow === null ? none : html`${now}${last}`}</section>${form}`
}

/** Why it cannot follow, and what helps. */
function cannot(id: string, unavailable: string | null, again: () => Promise<void>): Child {
  if (unavailable === null) return null
  const train = () => void doneOrSaid(() => turningApi.train(id), again, texts.isTrained)
  const act = isAdmin.value
    ? html`<${Asked} kind="" act=${texts.train} title=${texts.trainQuestion} text=${texts.trainingMeans} sure=${texts.train} keep=${texts.notNow} run=${train} />`
    : null
  return say('warn', texts.cannotFollow, unavailable, act)
}
