/** A request on its way over one line: how it is asked, its priority, its states, and what units owe meanwhile. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import type { SentRequest } from '../../wire/modbus-reply.ts'
import type { ModbusRequest } from '../../wire/modbus-request.ts'
import type { UnitDebts } from './holds.ts'
import type { ModbusSettings } from './settings.ts'

// The life of a Modbus line as master sees it: state x event -> next state.

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
export interface ModbusDebts {
  /** @param by the adapter that leaves the line; it may come back to it, and knows them then */
  leave(by: object, units: readonly UnitDebts[]): void
  /** @returns what another adapter has left, as far as it is not over */
  take(by: object): readonly UnitDebts[]
}

/**
 * By device path. A port that is set up anew has another adapter, which has asked nobody: the answer to the last request
 * of the one before would be believed as the first of its own.
 * @see docs/decisions/late-replies.md
 */
export function createModbusDebts(clock: Clock): (path: string) => ModbusDebts {
  const lines = new Map<string, { by: object; units: readonly UnitDebts[] }>()
  const isOwing = ({ overMs }: UnitDebts) => overMs > clock.monotonicMs()

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

// How the parts of the gateway ask a Modbus RTU line of which it is master.

/**
 * Whose request goes first; within one priority, who came first.
 * - `operator` somebody waits for it: `rest/request`, writes over Modbus TCP
 * - `poll` what is read again and again: points, reads over Modbus TCP
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
export interface SeenReply {
  request: ModbusRequest
  /** The whole frame; may be an exception. */
  reply: Uint8Array
  /** Milliseconds from the end of the request to the end of the reply; null where both were overheard in one read. */
  tookMs: number | null
  /** When the reply was proven, by the monotonic clock, milliseconds. */
  atMs: number
}

/** What points, the scan and Modbus TCP use of a master. */
export interface ModbusAsker {
  /**
   * Sends a request when its turn comes.
   * @param frame a whole request of a master, with its checksum
   * @returns the proven reply, which may be an exception; null after a broadcast
   * @throws Fault `modbus_timeout`, `modbus_bad_reply`, `modbus_unit_silent`, `modbus_expired`, `modbus_withdrawn`,
   *   `modbus_line_busy`, `modbus_send_timeout`, `queue_full`, `line_closed`, and what opening the frame throws
   */
  exchange(frame: Uint8Array, how: AskHow): Promise<Uint8Array | null>
  /**
   * Functions 1 to 6, 15, 16, 22 and 23.
   * @param request its fields make sense together, as core/modbus/master.ts has it
   * @returns values read (0 or 1 per bit, 0..65535 per register; exactly `quantity` of them), or those written; none for 22
   * @throws Fault `modbus_exception`, `modbus_codec`, and what `exchange` throws
   */
  ask(request: ModbusRequest, how: AskHow): Promise<readonly number[]>
}

/** For those who ask on behalf of somebody that may leave. */
export interface ModbusWithdrawals {
  /** Fails what waits for this owner with `modbus_withdrawn`. What is out runs to its end. */
  withdraw(owner: object): void
}

/** What a master tells the part that polls, and asks of it; and what is known of its line from before. */
export interface MasterHooks {
  readonly debts?: ModbusDebts
  /** After each proven reply, before whoever asked is told. Must be quick and not throw. */
  onReply?(seen: SeenReply): void
  /** After a broadcast was sent and units had time to carry it out. Must be quick and not throw. */
  onBroadcast?(request: ModbusRequest): void
  /**
   * Milliseconds until the next poll is due that does not wait already, 0 where one is overdue, Infinity where nothing
   * is polled. What may cost a whole timeout goes only where that many are left.
   */
  idleMs?(): number
  /** Whether a point names the unit: it is wanted then, however seldom it is read. */
  isPolled?(unitId: number): boolean
}

// One request to a Modbus line on its way.

/** `resolve` with null: a broadcast, which has no reply. */
export interface Transaction {
  sent: SentRequest
  how: AskHow
  /** When its last bit was out, by the monotonic clock. */
  sentAtMs: number
  /** When it came to wait first. */
  addedAtMs: number
  /** A read on behalf of another, to know that nothing older is to come. */
  isFence?: boolean
  /** An answer that holds once a fence was answered behind it. */
  doubted?: { reply: Uint8Array; atMs: number }
  resolve(reply: Uint8Array | null): void
  reject(fault: Fault): void
}

/** What is asked, and how: all that counts of a transaction where nobody has to be told. */
export type Asking = Pick<Transaction, 'how' | 'sent'>

type QueueSettings = Pick<ModbusSettings, 'queue' | 'queue_reserve' | 'tcp_clients'>

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

/** Requests of one Modbus TCP client at the bus at once: all clients together leave the places of points. */
export function clientPlacesOf(settings: QueueSettings): number {
  return Math.max(1, Math.floor((placesOf(settings).poll - pointPlacesOf(settings)) / settings.tcp_clients))
}
