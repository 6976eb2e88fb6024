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
