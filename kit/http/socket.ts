/** One open WebSocket as the rest of a daemon sees it. */
import type { WebSocket } from 'ws'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'

/** Close codes of RFC 6455, 7.4.1. */
const POLICY = 1008
const OUR_FAULT = 1011

/** A close frame holds 125 bytes, two of them the code. */
const LONGEST_REASON_BYTES = 123

/** What a daemon does with a socket. */
export interface Socket {
  /** Bytes that wait to be sent. */
  readonly bufferedBytes: number
  readonly isOpen: boolean
  /** @returns false where the message was dropped: too much waits already, or the socket is closing */
  send(message: string | Uint8Array): boolean
  /** Sets what hears each message; the bytes are its own. A Fault thrown in it closes the socket with its sentence. */
  onMessage(hear: (message: string | Uint8Array) => void): void
  /** Runs once, whoever closed; at once where it is closed already. */
  onClose(hear: (code: number) => void): void
  /** @param code 1000..1013 or 3000..4999 */
  close(code: number, reason: string): void
}

/** The same with what the server itself does with it. */
export interface ServedSocket extends Socket {
  /** Runs what may throw: a fault closes this socket and nothing else. */
  run(what: () => void): void
  /** Ends a peer that has not answered the last ping, and pings. */
  beat(): void
  terminate(): void
}

/** What a message that waits takes beside its bytes. @source measured: 300 */
const MESSAGE_BYTES = 512

/** @param bufferBytes what may wait unsent before messages are dropped, each with what it takes beside its bytes */
export function createSocket(
  bare: WebSocket,
  by: { bufferBytes: number; log: Log; onDropped: () => void },
): ServedSocket {
  let answered = true
  let waiting = 0
  const sent = () => void waiting--
  let closedWith: number | undefined
  let hearMessage: (message: string | Uint8Array) => void = () => {}
  const hearClose: ((code: number) => void)[] = []
  bare.on('pong', () => {
    answered = true
  })
  bare.on('message', (data, isBinary) => {
    // Without fragments ws hands out a view into its receive buffer only for binary messages of its own type.
    const bytes = data as Buffer
    socket.run(() => hearMessage(isBinary ? new Uint8Array(bytes) : bytes.toString()))
  })
  bare.once('close', (code) => {
    closedWith = code
    for (const hear of hearClose) socket.run(() => hear(code))
  })
  const socket: ServedSocket = {
    get bufferedBytes() {
      return bare.bufferedAmount
    },
    get isOpen() {
      return bare.readyState === bare.OPEN
    },
    send(message) {
      if (bare.readyState !== bare.OPEN) return false
      const sizeBytes = typeof message === 'string' ? Buffer.byteLength(message) : message.length
      if (bare.bufferedAmount + sizeBytes + (waiting + 1) * MESSAGE_BYTES > by.bufferBytes) {
        by.onDropped()
        return false
      }
      waiting++
      bare.send(message, sent)
      return true
    },
    onMessage(hear) {
      hearMessage = hear
    },
    onClose(hear) {
      if (closedWith === undefined) hearClose.push(hear)
      else hear(closedWith)
    },
    close(code, reason) {
      bare.close(code, shorten(reason))
    },
    run(what) {
      try {
        what()
      } catch (error) {
        if (error instanceof Fault) return socket.close(POLICY, `${error.code}: ${error.message}`)
        by.log.error('socket_handler_failed', { error })
        socket.close(OUR_FAULT, 'a fault of the program; the log has it')
      }
    },
    beat() {
      if (!answered) return bare.terminate()
      answered = false
      if (bare.readyState === bare.OPEN) bare.ping()
    },
    terminate: () => bare.terminate(),
  }
  return socket
}

function shorten(reason: string): string {
  const bytes = Buffer.from(reason)
  if (bytes.length <= LONGEST_REASON_BYTES) return reason
  // A character that the cut splits comes out as a replacement of three bytes, so it is left out.
  return bytes
    .subarray(0, LONGEST_REASON_BYTES)
    .toString()
    .replace(/\uFFFD+$/u, '')
}
