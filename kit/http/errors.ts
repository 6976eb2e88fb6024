/** Turns every error into an answer: fault codes with their status, and requests that are not valid HTTP. */
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'
import type { Dialect } from './dialect.ts'
import { Reply } from './route.ts'

/** Status of each fault that the kit itself sends to a client. A daemon adds its own. */
export const KIT_STATUS: Readonly<Record<string, number>> = {
  bad_base64: 400,
  bad_fields: 400,
  bad_form: 400,
  bad_hex: 400,
  bad_http: 400,
  bad_json: 400,
  bad_target: 400,
  bad_url: 400,
  body_cut: 400,
  unauthorized: 401,
  forbidden: 403,
  foreign_host: 403,
  relayed: 403,
  foreign_origin: 403,
  unknown_entry: 404,
  licence_unknown: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  changed_meanwhile: 412,
  body_too_large: 413,
  url_too_long: 414,
  unsupported_media_type: 415,
  upgrade_required: 426,
  slow_down: 429,
  head_too_large: 431,
  client_gone: 499,
  licences_missing: 500,
  unknown_method: 501,
  busy: 503,
  too_many_sockets: 503,
  too_much_unsent: 503,
  store_read_failed: 503,
  store_write_failed: 507,
}

/** Which request an error belongs to, for the log. */
interface RequestFacts {
  method: string
  /** Path without the query: a query may hold a ticket. */
  path: string
  headers?: IncomingHttpHeaders | undefined
}

/** Turns anything thrown into a reply. */
export type AnswerError = (error: unknown, facts: RequestFacts) => Reply

/** @param by `faultStatus` the daemon's own codes and their status; an unknown code is answered as `internal` */
export function createAnswerError(by: {
  log: Log
  dialect: Dialect
  faultStatus: Readonly<Record<string, number>>
}): AnswerError {
  const { log, dialect, faultStatus } = by
  const statusOf: ReadonlyMap<string, number> = new Map(Object.entries({ ...KIT_STATUS, ...faultStatus }))
  return (error, facts) => {
    const fault = error instanceof Fault ? error : faultOfFastify(error, dialect)
    const status = fault && statusOf.get(fault.code)
    return fault && status !== undefined
      ? replyOf(fault, status, dialect.challenge(facts))
      : internalReply(log, error, facts)
  }
}

/** `{error, message, ...details}`, with the headers that the status asks for. */
function replyOf(fault: Fault, status: number, challenge: string): Reply {
  const headers: Record<string, string> = {}
  if (status === 401) headers['www-authenticate'] = challenge
  const waitMs = fault.details?.retryAfterMs
  if (typeof waitMs === 'number') headers['retry-after'] = String(Math.max(1, Math.ceil(waitMs / 1000)))
  return new Reply(status, { ...fault.details, error: fault.code, message: fault.message }, headers)
}

/** Only the number under which the log has the error goes out. */
function internalReply(log: Log, error: unknown, { method, path }: RequestFacts): Reply {
  const id = randomUUID()
  const thrown = error instanceof Error ? error : new Error(`thrown without an Error: ${typeof error}`)
  // A Fault that gets here has a code without a status, which is a mistake as well.
  log.error('internal_error', { id, method, path, error: thrown })
  const message = `this request met a fault of the program; the log has it under ${id}`
  return new Reply(500, { error: 'internal', message, id })
}

/** Fastify's own refusals, in our words; undefined for errors that are not Fastify's. */
function faultOfFastify(error: unknown, { mediaType }: Dialect): Fault | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = error as NodeJS.ErrnoException
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Fault('unsupported_media_type', `the body has no type known here, expected Content-Type: ${mediaType}`)
    case 'FST_ERR_BAD_URL':
      return new Fault(
        'bad_url',
        'the path has a percent sign that is not followed by the two hex digits of UTF-8 text',
      )
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Fault('url_too_long', 'a part of the path is longer than this server takes')
    default:
      return undefined
  }
}

// What Node refuses before there is a request: broken HTTP, heads too large, clients too slow.

/** Answers on the bare connection, in the same form as every error, and ends it. */
export function answerClientError(answerError: AnswerError) {
  return (error: NodeJS.ErrnoException, connection: Socket): void => {
    if (error.code === 'ECONNRESET' || !connection.writable) {
      connection.destroy()
      return
    }
    const { status, body } = answerError(faultOf(error), { method: '-', path: '-' })
    const text = JSON.stringify(body)
    connection.end(
      `HTTP/1.1 ${status} ${REASON[status] ?? 'Bad Request'}\r\nContent-Type: application/json; charset=utf-8\r\n` +
        `Content-Length: ${Buffer.byteLength(text)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${text}`,
    )
    // `end` waits for the client to end too, which it may never do.
    connection.destroySoon()
  }
}

const REASON: Record<number, string> = { 408: 'Request Timeout', 431: 'Request Header Fields Too Large' }

function faultOf(error: NodeJS.ErrnoException): Fault {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Fault('request_timeout', 'the request did not arrive whole in the time given')
    case 'HPE_HEADER_OVERFLOW':
      return new Fault('head_too_large', 'the request line and headers are larger than this server takes')
    default:
      return new Fault('bad_http', `the connection does not carry HTTP/1.1 as expected (${error.code ?? 'unknown'})`)
  }
}
