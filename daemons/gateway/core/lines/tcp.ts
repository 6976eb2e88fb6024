/** TCP ports on which a line serves clients: the limits of each, and what a server and a protocol tell each other. */
import { Type } from 'typebox'
import { clientPlaceKeys } from '#kit/pure/line.ts'

/** Keys of the table of a protocol's TCP ports, whose name is given. @param usual the defaults */
export function lineTcpKeys(name: string, usual: { clients: number; idleMs: number; idleMeans: string }) {
  return {
    host: Type.String({
      default: '0.0.0.0',
      maxLength: 253,
      description: `address the ${name} ports listen on; ${name} has no login, so name one that only friends reach`,
    }),
    ...clientPlaceKeys(usual.clients),
    backlog_bytes: Type.Integer({
      default: 65_536,
      minimum: 16_384,
      maximum: 16_777_216,
      unit: 'bytes',
      description: 'bytes of replies held for one client before it is read no further',
    }),
    slow_client_ms: Type.Integer({
      default: 5000,
      minimum: 10,
      maximum: 600_000,
      unit: 'ms',
      description: 'how long a client may leave more replies than that before it is cut off',
    }),
    idle_ms: Type.Integer({
      default: usual.idleMs,
      minimum: 0,
      maximum: 86_400_000,
      unit: 'ms',
      description: usual.idleMeans,
    }),
  }
}

/** Limits of all TCP ports of one protocol: its table of `lineTcpKeys`. */
export interface LineTcpLimits {
  host: string
  clients_per_address: number
  clients: number
  backlog_bytes: number
  slow_client_ms: number
  idle_ms: number
}

/**
 * Why a client is disconnected: the limit of clients is reached (`full`), another address needs its place (`evicted`),
 * its stream is of another protocol (`malformed`), it does not take its replies (`slow`), or it has sent no request for
 * long (`idle`).
 */
export type LetGo = 'full' | 'evicted' | 'malformed' | 'slow' | 'idle'

/** The counter of each. */
export const countOfLetGo = {
  full: 'tcpRefused',
  evicted: 'tcpEvicted',
  malformed: 'tcpMalformed',
  slow: 'tcpCutOff',
  idle: 'tcpIdle',
} as const satisfies Record<LetGo, string>

/** One client's connection. */
export interface TcpPeer {
  /** Where it comes from. */
  readonly address: string
  /** Bytes that it has not taken yet. */
  readonly waitingBytes: number
  /** Of its socket; -1 where it has none any more. Left out by peers in memory. */
  readonly descriptor?: number
  /**
   * The connection owns the bytes afterwards. It disconnects a client that does not take them. None at all say that the
   * client was answered otherwise.
   * @param isUnasked the client has not asked for them, so that they do not keep its place
   */
  send(bytes: Uint8Array, isUnasked?: boolean): void
  /**
   * Another reads the socket from now on, and is paused and resumed in its place; undefined: it reads by itself again. Left
   * out by peers in memory.
   */
  readBy?(reader: { pause(): void; resume(): void } | undefined): void
  /** Reads no further until `resume`. */
  pause(): void
  resume(): void
  /** Disconnects the client once all replies are sent. `detail` says what was seen, without payload. */
  end(why: LetGo, detail: string): void
}

/** Handles the bytes of one client. */
export interface TcpClient {
  /** The number of unanswered requests: a client that waits for a reply is not idle. */
  readonly waiting: number
  /** The client object owns the bytes afterwards. */
  onBytes(bytes: Uint8Array): void
  /** Runs once, whichever side closed the connection. */
  onClosed(): void
}

/** Receives new clients and the reasons of disconnections. */
export interface TcpHouse {
  onClient(peer: TcpPeer): TcpClient
  onLetGo(why: LetGo): void
}

/** A server that listens. */
interface TcpServer {
  /** Ends every connection. */
  close(): Promise<void>
}

/** @param settings `port` 1..65535; `maxClients` at once. @throws Fault `tcp_port_taken` */
export type TcpServerOpener = (settings: { port: number; maxClients: number }, house: TcpHouse) => Promise<TcpServer>
