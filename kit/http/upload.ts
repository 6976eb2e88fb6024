/** A body that is handed on as it arrives: too large to be held, too long under way for the time of a usual request. */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { durationText } from '#kit/bytes/words.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'

/** Bounds of one upload. */
export interface UploadBounds {
  /** Larger is refused: at once where the client says how long it is, else where it grows too long. */
  maxBytes: number
  /** Time that may pass without a byte while the next one is waited for. What the reader takes for itself does not count. */
  idleMs: number
  /** Time from the head to the last byte, however lively the client is. */
  wholeMs: number
}

/** What a handler gets in place of a body. */
export interface Upload {
  /** As the client says; undefined where it sends in chunks of which it does not know the number. */
  lengthBytes: number | undefined
  /**
   * The bytes, once. Ends when the body is whole. Errors with a Fault: `body_cut` where the client left before, or
   * `request_timeout`, `body_too_large` by the bounds. What is left unread when the handler is done is thrown away.
   */
  stream: Readable
}

/** Time for which the rest of a refused upload is still taken in, so that its client gets to read why. */
const LINGER_MS = 2000

/**
 * @param body of which nothing was read yet
 * @throws Fault `body_too_large` where the client says so itself
 */
export function openUpload(body: IncomingMessage, bounds: UploadBounds, clock: Clock): Upload {
  const said = body.headers['content-length']
  const lengthBytes = said === undefined ? undefined : Number(said)
  if (lengthBytes !== undefined && lengthBytes > bounds.maxBytes) throw tooLarge(bounds, `is ${lengthBytes} bytes long`)
  const stream = Readable.from(bytesOf(body, { bounds, clock, lengthBytes }), { objectMode: false })
  return { lengthBytes, stream }
}

/** Lets go of what was not read: its client hears the answer and stops, or is cut off soon. */
export function endUpload(body: IncomingMessage, clock: Clock): void {
  if (body.complete || body.destroyed) return
  body.on('error', () => {}) // it is cut off below, or by its client
  body.resume()
  const timer = clock.after(LINGER_MS, () => body.destroy())
  body.once('close', () => timer.cancel())
}

/** Read by hand: an iterator of the stream's own would end the connection with itself, and the answer has yet to go out. */
async function* bytesOf(
  body: IncomingMessage,
  by: { bounds: UploadBounds; clock: Clock; lengthBytes: number | undefined },
): AsyncGenerator<Buffer> {
  const { bounds, clock, lengthBytes } = by
  const deadlineMs = clock.monotonicMs() + bounds.wholeMs
  for (let bytes = 0; ; ) {
    const chunk: Buffer | null = body.read()
    if (chunk !== null) {
      bytes += chunk.length
      if (bytes > bounds.maxBytes) throw tooLarge(bounds, 'goes on')
      yield chunk
      continue
    }
    if (body.readableEnded) return
    if (body.destroyed) throw cutAfter(bytes, lengthBytes)
    await moved(body, clock, bounds, deadlineMs)
  }
}

/** Resolves when there is something to read, or there never will be. @throws Fault `request_timeout` */
function moved(body: IncomingMessage, clock: Clock, bounds: UploadBounds, deadlineMs: number): Promise<void> {
  const leftMs = deadlineMs - clock.monotonicMs()
  const sentence =
    leftMs > bounds.idleMs
      ? `stood still for ${durationText(bounds.idleMs)}`
      : `took longer than ${durationText(bounds.wholeMs)}`
  return new Promise((resolve, reject) => {
    const timer = clock.after(Math.min(bounds.idleMs, leftMs), () => {
      end()
      reject(new Fault('request_timeout', `the upload ${sentence}`))
    })
    function end(): void {
      timer.cancel()
      for (const event of MOVES) body.off(event, onMove)
    }
    function onMove(): void {
      end()
      resolve()
    }
    for (const event of MOVES) body.on(event, onMove)
  })
}

const MOVES = ['readable', 'end', 'close', 'error'] as const

function cutAfter(bytes: number, lengthBytes: number | undefined): Fault {
  const of = lengthBytes === undefined ? '' : ` of ${lengthBytes}`
  return new Fault('body_cut', `the connection ended after ${bytes}${of} bytes of the body`)
}

function tooLarge({ maxBytes }: UploadBounds, seen: string): Fault {
  return new Fault('body_too_large', `the upload ${seen}, and at most ${maxBytes} bytes are taken`)
}
