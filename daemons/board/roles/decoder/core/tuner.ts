/** Receives what the route says: opens, changes and closes receivers as announcements, senders and the clock change. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Ptp } from '../../../core/ptp/ptp.ts'
import type { HeardStream } from '../../../core/streams/book.ts'
import type { Receiver, ReceiverOpener, StreamFinder, Tuning } from './ports.ts'
import { Reception } from './reception.ts'
import type { RouteRecord } from './route.ts'
import { doesAlready, type OwnNetwork, planTuning, type TuningPlan } from './tuning-plan.ts'

// Looks for other senders to a group while the wanted one is silent: joining with one source hides all others.

/** Never played, so its timing does not matter. */
const UNHEARD = {
  sync: 'arrival',
  encoding: 'L24',
  channels: 0,
  payloadType: null,
  mediaOffset: 0,
  linkMs: 10,
} as const

class StrangerWatch {
  readonly #opener: ReceiverOpener
  #receiver: Receiver | null = null

  constructor(opener: ReceiverOpener) {
    this.#opener = opener
  }

  /** @returns the address of another sender to the group; null if none is heard */
  look({ paths, roomMs }: Pick<Tuning, 'paths' | 'roomMs'>, wanted: string): string | null {
    const [path] = paths
    if (path === undefined) return null
    try {
      this.#receiver ??= this.#opener.open({ ...UNHEARD, roomMs, paths: [{ ...path, source: null }] })
    } catch (fault) {
      // If it cannot be opened, nobody is found; the main receiver reports the reason.
      if (fault instanceof Fault) return null
      throw fault
    }
    const sender = this.#receiver.stats().paths[0]?.sender ?? null
    return sender === wanted ? null : sender
  }

  rest(): void {
    this.#receiver?.close()
    this.#receiver = null
  }
}

// The tuner.

/** Time limits. */
export interface TunerTimes {
  /** Silence after which a sender counts as gone. */
  senderGoneMs: number
  /** How long sound goes on while sender and board name different grandmasters, as after an election. */
  otherClockMs: number
  /** Time until a receiver that could not be opened, or hears nothing, is reopened: switches forget subscribers. */
  reopenMs: number
  /** How much earlier than the link requires a packet may arrive and still fit. */
  earlyMs: number
  /** Time until a faded-out receiver is closed; longer than its fade. */
  fadeMs: number
}

/** Dependencies and settings. */
interface TunerParts {
  clock: Clock
  log: Log
  opener: ReceiverOpener
  /** Plays the receiver of this id; 0 for none. */
  listen(receiverId: number): void
  streams: Pick<StreamFinder, 'find'>
  ptp: Pick<Ptp, 'view' | 'refClock' | 'isLocked'>
  networks(): readonly OwnNetwork[]
  settings: { link_ms: number; ext_link_ms: number }
  times: TunerTimes
}

/** Why received packets are not played. */
type Broken = TuningPlan['broken']

interface Open {
  receiver: Receiver
  tuning: Tuning
}

export class Tuner {
  readonly reception: Reception
  readonly #parts: TunerParts
  readonly #strangers: StrangerWatch
  readonly #fading = new Map<Receiver, Timer>()
  #route: RouteRecord
  #plan: TuningPlan | null = null
  #open: Open | null = null
  #fault: Fault | null = null
  #openedMs = 0
  #transitMs: number | null = null
  #wasLocked = false
  #hasPlayed = false
  #brokenSinceMs: number | null = null
  /** Sender of the previous receiver, until there is another. */
  #former: string | null = null
  /** Latest announcement of what is played. */
  #announced: HeardStream | null = null
  #isClosed = false

  constructor(parts: TunerParts, route: RouteRecord) {
    this.#parts = parts
    this.#route = route
    this.reception = new Reception(parts.clock)
    this.#strangers = new StrangerWatch(parts.opener)
  }

  get route(): RouteRecord {
    return this.#route
  }

  /** null while stopped. */
  get plan(): TuningPlan | null {
    return this.#plan
  }

  /** What is open now; null if nothing is. */
  get tuning(): Tuning | null {
    return this.#open?.tuning ?? null
  }

  /** Why there is no receiver. */
  get fault(): Fault | null {
    return this.#fault
  }

  /** Why received packets are not played; null if they are. */
  get broken(): Broken {
    return this.#isPatient() ? null : (this.#plan?.broken ?? null)
  }

  /** The current sender, unless it has fallen silent. */
  get sender(): string | null {
    if (this.reception.silentMs >= this.#parts.times.senderGoneMs) return null
    return this.reception.sender ?? this.#former
  }

  /** Plays another route at once. */
  play(route: RouteRecord): void {
    const isOther =
      route.mcast !== this.#route.mcast || route.port !== this.#route.port || route.source !== this.#route.source
    this.#route = route
    if (isOther) this.#drop({ isOther })
    this.retune()
  }

  /** Reads the state of reception, and reacts to it. */
  look(): void {
    const stats = this.#open?.receiver.stats()
    if (stats !== undefined) {
      this.reception.look(stats)
      this.#transitMs = stats.transitMs ?? this.#transitMs
    }
    const idleMs = Math.min(this.reception.silentMs, this.#parts.clock.monotonicMs() - this.#openedMs)
    const isDeaf = this.#route.mcast !== '' && idleMs >= this.#parts.times.reopenMs
    if (isDeaf || this.#open?.receiver.hasNewPath() === true) this.#drop({ isOther: false })
    this.retune()
    this.#lookForStrangers()
  }

  /** Adapts to what is announced, heard and locked now. */
  retune(): void {
    if (this.#isClosed) return
    if (this.#route.mcast === '') {
      this.#plan = null
      this.#drop({ isOther: true })
      return
    }
    const { listen, streams } = this.#parts
    const plan = planTuning({
      route: this.#route,
      settings: this.#parts.settings,
      earlyMs: this.#parts.times.earlyMs,
      streams: streams.find(this.#route.mcast, this.#route.port),
      clock: this.#ownClock(),
      networks: this.#parts.networks(),
      heard: { sender: this.#senderOfRoute(), held: this.#held(), transitMs: this.#transitMs },
      former: this.reception.soundlessMs < this.#parts.times.senderGoneMs ? this.#announced : null,
    })
    this.#plan = plan
    this.#announced = plan.announcement ?? this.#announced
    this.#open === null ? this.#tryToOpen(plan.tuning) : this.#follow(this.#open, plan.tuning)
    this.#brokenSinceMs = plan.broken === null ? null : (this.#brokenSinceMs ?? this.#parts.clock.monotonicMs())
    if (plan.broken === null && this.reception.hasHeard) this.#hasPlayed = true
    listen(this.broken === null ? (this.#open?.receiver.id ?? 0) : 0)
  }

  /** Stops playing, and closes everything. */
  close(): void {
    this.#isClosed = true
    this.#drop({ isOther: true })
    this.#strangers.rest()
    for (const [receiver, timer] of this.#fading) {
      timer.cancel()
      receiver.close()
    }
    this.#fading.clear()
  }

  #lookForStrangers(): void {
    const held = this.#held()
    const isSilent = this.reception.silentMs >= this.#parts.times.senderGoneMs
    if (this.#open === null || held === null || !isSilent) {
      this.#strangers.rest()
      return
    }
    const other = this.#strangers.look(this.#open.tuning, held)
    if (other !== null) this.reception.hearOther(other)
  }

  #ownClock() {
    const { ptp } = this.#parts
    const isLocked = ptp.isLocked()
    this.#wasLocked ||= isLocked
    return { view: ptp.view(), refClock: ptp.refClock(), isLocked, wasLocked: this.#wasLocked }
  }

  /** The only sender that the open receiver accepts on the path of the route. */
  #held(): string | null {
    const { mcast, port } = this.#route
    const paths = this.#open?.tuning.paths ?? []
    return paths.find((path) => path.group === mcast && path.port === port)?.source ?? null
  }

  /** A stream of two paths goes on while one of them works: the sender of the route is then not gone. */
  #senderOfRoute(): string | null {
    const { sender } = this
    const hasTwoPaths = (this.#open?.tuning.paths.length ?? 0) > 1
    return sender !== null && hasTwoPaths ? (this.#held() ?? sender) : sender
  }

  #follow({ receiver, tuning }: Open, next: Tuning): void {
    if (!doesAlready(tuning, next, this.reception.stats)) {
      this.#parts.log.info('receiver tuned anew', {
        group: this.#route.mcast,
        sync: next.sync,
        encoding: next.encoding,
      })
      this.#drop({ isOther: false })
      this.#tryToOpen(next)
    } else if (tuning.linkMs !== next.linkMs) {
      receiver.setLinkMs(next.linkMs)
      this.#open = { receiver, tuning: { ...tuning, linkMs: next.linkMs } }
    }
  }

  #tryToOpen(tuning: Tuning): void {
    const nowMs = this.#parts.clock.monotonicMs()
    if (this.#fault !== null && nowMs - this.#openedMs < this.#parts.times.reopenMs) return
    this.#openedMs = nowMs
    try {
      this.#open = { receiver: this.#parts.opener.open(tuning), tuning }
      this.#fault = null
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault
      if (this.#fault?.message !== fault.message) this.#parts.log.warning('receiver not opened', { fault })
      this.#fault = fault
    }
  }

  /** Fades the output, then closes the receiver. */
  #drop({ isOther }: { isOther: boolean }): void {
    if (isOther) {
      this.#fault = null
      this.#transitMs = null
      this.#hasPlayed = false
      this.#brokenSinceMs = null
      this.#announced = null
    }
    this.#former = isOther ? null : this.sender
    const open = this.#open
    if (open !== null || isOther) this.reception.begin({ isOther })
    if (open === null) return
    this.#open = null
    this.#parts.listen(0)
    const { clock, times } = this.#parts
    const timer = clock.after(times.fadeMs, () => {
      this.#fading.delete(open.receiver)
      open.receiver.close()
    })
    this.#fading.set(open.receiver, timer)
  }

  /** After an election, sender and board may name different clocks for a while. */
  #isPatient(): boolean {
    if (this.#plan?.broken !== 'other_grandmaster' || !this.#hasPlayed || this.#brokenSinceMs === null) return false
    return this.#parts.clock.monotonicMs() - this.#brokenSinceMs < this.#parts.times.otherClockMs
  }
}
