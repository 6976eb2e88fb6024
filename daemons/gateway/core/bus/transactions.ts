/** A request on one line: bus states, priorities, the replies that units still owe, sending, waiting for the reply. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { ExpectedFrame, Line, PromptLine, RelaySocket } from '#kit/line/line.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { sendWithin, wireUs } from '#kit/pure/line.ts'
import { framePayload } from '../lines/events.ts'
import type { BusCounts, BusFaults } from './faults.ts'
import type { UnitDebts } from './holds.ts'
import type { BusProtocol, BusReply, BusRequest, Sent } from './protocol.ts'
import type { BusSettings } from './settings.ts'

// The states of a line on which we are the master: state x event -> next state.

/**
 * - `closed` no line
 * - `settling` just opened: another program may have asked a unit, so nothing is sent until no reply to that can come
 * - `idle` nothing to do
 * - `gap` a request waits for silence
 * - `sending` the driver has the request
 * - `waiting` the request was sent, and no byte of a reply is there
 * - `receiving` bytes are there that may become the reply
 * - `turnaround` a broadcast was sent, and units carry it out
 */
export type BusState = 'closed' | 'settling' | 'idle' | 'gap' | 'sending' | 'waiting' | 'receiving' | 'turnaround'

/**
 * - `attached`, `detached` the line was opened; closed or lost
 * - `settled` the time after opening is over
 * - `wanted` a request is queued that may be sent
 * - `silent` the line was silent for 3.5 characters
 * - `sent`, `sentToAll` the last bit of the request is out; the last bit of a broadcast is out
 * - `heard`, `cleared` bytes are there that may be a reply; those bytes were no reply
 * - `answered` the reply is proven
 * - `turned` the turnaround delay is over
 * - `givenUp` no silence, nothing left to send, not sent, or no reply in time
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

// The replies that units owe when the adapter of their line goes: the next adapter holds these units just the same.

/** The replies that the units of one line still owe. */
export interface BusDebts<Request extends BusRequest> {
  /** @param by the adapter that leaves the line; if it comes back, it still knows them itself */
  leave(by: object, units: readonly UnitDebts<Request>[]): void
  /** @returns what another adapter has left here, without what is over by now */
  take(by: object): readonly UnitDebts<Request>[]
}

/**
 * Kept by device path. A port that is set up anew gets a new adapter, which has asked nothing yet: it would take the
 * reply to the old adapter's last request for the reply to its own first one.
 * @see docs/decisions/late-replies.md
 */
export function createBusDebts<Request extends BusRequest>(clock: Clock): (path: string) => BusDebts<Request> {
  const lines = new Map<string, { by: object; units: readonly UnitDebts<Request>[] }>()
  const isOwing = ({ overMs }: UnitDebts<Request>) => overMs > clock.monotonicMs()

  /** Drops the lines with nothing owed, as ports come and go. */
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

// How other parts of the gateway send requests on a line.

/**
 * Which request goes first; within one priority, the one that came first.
 * - `operator` somebody waits for the reply: a call of the API, a program that writes
 * - `poll` a read that is repeated: points, reads of other programs
 * - `background` work that is not urgent: a scan
 */
export type Priority = 'operator' | 'poll' | 'background'

/** The priorities, the highest first. */
export const priorities: readonly Priority[] = ['operator', 'poll', 'background']

export interface AskHow {
  priority: Priority
  /**
   * How long it may take in all, in the queue and on the line, ms; left out: `settings.request_deadline_ms`. It may
   * wait in the queue for two response time-outs in any case.
   */
  deadlineMs?: number
  /** Who may withdraw it while it is queued. */
  owner?: object
  /** Is sent to a silent unit too, in a gap between polls, and probes it: for a scan, which asks each unit once. */
  evenSilent?: boolean
  /**
   * Called once the request is sent, if any reply of this form would be believed. The caller may then let the line relay
   * the reply to its own client; that permission ends with the request.
   */
  onExpected?(reply: ExpectedFrame): void
  /** How many bytes of the request the line has already sent, as `admit` allowed. */
  outBytes?: number
  /** Is for no unit in particular, as a search is: no unit is judged by what comes of it, and none owes its reply. */
  isWildcard?: boolean
}

/** A proven reply, no matter who sent the request. */
export interface SeenReply<Request extends BusRequest, Reply extends BusReply> {
  request: Request
  /** It may be a refusal. */
  reply: Reply
  /** Milliseconds from the end of the request to the end of the reply; null where both were overheard in one read. */
  tookMs: number | null
  /** When the reply was proven, by the monotonic clock, milliseconds. */
  atMs: number
}

/** How points, a scan and other parts of the gateway send requests on a line. */
export interface BusAsker<Request extends BusRequest, Reply extends BusReply> {
  /**
   * Sends a request when its turn comes.
   * @returns the proven reply, which may be a refusal; null after a broadcast
   * @throws Fault of one of the kinds of `BusFaultKind`, `queue_full`, `line_closed`
   */
  exchange(sent: Sent<Request>, how: AskHow): Promise<Reply | null>
  /** The same, but throws a refusal. */
  ask(request: Request, how: AskHow): Promise<Reply | null>
  /** Rejects the queued requests of this owner. Its request in flight runs to its end. */
  withdraw(owner: object): void
  /** See `PromptLine`; undefined where the line relays nothing. */
  relayTo(socketFd: number): RelaySocket | undefined
  /**
   * Lets the line itself send the next read of that unit that comes from that socket. Only while the bus would send it at
   * once and believe its reply: nothing waits, and the unit is well. `exchange` must be called with `outBytes` in the same
   * turn. Any other request ends the permission.
   */
  admit(unitId: number, relay: RelaySocket): void
}

/** What a bus tells and asks the part that polls, and what an earlier adapter left about its line. */
export interface BusHooks<Request extends BusRequest, Reply extends BusReply> {
  debts?: BusDebts<Request>
  /**
   * Runs after each proven reply, before the caller gets it. Must be quick and not throw. Undefined while nobody wants
   * them, so it is looked up for each.
   */
  onReply?: ((seen: SeenReply<Request, Reply>) => void) | undefined
  /** Runs after a broadcast was sent and units had time to carry it out. Must be quick and not throw. */
  onBroadcast?(request: Request): void
  /**
   * Milliseconds until the next poll is due that is not queued already, 0 where one is overdue, Infinity where nothing
   * is polled. A request that may cost a whole time-out is sent only where that much time is left.
   */
  idleMs?(): number
  /** Whether a point names the unit. Such a unit is not forgotten, however seldom it is read. */
  isPolled?(unitId: number): boolean
}

// One request, queued or in flight.

/** `resolve` gets null for a broadcast, which has no reply. */
export interface Transaction<Request extends BusRequest, Reply extends BusReply> {
  sent: Sent<Request>
  how: AskHow
  /** When its last bit was out, by the monotonic clock. */
  sentAtMs: number
  /** When it was first added to the queue. */
  addedAtMs: number
  /** It is a fence, sent on behalf of another request. */
  isFence?: boolean
  /** A reply that counts once a fence sent after it has been answered. */
  doubted?: { reply: Reply; atMs: number }
  resolve(reply: Reply | null): void
  reject(fault: Fault): void
}

/** The part of a transaction that says what is asked and how, without the caller's `resolve` and `reject`. */
export interface Asking<Request extends BusRequest> {
  sent: Sent<Request>
  how: AskHow
}

type QueueSettings = Pick<BusSettings, 'queue' | 'queue_reserve'>

/** The queue length up to which a priority may add. Each leaves places to the higher ones, and has at least one. */
export function placesOf({ queue, queue_reserve: reserve }: QueueSettings): Record<Priority, number> {
  const leaving = (places: number) => Math.max(1, queue - places)
  return { operator: queue, poll: leaving(reserve), background: leaving(2 * reserve) }
}

/** Places that polls have even where operators fill the queue. They are beyond `queue`, so operators lose none. */
export function ownPlacesOf({ queue_reserve: reserve }: QueueSettings): Record<Priority, number> {
  return { operator: 0, poll: reserve, background: 0 }
}

/**
 * How many reads of points are handed to the bus at once: only a part of the queue, so that reads go in the order in
 * which they are due, not in the order in which they and others' requests arrive. Reads that a dead unit holds up leave
 * room for the rest.
 */
export function pointPlacesOf({ queue, queue_reserve: reserve }: QueueSettings): number {
  return Math.max(1, Math.min(Math.floor(queue / 4), queue - reserve))
}

// The silence before each request.

interface SilenceParts {
  clock: Clock
  /** The line that can wait more precisely than the clock; undefined where it cannot. */
  prompt: PromptLine | undefined
  /** When the line will have been silent long enough, by the monotonic clock; each byte puts it off. */
  silentAtMs(): number
  /** How long to wait for silence. */
  limitMs: number
  /** What a prompt line is to send when the silence is over; undefined: `onSilent` decides it then. Asked before each wait. */
  chosen(): Uint8Array | undefined
  /** That was sent: the line took the first `taken` bytes. Perhaps before `awaitSilence` returns. */
  onSent(taken: number): void
  onSilent(): void
  onBusy(waitedMs: number): void
}

/** A wait for silence. */
export interface SilenceWait extends Timer {
  /** What was chosen may be the wrong request by now: `onSilent` decides. */
  decideLater(): void
}

/**
 * Waits for silence. Even after a long silence, input still in the driver is read before the send, so that an old reply
 * is never read after a new request was sent.
 */
export function awaitSilence(parts: SilenceParts): SilenceWait {
  const { clock, prompt } = parts
  const end = { onSent: parts.onSent, run: look }
  const sinceMs = clock.monotonicMs()
  let timer = next()

  function leftMs(): number {
    return parts.silentAtMs() - clock.monotonicMs()
  }

  function next(): Timer {
    if (!prompt) return leftMs() > 0 ? clock.after(leftMs(), waitOn) : clock.soon(look)
    const frame = parts.chosen()
    return frame ? prompt.sendAfter(leftMs(), frame, end) : prompt.readAfter(leftMs(), look)
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

  return {
    cancel: () => timer.cancel(),
    decideLater() {
      timer.cancel()
      if (prompt) timer = prompt.readAfter(leftMs(), look)
    },
  }
}

interface SendParts<Request extends BusRequest> {
  port: string
  baud: number
  clock: Clock
  settings: Pick<BusSettings, 'send_limit_ms'>
  protocol: Pick<BusProtocol<Request, BusReply>, 'describeRequest' | 'heldBytesOf'>
  faults: BusFaults<Request>
  counts: BusCounts
  publish(event: string, payload: unknown, sizeBytes?: number): void
}

/**
 * @returns when the last bit is out, by the monotonic clock, milliseconds; a promise where the line has to be waited for.
 *   It is never sooner than the time on the wire allows, even where the driver drains early (a USB adapter, a pty), so it
 *   may lie in the future.
 * @param alreadyTaken how many of its bytes the line has already, by `sendAfter`
 * @throws Fault of kind `sendTimeout`, and what the line throws; never but through the promise
 */
export function sendRequest<Request extends BusRequest>(
  parts: SendParts<Request>,
  line: Line,
  asking: Asking<Request>,
  alreadyTaken?: number,
): number | Promise<number> {
  const { frame, request } = asking.sent
  const { clock, counts, faults, settings } = parts
  const startMs = clock.monotonicMs()
  const onWireMs = wireUs(parts, frame.length) / 1000
  const outAtMs = () => Math.max(clock.monotonicMs(), startMs + onWireMs)
  counts.requests++
  const taken = alreadyTaken ?? line.prompt?.send(frame) ?? 0
  if (taken === frame.length && !line.prompt?.isWired()) {
    publishSent(parts, asking)
    return outAtMs()
  }
  const limitMs = 2 * onWireMs + settings.send_limit_ms
  const limit = { clock, line, limitMs, late: (waitedMs: number) => faults.sendTimeout(request, waitedMs) }
  return sendWithin(limit, () => writeRequest(parts, line, asking, taken)).then(outAtMs, (error) => {
    throw faultOf(error, 'line_write_failed', `${parts.port} took no bytes.`)
  })
}

/** @param taken how many of its bytes the line has already */
async function writeRequest<Request extends BusRequest>(
  parts: SendParts<Request>,
  line: Line,
  asking: Asking<Request>,
  taken: number,
): Promise<void> {
  const rest = asking.sent.frame.subarray(taken)
  if (rest.length > 0) await line.write(rest)
  publishSent(parts, asking)
  await line.drain()
}

function publishSent<Request extends BusRequest>(
  { clock, counts, protocol, publish }: SendParts<Request>,
  { how, sent }: Asking<Request>,
): void {
  const { frame, request } = sent
  counts.txFrames++
  const atUs = clock.monotonicMs() * 1000
  const payload = () => {
    const decoded = protocol.describeRequest(request, 'request')
    return framePayload({ direction: 'tx', frame, atUs }, { decoded, priority: how.priority })
  }
  publish('frame', payload, protocol.heldBytesOf(frame))
}

interface ExpectParts<Request extends BusRequest> {
  protocol: Pick<BusProtocol<Request, BusReply>, 'expectedReply'>
  receiver: { readonly isClear: boolean; readonly hasHeard: boolean }
  holds: { owed(unitId: number): readonly unknown[] }
  copies: { isTrusted(unitId: number): boolean }
}

/**
 * Tells the caller of a request that has just been sent that its reply may be relayed, if any reply of the right form would
 * be believed: the unit owes no other reply, its replies are not in doubt, and the line is known to have no echo. On a line
 * that might echo, `checkTwin` may send another request for the same caller first.
 * @returns ends the permission; undefined if there is none
 */
export function expectReply<Request extends BusRequest>(
  parts: ExpectParts<Request>,
  prompt: PromptLine | undefined,
  { how, isFence, sent }: Pick<Transaction<Request, BusReply>, 'how' | 'isFence' | 'sent'>,
): (() => void) | undefined {
  if (!prompt || !how.onExpected || isFence || parts.receiver.hasHeard) return undefined
  const reply = isBelieved(parts, sent.request.unitId) ? parts.protocol.expectedReply?.(sent) : undefined
  if (!reply) return undefined
  how.onExpected(reply)
  return prompt.endRelay
}

/** Whether the next complete reply of the unit to a request would be believed, whatever its values. */
export function isBelieved(
  { copies, holds, receiver }: Pick<ExpectParts<BusRequest>, 'copies' | 'holds' | 'receiver'>,
  unitId: number,
): boolean {
  return receiver.isClear && holds.owed(unitId).length === 0 && copies.isTrusted(unitId)
}

// The wait for one reply: from the end of a request to its proven reply, or to its time-out.

interface ReplyWaitParts<Reply> {
  clock: Clock
  settings: Pick<BusSettings, 'byte_gap_ms' | 'reply_limit_ms' | 'response_timeout_ms'>
  baud: number
  /** Bytes of the longest frame. */
  longestBytes: number
  receiver: {
    /** How many bytes are there that are no whole frame yet. */
    readonly pending: number
    take(isQuiet: boolean): Reply | undefined
  }
}

/** What comes of the wait: one of the two, once. */
interface ReplyWaitEnd<Reply> {
  /** The proven reply came; a refusal is one. */
  onReply(reply: Reply): void
  /** No reply came in time. */
  onNone(): void
}

/** What each step of a request needs. */
export type StepParts<Request extends BusRequest, Reply> = SendParts<Request> &
  ExpectParts<Request> &
  ReplyWaitParts<Reply>

export interface ReplyWait {
  /** More bytes have been fed to the receiver. */
  look(): void
  cancel(): void
}

/** @param sentAtMs when the last bit of the request is out; may lie in the future by its time on the wire */
export function waitForReply<Reply>(
  parts: ReplyWaitParts<Reply>,
  sentAtMs: number,
  end: ReplyWaitEnd<Reply>,
): ReplyWait {
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
    end.onReply(reply)
    return true
  }

  /**
   * Reads input once more before a reply counts as missing: after a stall of this process its timers run before its
   * input is read, so the reply may still be in the driver.
   */
  function lastLook(): void {
    timer = clock.soon(onDeadline)
  }

  /**
   * If there are bytes that are no frame yet, waits on, up to the limit: a reply that has begun may go on, and a reply
   * behind noise is not accepted before silence has followed it.
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
    end.onNone()
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
