/** How the parts of the gateway ask a Modbus RTU line of which it is master. */
import type { ModbusRequest } from '../wire/modbus-request.ts'
import type { ModbusDebts } from './modbus-debts.ts'

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
   * @param request its fields make sense together, as core/modbus-request-check.ts has it
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
