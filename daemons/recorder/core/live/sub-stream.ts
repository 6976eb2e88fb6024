/** The small stream of a camera, played only while somebody watches it; where it does not play, the main one is shown. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Backoff, type BackoffLimits } from '#kit/pure/pace.ts'
import type { StreamPlace } from '../ports.ts'
import type { StreamTap } from '../recording/stream.ts'
import type { Looker } from '../sight/sight.ts'
import type { Channel, LiveViewer } from './channel.ts'

/** Bounds of a sub stream, by the names of their settings. */
export interface SubLimits {
  /** How long it is played on after the last who watched it has left; key `live.sub_idle_ms`. */
  idleMs: number
  /** Without a picture for so long after it was opened it is given up; key `cameras.picture_ms`. */
  pictureMs: number
  /** Waits before one that ended is tried again. */
  retry: BackoffLimits
}

/** Plays a stream until it ends, or the signal ends it. */
export type PlaySub = (place: StreamPlace, tap: StreamTap, signal: AbortSignal) => Promise<unknown>

interface SubParts {
  clock: Clock
  main: Channel
  /** What its own pictures go to. */
  own: Channel
  play: PlaySub
  limits: SubLimits
}

// state x event -> next state.

export type SubState = 'closed' | 'opening' | 'playing' | 'failed'

/**
 * - `wanted` somebody watches
 * - `pictured` its first key frame came
 * - `ended` there is none, it cannot be played, or it broke off
 * - `retryDue` the wait is over
 * - `idle` nobody has watched for a while, or it is elsewhere now
 */
export type SubEvent = 'wanted' | 'pictured' | 'ended' | 'retryDue' | 'idle'

/** A pair that is not listed does not change the state. */
export const subStateTable: Readonly<Record<SubState, Partial<Record<SubEvent, SubState>>>> = {
  closed: { wanted: 'opening' },
  opening: { pictured: 'playing', ended: 'failed', idle: 'closed' },
  playing: { ended: 'failed', idle: 'closed' },
  failed: { retryDue: 'opening', idle: 'closed' },
}

export class SubStream {
  readonly #parts: SubParts
  readonly #backoff: Backoff
  /** Those that look at single pictures of it. */
  readonly #lookers = new Set<Looker>()
  /** Who wishes to see it, and what ends what they are shown. */
  readonly #places = new Map<LiveViewer, () => void>()
  #at: StreamPlace | undefined
  #state: SubState = 'closed'
  /** It has not played since it failed: the main stream is shown meanwhile. */
  #hasFailed = false
  #session: AbortController | undefined
  /** When it has to have a picture, or is tried again. */
  #due: Timer | undefined
  #idle: Timer | undefined

  constructor(parts: SubParts) {
    this.#parts = parts
    this.#backoff = new Backoff(parts.limits.retry)
  }

  state(): SubState {
    return this.#state
  }

  /** Where it is now; undefined if there is none, or the camera is switched off. */
  moveTo(place: StreamPlace | undefined): void {
    if (JSON.stringify(place) === JSON.stringify(this.#at)) return
    this.#at = place
    if (this.#state === 'closed') return
    this.close()
    if (!this.#isWanted()) return
    this.#open('wanted')
    if (!this.#hasFailed) this.#placeAll()
  }

  /** @returns ends it */
  watch(viewer: LiveViewer): () => void {
    this.#want()
    this.#place(viewer)
    return () => {
      this.#places.get(viewer)?.()
      this.#places.delete(viewer)
      this.#left()
    }
  }

  /** Plays it without making anything of its pictures but what is asked for. */
  look(): Looker {
    const shown = () => (this.#hasFailed ? this.#parts.main : this.#parts.own)
    const looker: Looker = {
      moments: () => shown().moments(),
      keyFrame: () => shown().keyFrame(),
      newest: () => shown().newest(),
      end: () => {
        this.#lookers.delete(looker)
        this.#left()
      },
    }
    this.#lookers.add(looker)
    this.#want()
    return looker
  }

  #isWanted(): boolean {
    return this.#places.size + this.#lookers.size > 0
  }

  #want(): void {
    this.#idle?.cancel()
    if (this.#state === 'closed') this.#open('wanted')
  }

  #left(): void {
    if (this.#isWanted()) return
    this.#idle?.cancel()
    this.#idle = this.#parts.clock.after(this.#parts.limits.idleMs, () => this.close())
  }

  /** Ends its session; the next who wishes to see it begins another. */
  close(): void {
    this.#move('idle')
    this.#hasFailed = false
    this.#idle?.cancel()
    this.#due?.cancel()
    this.#session?.abort()
    this.#session = undefined
    this.#parts.own.lost()
    this.#backoff.reset()
  }

  #place(viewer: LiveViewer): void {
    this.#places.get(viewer)?.()
    const { main, own } = this.#parts
    this.#places.set(viewer, (this.#hasFailed ? main : own).watch(viewer))
  }

  #placeAll(): void {
    for (const viewer of [...this.#places.keys()]) this.#place(viewer)
  }

  #move(event: SubEvent): void {
    this.#state = subStateTable[this.#state][event] ?? this.#state
  }

  #open(event: 'wanted' | 'retryDue'): void {
    const { clock, limits, own, play } = this.#parts
    this.#move(event)
    if (!this.#at) {
      this.#ended()
      return
    }
    const session = new AbortController()
    const tap: StreamTap = {
      picture: (picture, place) => {
        // What comes after its end is not of the session that plays now.
        if (this.#session !== session) return
        own.picture(picture, place)
        if (picture.isKey && this.#state === 'opening') this.#pictured()
      },
      hear: (format) => this.#session === session && own.hear(format),
      sound: (frame, positionMs) => this.#session === session && own.sound(frame, positionMs),
      lost: () => own.lost(),
    }
    this.#session = session
    this.#due = clock.after(limits.pictureMs, () => session.abort())
    void play(this.#at, tap, session.signal).finally(() => {
      if (this.#session !== session) return
      this.#ended()
      this.#due = clock.after(this.#backoff.next(), () => this.#open('retryDue'))
    })
  }

  #pictured(): void {
    this.#due?.cancel()
    this.#backoff.reset()
    this.#move('pictured')
    const wereElsewhere = this.#hasFailed
    this.#hasFailed = false
    if (wereElsewhere) this.#placeAll()
  }

  #ended(): void {
    this.#session = undefined
    this.#due?.cancel()
    this.#move('ended')
    const wereHere = !this.#hasFailed
    this.#hasFailed = true
    if (wereHere) this.#placeAll()
  }
}
