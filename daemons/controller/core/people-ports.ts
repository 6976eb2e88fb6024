/** What the rules about people need of the world, as interfaces that io/ implements. */
import type { Json } from './row.ts'

/** Randomness that nobody can foretell, and a digest that nobody can turn back. */
export interface Secrets {
  /** @param count 1..65536 */
  randomBytes(count: number): Uint8Array
  /** Of a token or nonce, at least 128 bits: what is kept in its place. */
  digest(secret: string): string
}

/** Settings of the building that govern sign-ins, as they are now. @source document 1, Configuration keys */
export interface PeopleSettings {
  /** How long a session token lives, in ms. */
  api_token_life: number
  /** How long a mailed code is accepted. */
  api_2fa_ttl_seconds: number
}

/** What waits for Apply All of one account: columns that become others, or its end. Asked with each request. */
export type WaitingOf = (userId: number) => Readonly<Record<string, Json>> | 'removed' | undefined

/** Compares passwords, off the main thread. */
export interface PasswordCheck {
  /** @param stored what the account holds; undefined for an account that is not there: takes as long, and is never right */
  verify(password: string, stored: string | undefined): Promise<boolean>
}

/** A message to one person. */
export interface Letter {
  /** An address that `isMailAddress` takes. */
  to: string
  subject: string
  /** Lines end in \n. */
  text: string
  /** After so long it is of no use and is not tried any more. */
  lifeMs: number
}

/** Takes letters to a mail server. */
export interface Postman {
  /**
   * @returns resolves once the server has taken it
   * @throws Fault `mail_not_set_up`, `mail_queue_full`, `mail_refused`, `mail_failed`
   */
  send(letter: Letter): Promise<void>
}
