/** What Node refuses before there is a request: broken HTTP, heads too large, clients too slow. */
import type { Socket } from 'node:net'
import { Fault } from '#kit/fault.ts'
import type { AnswerError } from './errors.ts'

/** Answers on the bare connection in the same shape as every error, and ends it. */
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
    // `end` waits for the client to end too, which this one may never do.
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
