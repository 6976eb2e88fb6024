/** One line: opens it, keeps it open, and publishes its state. */

import type { Clock, Timer } from '#kit/clock.ts'
import type { DriverCounts, LineOpener, LineSettings } from '#kit/line/line.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { countedLine } from '#kit/pure/line.ts'
import { Backoff, type BackoffLimits } from '#kit/pure/pace.ts'
import type { Adapter, HeldLine } from './adapter.ts'

// The life of a port: state x event -> next state.

export type PortState = 'closed' | 'opening' | 'open' | 'absent' | 'failed'

/**
 * - `openAsked` by PUT, by POST open, or at start
 * - `closeAsked` by POST close, DELETE, or at stop
 * - `opened` the driver took the line and every setting
 * - `notThere` the device does not exist
 * - `refused` the driver, another program's lock or the rules said no
 * - `gone` an open line was unplugged or failed
 * - `retryDue` the backoff is over
 */
export type PortStateEvent = 'openAsked' | 'closeAsked' | 'opened' | 'notThere' | 'refused' | 'gone' | 'retryDue'

/** A pair that is not listed does not change the state. */
export const portStateTable: Readonly<Record<PortState, Partial<Record<PortStateEvent, PortState>>>> = {
  closed: { openAsked: 'opening' },
  opening: { closeAsked: 'closed', opened: 'open', notThere: 'absent', refused: 'failed' },
  open: { closeAsked: 'closed', gone: 'absent' },
  absent: { openAsked: 'opening', closeAsked: 'closed', retryDue: 'opening' },
  failed: { openAsked: 'opening', closeAsked: 'closed', retryDue: 'opening' },
}

/** @returns the state after the event; the same state if the table has no such pair */
export function nextPortState(state: PortState, event: PortStateEvent): PortState {
  return portStateTable[state][event] ?? state
}

// Counts how often something happened within the last hour, in sixty counters of one minute each.

const MINUTE_MS = 60_000
const MINUTES = 60

interface HourCount {
  add(): void
  /** The count of this minute and the 59 before it, or since the counter was created if that is shorter. */
  lastHour(): number
}

export function createHourCount(clock: Pick<Clock, 'monotonicMs'>): HourCount {
  const counts = new Uint32Array(MINUTES)
  let newest = minuteOf(clock)

  /** Clears the minutes that passed without a count. */
  function turn(): number {
    const minute = minuteOf(clock)
    for (let at = Math.max(newest + 1, minute - MINUTES + 1); at <= minute; at++) counts[at % MINUTES] = 0
    newest = minute
    return minute % MINUTES
  }

  return {
    add() {
      const at = turn()
      counts[at] = (counts[at] ?? 0) + 1
    },
    lastHour() {
      turn()
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}

function minuteOf(clock: Pick<Clock, 'monotonicMs'>): number {
  return Math.floor(clock.monotonicMs() / MINUTE_MS)
}

/** The parts of a port. The adapter lives as long as the port; changed settings create a new port. */
interface PortParts {
  path: string
  line: LineSettings
  adapter: Adapter
  opener: LineOpener
  clock: Clock
  /** Waits between attempts to open a line that is absent or refused. */
  retry: BackoffLimits
  publish(event: string, payload: unknown): void
  /** Counts the `error` events of this port; omitted if nobody counts them. */
  errors?: Pick<HourCount, 'lastHour'>
}

/** The state of a port as readers see it. Times are epoch milliseconds. */
interface PortLife {
  state: PortState
  stateSince: number
  /** Why it is absent or failed; for an open port, a fault beside the line. */
  fault: { code: string; message: string } | null
  nextTryAt: number | null
  unsupported: readonly string[]
}

/** A port begins in state `closed`. */
export class Port {
  readonly path: string
  readonly adapter: Adapter
  readonly #parts: PortParts
  readonly #backoff: Backoff
  readonly #bytes = { rxBytes: 0, txBytes: 0 }
  #state: PortState = 'closed'
  #stateSince: number
  /** The state before an attempt to open, and its start: a failed attempt changes neither. */
  #beforeTry: { state: PortState; since: number } | undefined
  #fault: Fault | undefined
  #line: HeldLine | undefined
  #retry: { timer: Timer; atEpochMs: number } | undefined
  /** The number of the latest attempt to open, so that an overtaken attempt can tell. */
  #attempt = 0
  /** The latest attempt. Never rejects. */
  #opening: Promise<void> = Promise.resolve()

  constructor(parts: PortParts) {
    this.path = parts.path
    this.adapter = parts.adapter
    this.#parts = parts
    this.#backoff = new Backoff(parts.retry)
    this.#stateSince = parts.clock.epochMs()
  }

  life(): PortLife {
    return {
      state: this.#state,
      stateSince: this.#stateSince,
      fault: shown(this.#fault ?? (this.#state === 'open' ? this.adapter.fault?.() : undefined)),
      nextTryAt: this.#retry?.atEpochMs ?? null,
      unsupported: this.#line?.unsupported ?? [],
    }
  }

  /**
   * Why nothing can be sent while it is not open, and what to do about it: `line_closed` if somebody closed it, or why it
   * was closed, `line_absent` if it is unplugged, `line_not_ready` otherwise. The last two end by themselves.
   */
  whyNotOpen(): Fault {
    const { path } = this
    const since = this.#state === 'opening' ? (this.#beforeTry?.state ?? 'opening') : this.#state
    const atEpochMs = this.#retry?.atEpochMs ?? 0
    const details = { retryAfterMs: Math.max(1000, atEpochMs - this.#parts.clock.epochMs()) }
    if (since === 'absent')
      return new Fault('line_absent', `${path} is unplugged: plug the adapter in; it is opened again by itself.`, {
        details,
      })
    if (since === 'failed')
      return new Fault('line_not_ready', `${path} is not open: ${this.#fault?.message} It is tried again by itself.`, {
        details,
      })
    if (since === 'opening')
      return new Fault('line_not_ready', `${path} is being opened: ask again in a moment.`, { details })
    // Somebody has the line for a while.
    if (this.#fault) return this.#fault
    return new Fault('line_closed', `${path} is closed: open it with POST /api/ports/:path/open, or on its page.`)
  }

  /** Counts since the port was set up, by kind. */
  counters(): Record<string, number> {
    this.#line?.settle()
    return { ...this.#bytes, ...this.adapter.counters() }
  }

  /** The number of errors within the last hour; null if nobody counts them. */
  errorsLastHour(): number | null {
    return this.#parts.errors?.lastHour() ?? null
  }

  /** The driver's own counters; null while the line is not open, or if the driver has none. */
  driverCounts(): DriverCounts | null {
    return this.#line?.driverCounts() ?? null
  }

  /** Opens, and keeps trying while the device is absent or refuses. @returns the state after the first try */
  async open(): Promise<PortState> {
    if (this.#state === 'open' || this.#state === 'opening') return this.#state
    this.#cancelRetry()
    this.#move('openAsked')
    this.#opening = this.#tryOpen()
    await this.#opening
    return this.#state
  }

  /**
   * Resolves when the line is free: a running attempt to open still holds it, and the next would find it busy.
   * @param why what everyone is told until it is opened, or closed once more
   */
  async close(why?: Fault): Promise<void> {
    const opening = this.#opening
    this.#cancelRetry()
    this.#attempt++
    const open = this.#line
    this.#line = undefined
    this.#move('closeAsked', why)
    await this.#leave(open, why)
    await opening
  }

  /** Called after `close`, when the port is replaced or removed. */
  end(): void {
    this.adapter.end?.()
  }

  #move(event: PortStateEvent, why?: Fault): void {
    const previous = this.#state
    this.#state = nextPortState(previous, event)
    this.#fault = why
    if (this.#state === previous) return
    this.#stateSince = this.#sinceAfter(event, previous)
    this.#parts.publish('port', { state: this.#state, previous, fault: shown(why) })
  }

  /** A line counts as absent since it was lost, however often opening is retried. @returns epoch milliseconds */
  #sinceAfter(event: PortStateEvent, previous: PortState): number {
    const before = this.#beforeTry
    this.#beforeTry = event === 'retryDue' ? { state: previous, since: this.#stateSince } : undefined
    return before?.state === this.#state ? before.since : this.#parts.clock.epochMs()
  }

  /** An attempt overtaken by a close releases its line. */
  async #tryOpen(): Promise<void> {
    const mine = ++this.#attempt
    const isOvertaken = () => mine !== this.#attempt || this.#state !== 'opening'
    try {
      const { attach, opened } = await this.#openLine()
      if (isOvertaken()) return await opened.close()
      this.#line = opened
      this.#backoff.reset()
      opened.onGone((why) => this.#gone(why))
      attach()
      this.#move('opened')
    } catch (error) {
      if (isOvertaken()) return
      await this.#giveUp()
      if (isOvertaken()) return
      const why = faultOf(error, 'line_refused', `${this.path} could not be opened.`)
      this.#move(why.code === 'line_absent' ? 'notThere' : 'refused', why)
      this.#retryLater()
    }
  }

  async #openLine(): Promise<{ opened: HeldLine; attach(): void }> {
    const { adapter, path } = this
    if (adapter.openLine) return { opened: await adapter.openLine(), attach() {} }
    const opened = await this.#parts.opener.open(path, this.#parts.line)
    return { opened, attach: () => adapter.attach(countedLine(opened, this.#bytes)) }
  }

  #gone(why: Fault): void {
    if (this.#state !== 'open') return
    const lost = this.#line
    this.#line = undefined
    this.#move('gone', why)
    void this.#leave(lost, why).catch((error) => this.#tell(error))
    this.#retryLater()
  }

  /** Closes the line even if the adapter fails to detach. */
  async #leave(lost: HeldLine | undefined, why?: Fault): Promise<void> {
    try {
      await this.adapter.detach(why)
    } finally {
      await lost?.close()
    }
  }

  /** The adapter did not accept the line: releases it, so that the next attempt does not find it busy. */
  async #giveUp(): Promise<void> {
    const refused = this.#line
    this.#line = undefined
    if (refused) await this.#leave(refused).catch((error) => this.#tell(error))
  }

  /** Publishes an error that no caller waits for: the line is already gone, and that must not affect other ports. */
  #tell(error: unknown): void {
    const { code, message } = faultOf(error, 'line_gone', `${this.path} was not closed as it should be.`)
    this.#parts.publish('error', { code, message })
  }

  #retryLater(): void {
    const { clock } = this.#parts
    const waitMs = this.#backoff.next()
    const timer = clock.after(waitMs, () => {
      this.#retry = undefined
      this.#move('retryDue', this.#fault)
      this.#opening = this.#tryOpen()
    })
    this.#retry = { timer, atEpochMs: clock.epochMs() + waitMs }
  }

  #cancelRetry(): void {
    this.#retry?.timer.cancel()
    this.#retry = undefined
  }
}

function shown(fault: Fault | undefined): PortLife['fault'] {
  return fault ? { code: fault.code, message: fault.message } : null
}
