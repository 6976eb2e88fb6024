/**
 * What a camera says through a pull point, without a gap: it is renewed before it ends, and a camera that cannot renew gets
 * the next one while the one before still lives. What both report is delivered once.
 */
import { type Clock, wait } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import {
  type CameraNotice,
  createPullPoint,
  MOST_NOTICES,
  type PullPoint,
  pullMessages,
  renewPullPoint,
  unsubscribe,
} from '../../wire/onvif-events.ts'
import type { OnvifSession } from '../cameras/onvif.ts'

/** Bounds, by the names of their settings. */
export interface SubscriptionLimits {
  /** How long a camera may hold its answer back until something happens. */
  holdMs: number
  /** From one question to the next at least: some cameras answer at once, with nothing. */
  leastMs: number
  /** How long a subscription lasts unless it is renewed. */
  lifeMs: number
}

/** What was learned of a camera, for as long as it is listened to. */
export interface CameraHabits {
  /** Whether it knows Renew. */
  renews: boolean
}

interface SubscriptionParts {
  clock: Clock
  limits: SubscriptionLimits
  habits: CameraHabits
  session: OnvifSession
  /** Of its service of events. */
  service: string
  /** @returns an address at the host that the camera was added with, whatever it says */
  atCamera(address: string): string
  /** @param isFirst whether they are the first of a pull point, which say how everything stands */
  onNotices(notices: readonly CameraNotice[], isFirst: boolean): void
  /** A pull point was lost before the next one was there: what lasted may have ended meanwhile. */
  onGap(): void
  signal: AbortSignal
}

/** Faults after which a camera may keep the pull point, beside the next one. */
const KEPT: ReadonlySet<string> = new Set(['onvif_failed', 'onvif_unsupported'])
/** How cameras answer to Renew that do not know it. */
const NO_RENEW: ReadonlySet<string> = new Set(['onvif_failed', 'onvif_unsupported', 'onvif_broken'])

/** While one is replaced: how long the old one may hold its last answer back, and how many full ones are taken. */
const LAST_HOLD_MS = 1000
const MOST_LAST = 2
/** A camera that is asked for the next one sooner is in trouble, and said to be. */
const LEAST_LIFE_MS = 5000
/** Some need a moment until the place of one that was given back is free. */
const PLACE_TRIES = 3

/** @throws Fault as `OnvifSession`, where the camera does not take it */
export async function subscribe(parts: SubscriptionParts): Promise<Subscription> {
  return new Subscription(parts, await makePoint(parts))
}

async function makePoint({ atCamera, limits, service, session, signal }: SubscriptionParts): Promise<PullPoint> {
  const made = await session.ask(service, createPullPoint(Math.ceil(limits.lifeMs / 1000)), signal)
  return { ...made, address: atCamera(made.address) }
}

export class Subscription {
  readonly #parts: SubscriptionParts
  #point: PullPoint
  #madeMs: number
  /** When it is to be renewed, or replaced. */
  #dueMs: number
  #isFirst = true
  /** What the one before has told last, and how often: this one says it again. */
  #echoes = new Map<string, number>()

  constructor(parts: SubscriptionParts, point: PullPoint) {
    this.#parts = parts
    this.#point = point
    this.#madeMs = parts.clock.monotonicMs()
    this.#dueMs = this.#madeMs + this.#renewAfter(point.lifeMs)
  }

  /** Asks it until the end. @returns what ended it */
  async pull(): Promise<Fault> {
    const { clock, limits, signal } = this.#parts
    let fault = new Fault('onvif_failed', 'Nobody listens to the camera any more.')
    try {
      while (!signal.aborted) {
        const askedMs = clock.monotonicMs()
        await this.#ask()
        if (clock.monotonicMs() >= this.#dueMs) await this.#prolong()
        const restMs = limits.leastMs - (clock.monotonicMs() - askedMs)
        if (restMs > 0) await pause(clock, restMs, signal)
      }
    } catch (error) {
      fault = faultOf(error, 'onvif_failed', 'The camera does not tell its events.')
    }
    if (signal.aborted || KEPT.has(fault.code)) await this.#leave(this.#point)
    return fault
  }

  async #ask(): Promise<void> {
    const { clock, habits, limits } = this.#parts
    const leftMs = Math.max(LAST_HOLD_MS, this.#dueMs - clock.monotonicMs())
    let notices: CameraNotice[]
    try {
      notices = await this.#pull(this.#point, Math.min(limits.holdMs, leftMs))
    } catch (error) {
      const isItsEnd = !habits.renews && clock.monotonicMs() - this.#madeMs >= LEAST_LIFE_MS
      if (!isItsEnd || !(error instanceof Fault) || !KEPT.has(error.code)) throw error
      await this.#replaceLost()
      return
    }
    const fresh = this.#isFirst ? notices.filter((notice) => !this.#isEcho(notice)) : notices
    this.#parts.onNotices(fresh, this.#isFirst)
    // Some need several answers to say how everything stands.
    this.#isFirst &&= notices.length === MOST_NOTICES
  }

  #pull(point: PullPoint, holdMs: number): Promise<CameraNotice[]> {
    return this.#parts.session.ask(point.address, pullMessages(point, holdMs), this.#parts.signal)
  }

  async #prolong(): Promise<void> {
    const { clock, habits, limits, session, signal } = this.#parts
    if (!habits.renews) return await this.#replace()
    try {
      const renewing = renewPullPoint(this.#point, Math.ceil(limits.lifeMs / 1000))
      const lifeMs = await session.ask(this.#point.address, renewing, signal)
      this.#dueMs = clock.monotonicMs() + this.#renewAfter(lifeMs)
    } catch (error) {
      if (!(error instanceof Fault) || !NO_RENEW.has(error.code)) throw error
      // A plain fault may also mean that the pull point is lost: whether it still answers decides.
      if (error.code === 'onvif_unsupported' || (await this.#hearOut(this.#point))) habits.renews = false
      await this.#replace()
    }
  }

  /** Makes the next one first, where the camera takes two at once. */
  async #replace(): Promise<void> {
    const { clock } = this.#parts
    const before = this.#point
    const next = await this.#make()
    if (next?.address === before.address && next.named === before.named) return this.#adopt(next, this.#isFirst)
    if (next) this.#adopt(next, true)
    let isHeard = false
    let isLeft = false
    try {
      isHeard = await this.#hearOut(before)
    } finally {
      isLeft = await this.#leave(before)
    }
    if (next && !isHeard) this.#gap()
    if (next) return
    if (isLeft || !isHeard) return await this.#replaceLost()
    // It lives on, since it could not be given back: as long as it tells something, nothing is lost.
    this.#dueMs = clock.monotonicMs() + this.#renewAfter(before.lifeMs) / 2
  }

  /** Makes the next one after the last one is gone. */
  async #replaceLost(): Promise<void> {
    const { clock, limits, signal } = this.#parts
    this.#gap()
    for (let left = PLACE_TRIES - 1; left > 0; left--) {
      const next = await this.#make()
      if (next) return this.#adopt(next, true)
      await pause(clock, limits.leastMs, signal)
    }
    this.#adopt(await makePoint(this.#parts), true)
  }

  #gap(): void {
    this.#echoes.clear()
    this.#parts.onGap()
  }

  /** @returns undefined where the camera does not take another one */
  async #make(): Promise<PullPoint | undefined> {
    try {
      return await makePoint(this.#parts)
    } catch (error) {
      if (error instanceof Fault && KEPT.has(error.code)) return undefined
      throw error
    }
  }

  #adopt(point: PullPoint, isFirst: boolean): void {
    this.#point = point
    this.#madeMs = this.#parts.clock.monotonicMs()
    this.#dueMs = this.#madeMs + this.#renewAfter(point.lifeMs)
    this.#isFirst = isFirst
  }

  /** Tells what is left in the one before, and remembers it: the next one may have it too. @returns whether it lived */
  async #hearOut(point: PullPoint): Promise<boolean> {
    this.#echoes.clear()
    for (let at = 0; at < MOST_LAST; at++) {
      let notices: CameraNotice[]
      try {
        notices = await this.#pull(point, LAST_HOLD_MS)
      } catch (error) {
        if (this.#parts.signal.aborted || !(error instanceof Fault)) throw error
        return false
      }
      for (const notice of notices)
        for (const key of echoesOf(notice)) this.#echoes.set(key, (this.#echoes.get(key) ?? 0) + 1)
      this.#parts.onNotices(notices, false)
      if (notices.length < MOST_NOTICES) break
    }
    return true
  }

  /** Also how something stood before what the one before has told of it. */
  #isEcho(notice: CameraNotice): boolean {
    if (notice.operation === 'Initialized') return this.#echoes.has(subjectOf(notice))
    const key = JSON.stringify(notice)
    const times = this.#echoes.get(key) ?? 0
    if (times > 0) this.#echoes.set(key, times - 1)
    return times > 0
  }

  /** Renewed well before it ends, even where the camera granted less time than it was asked for. */
  #renewAfter(lifeMs: number | undefined): number {
    const { limits } = this.#parts
    return Math.min(lifeMs ?? limits.lifeMs, limits.lifeMs) / 2
  }

  /** Cameras have few pull points. @returns whether it is given back; one that is not ends by itself */
  async #leave(point: PullPoint): Promise<boolean> {
    try {
      await this.#parts.session.ask(point.address, unsubscribe(point))
      return true
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return false
    }
  }
}

function echoesOf(notice: CameraNotice): string[] {
  return [JSON.stringify(notice), subjectOf(notice)]
}

function subjectOf({ source, topic }: CameraNotice): string {
  return JSON.stringify([topic, source])
}

/** Ends early where nobody listens any more. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<void>()
  const stop = () => stopped.resolve()
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([wait(clock, ms), stopped.promise])
  signal.removeEventListener('abort', stop)
}
