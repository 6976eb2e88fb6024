/** Finds sessions that RAVENNA devices name on the network, and fetches their descriptions from time to time. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { HeardService } from '#kit/net/mdns/library.ts'
import { pathByName } from '../../wire/streams/rtsp.ts'
import type { StreamBook, StreamRefusal } from './book.ts'

// Sessions.

/** Where a session is described. */
export interface SessionPlace {
  /** IPv4 */
  address: string
  port: number
  /** Percent-encoded. */
  path: string
}

/** Dependencies and settings. */
interface SessionFinderOptions {
  clock: Clock
  book: Pick<StreamBook, 'heard' | 'takenBack'>
  /** Fetches once. Limited in time; rejects if there is no description. */
  describe(place: SessionPlace): Promise<string>
  /** Sessions kept. */
  most: number
  /** How often each is fetched again. */
  describeMs: number
  /** How often the network is queried for sessions. */
  roundMs: number
}

/** One session. */
interface Session {
  id: string
  from: string
  place: SessionPlace
  sdp: string | undefined
  heardMs: number
  askedMs: number
  isLeaving: boolean
  /** Goodbyes in its name since the last look. */
  farewells: number
}

/** Concurrent fetches. */
export const MOST_UNDER_WAY = 4
/** A session not named in this many rounds is fetched, and removed if that fails. */
const MOST_MISSED = 3
/** Goodbyes per round that make it fetched at once; forging more causes no more fetches. */
const MOST_FAREWELLS = 3
/** A session without a description is fetched again after this. */
const AGAIN_MS = 15_000
const HEARD_BY = ['mdns', 'rtsp'] as const

/**
 * A device is contacted only at the address that it sends from: otherwise anyone on the network could make a board open
 * connections to others (docs/decisions/stream-discovery.md). A goodbye, which anybody may forge, only triggers a
 * fetch.
 */
export class SessionFinder {
  readonly #options: SessionFinderOptions
  readonly #sessions = new Map<string, Session>()
  readonly #waiting = new Set<Session>()
  #underWay = 0
  #failed = 0
  #isStopped = false
  readonly #looking: Timer

  constructor(options: SessionFinderOptions) {
    this.#options = options
    this.#looking = options.clock.every(options.roundMs, () => this.#look())
  }

  /** A device names a session, for the first time or again. */
  heard({ from, id, name, port, reach }: HeardService): void {
    if (this.#isStopped || reach[0] !== from || from.includes(':')) return
    const nowMs = this.#options.clock.monotonicMs()
    const place = { address: from, port, path: pathByName(name) }
    const key = `${id} ${from}`
    const known = this.#sessions.get(key)
    const isNew = known?.place.port !== port || known.place.path !== place.path
    if (!known && !this.#makeRoom()) return
    const first = { id, from, sdp: undefined, askedMs: Number.NEGATIVE_INFINITY, isLeaving: false, farewells: 0 }
    const session = Object.assign(known ?? { ...first, place, heardMs: nowMs }, { place, heardMs: nowMs })
    this.#sessions.set(key, session)
    if (session.sdp !== undefined) this.#options.book.heard({ by: HEARD_BY, from, sdp: session.sdp, isRepeated: true })
    const pauseMs = session.sdp === undefined ? AGAIN_MS : this.#options.describeMs
    if (isNew || nowMs - session.askedMs >= pauseMs) this.#ask(session)
  }

  /** A device, or somebody in its name, withdraws a session. */
  gone(id: string): void {
    for (const session of this.#sessions.values()) {
      if (session.id !== id) continue
      session.farewells++
      if (session.farewells <= MOST_FAREWELLS) this.#doubt(session)
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#looking.cancel()
    this.#waiting.clear()
    this.#sessions.clear()
  }

  /** Sessions named now; how many are described; number of failed fetches. */
  counts(): { sessions: number; described: number; failed: number } {
    const described = [...this.#sessions.values()].filter(({ sdp }) => sdp !== undefined).length
    return { sessions: this.#sessions.size, described, failed: this.#failed }
  }

  /** Doubts silent sessions, since a goodbye may be lost or never sent. */
  #look(): void {
    const lostMs = this.#options.clock.monotonicMs() - MOST_MISSED * this.#options.roundMs
    for (const session of this.#sessions.values()) {
      const isInDoubt = session.heardMs < lostMs || session.farewells > MOST_FAREWELLS
      session.farewells = 0
      if (isInDoubt) this.#doubt(session)
    }
  }

  #doubt(session: Session): void {
    if (session.isLeaving) return
    session.isLeaving = true
    this.#ask(session)
  }

  /** In a full table, removes the session named longest ago among those never described. */
  #makeRoom(): boolean {
    if (this.#sessions.size < this.#options.most) return true
    const oldest = [...this.#sessions].sort(([, one], [, other]) => one.heardMs - other.heardMs)
    const victim = oldest.find(([, { sdp }]) => sdp === undefined)
    if (!victim) return false
    this.#waiting.delete(victim[1])
    return this.#sessions.delete(victim[0])
  }

  #ask(session: Session): void {
    session.askedMs = this.#options.clock.monotonicMs()
    this.#waiting.add(session)
    this.#next()
  }

  #next(): void {
    for (const session of this.#waiting) {
      if (this.#underWay >= MOST_UNDER_WAY) return
      this.#waiting.delete(session)
      this.#underWay++
      void this.#fetch(session)
    }
  }

  async #fetch(session: Session): Promise<void> {
    const { book, describe } = this.#options
    const { from } = session
    let sdp: string | undefined
    try {
      sdp = await describe(session.place)
    } catch {
      // Whatever the reason, there is no description; the next try may succeed.
      this.#failed++
    }
    this.#underWay--
    if (this.#isStopped) return
    if (sdp !== undefined) {
      Object.assign(session, { sdp, isLeaving: false, heardMs: this.#options.clock.monotonicMs() })
      book.heard({ by: HEARD_BY, from, sdp })
    } else if (session.isLeaving) {
      this.#sessions.delete(`${session.id} ${from}`)
      if (session.sdp !== undefined) book.takenBack({ by: HEARD_BY, from, sdp: session.sdp })
    }
    this.#next()
  }
}

/** What is heard, and what was not accepted. */
export interface ListeningView {
  /** Number of streams listed. */
  streams: number
  /** Whether SAP is received. */
  sap: boolean
  sap_packets: number
  /** Invalid announcements; and those that cannot be read: encrypted, compressed, of IPv6. */
  sap_malformed: number
  sap_not_read: number
  /** Sessions that RAVENNA devices name; and failed fetches. */
  sessions: number
  sessions_failed: number
  /** Descriptions that are not listed, by reason. */
  refused: Readonly<Record<StreamRefusal, number>>
}

// Combines changes that follow closely, because each report costs work.

/**
 * @param apartMs least time between two calls of `run`; the last change is always reported
 * @returns call it with each change; a timer of at most `apartMs` may be left behind
 */
export function gathered(clock: Clock, apartMs: number, run: () => void): () => void {
  let timer: Timer | undefined
  let isDue = false

  function tell(): void {
    timer = clock.after(apartMs, () => {
      timer = undefined
      if (isDue) tell()
    })
    isDue = false
    run()
  }

  return () => {
    if (timer) isDue = true
    else tell()
  }
}
