/**
 * The board of this machine, as its updater sees it: what it runs, and a place to hand an image to. The socket belongs to the
 * board's user, so nothing that it says is believed beyond what the board could do by itself.
 */
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Clock, Timer } from '../clock.ts'
import { readJsonAnswer } from '../net/json-answer.ts'
import { Fault } from '../pure/fault.ts'
import { escapeControls, shortCopy } from '../pure/text.ts'
import { isVersion } from '../pure/version.ts'
import { compatibleName } from './record.ts'
import type { ImageSettings } from './update-settings.ts'

// A newer board may say more.
const fault = Type.Object({ code: Type.String({ maxLength: 64 }), message: Type.String({ maxLength: 2000 }) })
const about = Type.Object({
  /** Names this run of what an image is started by, the machine or the board alone; after a restart it is another one. */
  run: Type.String({ minLength: 1, maxLength: 64 }),
  /** The same of the board's process. */
  start: Type.String({ minLength: 1, maxLength: 64 }),
  /** The version of the image that runs. */
  runs: Type.Refine(Type.String({ maxLength: 64 }), isVersion),
  /** The kind of board that its images have to be for. */
  compatible: compatibleName,
  /** How far it is with an image. */
  state: Type.Enum(['idle', 'receiving', 'verifying', 'installing', 'installed', 'failed']),
  /** What it lacks to take one. */
  missing: Type.Union([fault, Type.Null()]),
})
export type BoardAbout = Static<typeof about>

const refusal = Type.Object({ error: Type.String({ maxLength: 64 }), message: Type.String({ maxLength: 2000 }) })

const MOST_ANSWER_BYTES = 65_536

export interface Board {
  /** @throws Fault `image_board_silent` */
  about(): Promise<BoardAbout>
  /**
   * Hands an image over; the board proves and installs it, and restarts.
   * @param sizeBytes of all pieces
   * @throws Fault `image_refused` with the board's `code` in its details, `image_board_silent` if it is not known whether it
   * was installed; and what the image throws: then it was not
   */
  install(image: AsyncIterable<Uint8Array>, sizeBytes: number): Promise<void>
}

export function boardAt({ answer_ms, install_ms, socket }: ImageSettings, clock: Clock): Board {
  return {
    async about() {
      const { body, status } = await ask({ clock, socket, answerMs: answer_ms })
      if (status === 200 && Value.Check(about, body)) return body
      throw new Fault('image_board_silent', `what answers at ${socket} is no board, or one of another version`)
    },
    async install(image, sizeBytes) {
      const handed = { bytes: image, sizeBytes, stallMs: install_ms }
      const { body, status } = await ask({ clock, socket, answerMs: answer_ms, image: handed })
      if (status === 200) return
      const said = Value.Check(refusal, body) ? body : { error: '', message: `it answered ${status}` }
      const sentence = `the board did not install the image: ${escapeControls(shortCopy(said.message, 300))}`
      throw new Fault('image_refused', sentence, { details: { code: said.error } })
    },
  }
}

interface Question {
  clock: Clock
  socket: string
  /** In all: for a question without an image, else for its answer once that has begun. */
  answerMs: number
  image?: {
    bytes: AsyncIterable<Uint8Array>
    sizeBytes: number
    /** Given up after so long without taking more of it, or, after its end, without an answer. */
    stallMs: number
  }
}

/**
 * A board that sends a byte now and then must not hold the updater of root: what it sends ends no wait but a whole answer.
 * @throws Fault `image_board_silent`, and what the image throws
 */
async function ask({ answerMs, clock, image, socket }: Question): Promise<{ status: number; body: unknown }> {
  const headers = image ? { 'content-length': image.sizeBytes } : {}
  const call = request({ socketPath: socket, method: image ? 'POST' : 'GET', path: '/', headers, agent: false })
  const source = image && Readable.from(image.bytes, { objectMode: false })
  let answer: IncomingMessage | undefined
  let late: Timer | undefined
  const within = (ms: number) => {
    late?.cancel()
    late = clock.after(ms, () => void (answer ?? call).destroy(new Error(`not done within ${ms} ms`)))
  }
  try {
    return await new Promise((resolve, reject) => {
      call.on('error', (cause) => {
        if (answer === undefined) reject(silent(socket, cause))
      })
      call.on('response', (response) => {
        // It has made up its mind: what is left of the image need not be sent.
        answer = response
        source?.destroy()
        if (image) within(answerMs)
        readJsonAnswer(response, MOST_ANSWER_BYTES).then(resolve, (cause) => reject(silent(socket, cause)))
      })
      source?.on('error', reject)
      within(image?.stallMs ?? answerMs)
      if (source === undefined) call.end()
      else
        sendAll(source, call, { sizeBytes: image?.sizeBytes ?? 0, onPiece: () => within(image?.stallMs ?? answerMs) })
    })
  } finally {
    late?.cancel()
    source?.destroy()
    call.destroy()
  }
}

/**
 * Ends the request once the last piece is written: ended with pieces still waiting, Node adds an empty write, which fails
 * where the board answers and hangs up between the two, and then its answer is lost.
 */
function sendAll(source: Readable, call: ClientRequest, image: { sizeBytes: number; onPiece(): void }): void {
  let left = image.sizeBytes
  source.on('data', (piece: Uint8Array) => {
    image.onPiece()
    left -= piece.length
    if (left <= 0) call.write(piece, () => call.end())
    else if (!call.write(piece)) {
      source.pause()
      call.once('drain', () => source.resume())
    }
  })
}

function silent(socket: string, cause: NodeJS.ErrnoException): Fault {
  return new Fault(
    'image_board_silent',
    `the board does not answer at ${socket} (${cause.code ?? cause.message}): look at plantroom status board, and at ota.socket`,
    { cause },
  )
}
