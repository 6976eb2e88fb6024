/** One request to a Modbus line on its way. */
import type { Fault } from '#kit/fault.ts'
import type { SentRequest } from '../wire/modbus-reply.ts'
import type { AskHow } from './modbus-ask.ts'

/** `resolve` with null: a broadcast, which has no reply. */
export interface Transaction {
  sent: SentRequest
  how: AskHow
  /** When its last bit was out, by the monotonic clock. */
  sentAtMs: number
  resolve(reply: Uint8Array | null): void
  reject(fault: Fault): void
}

/** What is asked, and how: all that counts of a transaction where nobody has to be told. */
export type Asking = Pick<Transaction, 'how' | 'sent'>
