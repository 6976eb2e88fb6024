/** What the pages say of cameras: in a word, in a sentence, and of all of them together. */
import { age, listed, sinceText } from '#kit/web/numbers.ts'
import type { Judgement, Lit } from '#kit/web/parts.ts'
import type { CameraState } from '../core/cameras/camera.ts'
import type { Camera } from './api.ts'
import * as texts from './texts.ts'

/** The instant of the page, and the zone it writes in. */
export interface When {
  nowMs: number
  zone: string | undefined
}

const LIT: Readonly<Record<CameraState, Lit>> = {
  off: 'off',
  connecting: 'busy',
  starting: 'busy',
  recording: 'ok',
  lost: 'fault',
  refused: 'fault',
  unsupported: 'fault',
}

export function litOf({ health }: Camera): Lit {
  return LIT[health.state]
}

export function isBroken(camera: Camera): boolean {
  return litOf(camera) === 'fault'
}

/** `Recording since 13:40`, `No contact since 13:40`. */
export function stateText({ health, mode }: Camera, { nowMs, zone }: When): string {
  const since = sinceText(health.stateSince, nowMs, zone)
  if (mode !== 'record' && health.state === 'recording') return texts.watchedSince(since)
  return texts.stateSince(health.state, since)
}

/** Why it does not record, and what happens next; empty while it does. */
export function whyText({ health }: Camera, { nowMs }: When): string {
  if (!health.fault) return ''
  const leftMs = (health.nextTryAt ?? nowMs) - nowMs
  const next = leftMs > 1000 ? texts.nextTryIn(age(leftMs)) : texts.triedNow
  return `${health.fault.message} ${health.nextTryAt === null ? '' : next}`.trim()
}

/** Why a camera has no live picture; null where one can be expected. */
export function whyNoPicture(camera: Camera, when: When): string | null {
  const { state } = camera.health
  if (state === 'recording' || state === 'starting') return null
  return [`${stateText(camera, when)}.`, whyText(camera, when)].join(' ').trim()
}

/** Why its sound cannot be heard live; null where it can. */
export function whyNoSound({ audio, recordProfile }: Camera): string | null {
  if (!audio) return texts.soundIsOff
  const codec = recordProfile?.audioCodec
  if (!codec) return texts.noSoundSent
  return codec.startsWith('mp4a') ? null : texts.soundNotLive
}

/** What a person can do about it; empty where waiting is enough. */
export function remedyText({ health }: Camera): string {
  if (health.state === 'refused') return texts.refusedRemedy
  return health.state === 'unsupported' ? texts.unsupportedRemedy : ''
}

/** `1920 × 1080, 25 pictures a second`; a dash until the stream has begun once. */
export function pictureText({ recordProfile: profile }: Camera): string {
  if (!profile) return '–'
  const size = `${profile.width} × ${profile.height}`
  return profile.fps === null ? size : texts.sizeAndRate(size, String(Number(profile.fps.toFixed(2))))
}

/** Broken ones first, those that are off last; then by name. */
export function sortCameras(cameras: readonly Camera[]): Camera[] {
  const rank = (camera: Camera): number => ({ fault: 0, off: 2 })[litOf(camera) as 'fault' | 'off'] ?? 1
  return cameras.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
}

/** The verdict over all cameras. */
export function judgeCameras(cameras: readonly Camera[], when: When): Judgement {
  const wanted = cameras.filter(({ enabled }) => enabled)
  const broken = wanted.filter(isBroken)
  const [first] = broken
  const recording = wanted.filter(({ health }) => health.state === 'recording').length
  if (first)
    return {
      lit: 'fault',
      sentence: texts.notRecorded(listed(broken.map(({ name }) => name)), broken.length, recording, wanted.length),
      why: broken.length === 1 ? [whyText(first, when), remedyText(first)].filter(Boolean).join(' ') : undefined,
    }
  if (wanted.length === 0) return { lit: 'off', sentence: texts.allAreOff }
  if (recording < wanted.length) return { lit: 'busy', sentence: texts.someBegin(recording, wanted.length) }
  const watched = wanted.filter(({ mode }) => mode !== 'record').map(({ name }) => name)
  const why = watched.length > 0 ? texts.onlyWatched(listed(watched), watched.length) : undefined
  return { lit: 'ok', sentence: texts.allAreRecorded(wanted.length - watched.length), why }
}

/** The same for the bar of a phone. */
export function shortVerdict(cameras: readonly Camera[]): { lit: Lit; words: string } | undefined {
  const wanted = cameras.filter(({ enabled }) => enabled)
  if (wanted.length === 0) return undefined
  const recording = wanted.filter(({ health }) => health.state === 'recording').length
  const lit = wanted.some(isBroken) ? 'fault' : recording < wanted.length ? 'busy' : 'ok'
  return { lit, words: texts.ofAllRecord(recording, wanted.length) }
}
