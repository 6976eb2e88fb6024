/** HTTP to devices: one request and its answer, whole and bounded; and which TCP port a gateway gives a line. */
import { type ClientRequest, type IncomingMessage, request as open } from 'node:http'
import type { Clock } from '#kit/clock.ts'
import { readJson } from '#kit/http/dialect.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { ConnectionPlace, DeviceAnswer, DeviceRequest, Place } from '../../core/drivers/driver.ts'
import { isObject } from '../../core/json.ts'
import type { KeptBytes } from './bounds.ts'
import { bare, cutOff, nameOf, resolved, unreachable } from './tcp.ts'

interface HttpParts {
  clock: Clock
  kept: KeptBytes
  limits: {
    connectMs: number
    /** Bytes of the body of an answer. */
    httpBytes: number
  }
}

/**
 * On a connection of its own; no redirect is followed, nothing is kept.
 * @throws Fault `device_unreachable`, `device_cut_off`, `answer_too_long`, or the reason of `signal`
 */
export function requestOnce(asked: DeviceRequest, parts: HttpParts, signal: AbortSignal): Promise<DeviceAnswer> {
  const { host, port, method, path, headers, body } = asked
  const { clock, kept, limits } = parts
  const name = nameOf(asked)
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const outgoing = open({ host: bare(host), port, method, path, headers, agent: false, lookup: resolved })
    const keeper = { give: (reason: string) => fail(new Fault('answer_too_long', `the answer of ${name}: ${reason}`)) }
    const late = () =>
      fail(new Fault('device_unreachable', `${name} did not answer within ${durationText(limits.connectMs)}`))
    const timer = clock.after(limits.connectMs, late)
    const stopped = () => fail(signal.reason)
    const done = () => {
      timer.cancel()
      kept.set(keeper, 0)
      signal.removeEventListener('abort', stopped)
    }
    const fail = (reason: unknown) => {
      done()
      outgoing.destroy()
      reject(reason)
    }
    signal.addEventListener('abort', stopped, { once: true })
    whenConnected(outgoing, () => timer.cancel())
    outgoing.on('error', (cause) => fail(unreachable(name, cause)))
    outgoing.on('response', (incoming) => {
      const read = (bytes: number) => kept.set(keeper, bytes)
      const whole = (answer: Uint8Array) => {
        done()
        resolve({ status: incoming.statusCode ?? 0, body: answer })
      }
      readWhole(incoming, limits.httpBytes, { name, read, whole, fail })
    })
    outgoing.end(body)
  })
}

function whenConnected(outgoing: ClientRequest, connected: () => void): void {
  outgoing.once('socket', (socket) => socket.once('connect', connected))
}

interface Reading {
  name: string
  /** How many bytes there are so far. */
  read(bytes: number): void
  whole(body: Uint8Array): void
  fail(reason: Fault): void
}

function readWhole(incoming: IncomingMessage, most: number, { name, read, whole, fail }: Reading): void {
  const chunks: Uint8Array[] = []
  let bytes = 0
  incoming.on('data', (chunk: Uint8Array) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > most) fail(new Fault('answer_too_long', `${name} answers more than drivers.http_bytes (${most}) bytes`))
    else read(bytes)
  })
  incoming.on('error', (cause) => fail(cutOff(name, cause)))
  incoming.on('end', () => whole(Buffer.concat(chunks)))
}

/**
 * The raw TCP port that a gateway has opened for a line.
 * @param request asks the gateway
 * @throws Fault `gateway_line` where there is none, and as `request` does
 * @source interface document 2, part A, Ports
 */
export async function placeOfLine(
  place: Extract<ConnectionPlace, { kind: 'gateway' }>,
  request: (asked: DeviceRequest) => Promise<DeviceAnswer>,
): Promise<Place> {
  const { host, port, line, key } = place
  const path = `/api/ports/${encodeURIComponent(line)}`
  const headers = { authorization: `Bearer ${key}` }
  const { status, body } = await request({ host, port, method: 'GET', path, headers })
  const says = (what: string) => new Fault('gateway_line', `line ${line} of the gateway ${nameOf(place)} ${what}`)
  if (status !== 200) throw says(`cannot be asked for: it answers ${status}`)
  const { protocol, settings } = readJson(body) as Record<string, unknown>
  if (protocol !== 'raw') throw says('is not raw: set its protocol to raw')
  const tcpPort = isObject(settings as never) ? (settings as Record<string, unknown>).tcp_port : undefined
  if (typeof tcpPort !== 'number' || tcpPort === 0) throw says('has no TCP port: set its tcp_port')
  return { host, port: tcpPort }
}
