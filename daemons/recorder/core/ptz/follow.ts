/** Auto tracking: a camera follows somebody whom a detector sees, by positions sent ahead of where they go. */
import { type Clock, type Timer, wait } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  directionOf,
  type FramePoint,
  hfovAt,
  offCentre,
  type PtzGeometry,
  type PtzPosition,
  pointOf,
  turnBetween,
  USUAL_ASPECT,
} from './geometry.ts'
import { type By, CANNOT_TURN, type CameraMoves, rounded } from './moves.ts'
import type { FollowRecord, PtzBook } from './ptz-book.ts'

/** What a detector saw in one picture of a camera. */
export interface Sighting {
  cameraId: string
  /** Of the picture, epoch ms. */
  at: number
  boxes: readonly SeenBox[]
}

interface SeenBox {
  trackId: number | string
  label: string
  group: string
  score: number
  /** Left, top, right, bottom, in fractions of the picture. */
  box: readonly [number, number, number, number]
}

export type FollowState = 'off' | 'watching' | 'following' | 'paused'
type FollowEvent = 'enabled' | 'disabled' | 'sighted' | 'ended' | 'command' | 'stopped' | 'broken' | 'timeUp'

/** @source interface document 3, A, Auto tracking */
export const followStateTable: Readonly<Record<FollowState, Partial<Record<FollowEvent, FollowState>>>> = {
  off: { enabled: 'watching' },
  watching: { disabled: 'off', sighted: 'following', command: 'paused', stopped: 'paused' },
  following: { disabled: 'off', ended: 'watching', command: 'paused', stopped: 'paused', broken: 'paused' },
  paused: { disabled: 'off', timeUp: 'watching', command: 'paused', stopped: 'paused' },
}

/** Why a follow ended. */
type FollowEnd = 'lost' | 'time' | 'operator' | 'rule' | 'moved' | 'stopped' | 'failed'

const EVENT_OF: Readonly<Record<FollowEnd, FollowEvent>> = {
  ...{ lost: 'ended', time: 'ended', rule: 'ended', operator: 'command' },
  ...{ stopped: 'stopped', moved: 'broken', failed: 'broken' },
}

/** As it is told. Instants are epoch milliseconds. */
export interface FollowStatus {
  state: FollowState
  /** Who is followed, since when, and how many positions the camera was sent to; null while nobody is. */
  label: string | null
  since: number | null
  hops: number | null
  /** When a pause ends; null while there is none. */
  until: number | null
  lastEnded: { why: FollowEnd; label: string; at: number } | null
}

interface FollowParts {
  clock: Clock
  moves: CameraMoves
  book: PtzBook
  /** What GET .../ptz/follow answers is another. */
  onChange(camera: string): void
  limits: FollowLimits
}

/** Bounds, by the names of their settings. */
interface FollowLimits {
  /** Between two positions that are sent. */
  everyMs: number
  /** Who is not seen for so long is lost. */
  lostMs: number
  /** How far ahead of somebody the camera is sent. */
  leadMs: number
}

interface Pose {
  at: number
  position: PtzPosition
}

/** Somebody who is followed. */
interface Target {
  trackId: number | string
  label: string
  group: string
  since: number
  sinceMs: number
  seenMs: number
  hops: number
  /** Where they were, and how fast they go, in degrees a second. */
  at: number
  pan: number
  tilt: number
  panPerS: number
  tiltPerS: number
  poses: Pose[]
  /** Sightings that were not looked at yet: the newest. */
  news: { at: number; point: FramePoint } | undefined
  sent: PtzPosition | undefined
  sentMs: number
  /** How far it was from where it was sent. */
  leftDeg: number
}

interface Followed {
  state: FollowState
  target: Target | undefined
  untilMs: number
  lastEnded: FollowStatus['lastEnded']
  /** Was followed for as long as may be: not again before they were gone. */
  shunned: { trackId: number | string; seenMs: number } | undefined
  /** A rule moves the camera: what it sees on the way is nobody to follow. */
  quietUntilMs: number
  back: Timer | undefined
  /** Ends a pause. */
  pause: Timer | undefined
}

const LOOK_MS = 200
const POSES = 32
/** Nearer to the middle nobody is followed: a camera that never rests shows nothing well. */
const CALM = 0.05
/** Somebody whose track has another name is looked for so far around where they should be, in fractions of the frame. */
const NEAR = 0.25
const QUIET_MS = 3000
const BY_ITSELF: By = { kind: 'follow', name: null }
const NOBODY = { label: null, since: null, hops: null }

export class Follows {
  readonly #parts: FollowParts
  readonly #followed = new Map<string, Followed>()
  /** What was wrong with a camera when it was asked last. */
  readonly #troubles = new Map<string, string>()

  constructor(parts: FollowParts) {
    this.#parts = parts
    parts.moves.onCommand((camera, { kind }) => {
      if (kind === 'person') this.#commanded(camera)
      else if (kind === 'rule') this.#ruled(camera)
    })
  }

  /** Whether it follows somebody, or is to go back soon. */
  isBusy(camera: string): boolean {
    const followed = this.#followed.get(camera)
    return followed?.state === 'following' || followed?.back !== undefined
  }

  /** Why a camera cannot follow; null: it can. @throws Fault as `CameraMoves.head` does for a camera that does not answer */
  async unavailable(camera: string): Promise<string | null> {
    try {
      this.#found(camera, await this.#ask(camera))
    } catch (error) {
      if (error instanceof Fault) this.#found(camera, error.message)
      if (!(error instanceof Fault && CANNOT_TURN.has(error.code))) throw error
    }
    return this.knownUnavailable(camera)
  }

  /** The same as it was found last: the camera is not asked. */
  knownUnavailable(camera: string): string | null {
    const trouble = this.#troubles.get(camera)
    if (trouble !== undefined) return trouble
    return this.#parts.book.of(camera).geometry ? null : 'How wide the camera sees is not known. Train it first.'
  }

  async #ask(camera: string): Promise<string | null> {
    const { moves } = this.#parts
    const { facts } = await moves.head(camera)
    if (!facts.absolute) return 'The camera cannot be sent to a position.'
    return (await moves.look(camera)).position ? null : 'The camera does not say where it looks.'
  }

  #found(camera: string, trouble: string | null): void {
    if (trouble === null) this.#troubles.delete(camera)
    else this.#troubles.set(camera, trouble)
  }

  status(camera: string): FollowStatus {
    const { book, clock } = this.#parts
    if (!book.of(camera).follow?.enabled) return { state: 'off', ...NOBODY, until: null, lastEnded: null }
    const { lastEnded, state, target, untilMs } = this.#of(camera)
    return {
      ...{ state, lastEnded },
      ...(target ? { label: target.label, since: target.since, hops: target.hops } : NOBODY),
      until: state === 'paused' ? Math.round(clock.epochMs() + untilMs - clock.monotonicMs()) : null,
    }
  }

  /** @param wish null removes it. @throws Fault `store_write_failed` */
  async set(camera: string, wish: FollowRecord | null): Promise<void> {
    await this.#parts.book.put(camera, { follow: wish })
    await this.#end(camera, 'stopped')
    this.#followed.get(camera)?.back?.cancel()
    this.#followed.get(camera)?.pause?.cancel()
    this.#followed.delete(camera)
    this.#parts.onChange(camera)
  }

  /** Leaves the camera where it is. @throws Fault of a camera that does not answer: it is followed no more all the same */
  async stop(camera: string): Promise<void> {
    const { clock, moves, book } = this.#parts
    const { follow } = book.of(camera)
    if (!follow?.enabled) return
    const followed = this.#of(camera)
    const isFollowing = followed.target !== undefined
    followed.back?.cancel()
    followed.back = undefined
    await this.#end(camera, 'stopped')
    followed.untilMs = clock.monotonicMs() + follow.resumeAfterSeconds * 1000
    this.#on(camera, 'stopped')
    if (!isFollowing) return
    const { position } = await moves.look(camera)
    if (position) await moves.send(camera, position)
  }

  /** What a detector saw. */
  sighted({ at, boxes, cameraId }: Sighting): void {
    const { clock, book, moves } = this.#parts
    const { follow } = book.of(cameraId)
    if (!follow?.enabled) return
    const followed = this.#of(cameraId)
    const nowMs = clock.monotonicMs()
    if (followed.target) {
      this.#recognized(cameraId, followed.target, { at, boxes })
      return
    }
    const { shunned } = followed
    if (shunned && boxes.some(({ trackId }) => trackId === shunned.trackId)) shunned.seenMs = nowMs
    else if (shunned && nowMs - shunned.seenMs > this.#parts.limits.lostMs) followed.shunned = undefined
    if (followed.state !== 'watching' || nowMs < followed.quietUntilMs || moves.isBusy(cameraId)) return
    const found = boxes
      .filter(({ group, trackId }) => follow.groups.includes(group) && trackId !== followed.shunned?.trackId)
      .toSorted((one, other) => other.score - one.score)[0]
    if (found) void this.#follow(cameraId, follow, found, at)
  }

  #of(camera: string): Followed {
    const present = this.#followed.get(camera)
    if (present) return present
    const made: Followed = {
      ...{
        state: 'off',
        target: undefined,
        untilMs: 0,
        lastEnded: null,
        shunned: undefined,
        quietUntilMs: 0,
        back: undefined,
        pause: undefined,
      },
    }
    this.#followed.set(camera, made)
    made.state = followStateTable.off.enabled ?? 'off'
    return made
  }

  #on(camera: string, event: FollowEvent): void {
    const { clock, onChange } = this.#parts
    const followed = this.#of(camera)
    const next = followStateTable[followed.state][event]
    if (next === undefined) return
    followed.state = next
    followed.pause?.cancel()
    const leftMs = followed.untilMs - clock.monotonicMs()
    followed.pause = next === 'paused' ? clock.after(Math.max(0, leftMs), () => this.#on(camera, 'timeUp')) : undefined
    onChange(camera)
  }

  #commanded(camera: string): void {
    const { book, clock } = this.#parts
    const { follow } = book.of(camera)
    if (!follow?.enabled) return
    const followed = this.#of(camera)
    followed.untilMs = clock.monotonicMs() + follow.resumeAfterSeconds * 1000
    followed.back?.cancel()
    followed.back = undefined
    if (followed.target) void this.#end(camera, 'operator')
    else this.#on(camera, 'command')
  }

  #ruled(camera: string): void {
    if (!this.#parts.book.of(camera).follow?.enabled) return
    const followed = this.#of(camera)
    followed.quietUntilMs = this.#parts.clock.monotonicMs() + QUIET_MS
    followed.back?.cancel()
    followed.back = undefined
    void this.#end(camera, 'rule')
  }

  /** Who is followed, in a new picture: by the name of their track, else by who is where they should be. */
  #recognized(camera: string, target: Target, { at, boxes }: Pick<Sighting, 'at' | 'boxes'>): void {
    const same = boxes.find(({ trackId }) => trackId === target.trackId)
    const found = same ?? this.#nearest(camera, target, { at, boxes })
    if (!found) return
    target.trackId = found.trackId
    target.seenMs = this.#parts.clock.monotonicMs()
    target.news = { at, point: middleOf(found) }
  }

  #nearest(camera: string, target: Target, { at, boxes }: Pick<Sighting, 'at' | 'boxes'>): SeenBox | undefined {
    const pose = poseAt(target.poses, at)
    const expected = pose && pointOf(aheadOf(target, at), this.#view(camera, pose))
    if (!expected) return undefined
    const far = (one: SeenBox) => offCentre({ x: middleOf(one).x - expected.x, y: middleOf(one).y - expected.y })
    return boxes
      .filter((one) => one.group === target.group && far(one) < NEAR)
      .toSorted((one, other) => far(one) - far(other))[0]
  }

  #view(camera: string, { pan, tilt, zoom }: PtzPosition) {
    const geometry: PtzGeometry | undefined = this.#parts.book.of(camera).geometry ?? undefined
    return { pan, tilt, hfovDeg: hfovAt(zoom, geometry), aspect: geometry?.aspect ?? USUAL_ASPECT }
  }

  async #follow(
    camera: string,
    follow: FollowRecord,
    { group, label, trackId, ...seen }: SeenBox,
    at: number,
  ): Promise<void> {
    const { clock } = this.#parts
    const followed = this.#of(camera)
    followed.back?.cancel()
    followed.back = undefined
    const [since, sinceMs] = [clock.epochMs(), clock.monotonicMs()]
    const target: Target = {
      ...{ trackId, label, group, since, sinceMs, seenMs: sinceMs, hops: 0, poses: [], leftDeg: 0 },
      ...{ at: 0, pan: 0, tilt: 0, panPerS: 0, tiltPerS: 0, sent: undefined, sentMs: -Infinity },
      news: { at, point: middleOf(seen) },
    }
    followed.target = target
    this.#on(camera, 'sighted')
    try {
      while (followed.target === target) {
        const why = await this.#go(camera, follow, target)
        if (why) return await this.#end(camera, why)
        await wait(clock, LOOK_MS)
      }
    } catch {
      if (followed.target === target) await this.#end(camera, 'failed')
    }
  }

  /** One look. @returns why it is over */
  async #go(camera: string, { maxFollowSeconds }: FollowRecord, target: Target): Promise<FollowEnd | undefined> {
    const { clock, limits, moves } = this.#parts
    const { position } = await moves.look(camera)
    if (!position) return 'failed'
    this.#found(camera, null)
    if (this.#of(camera).target !== target) return undefined
    target.poses.push({ at: clock.epochMs(), position })
    if (target.poses.length > POSES) target.poses.shift()
    const view = this.#view(camera, position)
    if (isElsewhere(target, position, view.hfovDeg)) return 'moved'
    const nowMs = clock.monotonicMs()
    if (nowMs - target.sinceMs >= maxFollowSeconds * 1000) return 'time'
    if (nowMs - target.seenMs >= limits.lostMs) return 'lost'
    this.#learn(camera, target)
    const to = aheadOf(target, clock.epochMs() + limits.leadMs)
    const seen = pointOf(to, view)
    if ((seen && offCentre(seen) < CALM) || nowMs - target.sentMs < limits.everyMs) return undefined
    target.sentMs = nowMs
    const isWanted = () => this.#of(camera).target === target
    const reached = await moves.send(camera, { ...to, zoom: position.zoom }, isWanted)
    if (reached && isWanted()) {
      target.sent = reached.position
      target.leftDeg = apartDeg(position, reached.position)
      target.hops++
      this.#parts.onChange(camera)
    }
    return undefined
  }

  /** Where they are and how fast they go, from where the camera looked when they were seen. */
  #learn(camera: string, target: Target): void {
    const { news } = target
    target.news = undefined
    const pose = news && poseAt(target.poses, news.at)
    if (!news || !pose) return
    const { pan, tilt } = directionOf(news.point, this.#view(camera, pose))
    const seconds = (news.at - target.at) / 1000
    if (target.at > 0 && seconds > 0) {
      const share = Math.min(1, seconds / SMOOTH_S)
      const speeds = [turnBetween(target.pan, pan) / seconds, (tilt - target.tilt) / seconds] as const
      target.panPerS += (speeds[0] - target.panPerS) * share
      target.tiltPerS += (speeds[1] - target.tiltPerS) * share
    }
    Object.assign(target, { at: news.at, pan, tilt })
  }

  /** Writes down a follow that is over, and goes back where that is wished. */
  async #end(camera: string, why: FollowEnd): Promise<void> {
    const { book, clock, moves } = this.#parts
    const followed = this.#of(camera)
    const { target } = followed
    if (!target) return
    followed.target = undefined
    const { follow } = book.of(camera)
    const nowMs = clock.monotonicMs()
    followed.lastEnded = { why, label: target.label, at: clock.epochMs() }
    followed.shunned = why === 'time' ? { trackId: target.trackId, seenMs: nowMs } : undefined
    followed.untilMs = nowMs + (follow?.resumeAfterSeconds ?? 0) * 1000
    if (follow?.returnPreset && (why === 'lost' || why === 'time')) {
      const preset = follow.returnPreset
      followed.back = clock.after(follow.returnAfterSeconds * 1000, () => void this.#goBack(camera, preset))
    }
    this.#on(camera, EVENT_OF[why])
    const seconds = rounded((nowMs - target.sinceMs) / 1000, 1)
    await moves
      .write(camera, 'ptz_follow', BY_ITSELF, { label: target.label, seconds, moves: target.hops, why })
      .catch(() => {})
  }

  async #goBack(camera: string, preset: string): Promise<void> {
    const followed = this.#of(camera)
    followed.back = undefined
    const isWanted = () => followed.state === 'watching'
    // What fails is written down, and nobody waits for it.
    await this.#parts.moves
      .recall(camera, preset, { ...BY_ITSELF, operation: 'ptz_follow_return', isWanted })
      .catch(() => {})
  }
}

/** Over so long a speed is learned. */
const SMOOTH_S = 0.4

function middleOf({ box: [left, top, right, bottom] }: Pick<SeenBox, 'box'>): FramePoint {
  return { x: left + right - 1, y: 1 - top - bottom }
}

function aheadOf({ at, pan, panPerS, tilt, tiltPerS }: Target, when: number) {
  const seconds = Math.max(0, Math.min(2000, when - at)) / 1000
  return { pan: pan + panPerS * seconds, tilt: tilt + tiltPerS * seconds }
}

/** Where it looked at a time. */
function poseAt(poses: readonly Pose[], at: number): PtzPosition | undefined {
  const after = poses.findIndex((one) => one.at >= at)
  const [from, to] = [poses[after - 1], poses[after]]
  if (!to) return poses.at(-1)?.position
  if (!from || to.at === from.at) return to.position
  const share = (at - from.at) / (to.at - from.at)
  const { pan, tilt, zoom } = from.position
  return {
    pan: pan + turnBetween(pan, to.position.pan) * share,
    tilt: tilt + (to.position.tilt - tilt) * share,
    zoom: zoom + (to.position.zoom - zoom) * share,
  }
}

function apartDeg(one: PtzPosition, other: PtzPosition): number {
  return Math.hypot(turnBetween(one.pan, other.pan), other.tilt - one.tilt)
}

/** Whether somebody else turned it: it goes nearer to where it was sent, and then stays there. */
function isElsewhere(target: Target, position: PtzPosition, hfovDeg: number): boolean {
  target.sent ??= position
  const leftDeg = apartDeg(position, target.sent)
  const isAway = leftDeg > target.leftDeg + Math.max(1, hfovDeg * 0.1)
  target.leftDeg = Math.min(target.leftDeg, leftDeg)
  return isAway
}
