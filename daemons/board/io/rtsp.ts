/** RTSP: fetches the description of a session from a device, and serves the board's own, within limits. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { plainAddress, type ShareOf } from '#kit/net/address.ts'
import { createPlaces, type Holder, type Places } from '#kit/net/places.ts'
import { Fault } from '#kit/pure/fault.ts'
import { answerRtsp, type RtspSession } from '../core/streams/announcing.ts'
import { cutRtsp, type RtspReply, replyOf, rtspRequest, writeReply, writeRequest } from '../wire/streams/rtsp.ts'
import { LONGEST_SDP } from '../wire/streams/sdp.ts'

// The client.

/** Device and session to describe. */
interface DescribeRequest {
  clock: Clock
  /** IPv4 */
  address: string
  port: number
  /** Path of the session, percent-encoded. */
  path: string
  /** Timeout of the whole exchange. */
  timeoutMs: number
}

const REPLY_BOUNDS = { headBytes: 4096, bodyBytes: LONGEST_SDP * 4 }

/**
 * One connection, one request, one answer. Redirections are not followed: a device that answers for itself needs none,
 * and others could make us contact third parties.
 * @returns the description as received
 * @throws Fault `rtsp_unanswered`, `rtsp_refused`, `rtsp_malformed`, `rtsp_too_long`
 * @source RFC 2326, 10.2
 */
export async function describeOverRtsp(request: DescribeRequest): Promise<string> {
  const { address, clock, path, port, timeoutMs } = request
  const socket = connect({ host: address, port, noDelay: true })
  const timer = clock.after(timeoutMs, () => socket.destroy())
  try {
    const url = `rtsp://${address}:${port}${path}`
    const headers = { CSeq: '1', Accept: 'application/sdp', 'User-Agent': 'Plantroom' }
    socket.write(writeRequest('DESCRIBE', url, headers))
    const { body, headers: answered, status } = await replyFrom(socket, `${address}:${port}`)
    if (status !== 200) throw new Fault('rtsp_refused', `${address}:${port} answers ${status}, not 200`)
    if (!/^application\/sdp\b/i.test(answered.get('content-type') ?? 'application/sdp'))
      throw new Fault('rtsp_refused', `${address}:${port} answers with something else than SDP`)
    // It could not be parsed, and would be stored.
    if (body.length > LONGEST_SDP)
      throw new Fault('rtsp_too_long', `a description of ${body.length} characters is longer than ${LONGEST_SDP}`)
    return body
  } finally {
    timer.cancel()
    socket.destroy()
  }
}

async function replyFrom(socket: Socket, who: string): Promise<RtspReply> {
  let pending: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  try {
    for await (const bytes of socket) {
      pending = Buffer.concat([pending, bytes])
      const cut = cutRtsp(pending, REPLY_BOUNDS)
      if (cut) return replyOf(cut.message)
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('rtsp_unanswered', `${who} cannot be asked over RTSP`, { cause: error })
  }
  throw new Fault('rtsp_unanswered', `${who} gave no whole answer over RTSP in time`)
}

// The server.

/** Limits; keys of the config table `streams`. */
interface RtspServerLimits {
  clients: number
  clientsPerHost: number
  /** Time for a request to arrive whole, and for its answer to be taken. */
  requestMs: number
  idleMs: number
}

/** Dependencies and settings. */
interface RtspServerOptions {
  clock: Clock
  log: Log
  /** Preferred port; if it is taken, any other. 0 for any. */
  port: number
  /** The address to listen on; default: all of the machine. */
  host?: string
  limits: RtspServerLimits
  shareOf: ShareOf
  /** Undefined if there is no stream. */
  session(): RtspSession | undefined
}

const REQUEST_BOUNDS = { headBytes: 4096, bodyBytes: 4096 }
/** Requests of one client per second: a player sends four at first, and then one now and then. */
const MOST_PER_SECOND = 20
/** Delay between a final answer and the close, so that it is read. */
const LINGER_MS = 500

/** Serves from `start` to `stop`. */
export class RtspServer {
  readonly #options: RtspServerOptions
  readonly #places: Places
  readonly #clients = new Set<Socket>()
  #server: Server | undefined
  #described = 0
  #flooded = 0

  constructor(options: RtspServerOptions) {
    this.#options = options
    const { clients: most, clientsPerHost: mostPerAddress } = options.limits
    this.#places = createPlaces({ most, mostPerAddress, shareOf: options.shareOf })
  }

  /** @throws the system's error if no port is available */
  async start(): Promise<void> {
    const { log, port } = this.#options
    try {
      this.#server = await this.#listen(port)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
      this.#server = await this.#listen(0)
      log.notice('rtsp takes another port', { wanted: port, port: this.port })
    }
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const client of this.#clients) client.destroy()
    if (server) await new Promise<void>((resolve) => server.close(() => resolve()))
  }

  /** 0 until it listens. */
  get port(): number {
    const address = this.#server?.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  counts(): { clients: number; described: number; turnedAway: number } {
    const { refused, evicted } = this.#places.counts()
    return { clients: this.#places.size, described: this.#described, turnedAway: refused + evicted + this.#flooded }
  }

  async #listen(port: number): Promise<Server> {
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket))
    server.listen({ port, host: this.#options.host ?? '0.0.0.0' })
    await once(server, 'listening')
    // A connection that cannot be accepted (no memory, no descriptor) affects only that client.
    server.on('error', (fault) => this.#options.log.warning('rtsp client not accepted', { fault }))
    return server
  }

  #accept(socket: Socket): void {
    // An error ends the connection: 'close' follows.
    socket.on('error', () => {})
    const talk = new Talk(socket, this.#options, {
      described: () => void this.#described++,
      flooded: () => void this.#flooded++,
    })
    this.#clients.add(socket)
    socket.on('close', () => {
      talk.end()
      this.#places.leave(talk)
      this.#clients.delete(socket)
    })
    if (!this.#places.take(plainAddress(socket.remoteAddress), talk)) socket.destroy()
  }
}

/** Events of a client's connection. */
interface TalkEvents {
  described(): void
  /** It sent more requests than any client needs, and was disconnected. */
  flooded(): void
}

/** One client: processes its requests one after the other. */
class Talk implements Holder {
  readonly #socket: Socket
  readonly #options: RtspServerOptions
  readonly #events: TalkEvents
  #pending: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  #deadline: Timer | undefined
  /** The present second, and the requests in it. */
  #second = 0
  #asked = 0
  #hasAsked = false
  #activeMs: number

  constructor(socket: Socket, options: RtspServerOptions, events: TalkEvents) {
    this.#socket = socket
    this.#options = options
    this.#events = events
    this.#activeMs = options.clock.monotonicMs()
    this.#allow(options.limits.requestMs)
    socket.on('data', (bytes) => this.#take(bytes))
  }

  end(): void {
    this.#deadline?.cancel()
  }

  /** A player that has its answers keeps its connection open, and sends further requests now and then. */
  use(): ReturnType<Holder['use']> {
    return { use: this.#hasAsked ? 'kept' : 'opening', sinceMs: this.#activeMs }
  }

  giveWay(): void {
    this.#socket.destroy()
  }

  /** A request has one deadline: sending it slowly, byte by byte, does not extend it. */
  #allow(ms: number): void {
    this.#deadline?.cancel()
    this.#deadline = this.#options.clock.after(ms, () => this.#socket.destroy())
  }

  #take(bytes: Buffer): void {
    if (this.#pending.length === 0) this.#allow(this.#options.limits.requestMs)
    this.#pending = Buffer.concat([this.#pending, bytes])
    try {
      for (let cut = cutRtsp(this.#pending, REQUEST_BOUNDS); cut; cut = cutRtsp(this.#pending, REQUEST_BOUNDS)) {
        this.#pending = this.#pending.subarray(cut.length)
        if (this.#isTooMuch()) {
          this.#events.flooded()
          this.#socket.destroy()
          return
        }
        const { isDescription, text } = answerRtsp(rtspRequest(cut.message), this.#options.session())
        if (isDescription) this.#events.described()
        this.#hasAsked = true
        this.#activeMs = this.#options.clock.monotonicMs()
        if (!this.#answer(text)) return
      }
      // Copied: a view of the rest would keep the whole buffer alive.
      this.#pending = Buffer.from(this.#pending)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#refuse(error)
      return
    }
    if (this.#pending.length === 0) this.#allow(this.#options.limits.idleMs)
  }

  /** Thousands of requests in one piece would block everybody else until the last is answered. */
  #isTooMuch(): boolean {
    const second = Math.floor(this.#options.clock.monotonicMs() / 1000)
    this.#asked = second === this.#second ? this.#asked + 1 : 1
    this.#second = second
    return this.#asked > MOST_PER_SECOND
  }

  /** A client that does not take its answers is disconnected. */
  #answer(text: string): boolean {
    const isTaken = this.#socket.write(text)
    if (!isTaken) this.#socket.destroy()
    return isTaken
  }

  #refuse({ code }: Fault): void {
    this.#socket.removeAllListeners('data').resume()
    this.#socket.end(writeReply(code === 'rtsp_too_long' ? 413 : 400, {}))
    this.#allow(LINGER_MS)
  }
}
