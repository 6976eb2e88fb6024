/** The one password of a board: set, changed, removed. */
import { createTurn } from '#kit/turn.ts'

/** What is kept of it; undefined while there is none. */
export interface PasswordRecord {
  /** argon2id as a PHC string. */
  hash: string
  /** Epoch ms. */
  setAt: number
}

/** Where it is kept. */
export interface PasswordKeeper {
  load(): Promise<PasswordRecord | undefined>
  /** @throws Fault `store_write_failed`; what was there before is there still */
  save(record: PasswordRecord | undefined): Promise<void>
}

/** The password as it is now. */
export interface AdminPassword {
  isSet(): boolean
  /** The very record: after a change there is another one, or none. */
  record(): PasswordRecord | undefined
  /**
   * Sets another one; empty text removes it. It counts once it is on the disk. One change runs at a time.
   * @throws Fault `store_write_failed`, `busy`
   */
  change(text: string): Promise<void>
  /** Runs after each change, also to the same text: whoever signed in before has to sign in again. */
  onChange(hear: () => void): void
}

export interface AdminPasswordParts {
  keeper: PasswordKeeper
  /** @throws Fault `busy` */
  hash(text: string): Promise<string>
  epochMs(): number
}

/** @param kept as loaded */
export function createAdminPassword(kept: PasswordRecord | undefined, parts: AdminPasswordParts): AdminPassword {
  let record = kept
  const inTurn = createTurn()
  const hearers: (() => void)[] = []

  async function changeNow(text: string): Promise<void> {
    const next = text === '' ? undefined : { hash: await parts.hash(text), setAt: parts.epochMs() }
    await parts.keeper.save(next)
    record = next
    for (const hear of hearers) hear()
  }

  return {
    isSet: () => record !== undefined,
    record: () => record,
    change: (text) => inTurn(() => changeNow(text)),
    onChange: (hear) => void hearers.push(hear),
  }
}
