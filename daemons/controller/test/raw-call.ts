/** Raw HTTP calls for tests of document 1: any method, a path that is not normalised, repeated headers. */
import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { holdToDescription } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import type { RestSite } from './rest-site.ts'

export interface RawCall {
  headers?: Record<string, string | string[]>
  /** A list is sent in chunks, without a length. */
  body?: string | Buffer | readonly (string | Buffer)[]
  /** The address that the proxy reports; a new one by default. */
  from?: string
  localAddress?: string
}

export interface RawAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: an answer is what a test looks into
  body: any
  from: string
}

let asked = 0

/** From 10.65.0.1 on: inside every building; each is used once, and by nobody else. */
export function freshAddress(): string {
  asked++
  return `10.65.${asked >> 8}.${asked & 255}`
}

/** @param path as it is sent, with its query */
export async function rawCall(site: RestSite, method: string, path: string, call: RawCall = {}): Promise<RawAnswer> {
  const { body, from = freshAddress(), headers = {}, localAddress } = call
  const { hostname, port } = new URL(site.url())
  const asking = request({
    ...{ host: hostname, port, method, path, agent: false },
    ...(localAddress === undefined ? {} : { localAddress }),
    headers: { ...(from === '' ? {} : { 'x-forwarded-for': from }), ...headers },
  })
  // A refusal of a body that is too long may arrive while the body is still being sent.
  asking.on('error', () => {})
  const heard = once(asking, 'response')
  if (Array.isArray(body)) {
    for (const part of body) asking.write(part)
    asking.end()
  } else if (body === undefined) asking.end()
  else {
    asking.setHeader('content-length', Buffer.byteLength(body as string | Buffer))
    asking.end(body)
  }
  const [response] = (await heard) as [IncomingMessage]
  const told = await text(response)
  const { headers: said, statusCode: status = 0 } = response
  const type = said['content-type'] ?? ''
  const isJson = told !== '' && type.startsWith('application/json')
  const answer = { status, headers: said, text: told, body: isJson ? JSON.parse(told) : told, from }
  holdToDescription(site.url(), { method, path: path.split('?', 1)[0] ?? '', status, type, body: answer.body })
  return answer
}

/** All of request_history by client, once each of these has a record. @param token of an elevated session */
export async function recordsOf(
  site: RestSite,
  told: readonly { from: string }[],
  token: string,
): Promise<Map<string, Record<string, unknown>>> {
  let records = new Map<string, Record<string, unknown>>()
  await until(`${told.length} calls are recorded`, async () => {
    const { body } = await site.get('/api/data/request_history?_limit=10000&_orderby=id=desc', token)
    records = new Map(body.map((row: { client_ip: string }) => [row.client_ip, row]))
    return told.every(({ from }) => records.has(from))
  })
  return records
}
