/**
 * An outlet to an MQTT broker: what a daemon keeps and tells there, in which order it goes out, what is left out when
 * there is too much, and when a lost broker is tried again.
 */
import type { Clock, Timer } from '../clock.ts'
import type { Conditions } from '../records/ledger-entry.ts'
import { Fault, faultOf } from './fault.ts'
import { Backoff, type BackoffLimits } from './pace.ts'
import { durationText } from './text.ts'

// The life of an outlet: state x event -> next state.

export type OutletState = 'closed' | 'connecting' | 'connected' | 'waiting'

/**
 * - `openAsked` and `closeAsked` by the daemon, when it starts and stops
 * - `taken` the broker has taken this client
 * - `lost` it could not be reached, did not take this client, or the connection ended
 * - `retryDue` the back-off is over
 */
export type OutletEvent = 'openAsked' | 'closeAsked' | 'taken' | 'lost' | 'retryDue'

/** A pair that is not listed does not change the state. */
export const outletStateTable: Readonly<Record<OutletState, Partial<Record<OutletEvent, OutletState>>>> = {
  closed: { openAsked: 'connecting' },
  connecting: { closeAsked: 'closed', taken: 'connected', lost: 'waiting' },
  connected: { closeAsked: 'closed', lost: 'waiting' },
  waiting: { closeAsked: 'closed', retryDue: 'connecting' },
}

/** A message on its way. */
export interface OutletMessage {
  topic: string
  payload: string
  /** Whether the broker keeps it for whoever subscribes later; an empty payload then removes what it kept. */
  isRetained: boolean
}

/** A connection to a broker that has taken this client. */
export interface BrokerLink {
  /** Resolves when the broker has it. @throws Fault if the connection ends before that */
  publish(message: OutletMessage): Promise<void>
  /** Takes leave, so that the broker does not publish the last will. */
  close(): Promise<void>
}

export interface OutletLimits extends BackoffLimits {
  /** Topics whose last message is kept. */
  topics: number
  /** Events that wait for the broker, and their bytes. */
  queue: number
  queueBytes: number
  /** Messages that the broker has not acknowledged yet. */
  inFlight: number
  /** How long the broker may take for that. */
  answerMs: number
}

export interface OutletParts {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  limits: OutletLimits
  /**
   * @param lost called once when a link has ended
   * @param signal ends the attempt, and the link that came of it
   */
  connect(lost: (why: Fault) => void, signal: AbortSignal): Promise<BrokerLink>
  conditions: Conditions
  /** The broker, as the ledger names it. */
  where: string
  /** Where the outlet says `online`, once everything else is told, and `offline` when it closes. */
  statusTopic: string
  /** Other topics are kept than before. */
  onTopics?: () => void
}

/** What the outlet has done and holds. Instants are epoch milliseconds. */
export interface OutletView {
  state: OutletState
  /** Since when it is connected, or is not. */
  since: number
  /** Why it is not connected. */
  fault: { code: string; message: string } | null
  nextTryAt: number | null
  /** Topics whose last message the broker keeps. */
  topics: number
  /** Of those, how many have changed and are not told yet. */
  due: number
  /** Events that wait, and their bytes. */
  waiting: number
  waitingBytes: number
  /** Messages that the broker has taken. */
  published: number
  /** Events that found no room. */
  dropped: number
  /** Messages of topics that found no room. */
  refused: number
}

/** A topic with its last message. Without `make` the broker is to forget it. */
interface Topic {
  make: (() => string) | null
  isRetained: boolean
  revision: string | undefined
}

interface WaitingEvent {
  topic: string
  payload: string
  bytes: number
}

/** What goes out next: the last message of a topic, or an event. */
interface Outgoing {
  message: OutletMessage
  event?: WaitingEvent
  topic?: Topic
}

/** How long a closing outlet waits for the broker. */
const LAST_MS = 2000

const AWAY = 'broker_away'
const DROPPED = 'broker_events_dropped'
const FULL = 'broker_topics_full'

/**
 * Lives as long as the daemon. Of a topic only the newest message counts, so nothing of it is lost while the broker is
 * away: when it is back everything is told anew, since it may have forgotten what it kept. Events are told in their
 * order, at least once; beyond the bounds the oldest are dropped.
 */
export class Outlet {
  readonly #parts: OutletParts
  readonly #waits: Backoff
  readonly #topics = new Map<string, Topic>()
  /** Topics to be told, in the order in which they changed first. */
  #due = new Set<string>()
  #events = new Set<WaitingEvent>()
  readonly #flyingEvents = new Set<WaitingEvent>()
  #eventBytes = 0
  #flying = 0
  #state: OutletState = 'closed'
  #since: number
  #fault: Fault | undefined
  /** The present attempt to connect, and the link that came of it. */
  #attempt: AbortController | undefined
  #link: BrokerLink | undefined
  #connectedMs = 0
  #retry: { timer: Timer; atEpochMs: number } | undefined
  #pumping: Timer | undefined
  #isEventsTurn = false
  #isTesting = false
  #isClosing = false
  #published = 0
  #dropped = 0
  #refused = 0
  #drained: (() => void) | undefined

  constructor(parts: OutletParts) {
    this.#parts = parts
    this.#since = parts.clock.epochMs()
    this.#waits = new Backoff(parts.limits)
    this.keep(parts.statusTopic, () => 'online')
  }

  /** @param kept topics that an earlier run has told and the broker may still keep: those not kept now are removed */
  open(kept: Iterable<string>): void {
    for (const topic of kept) if (!this.#topics.has(topic)) this.#topics.set(topic, removal())
    this.#move('openAsked')
    this.#connect()
  }

  /**
   * The last message of a topic from now on.
   * @param make called when it goes out, so that the broker gets the newest; quick, and never throws
   * @param how.revision the message is told again only if it differs from the one before; left out: it always is
   */
  keep(topic: string, make: () => string, how: { isRetained?: boolean; revision?: string } = {}): void {
    const { isRetained = true, revision } = how
    const before = this.#topics.get(topic)
    if (before?.make && revision !== undefined && before.revision === revision) return
    if (!before && !this.#hasRoom()) return
    this.#topics.set(topic, { make, isRetained, revision })
    if (!before) this.#parts.onTopics?.()
    this.#owe(topic)
  }

  /** The broker is to forget a topic. */
  drop(topic: string): void {
    const before = this.#topics.get(topic)
    if (!before?.make) return
    if (!before.isRetained) return void this.#forget(topic)
    this.#topics.set(topic, removal())
    this.#owe(topic)
  }

  /** Something that happened. */
  tell(topic: string, payload: string): void {
    // Characters, which are bytes where they are ASCII, as nearly all of them are.
    const event = { topic, payload, bytes: topic.length + payload.length }
    this.#events.add(event)
    this.#eventBytes += event.bytes
    this.#boundEvents()
    this.#pumpSoon()
  }

  /** Topics that the broker keeps, or is to forget. */
  topics(): string[] {
    return [...this.#topics].flatMap(([topic, { isRetained }]) => (isRetained ? [topic] : []))
  }

  /**
   * Tells the broker something and waits until it has it.
   * @returns how long that took
   * @throws Fault `mqtt_test_busy`, `broker_away`, or why it did not arrive
   */
  async test(topic: string, payload: string): Promise<{ tookMs: number }> {
    const { clock, where } = this.#parts
    if (this.#isTesting) throw new Fault('mqtt_test_busy', 'A test message is on its way already; wait for its answer.')
    if (!this.#link) throw new Fault('broker_away', this.#fault?.message ?? `${where} has not answered yet.`)
    this.#isTesting = true
    const startMs = clock.monotonicMs()
    try {
      await this.#publish(this.#link, { topic, payload, isRetained: false })
      return { tookMs: Math.round(clock.monotonicMs() - startMs) }
    } finally {
      this.#isTesting = false
    }
  }

  view(): OutletView {
    return {
      state: this.#state,
      since: this.#since,
      fault: this.#fault ? { code: this.#fault.code, message: this.#fault.message } : null,
      nextTryAt: this.#retry?.atEpochMs ?? null,
      topics: this.#topics.size,
      due: this.#due.size,
      waiting: this.#events.size + this.#flyingEvents.size,
      waitingBytes: this.#eventBytes,
      published: this.#published,
      dropped: this.#dropped,
      refused: this.#refused,
    }
  }

  /** Tells what is still due, then `offline`, and takes leave of the broker: 2 s at most, then the last will tells it. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#link) await this.#atMost(LAST_MS, this.#takeLeave(this.#link))
    this.#move('closeAsked')
    this.#retry?.timer.cancel()
    this.#retry = undefined
    this.#pumping?.cancel()
    this.#letGo(new Fault('broker_lost', 'the daemon stops'))
  }

  async #takeLeave(link: BrokerLink): Promise<void> {
    const drained = Promise.withResolvers<void>()
    this.#drained = drained.resolve
    this.#pump()
    await drained.promise
    await this.#publish(link, { topic: this.#parts.statusTopic, payload: 'offline', isRetained: true })
    await link.close()
  }

  #move(event: OutletEvent): void {
    this.#state = outletStateTable[this.#state][event] ?? this.#state
  }

  #connect(): void {
    const attempt = new AbortController()
    this.#attempt = attempt
    this.#parts
      .connect((why) => this.#lost(attempt, why), attempt.signal)
      .then(
        (link) => this.#taken(attempt, link),
        (error) => this.#lost(attempt, faultOf(error, 'broker_unreachable', `${this.#parts.where}: ${String(error)}`)),
      )
  }

  #taken(attempt: AbortController, link: BrokerLink): void {
    if (attempt !== this.#attempt) return // it was given up meanwhile, and its signal has ended the link
    const { clock, conditions, statusTopic, where } = this.#parts
    this.#link = link
    this.#connectedMs = clock.monotonicMs()
    this.#move('taken')
    this.#since = clock.epochMs()
    this.#fault = undefined
    conditions.clear(AWAY, where)
    this.#due = new Set(this.#topics.keys())
    // Last, so that whoever sees `online` finds values that are as new.
    this.#due.delete(statusTopic)
    this.#due.add(statusTopic)
    this.#pump()
  }

  #lost(attempt: AbortController, why: Fault): void {
    if (attempt !== this.#attempt) return
    if (this.#isClosing) {
      this.#letGo(why)
      return
    }
    const { chance, clock, conditions, limits, where } = this.#parts
    const wasConnected = this.#link !== undefined
    if (wasConnected) this.#since = clock.epochMs()
    // A broker that takes this client and leaves it at once is not tried in quick succession.
    if (wasConnected && clock.monotonicMs() - this.#connectedMs >= limits.maxMs) this.#waits.reset()
    this.#letGo(why)
    this.#fault = why
    this.#move('lost')
    const sentence = `The MQTT broker is away: ${why.message}. It is tried again; look at the broker and at the table mqtt of the settings.`
    conditions.raise({ what: AWAY, where, severity: 'warning', sentence })
    // Jitter, so that many boxes do not come back to a broker at the same moment.
    const waitMs = this.#waits.next() * (0.5 + chance() / 2)
    const timer = clock.after(waitMs, () => {
      this.#retry = undefined
      this.#move('retryDue')
      this.#connect()
    })
    this.#retry = { timer, atEpochMs: Math.round(clock.epochMs() + waitMs) }
  }

  /** Events that the broker has not acknowledged wait again, before all others. */
  #letGo(why: Fault): void {
    const attempt = this.#attempt
    this.#attempt = undefined
    this.#link = undefined
    this.#flying = 0
    this.#events = new Set([...this.#flyingEvents, ...this.#events])
    this.#flyingEvents.clear()
    this.#boundEvents()
    attempt?.abort(why)
    this.#drained?.()
  }

  #owe(topic: string): void {
    this.#due.add(topic)
    this.#pumpSoon()
  }

  #hasRoom(): boolean {
    const { conditions, limits, where } = this.#parts
    if (this.#topics.size < limits.topics) return true
    // What is to be removed makes room first: a topic that stays on the broker is the smaller evil.
    for (const [topic, { make }] of this.#topics) if (make === null) return this.#forget(topic)
    this.#refused++
    const sentence = `${limits.topics} topics are kept already (mqtt.topics): further points, units or ports are not on the broker. Raise the setting.`
    conditions.raise({ what: FULL, where, severity: 'warning', sentence })
    return false
  }

  #forget(topic: string): true {
    this.#topics.delete(topic)
    this.#due.delete(topic)
    this.#parts.conditions.clear(FULL, this.#parts.where)
    this.#parts.onTopics?.()
    return true
  }

  #boundEvents(): void {
    const { conditions, limits, where } = this.#parts
    for (const event of this.#events) {
      if (this.#events.size + this.#flyingEvents.size <= limits.queue && this.#eventBytes <= limits.queueBytes) return
      this.#events.delete(event)
      this.#eventBytes -= event.bytes
      this.#dropped++
      const sentence =
        'Events for the MQTT broker were dropped, the oldest first: there were more than it took (mqtt.queue, mqtt.queue_bytes). The page System counts them.'
      conditions.raise({ what: DROPPED, where, severity: 'notice', sentence })
    }
  }

  /** Not in the turn of the event loop of whoever reports: the lines come first. */
  #pumpSoon(): void {
    if (!this.#link) return
    this.#pumping ??= this.#parts.clock.soon(() => {
      this.#pumping = undefined
      this.#pump()
    })
  }

  #pump(): void {
    const { conditions, limits, where } = this.#parts
    while (this.#link && this.#flying < limits.inFlight) {
      const next = this.#next()
      if (!next) break
      void this.#send(this.#link, next)
    }
    if (this.#events.size === 0) conditions.clear(DROPPED, where)
    if (this.#flying === 0 && this.#due.size === 0 && this.#events.size === 0) this.#drained?.()
  }

  /** Topics and events take turns, so that neither waits for the end of the other. */
  #next(): Outgoing | undefined {
    this.#isEventsTurn = !this.#isEventsTurn
    return this.#isEventsTurn ? (this.#nextEvent() ?? this.#nextTopic()) : (this.#nextTopic() ?? this.#nextEvent())
  }

  #nextEvent(): Outgoing | undefined {
    const [event] = this.#events
    if (!event) return undefined
    this.#events.delete(event)
    this.#flyingEvents.add(event)
    return { message: { topic: event.topic, payload: event.payload, isRetained: false }, event }
  }

  #nextTopic(): Outgoing | undefined {
    for (const name of this.#due) {
      this.#due.delete(name)
      const topic = this.#topics.get(name)
      if (!topic) continue
      return { message: { topic: name, payload: topic.make?.() ?? '', isRetained: topic.isRetained }, topic }
    }
    return undefined
  }

  async #send(link: BrokerLink, { event, message, topic }: Outgoing): Promise<void> {
    this.#flying++
    try {
      await this.#publish(link, message)
    } catch {
      return // the link is lost, and everything is told anew
    }
    if (link !== this.#link) return
    this.#flying--
    this.#published++
    if (event && this.#flyingEvents.delete(event)) this.#eventBytes -= event.bytes
    if (topic?.make === null && this.#topics.get(message.topic) === topic) this.#forget(message.topic)
    this.#pump()
  }

  /** A broker that does not acknowledge in time is lost. */
  async #publish(link: BrokerLink, message: OutletMessage): Promise<void> {
    const { clock, limits, where } = this.#parts
    const attempt = this.#attempt
    if (!attempt) throw new Fault('broker_lost', `the connection to ${where} has ended`)
    const lost = (why: Fault) => this.#lost(attempt, why)
    const within = durationText(limits.answerMs)
    const timer = clock.after(limits.answerMs, () =>
      lost(new Fault('broker_lost', `${where} did not acknowledge a message within ${within}`)),
    )
    try {
      await link.publish(message)
    } catch (error) {
      const fault = faultOf(error, 'broker_lost', `the connection to ${where} broke: ${String(error)}`)
      if (link === this.#link) lost(fault)
      throw fault
    } finally {
      timer.cancel()
    }
  }

  async #atMost(mostMs: number, task: Promise<unknown>): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = this.#parts.clock.after(mostMs, late.resolve)
    await Promise.race([task, late.promise]).catch(() => {})
    timer.cancel()
  }
}

/** A topic that the broker is to forget. A new one each time: it is compared with what was sent. */
function removal(): Topic {
  return { make: null, isRetained: true, revision: undefined }
}
