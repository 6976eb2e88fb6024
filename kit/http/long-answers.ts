/** Answers that run until their client leaves, such as a live capture: they end with their caller's sign-in. */
import type { ServerResponse } from 'node:http'
import type { Caller } from './route.ts'

/** The long answers that are under way. */
export interface LongAnswers {
  add(caller: Caller, answer: ServerResponse): void
  /** Cuts off those whose caller is signed in no longer. */
  endSignedOut(): void
}

/** @param isStillSignedIn asked with the very caller that the answer was begun for */
export function createLongAnswers(isStillSignedIn: (caller: Caller) => boolean): LongAnswers {
  const running = new Map<ServerResponse, Caller>()
  return {
    add(caller, answer) {
      // Its client has left while it was begun: nobody would tell.
      if (answer.destroyed) return
      running.set(answer, caller)
      answer.once('close', () => running.delete(answer))
    },
    endSignedOut() {
      for (const [answer, caller] of running) if (!isStillSignedIn(caller)) answer.destroy()
    },
  }
}
