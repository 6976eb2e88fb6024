/** The mail queue: sends a few letters at once, and retries each for as long as it is useful. */

import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { Backoff, type BackoffLimits } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import { within } from '../turns.ts'
import type { Letter, Postman } from './accounts.ts'

/** Counts since the start. */
interface MailState {
  /** Letters that are queued, being sent, or waiting for a retry. */
  kept: number
  sent: number
  failed: number
}

export interface MailQueue extends Postman {
  state(): MailState
  /** Empties the queue: each letter is rejected with `mail_failed`, and deliveries under way are aborted. */
  close(): void
}

interface MailQueueParts {
  clock: Clock
  /**
   * Hands one letter to the server.
   * @throws Fault `mail_refused`, `mail_not_set_up` if a retry would be useless; any other error is retried
   */
  deliver(letter: Letter, signal: AbortSignal): Promise<void>
  limits: MailQueueLimits
}

export interface MailQueueLimits {
  /** Most letters in the queue. */
  letters: number
  /** Most deliveries at once. */
  atOnce: number
  /** Timeout of one attempt, in ms. */
  attemptMs: number
  /** Back-off between the attempts for one letter. */
  again: BackoffLimits
}

interface Kept {
  letter: Letter
  endsMs: number
  wait: Backoff
  /** Timer of the next attempt. */
  again?: Timer
  done: PromiseWithResolvers<void>
}

const IN_VAIN: ReadonlySet<string> = new Set(['mail_refused', 'mail_not_set_up'])

export function createMailQueue({ clock, deliver, limits }: MailQueueParts): MailQueue {
  const kept = new Set<Kept>()
  const waiting: Kept[] = []
  const closing = new AbortController()
  let running = 0
  let [sent, failed] = [0, 0]

  function end(one: Kept, error?: Fault): void {
    if (!kept.delete(one)) return
    one.again?.cancel()
    if (error === undefined) {
      sent++
      one.done.resolve()
    } else {
      failed++
      one.done.reject(error)
    }
  }

  async function attempt(one: Kept): Promise<void> {
    const limitMs = Math.min(limits.attemptMs, one.endsMs - clock.monotonicMs())
    try {
      await oneTry((signal) => deliver(one.letter, signal), { clock, limitMs, stop: closing.signal })
      end(one)
    } catch (error) {
      tryAgain(one, faultOf(error, 'mail_failed', 'the mail server did not take the letter'))
    }
  }

  function tryAgain(one: Kept, fault: Fault): void {
    const waitMs = one.wait.next()
    const isInVain = IN_VAIN.has(fault.code) || closing.signal.aborted
    if (isInVain || clock.monotonicMs() + waitMs >= one.endsMs) end(one, fault)
    else one.again = clock.after(waitMs, () => line(one))
  }

  function line(one: Kept): void {
    waiting.push(one)
    pump()
  }

  function pump(): void {
    while (running < limits.atOnce) {
      const next = waiting.shift()
      if (next === undefined) return
      running++
      // Never rejects: the sender of the letter has already been told the result.
      void attempt(next).finally(() => {
        running--
        pump()
      })
    }
  }

  return {
    send(letter) {
      if (closing.signal.aborted || kept.size >= limits.letters)
        return Promise.reject(new Fault('mail_queue_full', `${kept.size} letters are waiting already`))
      const one: Kept = {
        letter,
        endsMs: clock.monotonicMs() + letter.lifeMs,
        wait: new Backoff(limits.again),
        done: Promise.withResolvers(),
      }
      kept.add(one)
      line(one)
      return one.done.promise
    },
    state: () => ({ kept: kept.size, sent, failed }),
    close() {
      const fault = new Fault('mail_failed', 'the controller stopped before the letter was taken')
      waiting.length = 0
      closing.abort(fault)
      for (const one of [...kept]) end(one, fault)
    },
  }
}

/** Ends within the limit, whether or not the delivery obeys its signal. */
function oneTry(
  deliver: (signal: AbortSignal) => Promise<void>,
  { clock, limitMs, stop }: { clock: Clock; limitMs: number; stop: AbortSignal },
): Promise<void> {
  const stopper = new AbortController()
  const late = () => {
    const fault = tooLate(limitMs)
    stopper.abort(fault)
    return fault
  }
  return within(deliver(AbortSignal.any([stopper.signal, stop])), { clock, limitMs, late, stop })
}

function tooLate(limitMs: number): Fault {
  return new Fault('mail_failed', `the mail server did not take the letter within ${durationText(limitMs)}`)
}
