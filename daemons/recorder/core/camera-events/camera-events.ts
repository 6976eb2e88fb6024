/** What cameras say of themselves: who is listened to, what lasts now, and what was told, within bounds. */
import type { Clock } from '#kit/clock.ts'
import type { CameraNotice } from '../../wire/onvif-events.ts'
import type { CameraRecord } from '../cameras/book.ts'
import { loginOf, type OnvifClient } from '../cameras/onvif.ts'
import { type Listener, type ListenerLimits, startListener } from './listener.ts'
import {
  type CameraClaim,
  type CameraEventKind,
  type CameraEventPhase,
  type CameraEventsStatus,
  meaningOf,
  summaryOf,
} from './meaning.ts'

/** One event as it is kept. */
export interface CameraEvent {
  camera: string
  kind: CameraEventKind
  phase: CameraEventPhase
  topic: string
  /** When it was told, by this machine's clock: those of cameras are wrong. Epoch ms. */
  at: number
  summary: string
}

interface CameraEventsParts {
  clock: Clock
  onvif: OnvifClient
  limits: CameraEventLimits
  /** An event came. */
  onEvent(event: CameraEvent): void
  /** More came than is taken; true: from now on, false: no longer. */
  onFlood(camera: CameraRecord, isFlooding: boolean): void
  /** The status of a camera is another. */
  onChange(): void
}

/** Bounds, by the names of their settings. */
interface CameraEventLimits extends ListenerLimits {
  /** Events of one camera in a minute; further ones are left out. */
  perMinute: number
}

export interface CameraEvents {
  /** These cameras are there now. */
  keep(cameras: readonly CameraRecord[]): void
  /** Null: the camera is not listened to. */
  status(camera: string): CameraEventsStatus | null
  /** Begins to listen to those that are kept. */
  start(): void
  /** Resolves once every camera was told, or does not answer. */
  stop(): Promise<void>
}

/** What may last of one camera at once. */
const MOST_ACTIVE = 64
const MINUTE_MS = 60_000

interface Ear {
  camera: CameraRecord
  listener: Listener
  active: Map<string, CameraClaim>
  /** What lasted when the subscription before was lost, and was not told again yet. */
  doubtful: Set<string>
  /** What lasts and was left out as too much: its end is left out too. */
  untold: Set<string>
  lastEventAt: number | null
  minute: { beganMs: number; count: number; isFlooding: boolean }
}

export function createCameraEvents(needs: CameraEventsParts): CameraEvents {
  const { clock, limits, onChange, onvif } = needs
  const parts: TellParts = { ...needs, nextAt: createMoments(clock) }
  const ears = new Map<string, Ear>()
  let wanted: readonly CameraRecord[] = []
  let isStarted = false

  /** @param before it was listened to with another login, or elsewhere */
  function listenTo(camera: CameraRecord, service: string, before: Ear | undefined): void {
    const ear: Ear = {
      ...newEar(camera, clock.monotonicMs(), before),
      listener: startListener({
        ...{ clock, limits, onvif, service },
        login: loginOf(camera),
        onNotices: (notices, isFirst) => take(parts, ear, notices, isFirst),
        // The next pull point reports the present states from the beginning.
        onGap() {
          ear.doubtful = new Set(ear.active.keys())
        },
        onChange,
      }),
    }
    ears.set(camera.id, ear)
  }

  function fit(): void {
    const now = new Map(wanted.flatMap((one) => (serviceOf(one) === undefined ? [] : [[one.id, one]])))
    const changed = new Map<string, Ear>()
    for (const [id, ear] of ears) {
      const { camera, listener, minute } = ear
      const next = now.get(id)
      if (next && isSame(next, camera)) continue
      ears.delete(id)
      changed.set(id, ear)
      // Nobody else would say so: that is seen by what comes next.
      if (minute.isFlooding) parts.onFlood(camera, false)
      void listener.stop()
    }
    for (const [id, camera] of now) {
      const known = ears.get(id)
      const service = serviceOf(camera)
      if (known) known.camera = camera
      else if (service !== undefined) listenTo(camera, service, changed.get(id))
    }
    onChange()
  }

  return {
    keep(cameras) {
      wanted = cameras
      if (isStarted) fit()
    },
    status(camera) {
      const ear = ears.get(camera)
      const state = ear?.listener.state()
      if (!ear || state === undefined || state === 'off') return null
      const active = [...new Set(Array.from(ear.active.values(), ({ kind }) => kind))].sort()
      return { state, reason: ear.listener.reason(), lastEventAt: ear.lastEventAt, active }
    },
    start() {
      isStarted = true
      fit()
    },
    async stop() {
      isStarted = false
      const all = [...ears.values()]
      ears.clear()
      await Promise.all(all.map(({ listener }) => listener.stop()))
    },
  }
}

function newEar(camera: CameraRecord, beganMs: number, before: Ear | undefined): Omit<Ear, 'listener'> {
  const active = new Map(before?.active)
  const sets = { doubtful: new Set(active.keys()), untold: new Set(before?.untold) }
  const minute = { beganMs, count: 0, isFlooding: false }
  return { camera, active, ...sets, lastEventAt: before?.lastEventAt ?? null, minute }
}

interface TellParts extends CameraEventsParts {
  nextAt(): number
}

/** No two events are of one moment, though a camera tells many at once: who asks for those before one misses none. */
function createMoments(clock: Clock): () => number {
  let last = { at: 0, nowAt: 0 }
  return () => {
    const nowAt = clock.epochMs()
    // A clock that was set back is believed.
    const at = nowAt < last.nowAt ? nowAt : Math.max(nowAt, last.at + 1)
    last = { at, nowAt }
    return at
  }
}

/** Where a camera is listened to; undefined: it is not. */
function serviceOf({ cameraEvents, enabled, onvif }: CameraRecord): string | undefined {
  return enabled && cameraEvents ? onvif?.service : undefined
}

function isSame(one: CameraRecord, other: CameraRecord): boolean {
  const keys = ['username', 'password'] as const
  return one.onvif?.service === other.onvif?.service && keys.every((key) => one[key] === other[key])
}

/** @param isFirst they say how everything stands */
function take(parts: TellParts, ear: Ear, notices: readonly CameraNotice[], isFirst: boolean): void {
  for (const notice of notices) {
    const claim = meaningOf(notice)
    const phase = claim && phaseOf(ear, claim)
    if (claim && phase) tell(parts, ear, claim, phase)
  }
  if (isFirst) return
  for (const key of ear.doubtful) {
    const claim = ear.active.get(key)
    ear.active.delete(key)
    if (claim) tell(parts, ear, claim, 'end')
  }
  ear.doubtful.clear()
}

/** @returns undefined where nothing is new */
function phaseOf({ active, doubtful }: Ear, claim: CameraClaim): CameraEventPhase | undefined {
  if (claim.isActive === undefined) return 'pulse'
  doubtful.delete(claim.key)
  const wasActive = active.has(claim.key)
  if (!claim.isActive) {
    active.delete(claim.key)
    return wasActive ? 'end' : undefined
  }
  if (wasActive || active.size >= MOST_ACTIVE) return undefined
  active.set(claim.key, claim)
  return 'begin'
}

function tell(parts: TellParts, ear: Ear, claim: CameraClaim, phase: CameraEventPhase): void {
  const { clock, limits, nextAt, onChange, onEvent, onFlood } = parts
  const { camera, minute } = ear
  if (phase === 'end' && ear.untold.delete(claim.key)) return
  const nowMs = clock.monotonicMs()
  if (nowMs - minute.beganMs >= MINUTE_MS) {
    if (minute.isFlooding && minute.count <= limits.perMinute) onFlood(camera, false)
    ear.minute = { beganMs: nowMs, count: 0, isFlooding: minute.isFlooding && minute.count > limits.perMinute }
  }
  ear.minute.count++
  if (ear.minute.count > limits.perMinute) {
    if (!ear.minute.isFlooding) onFlood(camera, true)
    ear.minute.isFlooding = true
    if (phase === 'begin') ear.untold.add(claim.key)
    // What was told to begin would last for ever.
    if (phase !== 'end') return
  }
  ear.lastEventAt = nextAt()
  const { kind, topic } = claim
  onEvent({ camera: camera.id, kind, phase, topic, at: ear.lastEventAt, summary: summaryOf(claim, phase) })
  onChange()
}
