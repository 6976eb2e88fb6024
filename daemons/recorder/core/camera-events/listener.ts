/** Subscribes to the events of one camera, and tries again at growing intervals while it is away or refuses. */
import type { Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { Backoff, type BackoffLimits } from '#kit/pure/pace.ts'
import { atHost } from '../../wire/onvif.ts'
import { type CameraNotice, EVENTS } from '../../wire/onvif-events.ts'
import { type CameraLogin, type OnvifClient, serviceAddress } from '../cameras/onvif.ts'
import { type CameraHabits, pause, type SubscriptionLimits, subscribe } from './subscription.ts'

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
export interface ListenerLimits extends SubscriptionLimits {
  retry: BackoffLimits
}

interface ListenerParts {
  clock: Clock
  onvif: OnvifClient
  /** Address of its device service. */
  service: string
  login: CameraLogin
  limits: ListenerLimits
  /** @param isFirst whether they are the first of a pull point, which say how everything stands */
  onNotices(notices: readonly CameraNotice[], isFirst: boolean): void
  /** It was not heard for a while: what lasted may have ended. */
  onGap(): void
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
  const { clock, limits, onChange, onGap } = parts
  const habits: CameraHabits = { renews: true }
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
      const fault = await follow(parts, habits, stopper.signal, () => {
        wasSubscribed = true
        move('subscribed', null)
      })
      if (stopper.signal.aborted) break
      onGap()
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

const SERVICE = { namespace: EVENTS, capability: ['Events'] }

/** One subscription, from its beginning to its end. @returns what ended it */
async function follow(
  parts: ListenerParts,
  habits: CameraHabits,
  signal: AbortSignal,
  onSubscribed: () => void,
): Promise<Fault> {
  const { login, onvif, service } = parts
  try {
    const session = await onvif.open(service, login)
    const address = await serviceAddress(session, service, SERVICE)
    if (address === undefined) throw new Fault('onvif_unsupported', 'The camera has no events over ONVIF.')
    const atCamera = (said: string) => atHost(said, new URL(service).hostname)
    const subscription = await subscribe({ ...parts, habits, session, service: address, atCamera, signal })
    onSubscribed()
    return await subscription.pull()
  } catch (error) {
    return faultOf(error, 'onvif_failed', 'The camera does not tell its events.')
  }
}
