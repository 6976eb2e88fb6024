/** Notices of macros: into the journal, and by mail to the users that a step names, within a bound. */
import { atMost, type Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { createAccounts, isLive, type Postman } from '../access/accounts.ts'
import { isMailAddress } from '../access/sign-in.ts'
import type { Book, Row } from '../site/book.ts'
import type { Notice } from './ports.ts'

interface NoticeParts {
  book: Book
  clock: Clock
  postman: Postman
  /** Writes a notice into the journal. */
  record(notice: Notice): void
  /** A letter was not taken by the mail server, in the end. */
  undelivered(notice: Notice, fault: Fault): void
  limits: {
    /** Letters of all macros in an hour: further ones fail their step. */
    lettersPerHour: number
    /** How long a letter is tried. */
    letterMs: number
  }
}

const HOUR_MS = 3_600_000

/** A step waits for so long to hear that no letter goes out at all; then it goes on, and the letter is tried further. */
const REFUSED_MS = 1000

/**
 * @returns a function that throws Fault `notice_recipient` for a user who is not there or has no mail address,
 * `notice_too_many`, and those of the postman that come at once
 */
export function createNotices({ book, clock, postman, record, undelivered, limits }: NoticeParts) {
  const accounts = createAccounts(book)
  let sentMs: number[] = []

  function addressOf(name: string): string {
    const user = accounts.named(name)
    const address = user && isLive(user, clock.epochMs()) ? user.email : undefined
    if (isMailAddress(address)) return address
    const what = user === undefined ? 'there is no user' : 'there is no mail address, or no enabled account, of user'
    throw new Fault('notice_recipient', `${what} ${JSON.stringify(name)}`)
  }

  function takePlaces(count: number): void {
    const nowMs = clock.monotonicMs()
    sentMs = sentMs.filter((atMs) => nowMs - atMs < HOUR_MS)
    if (sentMs.length + count > limits.lettersPerHour)
      throw new Fault('notice_too_many', `macros have sent ${sentMs.length} letters within an hour already`)
    for (let n = 0; n < count; n++) sentMs.push(nowMs)
  }

  return async (notice: Notice): Promise<void> => {
    record(notice)
    const { to, text, subject, macroId } = notice
    const addresses = new Set(to.map(addressOf))
    takePlaces(addresses.size)
    const head = subject ?? `Notice of ${nameOf(book.row('macro', macroId), macroId)}`
    const letters = [...addresses].map((address) =>
      postman.send({ to: address, subject: head, text: `${text}\n`, lifeMs: limits.letterMs }),
    )
    for (const letter of letters)
      letter.catch((error) => undelivered(notice, faultOf(error, 'mail_failed', 'the letter was not delivered')))
    await atMost(clock, REFUSED_MS, Promise.all(letters))
  }
}

function nameOf(macro: Row | undefined, id: number): string {
  return typeof macro?.name === 'string' ? macro.name : `macro ${id}`
}
