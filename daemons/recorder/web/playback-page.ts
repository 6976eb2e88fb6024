/** Playback: a camera's day with its holes, a film from any moment of it, and what to do where nothing is recorded. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { segments } from '#kit/web/figures.ts'
import { createForm, input } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstWait } from '#kit/web/lazy.ts'
import { age, dateOf, timeOf } from '#kit/web/numbers.ts'
import { Act, icon, say, toast } from '#kit/web/parts.ts'
import { goTo, linkTo, renameHere } from '#kit/web/route.ts'
import { api, filmPath, type Stretch, storageApi } from './api.ts'
import { eventsApi } from './events-api.ts'
import { Film, type Reel, SoundButton } from './film.ts'
import { cameras, mayExport } from './state.ts'
import { Strip } from './strip.ts'
import * as texts from './texts.ts'
import {
  barsOf,
  type Day,
  dayNamed,
  dayOf,
  lengthOf,
  type SeenBar,
  stretchAfter,
  stretchAt,
  stretchBefore,
  typedTime,
  within,
} from './timeline.ts'

const LOOK_MS = 4000
/** Longest film of one request: each beyond the last two minutes is a line of the journal. */
const FILM_S = 300
const SAVED_S = 60
/** Where playback begins by itself: before the newest picture, and never beyond the last two minutes. */
const BACK_MS = 30_000
const STEP_MS = 10_000
const HOUR_MS = 3_600_000
/** Where holes are looked for. */
const FAR_MS = 30 * 24 * HOUR_MS
/** A film ends a picture before its stretch does. */
const SEAM_MS = 500
/** How much must have come before it goes on at the newest end. */
const MORE_MS = 3000
/** How often is asked what was seen, and in how many slices of a day and of an hour. */
const SEEN_MS = 10_000
const DAY_SLICES = 288
const HOUR_SLICES = 120
const RATES = ['1', '2', '4'] as const

/** The page. @param camera id, else the first; @param at epoch ms, else the newest */
export function PlaybackPage({ camera, at }: { camera?: string; at?: string }): VNode {
  const known = cameras.value
  const wanted = camera ?? known?.toSorted((a, b) => a.name.localeCompare(b.name))[0]?.id
  const [newest, setNewest] = useState<number | null | undefined>(
    at === undefined ? undefined : Number(at) || undefined,
  )
  const { refused } = useLook(
    async () => {
      if (wanted === undefined || typeof newest === 'number') return
      const { bounds } = await api.footage(wanted, daemonNow() - 1, daemonNow())
      if (!bounds) return setNewest(null)
      // Where the newest stretch is shorter, it begins with it, and not in the hole before.
      const { ranges } = await api.footage(wanted, bounds.end - BACK_MS, bounds.end)
      setNewest(ranges.at(-1)?.start ?? bounds.start)
    },
    LOOK_MS,
    wanted,
  )
  const head = html`<h1 class="sr">Playback</h1>`
  if (known === null)
    return html`${head}<section class="panel">${firstWait('recorder', texts.askingRecorder)}</section>`
  if (wanted === undefined)
    return html`${head}<section class="panel">${say('off', texts.noCameras, texts.noFootageWithoutCameras, html`<a class="btn primary" href=${linkTo('cameras')}>Cameras</a>`)}</section>`
  if (refused !== null && typeof newest !== 'number')
    return html`${head}<section class="panel">${say('fault', texts.footageNotRead, refused)}</section>`
  if (newest === undefined)
    return html`${head}<section class="panel">${say('busy', texts.askingFootage, texts.usuallyBrief)}</section>`
  if (newest === null)
    return html`${head}<${CameraChoice} camera=${wanted} /><section class="panel">${say('off', texts.nothingEver, texts.nothingEverMeans, html`<a class="btn" href=${linkTo('camera', wanted)}>How it is</a>`)}</section>`
  return html`${head}<${Player} camera=${wanted} first=${newest} key=${wanted} />`
}

function CameraChoice({ camera }: { camera: string }): VNode {
  const known = (cameras.value ?? []).toSorted((a, b) => a.name.localeCompare(b.name))
  return html`<div class="input cam-choice"><select aria-label="Camera" value=${camera}
    onChange=${(event: Event) => goTo('playback', (event.target as HTMLSelectElement).value)}>
    ${known.map(({ id, name }) => html`<option value=${id} selected=${id === camera}>${name}</option>`)}</select></div>`
}

/** The footage of a day. */
interface Known {
  of: string
  stretches: Stretch[]
}

/** What is played, and where. */
function usePlayer(camera: string, first: number) {
  const [at, setAt] = useState(first)
  const [reel, setReel] = useState<Reel | null>(null)
  const [isPlaying, setPlaying] = useState(true)
  const [known, setKnown] = useState<Known | null>(null)
  // A film that waits for the footage of its day to be known: from this moment, or from the first one.
  const [due, setDue] = useState<'here' | 'first' | null>('here')
  // The end of what is recorded so far, where it goes on once there is more.
  const [waitsAt, setWaits] = useState<number | null>(null)
  const [refusal, setRefusal] = useState<string | null>(null)
  const day = dayOf(at, zone.value)
  const key = `${camera} ${day.date}`
  const { refused } = useLook(
    async () => setKnown({ of: key, stretches: (await api.footage(camera, day.start, day.end)).ranges }),
    LOOK_MS,
    key,
  )
  const stretches = known?.of === key ? known.stretches : null

  function jump(toMs: number, from: 'here' | 'first' = 'here'): void {
    setAt(toMs)
    setWaits(null)
    setRefusal(null)
    renameHere('playback', camera, String(Math.round(toMs)))
    setDue(from)
  }
  useEffect(() => {
    if (due === null || stretches === null) return
    setDue(null)
    const found = due === 'first' ? stretches[0] : stretchAt(stretches, at)
    const startAt = due === 'first' && found ? found.start : at
    setAt(startAt)
    setReel(found ? { startAt, seconds: Math.min(FILM_S, (found.end - startAt) / 1000) } : null)
  }, [due, stretches, at])
  useEffect(() => {
    if (waitsAt !== null && stretches && stretchAt(stretches, waitsAt + MORE_MS)) jump(waitsAt)
  }, [waitsAt, stretches])

  /** Goes on where a film ended: with the same stretch, with the next one, or once there is more. */
  function goOn(endAt: number): void {
    if (due !== null || stretches === null) return
    setAt(endAt)
    const next = stretchAfter(stretches, endAt)
    if (stretchAt(stretches, endAt + SEAM_MS)) jump(endAt)
    else if (endAt > day.end - SEAM_MS) jump(day.end)
    else if (!next) setWaits(endAt)
    else {
      toast(texts.nothingBetween(timeOf(endAt, zone.value), timeOf(next.start, zone.value)))
      jump(next.start)
    }
  }
  return {
    ...{ at, day, due, goOn, isPlaying, jump, reel, refusal, refused, stretches, waitsAt },
    onTime: (atMs: number) => due === null && setAt(atMs),
    onRefused: setRefusal,
    setPlaying,
  }
}

type PlayerState = ReturnType<typeof usePlayer>

function Player({ camera, first }: { camera: string; first: number }): VNode {
  const [rate, setRate] = useState<(typeof RATES)[number]>('1')
  const [isHeard, setHeard] = useState(false)
  const player = usePlayer(camera, first)
  const { at, day, isPlaying, jump, reel, setPlaying, stretches } = player
  const name = cameras.value?.find(({ id }) => id === camera)?.name ?? camera

  /** To where the next stretch begins, or the one before, in whatever day. */
  async function toStretch(step: 1 | -1): Promise<void> {
    const { ranges } = await api.footage(camera, step > 0 ? at : Math.max(0, at - FAR_MS), step > 0 ? at + FAR_MS : at)
    const found = step > 0 ? stretchAfter(ranges, at) : stretchBefore(ranges, at)
    if (found) jump(found.start)
    else toast(step > 0 ? texts.noneAfter : texts.noneBefore)
  }
  const step = (ms: number) => (event: KeyboardEvent) => {
    if (event.target instanceof HTMLInputElement) return false
    return jump(at + (event.shiftKey ? 6 * ms : ms)) as undefined
  }
  const picture = (sign: 1 | -1) => () => {
    const fps = cameras.value?.find(({ id }) => id === camera)?.recordProfile?.fps ?? 25
    setPlaying(false)
    return jump(at + (sign * 1000) / fps) as undefined
  }
  useKeys(texts.playback, [
    { key: ' ', what: texts.playOrPause, run: () => setPlaying(!isPlaying) as undefined },
    { key: 'ArrowLeft', what: texts.backByTen, run: step(-STEP_MS) },
    { key: 'ArrowRight', what: texts.onByTen, run: step(STEP_MS) },
    { key: 'n', what: texts.nextStretch, run: () => void toStretch(1) as undefined },
    { key: 'b', what: texts.stretchBefore, run: () => void toStretch(-1) as undefined },
    { key: ',', what: texts.pictureBack, run: picture(-1) },
    { key: '.', what: texts.pictureOn, run: picture(1) },
    { key: 'm', what: texts.soundOnOrOff, run: () => setHeard(!isHeard) as undefined },
  ])
  const body = filmOrWhy({ camera, name, player, rate: Number(rate), isHeard, toStretch })
  const hour = hourOf(day, at)
  const words = `${timeOf(at, zone.value)}, ${stretches && !stretchAt(stretches, at) ? texts.notRecordedThere : texts.recordedThere}`
  const ofDay = useSeen(camera, day, DAY_SLICES)
  const ofHour = useSeen(camera, hour, HOUR_SLICES)
  const strip = { stretches: stretches ?? [], atMs: at, words, zone: zone.value, go: jump }
  return html`<${Where} camera=${camera} day=${day} at=${at} jump=${jump} />
    <section class="panel" aria-label="Film">${body}
      <footer class="film-keys"><strong class="moment">${timeOf(at, zone.value)} <span class="faint small">${day.date}</span></strong>
        ${buttons({ player, toStretch })}
        ${segments({ label: texts.speed, name: 'rate', value: rate, options: RATES.map((each) => [each, `${each}×`] as const), choose: (value) => setRate(value as typeof rate) })}
        ${soundButton(camera, isHeard, setHeard)}
        ${
          mayExport.value && reel
            ? html`<a class="btn" download href=${filmPath(camera, at, savedSeconds(stretches, at), true)}>${texts.saveMinute}</a>
          <${Act} run=${() => void preserve(camera, at, savedSeconds(stretches, at))}>${texts.preserveMinute}</${Act}>`
            : null
        }</footer></section>
    <section class="panel" aria-label="Timeline"><header><h2>${day.date}</h2><span class="faint">${player.refused ?? [dayWords(stretches, day), ofDay.many > 0 ? texts.seenThatDay(ofDay.many) : ''].filter(Boolean).join(' ')}</span></header>
      <${Strip} ...${strip} bars=${ofDay.bars} label="The day" span=${day} tickMs=${3 * HOUR_MS} />
      <${Strip} ...${strip} bars=${ofHour.bars} label="The hour" span=${hour} tickMs=${HOUR_MS / 6} />
      ${ofDay.many > 0 ? html`<footer class="small soft">${texts.barsMean}</footer>` : null}</section>`
}

/** What was seen along a line; nothing while it is not known, which the film does not wait for. */
function useSeen(camera: string, span: Stretch, slices: number): { bars: SeenBar[]; many: number } {
  const [seen, setSeen] = useState<{ of: string; bars: SeenBar[]; many: number }>({ of: '', bars: [], many: 0 })
  const key = `${camera} ${span.start} ${span.end}`
  useLook(
    async () => {
      const density = await eventsApi.density(span.start, span.end, slices)
      const own = density.cameras[camera] ?? []
      setSeen({ of: key, bars: barsOf(own, density, span), many: own.reduce((sum, { total }) => sum + total, 0) })
    },
    SEEN_MS,
    key,
  )
  return seen.of === key ? seen : { bars: [], many: 0 }
}

/** Only where the camera sends sound: most do not. */
function soundButton(camera: string, isHeard: boolean, setHeard: (is: boolean) => void): Child {
  if (!cameras.value?.find(({ id }) => id === camera)?.recordProfile?.audioCodec) return null
  return html`<${SoundButton} isHeard=${isHeard} setHeard=${setHeard} />`
}

function hourOf(day: Day, atMs: number): Stretch {
  const start = day.start + Math.floor((atMs - day.start) / HOUR_MS) * HOUR_MS
  return { start, end: start + HOUR_MS }
}

/** Keeps what would be saved as a file from being deleted. */
async function preserve(camera: string, atMs: number, seconds: number): Promise<void> {
  const from = Math.round(atMs)
  try {
    await storageApi.preserve(camera, { from, to: from + Math.ceil(seconds * 1000) })
    toast(texts.isPreserved)
  } catch (thrown) {
    toast(sentenceOf(thrown))
  }
}

function savedSeconds(stretches: readonly Stretch[] | null, atMs: number): number {
  const found = stretchAt(stretches ?? [], atMs)
  return found ? Math.max(1, Math.min(SAVED_S, (found.end - atMs) / 1000)) : SAVED_S
}

/** `9 h 20 min recorded, 3 holes`. */
function dayWords(stretches: readonly Stretch[] | null, day: Day): string {
  if (stretches === null) return texts.askingFootage
  const own = within(stretches, day)
  return own.length === 0 ? texts.nothingThatDay : texts.recordedOfDay(age(lengthOf(own)), own.length - 1)
}

interface BodyFacts {
  camera: string
  name: string
  player: PlayerState
  rate: number
  isHeard: boolean
  toStretch: (step: 1 | -1) => Promise<void>
}

function filmOrWhy({ camera, isHeard, name, player, rate, toStretch }: BodyFacts): Child {
  const { at, day, due, isPlaying, reel, refusal, stretches, waitsAt } = player
  if (refusal !== null)
    return say(
      'warn',
      texts.filmRefused(timeOf(at, zone.value)),
      refusal,
      html`<a class="btn" href=${linkTo('camera', camera)}>Newest footage</a>`,
    )
  if (reel)
    return html`<${Film} camera=${camera} label=${texts.filmOf(name)} reel=${reel} isPlaying=${isPlaying} rate=${rate} isHeard=${isHeard}
        onTime=${player.onTime} onEnd=${player.goOn} onRefused=${player.onRefused} />
      ${waitsAt === null ? null : html`<p class="in soft small">${texts.newestIsOver}</p>`}`
  if (stretches === null || due !== null) return say('busy', texts.askingFootage, texts.usuallyBrief)
  const before = stretches.findLast(({ end }) => end <= at)
  const after = stretchAfter(stretches, at)
  const time = (atMs: number) => timeOf(atMs, zone.value)
  const why = texts.holeAround(before ? time(before.end) : null, after ? time(after.start) : null)
  const head = stretches.length === 0 ? texts.nothingOn(day.date) : texts.nothingAt(time(at))
  return say(
    'off',
    head,
    why,
    html`<div class="acts start"><button class="btn" type="button" onClick=${() => void toStretch(-1)}>${texts.stretchBefore}</button>
      <button class="btn primary" type="button" onClick=${() => void toStretch(1)}>${texts.nextStretch}</button></div>`,
  )
}

function buttons({ player, toStretch }: Pick<BodyFacts, 'player' | 'toStretch'>): VNode {
  const { at, isPlaying, jump, reel, setPlaying } = player
  const word = isPlaying ? texts.pause : texts.play
  return html`<div class="film-acts">
    <button class="btn icon" type="button" aria-label=${texts.stretchBefore} title=${texts.stretchBefore} onClick=${() => void toStretch(-1)}>${icon('back')}</button>
    <button class="btn" type="button" aria-label=${texts.backByTen} onClick=${() => jump(at - STEP_MS)}>−10</button>
    <button class="btn icon" type="button" aria-label=${word} title=${word} disabled=${reel === null} onClick=${() => setPlaying(!isPlaying)}>${icon(isPlaying ? 'pause' : 'play')}</button>
    <button class="btn" type="button" aria-label=${texts.onByTen} onClick=${() => jump(at + STEP_MS)}>+10</button>
    <button class="btn icon" type="button" aria-label=${texts.nextStretch} title=${texts.nextStretch} onClick=${() => void toStretch(1)}>${icon('forward')}</button></div>`
}

interface WhereFacts {
  camera: string
  day: Day
  at: number
  jump: (atMs: number, from?: 'here' | 'first') => void
}

/** Camera, day and time. */
function Where({ camera, day, at, jump }: WhereFacts): VNode {
  const [form] = useState(() => createForm({ time: '' }))
  const today = dateOf(daemonNow(), zone.value)
  function toDay(date: string): void {
    const { start } = dayNamed(date, zone.value)
    if (!Number.isNaN(start)) jump(start, 'first')
  }
  function toTime(event: Event): void {
    event.preventDefault()
    const moment = typedTime(String(form.values.value.time), day.date, zone.value)
    if (moment === undefined) form.faults.value = { time: texts.typeTime }
    else {
      form.settle({ time: '' })
      jump(moment)
    }
  }
  return html`<div class="where"><${CameraChoice} camera=${camera} />
    <div class="day-choice"><button class="btn icon" type="button" aria-label=${texts.dayBefore} onClick=${() => toDay(dateOf(day.start - HOUR_MS, zone.value))}>${icon('back')}</button>
      <div class="input"><input type="date" aria-label="Day" max=${today} value=${day.date} onChange=${(event: Event) => toDay((event.target as HTMLInputElement).value)} /></div>
      <button class="btn icon" type="button" aria-label=${texts.dayAfter} disabled=${day.date >= today} onClick=${() => toDay(dateOf(day.end + HOUR_MS, zone.value))}>${icon('forward')}</button></div>
    <form class="time-choice" onSubmit=${toTime} novalidate>${input({ form, name: 'time', label: html`<span class="sr">Time</span>`, placeholder: timeOf(at, zone.value) })}
      <button class="btn" type="submit">Go</button></form><a class="btn" href=${linkTo('events')}>Events</a></div>`
}
