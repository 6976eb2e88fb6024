/** HTTP to devices: one request and its complete, bounded answer; and the look-up of a gateway line's TCP port. */
import { type ClientRequest, request as open, type RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '#kit/clock.ts'
import { gatherBody, readJson } from '#kit/http/dialect.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  type ConnectionPlace,
  type DeviceAnswer,
  type DeviceRequest,
  isPort,
  type Place,
} from '../../core/drivers/driver.ts'
import { checkIsPlain } from '../../core/drivers/gateway/gateway-place.ts'
import { isObject } from '../../core/json.ts'
import type { KeptBytes } from './bounds.ts'
import { connectSecure } from './secure.ts'
import { addressText, bare, cutOff, resolved, tooSlow, unreachable } from './tcp.ts'

/** Interim answers to a request, which asks for none. */
const MOST_INTERIM = 8

interface HttpParts {
  clock: Clock
  kept: KeptBytes
  limits: {
    connectMs: number
    /** Most bytes in the body of an answer. */
    httpBytes: number
  }
}

/**
 * Sends a request on a connection of its own; follows no redirect, keeps nothing. With TLS, nothing is sent before the
 * certificate was checked.
 * @throws Fault `device_unreachable`, `device_cut_off`, `device_certificate`, `answer_too_long`, or the reason of `signal`
 */
export async function requestOnce(asked: DeviceRequest, parts: HttpParts, signal: AbortSignal): Promise<DeviceAnswer> {
  const { tls } = asked
  if (tls === undefined) return requestOver(undefined, asked, parts, signal)
  const { clock, limits } = parts
  const stream = await connectSecure({ ...asked, tls }, { clock, connectMs: limits.connectMs }, signal)
  return requestOver(stream, asked, parts, signal)
}

/** @param stream a connected one; left undefined, it connects by itself */
export function requestOver(
  stream: Duplex | undefined,
  asked: DeviceRequest,
  parts: HttpParts,
  signal: AbortSignal,
): Promise<DeviceAnswer> {
  const { host, port, method, path, headers, body } = asked
  const { clock, kept, limits } = parts
  const by: RequestOptions = stream ? { createConnection: () => stream } : { agent: false, lookup: resolved }
  const name = addressText(asked)
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const outgoing = open({ host: bare(host), port, method, path, headers, ...by })
    const keeper = { give: (reason: string) => fail(new Fault('answer_too_long', `the answer of ${name}: ${reason}`)) }
    const timer = stream ? undefined : clock.after(limits.connectMs, () => fail(tooSlow(name, limits.connectMs)))
    const stopped = () => fail(signal.reason)
    const done = () => {
      timer?.cancel()
      kept.set(keeper, 0)
      signal.removeEventListener('abort', stopped)
    }
    const fail = (reason: unknown) => {
      done()
      outgoing.destroy()
      reject(reason)
    }
    signal.addEventListener('abort', stopped, { once: true })
    whenConnected(outgoing, () => timer?.cancel())
    outgoing.on('error', (cause) => fail(unreachable(name, cause)))
    // Nobody asked for another protocol. Without this Node.js ends the connection and says nothing.
    outgoing.on('upgrade', () => fail(cutOff(name)))
    let interim = 0
    outgoing.on('information', () => {
      if (++interim > MOST_INTERIM)
        fail(new Fault('answer_too_long', `${name} sends interim answers (1xx) without end`))
    })
    outgoing.on('response', async (incoming) => {
      incoming.on('error', (cause) => fail(cutOff(name, cause)))
      const answer = await gatherBody(incoming, limits.httpBytes, (bytes) => {
        if (!signal.aborted) kept.set(keeper, bytes)
      })
      if (answer === 'cut') return fail(cutOff(name))
      if (answer === 'too_large') return fail(tooLong(name, limits.httpBytes))
      done()
      resolve({ status: incoming.statusCode ?? 0, body: answer })
    })
    outgoing.end(body)
  })
}

function whenConnected(outgoing: ClientRequest, connected: () => void): void {
  outgoing.once('socket', (socket) => socket.once('connect', connected))
}

function tooLong(name: string, most: number): Fault {
  return new Fault('answer_too_long', `${name} answers more than drivers.http_bytes (${most}) bytes`)
}

/**
 * The raw TCP port that a gateway has opened for a line.
 * @param request sends a request to the gateway
 * @throws Fault `gateway_line` if there is none, `gateway_https`, and the errors of `request`
 * @source interface document 2, part A, Ports
 */
export async function placeOfLine(
  place: Extract<ConnectionPlace, { kind: 'gateway' }>,
  request: (asked: DeviceRequest) => Promise<DeviceAnswer>,
): Promise<Place> {
  const { host, port, tls, line, key } = place
  const web = { host, port, ...(tls && { tls }) }
  const path = `/api/ports/${encodeURIComponent(line)}`
  const headers = { authorization: `Bearer ${key}` }
  await checkIsPlain(web, request)
  const { status, body } = await request({ ...web, method: 'GET', path, headers })
  const says = (what: string) => new Fault('gateway_line', `line ${line} of the gateway ${addressText(place)} ${what}`)
  if (status !== 200) throw says(`cannot be asked for: it answers ${status}`)
  const said = readJson(body)
  const { protocol, settings } = isObject(said) ? said : {}
  if (protocol !== 'raw') throw says('is not raw: set its protocol to raw')
  const tcpPort = isObject(settings) ? settings.tcp_port : undefined
  if (!isPort(tcpPort)) throw says('has no TCP port: set its tcp_port')
  return { host, port: tcpPort }
}
