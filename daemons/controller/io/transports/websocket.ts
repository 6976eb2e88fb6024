/** WebSockets to devices: a lasting connection whose text messages are frames. */
import { WebSocket } from 'ws'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { ConnectionPlace } from '../../core/drivers/driver.ts'
import { connectSecure } from './secure.ts'
import {
  addressText,
  bare,
  cutOff,
  LINGER_MS,
  resolved,
  tooSlow,
  unreachable,
  untilOpen,
  type Wire,
  type WireEvents,
} from './tcp.ts'

export interface WebSocketLimits {
  connectMs: number
  /** The longest message; a longer one ends the connection. */
  messageBytes: number
  /** How often the device is asked for a sign of life; one that gave none since the last time is lost. */
  pingMs: number
  /** Most bytes that wait to be sent. */
  unsentBytes: number
}

type WebSocketPlace = Extract<ConnectionPlace, { kind: 'websocket' }>

/** A fragment holds all that was read with it; no device that is known sends a message in pieces. */
const MOST_FRAGMENTS = 2
/** Packets of one message: small ones, but no single bytes. */
const MOST_PACKETS = 1024
/** Messages that arrived in one packet with the one after which reading pauses. */
const MOST_WAITING = 512

/**
 * @returns a socket that is not read yet
 * @throws Fault `device_unreachable`, `device_certificate`, or the reason of `signal`
 */
export async function connectWebSocket(
  place: WebSocketPlace,
  { clock, connectMs, messageBytes }: WebSocketLimits & { clock: Clock },
  signal: AbortSignal,
): Promise<WebSocket> {
  signal.throwIfAborted()
  const { port, path, headers, tls } = place
  const stream = tls && (await connectSecure({ ...place, tls }, { clock, connectMs }, signal))
  const name = addressText(place)
  const host = bare(place.host)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = new WebSocket(`ws://${host.includes(':') ? `[${host}]` : host}:${port}${path}`, {
    headers: { ...headers },
    // The stream is encrypted, and its certificate checked, before anything is sent: so ws gets a plain ws:// address.
    ...(stream ? { createConnection: () => stream } : { lookup: resolved }),
    perMessageDeflate: false,
    maxPayload: messageBytes,
    maxFragments: MOST_FRAGMENTS,
    maxBufferedChunks: MOST_PACKETS,
  })
  // Stays for good: errors of an open connection are reported by its end.
  socket.on('error', (cause: NodeJS.ErrnoException) => reject(unreachable(name, cause)))
  socket.once('unexpected-response', (_request, { statusCode }) =>
    reject(new Fault('device_unreachable', `${name} answers ${statusCode} to a WebSocket at ${path}`)),
  )
  socket.once('open', () => {
    // Nothing may be read before somebody listens.
    socket.pause()
    resolve()
  })
  await untilOpen(promise, {
    ...{ clock, connectMs, signal },
    late: () => tooSlow(name, connectMs),
    destroy: () => socket.terminate(),
  })
  return socket
}

/** @param socket open and paused; the wire owns it from now on */
export function webSocketWire(
  socket: WebSocket,
  name: string,
  { clock, pingMs, messageBytes, unsentBytes }: WebSocketLimits & { clock: Clock },
  { bytes, closed }: WireEvents,
): Wire {
  let reason = `${name} closed the connection`
  let isAlive = true
  let isHeld = false
  let waiting: Uint8Array[] = []
  const end = (why: string) => {
    reason = why
    waiting = []
    socket.terminate()
  }
  const beat = clock.every(pingMs, () => {
    if (!isAlive && !isHeld) return end(`${name} gave no sign of life for ${durationText(pingMs)}`)
    isAlive = false
    socket.ping()
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    reason =
      error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
        ? `${name} sent a message longer than drivers.message_bytes (${messageBytes})`
        : `the connection to ${name} broke (${error.code ?? error.message})`
  })
  socket.once('close', () => {
    beat.cancel()
    closed(reason)
  })
  socket.on('pong', () => {
    isAlive = true
  })
  // Each is answered: whoever asks and never reads would fill the memory with answers.
  socket.on('ping', () => {
    if (socket.bufferedAmount > unsentBytes) end(`${name} asks for signs of life and does not read them`)
  })
  socket.on('message', (data: Uint8Array) => {
    isAlive = true
    if (!isHeld) return bytes(data)
    waiting.push(data)
    if (waiting.length > MOST_WAITING) end(`${name} sends more messages at once than are read`)
  })
  socket.resume()
  return {
    write(message) {
      return new Promise((resolve, reject) => {
        socket.send(message, { binary: false }, (error) => (error ? reject(cutOff(name, error)) : resolve()))
      })
    },
    hold(wantsHeld) {
      isHeld = wantsHeld
      if (isHeld) socket.pause()
      // Hearing one may hold the next.
      while (!isHeld && waiting.length > 0) bytes(waiting.shift() as Uint8Array)
      if (!isHeld) socket.resume()
      return true
    },
    close() {
      socket.close()
      const linger = clock.after(LINGER_MS, () => socket.terminate())
      socket.once('close', () => linger.cancel())
    },
  }
}
