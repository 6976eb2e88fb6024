/** Listens to one camera by a pull point: makes it, asks it, renews it, and makes another where it is lost. */
import { type Clock, wait } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { Backoff, type BackoffLimits } from '#kit/pure/pace.ts'
import { atHost } from '../../wire/onvif.ts'
import {
  type CameraNotice,
  createPullPoint,
  EVENTS,
  MOST_NOTICES,
  type PullPoint,
  pullMessages,
  renewPullPoint,
  unsubscribe,
} from '../../wire/onvif-events.ts'
import { type CameraLogin, type OnvifClient, type OnvifSession, serviceAddress } from '../cameras/onvif.ts'

// The life of a listener: state x event -> next state.

export type ListenerState = 'off' | 'starting' | 'ok' | 'failing'

/** `begun` and `ended` by the setting; `subscribed` the camera took the subscription; `failed` it is away, or refuses. */
export type ListenerEvent = 'begun' | 'ended' | 'subscribed' | 'failed'

/** A pair that is not listed does not change the state. */
export const listenerStateTable: Readonly<Record<ListenerState, Partial<Record<ListenerEvent, ListenerState>>>> = {
  off: { begun: 'starting' },
  starting: { subscribed: 'ok', failed: 'failing', ended: 'off' },
  ok: { failed: 'failing', ended: 'off' },
  failing: { subscribed: 'ok', ended: 'off' },
}

/** Bounds, by the names of their settings. */
export interface ListenerLimits {
  /** How long a camera may hold its answer back until something happens. */
  holdMs: number
  /** From one question to the next at least: some cameras answer at once, with nothing. */
  leastMs: number
  /** How long a subscription lasts unless it is renewed. */
  lifeMs: number
  retry: BackoffLimits
}

interface ListenerParts {
  clock: Clock
  onvif: OnvifClient
  /** Address of its device service. */
  service: string
  login: CameraLogin
  limits: ListenerLimits
  /** @param isFirst whether they are the first after a subscription, which say how everything stands */
  onNotices(notices: readonly CameraNotice[], isFirst: boolean): void
  /** The state has changed, or why it fails. */
  onChange(): void
}

export interface Listener {
  state(): ListenerState
  /** Why it fails; null while it does not. */
  reason(): string | null
  /** Resolves once the camera was told that nobody listens any more, or does not answer. */
  stop(): Promise<void>
}

/** A camera that answers and yet loses its pull point again and again is asked ever more seldom. */
const SETTLED_MS = 60_000

/** Begins at once. */
export function startListener(parts: ListenerParts): Listener {
  const { clock, limits, onChange } = parts
  const stopper = new AbortController()
  const backoff = new Backoff(limits.retry)
  let state: ListenerState = 'off'
  let reason: string | null = null

  function move(event: ListenerEvent, why: string | null): void {
    const next = listenerStateTable[state][event] ?? state
    const isSame = next === state && why === reason
    state = next
    reason = why
    if (!isSame) onChange()
  }

  async function listen(): Promise<void> {
    move('begun', null)
    while (!stopper.signal.aborted) {
      const beganMs = clock.monotonicMs()
      let wasSubscribed = false
      const fault = await follow(parts, stopper.signal, () => {
        wasSubscribed = true
        move('subscribed', null)
      })
      if (stopper.signal.aborted) break
      move('failed', fault.message)
      if (clock.monotonicMs() - beganMs >= SETTLED_MS) backoff.reset()
      // Cameras lock an account after some wrong passwords; one that took this one has had its clock set since.
      const isFinal = !wasSubscribed && FINAL.has(fault.code)
      const waitMs = isFinal ? limits.retry.maxMs : backoff.next()
      await pause(clock, waitMs, stopper.signal)
    }
    move('ended', null)
  }

  const over = listen()
  return {
    state: () => state,
    reason: () => reason,
    async stop() {
      stopper.abort()
      await over
    },
  }
}

const FINAL: ReadonlySet<string> = new Set(['camera_refused', 'onvif_unsupported', 'bad_target'])

/** After these the camera may keep the pull point that it does not renew, beside the next one. */
const KEPT: ReadonlySet<string> = new Set(['onvif_failed', 'onvif_unsupported'])

const SERVICE = { namespace: EVENTS, capability: ['Events'] }

/** One subscription, from its beginning to its end. @returns what ended it */
async function follow(parts: ListenerParts, signal: AbortSignal, onSubscribed: () => void): Promise<Fault> {
  const { limits, login, onvif, service } = parts
  try {
    const session = await onvif.open(service, login)
    const address = await serviceAddress(session, service, SERVICE)
    if (address === undefined) throw new Fault('onvif_unsupported', 'The camera has no events over ONVIF.')
    const made = await session.ask(address, createPullPoint(Math.ceil(limits.lifeMs / 1000)), signal)
    const point = { ...made, address: atHost(made.address, new URL(service).hostname) }
    onSubscribed()
    const fault = await pull(parts, { session, point }, signal)
    if (signal.aborted || KEPT.has(fault.code)) await leave(session, point)
    return fault
  } catch (error) {
    return faultOf(error, 'onvif_failed', 'The camera does not tell its events.')
  }
}

interface Subscription {
  session: OnvifSession
  point: PullPoint
}

/** @returns what ended it */
async function pull(parts: ListenerParts, { point, session }: Subscription, signal: AbortSignal): Promise<Fault> {
  const { clock, limits, onNotices } = parts
  let renewAtMs = clock.monotonicMs() + renewAfter(point.lifeMs, limits)
  let isFirst = true
  try {
    while (!signal.aborted) {
      const askedMs = clock.monotonicMs()
      const notices = await session.ask(point.address, pullMessages(point, limits.holdMs), signal)
      onNotices(notices, isFirst)
      // Some need several answers to say how everything stands.
      isFirst &&= notices.length === MOST_NOTICES
      if (clock.monotonicMs() >= renewAtMs) {
        const lifeMs = await session.ask(point.address, renewPullPoint(point, Math.ceil(limits.lifeMs / 1000)), signal)
        renewAtMs = clock.monotonicMs() + renewAfter(lifeMs, limits)
      }
      const restMs = limits.leastMs - (clock.monotonicMs() - askedMs)
      if (restMs > 0) await pause(clock, restMs, signal)
    }
    return new Fault('onvif_failed', 'Nobody listens to the camera any more.')
  } catch (error) {
    return faultOf(error, 'onvif_failed', 'The camera does not tell its events.')
  }
}

/** Renewed well before it ends, even where the camera granted less time than it was asked for. */
function renewAfter(lifeMs: number | undefined, limits: ListenerLimits): number {
  return Math.min(lifeMs ?? limits.lifeMs, limits.lifeMs) / 2
}

/** Cameras have few pull points. One that does not answer forgets it by itself. */
async function leave(session: OnvifSession, point: PullPoint): Promise<void> {
  try {
    await session.ask(point.address, unsubscribe(point))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
  }
}

async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<void>()
  const stop = () => stopped.resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([wait(clock, ms), stopped.promise])
  signal.removeEventListener('abort', stop)
}
