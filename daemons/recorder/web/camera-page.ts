/** One camera: its picture as it is now, how it is, and what was lost. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { factTable } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import { age, bytesText, count, sinceText, timeOf } from '#kit/web/numbers.ts'
import { say, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { api, type Camera, type CameraCounts, type Footage } from './api.ts'
import {
  litOf,
  pictureText,
  remedyText,
  stateText,
  type When,
  whyNoPicture,
  whyNoSound,
  whyText,
} from './camera-words.ts'
import { Film, type Reel, SoundButton } from './film.ts'
import { LiveFilm } from './live-film.ts'
import { cameras, isAdmin, mayOperate } from './state.ts'
import * as texts from './texts.ts'

const CameraClockPage = lazy(async () => (await import('./camera-clock-page.ts')).CameraClockPage)
const OutputsPanel = lazy(async () => (await import('./outputs-panel.ts')).OutputsPanel)
const PtzPad = lazy(async () => (await import('./ptz-pad.ts')).PtzPad)
const TalkPanel = lazy(async () => (await import('./talk-panel.ts')).TalkPanel)
const TurningPage = lazy(async () => (await import('./turning-page.ts')).TurningPage)
const MasksPage = lazy(async () => (await import('./masks-page.ts')).MasksPage)

const LOOK_MS = 2000
/** How far behind its end the newest footage begins: a group of pictures is written when it is whole. */
const BEHIND_MS = 6000
/** Longest film; it ends before, where the footage did when it was asked for. */
const FILM_S = 60
/** A picture that is older is not called live. */
const LIVE_MS = 3000
/** What may be seen without the right to take footage out, with time to ask for it. */
const RECENT_MS = 110_000

adoptStyle('.live-foot{display:flex;flex-wrap:wrap;align-items:center;gap:var(--s2);justify-content:space-between}')

/** The page. @param what `masks`, `clock`, `turning`, or nothing */
export function CameraPage({ id, what }: { id: string; what?: string | undefined }): VNode {
  const camera = cameras.value?.find((each) => each.id === id)
  if (cameras.value === null)
    return html`<h1 class="sr">Camera</h1><section class="panel">${firstWait('recorder', texts.askingRecorder)}</section>`
  if (!camera)
    return html`<h1 class="sr">Camera</h1><section class="panel">${say('off', texts.noSuchCamera, texts.itWasRemoved, html`<a class="btn" href=${linkTo('cameras')}>All cameras</a>`)}</section>`
  if (what === 'clock' && isAdmin.value) return html`<${CameraClockPage} camera=${camera} />`
  if (what === 'masks' && isAdmin.value) return html`<${MasksPage} camera=${camera} />`
  if (what === 'turning' && camera.onvif) return html`<${TurningPage} camera=${camera} />`
  return html`<${Known} camera=${camera} />`
}

function Known({ camera }: { camera: Camera }): VNode {
  const { id, name } = camera
  const [footage, setFootage] = useState<Footage | null>(null)
  const [counts, setCounts] = useState<CameraCounts | null>(null)
  const [isHeard, setHeard] = useState(false)
  const when = { nowMs: daemonNow(), zone: zone.value }
  useLook(async () => setFootage(await api.footage(id, daemonNow() - RECENT_MS, daemonNow() + RECENT_MS)), LOOK_MS)
  useLook(async () => {
    if (isAdmin.value) setCounts((await api.health()).cameras.find((each) => each.id === id) ?? null)
  }, LOOK_MS)
  useKeys(name, [
    { key: 'p', what: texts.playback, run: () => goTo('playback', id) as undefined },
    { key: 'm', what: texts.soundOnOrOff, run: () => setHeard(!isHeard) as undefined },
    { key: 'd', what: texts.changesMasks, run: () => isAdmin.value && (goTo('camera', id, 'masks') as undefined) },
    { key: 'c', what: texts.opensClock, run: () => isAdmin.value && (goTo('camera', id, 'clock') as undefined) },
    { key: 'e', what: texts.editsCamera, run: () => isAdmin.value && (goTo('cameras', 'edit', id) as undefined) },
  ])
  const edit = isAdmin.value
    ? html`<a class="btn" href=${linkTo('camera', id, 'masks')}>${texts.masks}</a><a class="btn" href=${linkTo('camera', id, 'clock')}>${texts.clock}</a><a class="btn" href=${linkTo('cameras', 'edit', id)}>Edit</a>`
    : null
  return html`<div class="head"><h1>${name}</h1><div class="acts">${edit}<a class="btn primary" href=${linkTo('playback', id)}>Playback</a></div></div>
    ${verdict({ lit: litOf(camera), sentence: texts.sentenceOfState(stateText(camera, when)), why: [whyText(camera, when), remedyText(camera)].filter(Boolean).join(' ') })}
    <div class="cols"><section class="panel" aria-label="Picture"><${Now} camera=${camera} newest=${footage?.ranges.at(-1)} when=${when} isHeard=${isHeard} setHeard=${setHeard} /></section>
      ${camera.onvif && mayOperate.value ? html`<${PtzPad} camera=${camera} />` : null}
      <section class="panel" aria-label="Facts"><header><h2>Facts</h2></header>${factTable(factsOf(camera, footage, counts, when))}</section></div>
    ${camera.onvif ? html`<${OutputsPanel} camera=${camera} />` : null}<${TalkPanel} camera=${camera} />`
}

interface NowFacts extends NewestFacts {
  when: When
  isHeard: boolean
  setHeard: (is: boolean) => void
}

/** The live picture; of a camera that has none, the last that was recorded. */
function Now({ camera, isHeard, newest, setHeard, when }: NowFacts): VNode {
  const [shownAt, setShownAt] = useState<number | null>(null)
  if (whyNoPicture(camera, when) !== null) return html`<${Newest} camera=${camera} newest=${newest} />`
  const behindMs = Math.max(0, when.nowMs - (shownAt ?? when.nowMs))
  const noSound = camera.masked ? texts.maskedLive : whyNoSound(camera)
  // A picture that is not shown says why in its own place.
  const sound = shownAt === null ? null : (noSound ?? html`<${SoundButton} isHeard=${isHeard} setHeard=${setHeard} />`)
  return html`<${LiveFilm} camera=${camera.id} profile="main" isMasked=${camera.masked} label=${texts.liveOf(camera.name)} isHeard=${isHeard && noSound === null} onTime=${setShownAt} />
    <footer class="live-foot small soft"><span>${shownAt === null ? texts.usuallyBrief : behindMs < LIVE_MS ? texts.itIsNow(timeOf(shownAt, zone.value)) : texts.pictureFrom(timeOf(shownAt, zone.value), age(behindMs))}</span>${sound}</footer>`
}

interface NewestFacts {
  camera: Camera
  newest: { start: number; end: number } | undefined
}

/** Plays what was recorded last, and goes on with what has come meanwhile. */
function Newest({ camera, newest }: NewestFacts): VNode {
  const [reel, setReel] = useState<Reel | null>(null)
  const [endedAt, setEndedAt] = useState<number | null>(null)
  const [shownAt, setShownAt] = useState<number | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const isDue = newest !== undefined && (reel === null || (endedAt !== null && newest.end > endedAt + 1000))
  if (isDue) {
    // What was missed for too long is not made up for.
    const from = endedAt !== null && newest.end - endedAt < 2 * BEHIND_MS ? endedAt : newest.end - BEHIND_MS
    setReel({ startAt: Math.max(from, newest.start), seconds: FILM_S })
    setEndedAt(null)
    setRefused(null)
  }
  if (!reel) return nothingNew(camera)
  const behindMs = shownAt === null ? null : daemonNow() - shownAt
  const state = endedAt !== null && camera.health.state !== 'recording' ? texts.lastPictureIsOf : texts.recordedAgo
  return html`<${Film} camera=${camera.id} label=${texts.newestOf(camera.name)} reel=${reel} isPlaying=${true}
      onTime=${setShownAt} onEnd=${setEndedAt} onRefused=${(why: string) => {
        setRefused(why)
        setEndedAt(reel.startAt)
      }} />
    <footer class="small soft">${refused ?? (shownAt === null ? texts.footageIsComing : state(timeOf(shownAt, zone.value), age(Math.max(0, behindMs ?? 0))))}</footer>`
}

function nothingNew(camera: Camera): VNode {
  if (!camera.enabled) return say('off', texts.nothingNew, texts.itIsOff)
  if (camera.health.state === 'recording') return say('busy', texts.footageIsComing, texts.firstGroup)
  return say('off', texts.nothingNew, texts.nothingNewMeans)
}

function factsOf(
  camera: Camera,
  footage: Footage | null,
  counts: CameraCounts | null,
  { nowMs, zone }: When,
): [string, Child][] {
  const { codec } = camera.recordProfile ?? {}
  const since = (atMs: number | null | undefined) => (atMs ? sinceText(atMs, nowMs, zone) : '–')
  const rows: [string, Child][] = [
    [texts.picture, pictureText(camera)],
    [texts.coding, codec ?? '–'],
    ...lastPictureOf(camera, nowMs),
    [texts.keptSince, since(footage?.bounds?.start)],
    [texts.keptUntil, since(footage?.bounds?.end)],
  ]
  if (!counts) return rows
  return [
    ...rows,
    [texts.recordedSinceStart, bytesText(counts.bytes)],
    [texts.pictures, count(counts.pictures)],
    [texts.lostPackets, count(counts.lostPackets)],
    [texts.brokenPackets, count(counts.brokenPackets)],
    [texts.droppedPictures, count(counts.droppedPictures)],
    [texts.lostGroups, count(counts.lostGroups)],
  ]
}

/** When its last picture came; of one that is recorded it is now. */
function lastPictureOf({ health: { lastPictureAt, state } }: Camera, nowMs: number): [string, Child][] {
  if (state === 'recording') return []
  return [[texts.lastPicture, lastPictureAt === null ? '–' : texts.ago(age(Math.max(0, nowMs - lastPictureAt), 1))]]
}
