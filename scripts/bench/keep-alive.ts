/** A small HTTP client on one connection that stays: it costs less than what it measures. One request at a time. */
import { once } from 'node:events'
import { connect } from 'node:net'

/** What was answered. */
export interface Answered {
  status: number
  /** Read to its end; chunks are left as they came. */
  body: Buffer
}

export interface Connection {
  /** @throws Error when the connection ends instead */
  ask(request: Buffer): Promise<Answered>
  close(): void
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** A request as it goes over the wire, made once and sent often. */
export function requestOf(method: string, path: string, given: { token?: string; body?: unknown } = {}): Buffer {
  const { token, body } = given
  const text = body === undefined ? '' : JSON.stringify(body)
  const heads = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1']
  if (token !== undefined) heads.push(`authorization: Bearer ${token}`)
  if (body !== undefined) heads.push('content-type: application/json', `content-length: ${Buffer.byteLength(text)}`)
  return Buffer.from(`${heads.join('\r\n')}\r\n\r\n${text}`)
}

/** @param url scheme, host and port */
export async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setNoDelay()
  await once(socket, 'connect')
  let answer: { resolve(answered: Answered): void; reject(error: Error): void } | undefined
  let parts: Buffer[] = []
  let wanted = Number.NaN
  let seen = 0

  function fail(error: Error): void {
    answer?.reject(error)
    answer = undefined
  }

  function take(part: Buffer): void {
    parts.push(part)
    seen += part.length
    if (seen < wanted) return
    const whole = parts.length === 1 ? part : Buffer.concat(parts)
    parts = [whole]
    const at = whole.indexOf(HEAD_END)
    if (at < 0) return
    const head = whole.toString('latin1', 0, at)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length !== undefined) wanted = at + HEAD_END.length + Number(length)
    const isWhole = length === undefined ? whole.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) : seen >= wanted
    if (!isWhole) return
    const answered = { status: Number(head.slice(9, 12)), body: whole.subarray(at + HEAD_END.length) }
    parts = []
    wanted = Number.NaN
    seen = 0
    const { resolve } = answer ?? {}
    answer = undefined
    resolve?.(answered)
  }

  socket.on('data', take)
  socket.on('error', fail)
  socket.on('close', () => fail(new Error(`${url} closed the connection`)))
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        answer = { resolve, reject }
        socket.write(request)
      }),
    close: () => void socket.destroy(),
  }
}

/** One request on a connection of its own, its answer as JSON. */
export async function askOnce<Answer>(url: string, request: Buffer): Promise<Answer> {
  const connection = await openConnection(url)
  try {
    const { body } = await connection.ask(request)
    return JSON.parse(body.toString())
  } finally {
    connection.close()
  }
}
