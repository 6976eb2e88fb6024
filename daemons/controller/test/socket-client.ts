/** A client of the socket of a built controller. */
import { WebSocket } from 'ws'
import { until } from '#kit/test/until.ts'
import type { RestSite } from './rest-site.ts'

/** One message that was heard. */
export type Heard = Record<string, unknown> & { type: string }

/** The answer to a request. */
export interface Told {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects
  body: any
}

export type Client = ReturnType<typeof dialSocket>

/** @param from the address that the proxy reports */
export function dialSocket(
  t: { teardown(run: () => unknown): void },
  site: Pick<RestSite, 'url'>,
  options: { token?: string; ticket?: string; from?: string } = {},
) {
  const { token, ticket, from = '10.64.200.1' } = options
  const query = ticket === undefined ? '' : `?ticket=${ticket}`
  const headers = { 'x-forwarded-for': from, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  const socket = new WebSocket(`${site.url().replace('http', 'ws')}/ws${query}`, { headers })
  t.teardown(() => socket.terminate())
  const heard: Heard[] = []
  const refused = new Promise<number | undefined>((resolve) => {
    socket.on('open', () => resolve(undefined))
    socket.on('unexpected-response', (_, reply) => resolve(reply.statusCode))
    socket.on('error', () => {})
  })
  const closed = new Promise<[number, string]>((resolve) => {
    socket.on('close', (code, reason) => resolve([code, String(reason)]))
  })
  const answers = new Map<unknown, (told: Told) => void>()
  socket.on('message', (data) => {
    const message = JSON.parse(String(data))
    if (message.type === 'answer' && answers.has(message.id)) answers.get(message.id)?.(message)
    else heard.push(message)
  })
  let last = 0
  async function ask(type: string, fields: object = {}): Promise<Told> {
    await refused
    const id = ++last
    const told = new Promise<Told>((resolve) => answers.set(id, resolve))
    socket.send(JSON.stringify({ id, type, ...fields }))
    return told
  }
  /** The first message that fits, from a place in what was heard. */
  async function next(type: string, fits: (message: Heard) => boolean = () => true, from = 0): Promise<Heard> {
    const find = () => heard.slice(from).find((message) => message.type === type && fits(message))
    await until(`a message ${type}`, () => find() !== undefined)
    return find() as Heard
  }
  return { socket, heard, refused, closed, ask, next }
}
