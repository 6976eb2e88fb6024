/** One HTTP or HTTPS POST to a target: without redirects, and with a bound on the answer. */
import type http from 'node:http'
import { Fault } from '../pure/fault.ts'
import { certificateSentence } from './target.ts'

/** What a target answered. */
export interface PostAnswer {
  /** Status of the answer, 200..599. */
  status: number
  /** Resolves when the rest of the answer was read and discarded, or was cut off; never rejects. */
  done: Promise<void>
}

interface PostParts {
  /** How many bytes of an answer are read before it is cut off. */
  responseBytes: number
  /** Name of the setting that names further authorities, for the sentence. */
  caSetting: string
}

/**
 * Sends the body and waits for the head of the answer.
 * @param outgoing a request that has not been sent; its signal ends it
 * @throws Fault `webhook_unreachable`, `bad_target`
 */
export function exchange(
  outgoing: http.ClientRequest,
  body: Uint8Array,
  { responseBytes, caSetting }: PostParts,
): Promise<PostAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on('response', (incoming) => {
      resolve({ status: incoming.statusCode ?? 0, done: thrownAway(incoming, responseBytes) })
    })
    // After the head of the answer these no longer matter: the promise is settled, and `done` follows the body.
    outgoing.on('error', (error) => reject(unreachable(error, caSetting)))
    outgoing.on('close', () => reject(new Fault('webhook_unreachable', 'the target closed without an answer')))
    outgoing.end(body)
  })
}

/** Resolves when the answer has ended, has broken off, or was cut off after `most` bytes. */
function thrownAway(incoming: http.IncomingMessage, most: number): Promise<void> {
  return new Promise((resolve) => {
    let seen = 0
    incoming.on('data', (chunk: Uint8Array) => {
      seen += chunk.byteLength
      if (seen > most) incoming.destroy()
    })
    // The status is known: a body that breaks off changes nothing, and 'close' follows.
    incoming.on('error', () => {})
    incoming.on('close', resolve)
  })
}

/** Node tries every address of a name and then throws an AggregateError, which has no message of its own. */
function unreachable(error: Error, caSetting: string): Fault {
  if (error instanceof Fault) return error
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error]
  const refused = errors.find((one) => one instanceof Fault)
  if (refused) return refused
  const sentenceOf = (one: unknown) =>
    certificateSentence(one, caSetting) ?? (one instanceof Error ? one.message : String(one))
  return new Fault('webhook_unreachable', errors.map(sentenceOf).join('; '), { cause: error })
}
