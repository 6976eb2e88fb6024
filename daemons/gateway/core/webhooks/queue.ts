/** The queue of one webhook: attempts, back-off, and bounds by count and by bytes. */

import type { Clock, Timer } from '#kit/clock.ts'
import { Backoff, createLogGate, type LogGate } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import type { PausedTarget } from '../lines/conditions.ts'
import type {
  WebhookAnswer,
  WebhookLimits,
  WebhookLog,
  WebhookRecord,
  WebhookRequest,
  WebhookSender,
} from './records.ts'

// One attempt to deliver one event to one target, with its deadline.

/** How an attempt ended. */
interface WebhookOutcome {
  /** The target answered 2xx. */
  isDelivered: boolean
  /** Status of the answer; null when none came. */
  status: number | null
  /** What happened, as a sentence for users. */
  message: string
  tookMs: number
}

/** What an attempt needs. `timeoutMs` is for the whole exchange. */
interface AttemptParts {
  sender: WebhookSender
  clock: Clock
  timeoutMs: number
}

/**
 * Sends once and waits for the answer, at most `timeoutMs`. Never rejects: a failure is an outcome, too. The status
 * line decides: a 2xx whose body is late or breaks off counts as delivered, since a second copy of an event that the
 * target has taken helps nobody (docs/decisions/webhooks.md).
 * @param stop aborts the attempt: its webhook was disabled or deleted, or the daemon stops
 */
export async function attemptDelivery(
  parts: AttemptParts,
  request: WebhookRequest,
  stop: AbortSignal,
): Promise<WebhookOutcome> {
  const startedMs = parts.clock.monotonicMs()
  const cut = new AbortController()
  const over = Promise.withResolvers<Ending>()
  const end = (ending: Ending) => {
    over.resolve(ending)
    cut.abort()
  }
  const deadline = parts.clock.after(parts.timeoutMs, () =>
    end({ message: `no answer within ${durationText(parts.timeoutMs)}` }),
  )
  const onStop = () => end({ message: 'given up' })
  stop.addEventListener('abort', onStop, { once: true })
  if (stop.aborted) onStop()
  try {
    const ending = await Promise.race([over.promise, exchange(parts.sender, request, cut.signal)])
    if (ending.answer) await Promise.race([over.promise, ending.answer.done])
    return outcomeOf(ending, parts.clock.monotonicMs() - startedMs)
  } finally {
    deadline.cancel()
    stop.removeEventListener('abort', onStop)
  }
}

interface Ending {
  answer?: WebhookAnswer
  message: string
}

function exchange(sender: WebhookSender, request: WebhookRequest, signal: AbortSignal): Promise<Ending> {
  return sender.send(request, signal).then(
    (answer) => ({ answer, message: answerSentence(answer.status) }),
    (error: unknown) => ({ message: error instanceof Error ? error.message : String(error) }),
  )
}

function outcomeOf({ answer, message }: Ending, tookMs: number): WebhookOutcome {
  const status = answer?.status ?? null
  return { isDelivered: status !== null && isSuccess(status), status, message, tookMs: Math.round(tookMs) }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

function answerSentence(status: number): string {
  if (isSuccess(status)) return `answered ${status}`
  const isRedirect = status >= 300 && status <= 399
  return isRedirect
    ? `answered ${status}, a redirect, which is not followed`
    : `answered ${status}, expected 200 to 299`
}

// The events queued for one target, in order, bounded by count and by bytes, and the bytes of all targets together.

/** One event on its way to a target. */
export interface Outgoing {
  port: string
  event: string
  /** The delivery body as JSON in UTF-8; shared between queues, never changed. */
  body: Uint8Array
}

/** The bounds: events and bytes of their bodies. */
export interface WaitingBounds {
  queue: number
  queue_bytes: number
}

interface WaitingLine {
  length(): number
  /**
   * Adds at the end and drops the oldest until the bounds hold; an event that exceeds the byte bound alone is dropped
   * itself. @returns how many events were dropped
   */
  add(outgoing: Outgoing): number
  /** Removes and returns the oldest event. */
  take(): Outgoing | undefined
}

/** The bytes queued for all targets together. A body queued for several targets is held once and counted once. */
interface HeldBodies {
  readonly bytes: number
  hold(body: Uint8Array): void
  letGo(body: Uint8Array): void
  /** A queue that has become non-empty; it leaves when it is empty again. */
  join(line: HoldingLine): void
  leave(line: HoldingLine): void
  /** While too many bytes are held, the queue that holds most drops its oldest event. */
  makeRoom(): void
}

interface HoldingLine {
  sizeBytes(): number
  loseOldest(): void
}

export function createHeldBodies(mostBytes: number): HeldBodies {
  const holders = new Map<Uint8Array, number>()
  const lines = new Set<HoldingLine>()
  let bytes = 0
  return {
    get bytes() {
      return bytes
    },
    hold(body) {
      const many = holders.get(body) ?? 0
      if (many === 0) bytes += body.byteLength
      holders.set(body, many + 1)
    },
    letGo(body) {
      const many = holders.get(body) ?? 0
      if (many > 1) holders.set(body, many - 1)
      else if (holders.delete(body)) bytes -= body.byteLength
    },
    join: (line) => void lines.add(line),
    leave: (line) => void lines.delete(line),
    makeRoom() {
      while (bytes > mostBytes && lines.size > 0) {
        let most: HoldingLine | undefined
        for (const line of lines) if (!most || line.sizeBytes() > most.sizeBytes()) most = line
        most?.loseOldest()
      }
    },
  }
}

interface Entry {
  outgoing: Outgoing
  next: Entry | undefined
}

/**
 * A linked list, not an array: dropping the oldest of 65 536 events for each new one must cost nothing.
 * @param onMadeRoom its oldest event was dropped, because too many bytes are held for all targets together
 */
export function createWaitingLine(bounds: WaitingBounds, held: HeldBodies, onMadeRoom: () => void): WaitingLine {
  let first: Entry | undefined
  let last: Entry | undefined
  let length = 0
  let sizeBytes = 0
  const self: HoldingLine = {
    sizeBytes: () => sizeBytes,
    loseOldest() {
      take()
      onMadeRoom()
    },
  }

  function take(): Outgoing | undefined {
    const entry = first
    if (!entry) return undefined
    first = entry.next
    if (!first) last = undefined
    length -= 1
    sizeBytes -= entry.outgoing.body.byteLength
    held.letGo(entry.outgoing.body)
    if (length === 0) held.leave(self)
    return entry.outgoing
  }

  return {
    length: () => length,
    add(outgoing) {
      const entry: Entry = { outgoing, next: undefined }
      if (last) last.next = entry
      else first = entry
      last = entry
      length += 1
      sizeBytes += outgoing.body.byteLength
      held.hold(outgoing.body)
      held.join(self)
      let dropped = 0
      while (length > bounds.queue || sizeBytes > bounds.queue_bytes) {
        take()
        dropped += 1
      }
      held.makeRoom()
      return dropped
    },
    take,
  }
}

/** Counts since the daemon started. Every event is delivered, failed or dropped in the end, or still queued. */
interface WebhookCounters {
  delivered: number
  /** Events that also failed on the retry. */
  failed: number
  /** Events without a completed attempt: the queue was full, the webhook disabled or deleted, or the daemon stopped. */
  dropped: number
  /** Second attempts. */
  retried: number
  /** Events held now, including the one being sent. */
  queued: number
}

/** The state of a target, as the API shows it. */
export interface WebhookState {
  counters: WebhookCounters
  /** The newest failed attempt, `at` in epoch milliseconds; `status` null when no answer came. */
  lastError: { at: number; message: string; status: number | null } | null
  /** Epoch milliseconds. */
  lastDeliveredAt: number | null
  /** Until when the target is not tried because it failed so often, epoch milliseconds; null if it is not paused. */
  pausedUntil: number | null
}

/** What all queues share. */
export interface QueueParts {
  sender: WebhookSender
  clock: Clock
  log: WebhookLog
  /** A target is paused, or null: it takes events again, or is not wanted any more. */
  onPaused?: (port: string, id: string, pause: PausedTarget | null) => void
  limits: WebhookLimits
  /** The bytes queued for all targets together. */
  held: HeldBodies
}

/**
 * The events for one target. They are sent in the order in which they came, each at most twice. A slow target fills its
 * own queue and nothing else. The caller of `push` decides whether an event is wanted.
 */
export class WebhookQueue {
  readonly #parts: QueueParts
  readonly #port: string
  readonly #waiting: WaitingLine
  readonly #counters = { delivered: 0, failed: 0, dropped: 0, retried: 0 }
  readonly #failures: LogGate
  readonly #drops: LogGate
  #record: WebhookRecord
  #stopper = new AbortController()
  #dropReason = ''
  #lastError: WebhookState['lastError'] = null
  #lastDeliveredAt: number | null = null
  #isRunning = false
  #isUnderWay = false
  #failuresInRow = 0
  readonly #backoff: Backoff
  #pause: { until: number; end: () => void } | undefined
  /** Whether `onPaused` was last told of a pause; undefined: it was told nothing. */
  #wasPaused: boolean | undefined
  #isEnding = false
  #idleWaiters: (() => void)[] = []

  constructor(parts: QueueParts, port: string, record: WebhookRecord) {
    this.#parts = parts
    this.#port = port
    this.#record = record
    this.#waiting = createWaitingLine(parts.limits, parts.held, () =>
      this.#countDropped(1, { reason: 'too much waits for all targets together; this one has most' }),
    )
    this.#backoff = new Backoff({ firstMs: parts.limits.pause_first_ms, maxMs: parts.limits.pause_max_ms })
    this.#failures = this.#gate('webhook_failed')
    this.#drops = this.#gate('webhook_dropped')
  }

  /** Queues an event, dropping the oldest ones if the bounds require it. Sends nothing before it returns. */
  push(outgoing: Outgoing): void {
    const dropped = this.#waiting.add(outgoing)
    if (dropped > 0) this.#countDropped(dropped, { event: outgoing.event, reason: 'queue full, the oldest go' })
    if (this.#isRunning || this.#waiting.length() === 0) return
    this.#isRunning = true
    // The bus comes first: opening a connection takes a while, so it is not done in the turn that read a frame.
    this.#parts.clock.after(0, () => void this.#run())
  }

  /** Counts an event that could not even be queued. */
  lose(event: string, reason: string, count = 1): void {
    this.#countDropped(count, { event, reason })
  }

  /** Sets address, headers and secret. The next attempt uses them, also for queued events and for retries. */
  setRecord(record: WebhookRecord): void {
    if (!isSameTarget(this.#record, record)) this.resume()
    this.#record = record
  }

  /** Tries the target now and forgets its failures, because its settings changed or it has just answered. */
  resume(): void {
    this.#failuresInRow = 0
    this.#backoff.reset()
    this.#pause?.end()
    this.#tellPaused(null)
  }

  /** Shutdown: sends what is queued, except to a target that is paused or becomes paused. */
  end(): void {
    this.#isEnding = true
    if (this.#pause) this.drop('gateway stopped')
  }

  /** Drops what is queued and aborts the attempt under way. Events that are pushed later are sent. */
  drop(reason: string): void {
    this.#dropReason = reason
    this.#stopper.abort()
    this.#stopper = new AbortController()
    this.#pause?.end()
    if (!this.#isEnding) this.#tellPaused(null)
    let dropped = 0
    while (this.#waiting.take()) dropped += 1
    if (dropped > 0) this.#countDropped(dropped, { reason })
    this.#failures.close()
    this.#drops.close()
  }

  /** Resolves when nothing is queued and nothing is being sent. */
  async whenIdle(): Promise<void> {
    if (this.#isRunning) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  state(): WebhookState {
    const queued = this.#waiting.length() + (this.#isUnderWay ? 1 : 0)
    return {
      counters: { ...this.#counters, queued },
      lastError: this.#lastError,
      lastDeliveredAt: this.#lastDeliveredAt,
      pausedUntil: this.#pause?.until ?? null,
    }
  }

  /** Sends what is queued, one event after another. Never rejects: attempts end in outcomes. */
  async #run(): Promise<void> {
    for (let outgoing = this.#waiting.take(); outgoing; outgoing = this.#waiting.take()) {
      this.#isUnderWay = true
      await this.#deliver(outgoing, this.#stopper.signal)
      this.#isUnderWay = false
      if (this.#failuresInRow >= this.#parts.limits.pause_after) await this.#rest()
    }
    this.#isRunning = false
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  /**
   * Pauses a target that failed so often in a row, instead of trying it with every event: connections to a dead target
   * would slow the others, and queued events outlive a short outage. Events that come meanwhile are queued within the
   * bounds.
   */
  #rest(): Promise<void> {
    if (this.#isEnding) {
      this.drop('gateway stopped')
      return Promise.resolve()
    }
    const { clock } = this.#parts
    const waitMs = this.#backoff.next()
    return new Promise((resolve) => {
      const end = () => {
        this.#pause = undefined
        timer.cancel()
        resolve()
      }
      const timer: Timer = clock.after(waitMs, end)
      this.#pause = { until: clock.epochMs() + waitMs, end }
      this.#tellPaused({ target: this.#origin, reason: this.#lastError?.message ?? 'it failed' })
    })
  }

  /** Told at each change; a queue that is new tells also that all is well, as the one before it may have told a pause. */
  #tellPaused(pause: PausedTarget | null): void {
    if (this.#wasPaused === (pause !== null)) return
    this.#wasPaused = pause !== null
    this.#parts.onPaused?.(this.#port, this.#record.id, pause)
  }

  /** The part of the address that may be shown: with many services the path and the query are credentials. */
  get #origin(): string {
    return URL.parse(this.#record.url)?.origin ?? this.#record.id
  }

  /** Interface document A, Events 5: a failed delivery is retried once, then logged and dropped. */
  async #deliver(outgoing: Outgoing, stop: AbortSignal): Promise<void> {
    let outcome = await this.#attempt(outgoing, stop, false)
    if (!outcome.isDelivered && !stop.aborted) {
      this.#counters.retried += 1
      outcome = await this.#attempt(outgoing, stop, true)
    }
    if (outcome.isDelivered) {
      this.#counters.delivered += 1
      this.resume()
      this.#lastDeliveredAt = this.#parts.clock.epochMs()
    } else if (stop.aborted) {
      this.#countDropped(1, { event: outgoing.event, reason: this.#dropReason })
    } else {
      this.#counters.failed += 1
      this.#failuresInRow += 1
      this.#failures.note({ event: outgoing.event, status: outcome.status, reason: outcome.message })
    }
  }

  async #attempt(outgoing: Outgoing, stop: AbortSignal, isFresh: boolean): Promise<WebhookOutcome> {
    const { url, headers, secret } = this.#record
    const parts = { ...this.#parts, timeoutMs: this.#parts.limits.timeout_ms }
    const outcome = await attemptDelivery(parts, { url, headers, secret, ...outgoing, isFresh }, stop)
    if (!outcome.isDelivered && !stop.aborted)
      this.#lastError = { at: parts.clock.epochMs(), message: outcome.message, status: outcome.status }
    return outcome
  }

  #countDropped(count: number, facts: Record<string, unknown>): void {
    this.#counters.dropped += count
    this.#drops.note(facts, count)
  }

  #gate(event: string): LogGate {
    const { clock, limits, log } = this.#parts
    return createLogGate(clock, limits.log_every_ms, (count, facts) => {
      log.warning(event, { port: this.#port, webhook: this.#record.id, target: this.#origin, count, ...facts })
    })
  }
}

function isSameTarget(one: WebhookRecord, other: WebhookRecord): boolean {
  const parts = ({ url, secret, enabled, headers }: WebhookRecord) => JSON.stringify([url, secret, enabled, headers])
  return parts(one) === parts(other)
}
