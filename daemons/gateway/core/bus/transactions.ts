/** A request on its way over one line: its states, its priority, what units owe meanwhile, how it is sent and waited for. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Line } from '#kit/line/line.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { sendWithin, wireUs } from '#kit/pure/line.ts'
import { framePayload } from '../lines/events.ts'
import type { BusCounts, BusFaults } from './faults.ts'
import type { UnitDebts } from './holds.ts'
import type { BusProtocol, BusReply, BusRequest, Sent } from './protocol.ts'
import type { BusSettings } from './settings.ts'

// The life of a line on which we ask: state x event -> next state.

/**
 * - `closed` no line
 * - `settling` just opened: who asked last is not known, so nothing is sent until an answer to that cannot come
 * - `idle` nothing to do
 * - `gap` a request waits for silence
 * - `sending` the driver has the request
 * - `waiting` the request is out, nothing of an answer is there
 * - `receiving` bytes are there that may become the answer
 * - `turnaround` a broadcast is out and units carry it out
 */
export type BusState = 'closed' | 'settling' | 'idle' | 'gap' | 'sending' | 'waiting' | 'receiving' | 'turnaround'

/**
 * - `attached`, `detached` the line was opened; closed or lost
 * - `settled` the time after opening is over
 * - `wanted` a request waits that may go
 * - `silent` the line was silent for 3.5 characters
 * - `sent`, `sentToAll` the last bit of the request is out; of a broadcast
 * - `heard`, `cleared` bytes wait that may be an answer; what waited was none
 * - `answered` the answer is proven
 * - `turned` the turnaround delay is over
 * - `givenUp` no silence, nothing left to send, not sent, or no answer in time
 */
export type BusEvent =
  | 'attached'
  | 'detached'
  | 'settled'
  | 'wanted'
  | 'silent'
  | 'sent'
  | 'sentToAll'
  | 'heard'
  | 'cleared'
  | 'answered'
  | 'turned'
  | 'givenUp'

/** A pair that is not listed does not change the state. */
export const busStateTable: Readonly<Record<BusState, Partial<Record<BusEvent, BusState>>>> = {
  closed: { attached: 'settling' },
  settling: { detached: 'closed', settled: 'idle' },
  idle: { detached: 'closed', wanted: 'gap' },
  gap: { detached: 'closed', silent: 'sending', givenUp: 'idle' },
  sending: { detached: 'closed', sent: 'waiting', sentToAll: 'turnaround', givenUp: 'idle' },
  waiting: { detached: 'closed', heard: 'receiving', answered: 'idle', givenUp: 'idle' },
  receiving: { detached: 'closed', cleared: 'waiting', answered: 'idle', givenUp: 'idle' },
  turnaround: { detached: 'closed', turned: 'idle' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextBusState(state: BusState, event: BusEvent): BusState {
  return busStateTable[state][event] ?? state
}

// What units owe when the adapter of their line goes: its successor holds them back as it would have done.

/** Debts of the units of one line. */
export interface BusDebts<Request extends BusRequest> {
  /** @param by the adapter that leaves the line; it may come back to it, and knows them then */
  leave(by: object, units: readonly UnitDebts<Request>[]): void
  /** @returns what another adapter has left, as far as it is not over */
  take(by: object): readonly UnitDebts<Request>[]
}

/**
 * By device path. A port that is set up anew has another adapter, which has asked nobody: the answer to the last request
 * of the one before would be believed as the first of its own.
 * @see docs/decisions/late-replies.md
 */
export function createBusDebts<Request extends BusRequest>(clock: Clock): (path: string) => BusDebts<Request> {
  const lines = new Map<string, { by: object; units: readonly UnitDebts<Request>[] }>()
  const isOwing = ({ overMs }: UnitDebts<Request>) => overMs > clock.monotonicMs()

  /** Ports come and go: what is over is not kept. */
  function forget(): void {
    for (const [path, { units }] of lines) if (!units.some(isOwing)) lines.delete(path)
  }

  return (path) => ({
    leave(by, units) {
      forget()
      const others = lines.get(path)?.units ?? []
      const own = new Set(units.map(({ unitId }) => unitId))
      lines.set(path, { by, units: [...units, ...others.filter(({ unitId }) => !own.has(unitId))] })
    },
    take(by) {
      const left = lines.get(path)
      lines.delete(path)
      return left && left.by !== by ? left.units.filter(isOwing) : []
    },
  })
}

// How the parts of the gateway ask a line.

/**
 * Whose request goes first; within one priority, who came first.
 * - `operator` somebody waits for it: a call of the API, a program that writes
 * - `poll` what is read again and again: points, reads of other programs
 * - `background` what has time: a scan
 */
export type Priority = 'operator' | 'poll' | 'background'

/** Priorities, the first goes first. */
export const priorities: readonly Priority[] = ['operator', 'poll', 'background']

export interface AskHow {
  priority: Priority
  /** How long it may take in all, waiting and asking; left out: `settings.request_deadline_ms`. It may wait for two response timeouts in any case. */
  deadlineMs?: number
  /** Who may withdraw it while it waits. */
  owner?: object
  /** Goes to a silent unit too, in a gap, and is a probe of it: for a scan, which asks each unit once. */
  evenSilent?: boolean
}

/** A proven reply, whoever asked for it. */
export interface SeenReply<Request extends BusRequest, Reply extends BusReply> {
  request: Request
  /** May be a refusal. */
  reply: Reply
  /** Milliseconds from the end of the request to the end of the reply; null where both were overheard in one read. */
  tookMs: number | null
  /** When the reply was proven, by the monotonic clock, milliseconds. */
  atMs: number
}

/** What points, a scan and others in the gateway ask a line by. */
export interface BusAsker<Request extends BusRequest, Reply extends BusReply> {
  /**
   * Sends a request when its turn comes.
   * @returns the proven reply, which may be a refusal; null after a broadcast
   * @throws Fault of one of the kinds of `BusFaultKind`, `queue_full`, `line_closed`
   */
  exchange(sent: Sent<Request>, how: AskHow): Promise<Reply | null>
  /** The same; a refusal is thrown. */
  ask(request: Request, how: AskHow): Promise<Reply | null>
  /** Fails what waits for this owner. What is out runs to its end. */
  withdraw(owner: object): void
}

/** What a bus tells the part that polls, and asks of it; and what is known of its line from before. */
export interface BusHooks<Request extends BusRequest, Reply extends BusReply> {
  readonly debts?: BusDebts<Request>
  /** After each proven reply, before whoever asked is told. Must be quick and not throw. */
  onReply?(seen: SeenReply<Request, Reply>): void
  /** After a broadcast was sent and units had time to carry it out. Must be quick and not throw. */
  onBroadcast?(request: Request): void
  /**
   * Milliseconds until the next poll is due that does not wait already, 0 where one is overdue, Infinity where nothing
   * is polled. What may cost a whole timeout goes only where that many are left.
   */
  idleMs?(): number
  /** Whether a point names the unit: it is wanted then, however seldom it is read. */
  isPolled?(unitId: number): boolean
}

// One request on its way.

/** `resolve` with null: a broadcast, which has no reply. */
export interface Transaction<Request extends BusRequest, Reply extends BusReply> {
  sent: Sent<Request>
  how: AskHow
  /** When its last bit was out, by the monotonic clock. */
  sentAtMs: number
  /** When it came to wait first. */
  addedAtMs: number
  /** A read on behalf of another, to know that nothing older is to come. */
  isFence?: boolean
  /** An answer that holds once a fence was answered behind it. */
  doubted?: { reply: Reply; atMs: number }
  resolve(reply: Reply | null): void
  reject(fault: Fault): void
}

/** What is asked, and how: all that counts of a transaction where nobody has to be told. */
export interface Asking<Request extends BusRequest> {
  sent: Sent<Request>
  how: AskHow
}

type QueueSettings = Pick<BusSettings, 'queue' | 'queue_reserve'>

/** How many may wait in all, with one more of a priority: each leaves places to those above it, and has one in any case. */
export function placesOf({ queue, queue_reserve: reserve }: QueueSettings): Record<Priority, number> {
  const leaving = (places: number) => Math.max(1, queue - places)
  return { operator: queue, poll: leaving(reserve), background: leaving(2 * reserve) }
}

/** Places that polls find whatever operators fill. Beyond `queue`, so that none is taken from those. */
export function ownPlacesOf({ queue_reserve: reserve }: QueueSettings): Record<Priority, number> {
  return { operator: 0, poll: reserve, background: 0 }
}

/**
 * Reads of points handed to the bus at once: a part of the queue, so that what is due goes in order of its instants, and
 * not in order of arrival with what others ask; what a dead unit holds up leaves room for the rest.
 */
export function pointPlacesOf({ queue, queue_reserve: reserve }: QueueSettings): number {
  return Math.max(1, Math.min(Math.floor(queue / 4), queue - reserve))
}

// The silence before each request.

interface SilenceParts {
  clock: Clock
  /** When the line has been silent long enough, by the monotonic clock; moves on with each byte. */
  silentAtMs(): number
  /** How long silence is waited for. */
  limitMs: number
  onSilent(): void
  onBusy(waitedMs: number): void
}

/**
 * Waits for silence. Even where the line was silent for long, input that lies in the driver is read before the send, so
 * that an old reply is never found behind a new request.
 */
export function awaitSilence(parts: SilenceParts): Timer {
  const { clock } = parts
  const sinceMs = clock.monotonicMs()
  let timer = next()

  function next(): Timer {
    const leftMs = parts.silentAtMs() - clock.monotonicMs()
    return leftMs > 0 ? clock.after(leftMs, waitOn) : clock.soon(look)
  }

  function look(): void {
    if (clock.monotonicMs() >= parts.silentAtMs()) parts.onSilent()
    else waitOn()
  }

  function waitOn(): void {
    const waitedMs = clock.monotonicMs() - sinceMs
    if (waitedMs >= parts.limitMs && clock.monotonicMs() < parts.silentAtMs()) parts.onBusy(Math.round(waitedMs))
    else timer = next()
  }

  return { cancel: () => timer.cancel() }
}

interface SendParts<Request extends BusRequest> {
  port: string
  baud: number
  clock: Clock
  settings: Pick<BusSettings, 'send_limit_ms'>
  protocol: Pick<BusProtocol<Request, BusReply>, 'describeRequest' | 'heldBytesOf'>
  faults: BusFaults<Request>
  counts: BusCounts
  line: Line
  publish(event: string, payload: unknown, sizeBytes?: number): void
}

/**
 * @returns when the last bit is out, by the clock's monotonic milliseconds. A driver that drains early (a USB adapter,
 *   a pty) does not shorten it below the time on the wire, so it may lie ahead.
 * @throws Fault of kind `sendTimeout`, and what the line throws
 */
export async function sendRequest<Request extends BusRequest>(
  parts: SendParts<Request>,
  asking: Asking<Request>,
): Promise<number> {
  const { sent } = asking
  const { clock, counts, faults, line, settings } = parts
  const startMs = clock.monotonicMs()
  const onWireMs = wireUs(parts, sent.frame.length) / 1000
  counts.requests++
  const limitMs = 2 * onWireMs + settings.send_limit_ms
  const limit = { clock, line, limitMs, late: (waitedMs: number) => faults.sendTimeout(sent.request, waitedMs) }
  await sendWithin(limit, () => writeRequest(parts, asking)).catch((error) => {
    throw faultOf(error, 'line_write_failed', `${parts.port} took no bytes.`)
  })
  return Math.max(clock.monotonicMs(), startMs + onWireMs)
}

async function writeRequest<Request extends BusRequest>(
  { clock, counts, line, protocol, publish }: SendParts<Request>,
  { how, sent }: Asking<Request>,
): Promise<void> {
  const { frame, request } = sent
  await line.write(frame)
  counts.txFrames++
  const atUs = clock.monotonicMs() * 1000
  const payload = () => {
    const decoded = protocol.describeRequest(request, 'request')
    return framePayload({ direction: 'tx', frame, atUs }, { decoded, priority: how.priority })
  }
  publish('frame', payload, protocol.heldBytesOf(frame))
  await line.drain()
}

// The wait for one reply: from the end of a request to its proven answer, or to the moment none can be hoped for.

interface ReplyWaitParts<Reply> {
  clock: Clock
  settings: Pick<BusSettings, 'byte_gap_ms' | 'reply_limit_ms' | 'response_timeout_ms'>
  baud: number
  /** Of one frame. */
  longestBytes: number
  receiver: {
    /** Bytes that are no frame yet. */
    readonly pending: number
    take(isQuiet: boolean): Reply | undefined
  }
  /** The answer, proven; a refusal is one. */
  onReply(reply: Reply): void
  /** The time is over. */
  onNone(): void
}

export interface ReplyWait {
  /** More bytes have been fed to the receiver. */
  look(): void
  cancel(): void
}

/** @param sentAtMs when the last bit of the request is out; may lie ahead by its time on the wire */
export function waitForReply<Reply>(parts: ReplyWaitParts<Reply>, sentAtMs: number): ReplyWait {
  const { clock, settings, receiver } = parts
  const limitMs =
    sentAtMs + settings.response_timeout_ms + settings.reply_limit_ms + wireUs(parts, parts.longestBytes) / 1000
  let lastByteMs = sentAtMs
  let quietTimer: Timer | undefined
  let timer = clock.after(sentAtMs - clock.monotonicMs() + settings.response_timeout_ms, lastLook)

  function cancel(): void {
    timer.cancel()
    quietTimer?.cancel()
  }

  function take(isQuiet: boolean): boolean {
    quietTimer?.cancel()
    const reply = receiver.take(isQuiet)
    if (!reply) return false
    cancel()
    parts.onReply(reply)
    return true
  }

  /**
   * Input is read once more before a reply is called missing: after a stall of this process its timers run before its
   * input is read, and the reply may lie in the driver.
   */
  function lastLook(): void {
    timer = clock.soon(onDeadline)
  }

  /**
   * Bytes that are no frame yet are waited on, up to the limit: an answer that has begun may go on, and one behind
   * noise is not believed before silence has followed it.
   */
  function onDeadline(): void {
    const silentAtMs = lastByteMs + settings.byte_gap_ms
    const untilMs = receiver.pending > 0 ? Math.min(silentAtMs, limitMs) : 0
    if (untilMs > clock.monotonicMs()) {
      timer = clock.after(untilMs - clock.monotonicMs(), lastLook)
      return
    }
    if (take(clock.monotonicMs() >= silentAtMs)) return
    cancel()
    parts.onNone()
  }

  return {
    cancel,
    look() {
      lastByteMs = clock.monotonicMs()
      if (take(false) || receiver.pending === 0) return
      quietTimer = clock.after(settings.byte_gap_ms, () => void take(true))
    },
  }
}
