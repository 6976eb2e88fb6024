/** What the clock needs of the world. */
import type { PmcAnswer } from '../../wire/ptp/pmc-answer.ts'

/** What is told of ptp4l. Sentences are for people. */
export interface PtpListener {
  /** It tells how it is; its state of time several times a second. */
  answer(answer: PmcAnswer): void
  /** It is not on this machine, or cannot be used by it: there is no use in trying again soon. */
  missing(sentence: string): void
  /** It has ended, or does not answer; it is started again. */
  ended(sentence: string): void
  /** It has ended too often in a row; it is tried again, seldom. */
  gaveUp(sentence: string): void
}

/** ptp4l, started, asked and watched over. */
export interface PtpProgram {
  start(listener: PtpListener): void
  /** Within its deadline; nothing of it runs afterwards. */
  stop(): Promise<void>
}
