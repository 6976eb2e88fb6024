/** A small HTTP client on one persistent connection: cheaper than what it measures. One request at a time. */
import { once } from 'node:events'
import { connect } from 'node:net'

/** An answer. */
export interface Answered {
  status: number
  /**
   * The whole body; chunks are not decoded. The buffer belongs to the connection, and the next answer overwrites it.
   */
  body: Buffer
}

export interface Connection {
  /** @throws Error if the connection ends instead */
  ask(request: Buffer): Promise<Answered>
  close(): void
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i

/** Shared by all connections: data is copied out at once. */
const read = Buffer.alloc(1 << 20)

/** A request as bytes, created once and sent often. */
export function requestBytes(method: string, path: string, given: { token?: string; body?: unknown } = {}): Buffer {
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
  let answer: { resolve(answered: Answered): void; reject(error: Error): void } | undefined
  const gathering = createGathering()
  const callback = (size: number) => {
    const answered = gathering.take(read.subarray(0, size))
    if (!answered) return true
    const { resolve } = answer ?? {}
    answer = undefined
    resolve?.(answered)
    return true
  }
  const socket = connect({ port: Number(port), host: hostname, onread: { buffer: read, callback } }).setNoDelay()
  await once(socket, 'connect')

  function fail(error: Error): void {
    answer?.reject(error)
    answer = undefined
  }

  socket.on('error', fail)
  socket.on('close', () => fail(new Error(`${url} closed the connection`)))
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        answer = { resolve, reject }
        if (socket.destroyed) fail(new Error(`${url} had closed the connection`))
        else socket.write(request)
      }),
    close: () => void socket.destroy(),
  }
}

/** Assembles an answer in a reused buffer. */
function createGathering() {
  let held = Buffer.alloc(1024)
  let size = 0
  let bodyAt = 0
  /** Length of head and body; NaN if the head does not tell. */
  let wanted = Number.NaN

  function keep(part: Buffer): void {
    if (size + part.length > held.length) {
      const grown = Buffer.alloc(2 * (size + part.length))
      held.copy(grown, 0, 0, size)
      held = grown
    }
    size += part.copy(held, size)
  }

  function readHead(): void {
    const at = held.subarray(0, size).indexOf(HEAD_END)
    if (at < 0) return
    bodyAt = at + HEAD_END.length
    wanted = bodyAt + Number(LENGTH.exec(held.toString('latin1', 0, at))?.[1])
  }

  return {
    take(part: Buffer): Answered | undefined {
      keep(part)
      if (bodyAt === 0) readHead()
      if (bodyAt === 0 || size < wanted) return undefined
      if (Number.isNaN(wanted) && !held.subarray(0, size).subarray(-LAST_CHUNK.length).equals(LAST_CHUNK))
        return undefined
      const answered = { status: Number(held.toString('latin1', 9, 12)), body: held.subarray(bodyAt, size) }
      size = 0
      bodyAt = 0
      return answered
    },
  }
}

/** Sends one request on its own connection, and returns its answer as JSON. */
export async function askOnce<Answer>(url: string, request: Buffer): Promise<Answer> {
  const connection = await openConnection(url)
  try {
    const { body } = await connection.ask(request)
    return JSON.parse(body.toString())
  } finally {
    connection.close()
  }
}
