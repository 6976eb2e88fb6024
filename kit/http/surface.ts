/**
 * A surface: a path prefix that a daemon answers by itself, every method and path below it, within the server's limits.
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { plainAddress } from '../net/address.ts'
import { shortCopy } from '../pure/text.ts'
import { type BodyTime, originForm } from './admission.ts'
import { gatherBody } from './dialect.ts'
import type { Described, Reply } from './route.ts'
import { hangUpSignal } from './serve-routes.ts'
import { asCounted } from './unsent.ts'

/**
 * For an interface defined by others, which prescribes the status of a wrong method, a long body or a broken path:
 * table routes would answer those our own way. The server still checks host names, the size and time of heads and the
 * time of bodies, and sets the common headers.
 */
export interface Surface {
  /** This path and all below it, as sent: case-sensitive, nothing decoded, no slash at the end. */
  prefix: string
  /** Largest body that is read. */
  bodyBytes: number
  /** Its operations, for OpenAPI. */
  describes?: readonly Described[]
  /** Whatever it throws is answered like any route's error. An answer returned without a promise goes out at once. */
  handle(call: SurfaceCall): SurfaceAnswer | Promise<SurfaceAnswer>
  /** Called when the server refused a call before `handle`: for its Host, or for a repeated header. */
  onRefused?(call: SurfaceCall, status: number): void
}

/** One request. */
export interface SurfaceCall {
  method: string
  /** As sent, without the query. ASCII: Node accepts nothing else in the first line. */
  path: string
  /** The part after the question mark, as sent; empty if there is none. */
  query: string
  headers: IncomingHttpHeaders
  /** Address of the connection's peer. */
  peer: string
  /** Created on first use; aborted when the client hangs up. */
  signal(): AbortSignal
  /** Reads the body, once; a body that is not read is discarded as it arrives. */
  body(): Promise<SurfaceBody>
  /** Whether an answer of that size may be added to what the client has not read yet. */
  takes(sizeBytes: number): boolean
  /** What the server would answer to this error: a `Fault` by its status, anything else by 500 and a log number. */
  answerOf(error: unknown): TextAnswer
}

/**
 * A body as received; `cut`: it ended early; `late`: it was ended for being slow. In both cases nobody hears the
 * answer.
 */
export type SurfaceBody = { kind: 'whole'; bytes: Buffer } | { kind: 'too_large' | 'cut' | 'late' }

/** An answer. A HEAD gets the headers alone. */
export type SurfaceAnswer = TextAnswer | PiecesAnswer

interface AnswerHead {
  status: number
  headers?: Readonly<Record<string, string | string[]>>
}

export interface TextAnswer extends AnswerHead {
  /** JSON. */
  text: string
}

/** A long answer that is ready: nothing of it is copied on its way to the socket. */
export interface PiecesAnswer extends AnswerHead {
  /** JSON as UTF-8, in order. They still belong to the surface and are never changed again. */
  pieces: readonly Uint8Array[]
}

/** What a surface needs of its server. */
export interface SurfaceNeeds {
  /** @throws Fault `bad_http`, `foreign_host`, `foreign_origin` */
  checkHead(request: IncomingMessage): void
  /** Returns the very same object while nothing has changed. */
  headers(): Readonly<Record<string, string>>
  answerError(error: unknown, facts: { method: string; path: string }): Reply
  bodies: BodyTime
  /** Whether connections end with their next answer. */
  isClosing(): boolean
  onAnswered(request: IncomingMessage, response: ServerResponse, facts: { path: string; tookMs: number }): void
  monotonicMs(): number
  takes(request: IncomingMessage, sizeBytes: number): boolean
}

/** Serves what lies below the prefix. @returns false for any other request, which it leaves alone */
export type ServeSurface = (request: IncomingMessage, response: ServerResponse) => boolean

export function createSurface(surface: Surface, needs: SurfaceNeeds): ServeSurface {
  const { prefix } = surface
  const writeHead = headWriter(needs)
  return (request, response) => {
    const url = originForm(request)
    if (!isPathBelow(url, prefix)) return false
    const call = callOf(request, url, { surface, needs, response })
    needs.bodies.watch(request)
    const beganMs = needs.monotonicMs()
    // Emitted once, whatever happened to the answer.
    response.on('close', () => {
      needs.onAnswered(request, response, { path: call.path, tookMs: needs.monotonicMs() - beganMs })
    })
    serve(call, request, response)
    return true
  }

  /** Uses no promise if the answer is there at once: promises would be most of the cost of a probe. */
  function serve(call: SurfaceCall, request: IncomingMessage, response: ServerResponse): void {
    const answer = answerOf(call, request)
    if (answer instanceof Promise)
      void answer.catch((error) => call.answerOf(error)).then((late) => send(late, call, response))
    else send(answer, call, response)
  }

  function answerOf(call: SurfaceCall, request: IncomingMessage): SurfaceAnswer | Promise<SurfaceAnswer> {
    try {
      needs.checkHead(request)
    } catch (fault) {
      const answer = call.answerOf(fault)
      surface.onRefused?.(call, answer.status)
      return answer
    }
    try {
      return surface.handle(call)
    } catch (error) {
      return call.answerOf(error)
    }
  }

  function send(answer: SurfaceAnswer, { method }: SurfaceCall, response: ServerResponse): void {
    if (response.destroyed) return
    writeHead(response, answer)
    if ('text' in answer) {
      response.end(asCounted(answer.text))
      return
    }
    // Node buffers them until the end of this turn, and then writes all with one call.
    if (method !== 'HEAD') for (const piece of answer.pieces) response.write(piece)
    response.end()
  }
}

const TYPE = 'application/json; charset=utf-8'

/** Reuses one list of the common headers: an object for each answer costs more than the rest of its head. */
function headWriter({ headers: all, isClosing }: SurfaceNeeds) {
  let common: Readonly<Record<string, string>> = {}
  let list: string[] = []
  return (response: ServerResponse, answer: SurfaceAnswer): void => {
    const { status, headers: own } = answer
    const length = String(lengthOf(answer))
    const given = all()
    if (own || isClosing()) {
      const connection = isClosing() ? { connection: 'close' } : {}
      response.writeHead(status, { ...given, 'content-type': TYPE, 'content-length': length, ...connection, ...own })
      return
    }
    if (given !== common) {
      common = given
      list = [...Object.entries(given).flat(), 'content-type', TYPE, 'content-length']
    }
    response.writeHead(status, [...list, length])
  }
}

function lengthOf(answer: SurfaceAnswer): number {
  if ('text' in answer) return Buffer.byteLength(answer.text)
  return answer.pieces.reduce((sum, { length }) => sum + length, 0)
}

/** Whether a path is the prefix or lies below it. */
export function isPathBelow(url: string, prefix: string): boolean {
  return url.startsWith(prefix) && (url.length === prefix.length || '/?'.includes(url[prefix.length] ?? ''))
}

function callOf(
  request: IncomingMessage,
  url: string,
  { surface, needs, response }: { surface: Surface; needs: SurfaceNeeds; response: ServerResponse },
): SurfaceCall {
  const mark = url.indexOf('?')
  // The audit keeps it longer than the call: without the query, which may be long.
  const path = mark < 0 ? url : shortCopy(url, mark)
  const method = request.method ?? ''
  return {
    method,
    path,
    query: mark < 0 ? '' : url.slice(mark + 1),
    headers: request.headers,
    peer: plainAddress(request.socket.remoteAddress),
    signal: () => hangUpSignal(response),
    body: () => readBody(request, surface.bodyBytes, needs.bodies),
    takes: (sizeBytes) => needs.takes(request, sizeBytes),
    answerOf(error) {
      const { status, headers, body } = needs.answerError(error, { method, path })
      return { status, headers, text: JSON.stringify(body) }
    },
  }
}

async function readBody(request: IncomingMessage, most: number, bodies: BodyTime): Promise<SurfaceBody> {
  const body = await gatherBody(request, most)
  if (body === 'cut') return { kind: bodies.wasLate(request) ? 'late' : 'cut' }
  return body === 'too_large' ? { kind: 'too_large' } : { kind: 'whole', bytes: body }
}
