/** One attempt to deliver one event to one target, with its deadline. */
import { durationText } from '#kit/bytes/words.ts'
import type { Clock } from '#kit/clock.ts'
import type { WebhookAnswer, WebhookRequest, WebhookSender } from './webhook-ports.ts'

/** How an attempt ended. */
export interface WebhookOutcome {
  /** The target answered 2xx. */
  isDelivered: boolean
  /** Status of the answer; null when none came. */
  status: number | null
  /** What happened, for people. */
  message: string
  tookMs: number
}

/** What an attempt needs. `timeoutMs` is for the whole exchange. */
export interface AttemptParts {
  sender: WebhookSender
  clock: Clock
  timeoutMs: number
}

/**
 * Sends once and waits for the answer, at most `timeoutMs`. Never rejects: whatever goes wrong is an outcome.
 * The status line decides: a 2xx whose body is late or breaks off is delivered, since a second copy of an event
 * that the target has taken helps nobody (docs/decisions/050).
 * @param stop aborts the attempt: its webhook was disabled or deleted, or the daemon stops
 */
export async function attemptDelivery(
  parts: AttemptParts,
  request: WebhookRequest,
  stop: AbortSignal,
): Promise<WebhookOutcome> {
  const startedMs = parts.clock.monotonicMs()
  const cut = new AbortController()
  const over = Promise.withResolvers<Ending>()
  const end = (ending: Ending) => {
    over.resolve(ending)
    cut.abort()
  }
  const deadline = parts.clock.after(parts.timeoutMs, () =>
    end({ message: `no answer within ${durationText(parts.timeoutMs)}` }),
  )
  const onStop = () => end({ message: 'given up' })
  stop.addEventListener('abort', onStop, { once: true })
  if (stop.aborted) onStop()
  try {
    const ending = await Promise.race([over.promise, exchange(parts.sender, request, cut.signal)])
    if (ending.answer) await Promise.race([over.promise, ending.answer.done])
    return outcomeOf(ending, parts.clock.monotonicMs() - startedMs)
  } finally {
    deadline.cancel()
    stop.removeEventListener('abort', onStop)
  }
}

interface Ending {
  answer?: WebhookAnswer
  message: string
}

function exchange(sender: WebhookSender, request: WebhookRequest, signal: AbortSignal): Promise<Ending> {
  return sender.send(request, signal).then(
    (answer) => ({ answer, message: answerSentence(answer.status) }),
    (error: unknown) => ({ message: error instanceof Error ? error.message : String(error) }),
  )
}

function outcomeOf({ answer, message }: Ending, tookMs: number): WebhookOutcome {
  const status = answer?.status ?? null
  return { isDelivered: status !== null && isSuccess(status), status, message, tookMs: Math.round(tookMs) }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

function answerSentence(status: number): string {
  if (isSuccess(status)) return `answered ${status}`
  const isRedirect = status >= 300 && status <= 399
  return isRedirect
    ? `answered ${status}, a redirect, which is not followed`
    : `answered ${status}, expected 200 to 299`
}
