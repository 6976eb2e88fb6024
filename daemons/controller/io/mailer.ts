/** The postman of the controller: a queue before the mail server, and a log of what it does not take. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { createLogGate } from '#kit/log-gate.ts'
import { createMailQueue, type MailQueue, type MailQueueLimits } from '../core/mail-queue.ts'
import { createSmtp, type SmtpSettings } from './smtp.ts'

/** One line in so long says that mail does not go out. */
const LOG_PERIOD_MS = 60_000

export interface MailerParts {
  clock: Clock
  log: Log
  /** Undefined where no mail server is set up: letters are refused with `mail_not_set_up`. */
  smtp: SmtpSettings | undefined
  limits: MailQueueLimits
}

export function openMailer({ clock, log, smtp, limits }: MailerParts): MailQueue {
  const deliver = smtp === undefined ? notSetUp : createSmtp(smtp)
  const queue = createMailQueue({ clock, deliver, limits })
  const gate = createLogGate(clock, LOG_PERIOD_MS, (count, facts) => log.warning('mail_failed', { ...facts, count }))
  return {
    async send(letter) {
      try {
        await queue.send(letter)
      } catch (error) {
        gate.note({ fault: error, subject: letter.subject })
        throw error
      }
    },
    state: queue.state,
    close() {
      queue.close()
      gate.close()
    },
  }
}

async function notSetUp(): Promise<never> {
  throw new Fault('mail_not_set_up', 'no mail server is set up, expected smtp.host and smtp.from')
}
