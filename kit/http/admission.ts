/** Admission: who gets a connection and a turn, how long a body may take, and which request heads are refused. */

import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../clock.ts'
import type { HttpConfig } from '../config/tables.ts'
import type { Log } from '../log.ts'
import type { ShareOf } from '../net/address.ts'
import { createPlaces, type Holder, type Use } from '../net/places.ts'
import { Fault } from '../pure/fault.ts'
import { PIPELINED_HEADS } from '../pure/memory-plan.ts'
import { createLogGate } from '../pure/pace.ts'
import type { Metrics } from './metrics.ts'

// Time limit for a request's body. Node's own timeout is the same for every request, and an upload takes minutes.

/** The bodies being received. */
export interface BodyTime {
  /**
   * Starts with the head, whether or not a route answers the request: otherwise the rest of a body that nobody reads
   * would hold its connection for as long as it drips.
   */
  watch(request: IncomingMessage): void
  /** Takes this request out of the time limit; it has limits of its own. */
  exempt(request: IncomingMessage): void
  /** Whether this request was ended because it was too slow. */
  wasLate(request: IncomingMessage): boolean
}

/** @param by `onLate` gets an error like Node's own, and the connection */
export function createBodyTime(by: {
  clock: Clock
  timeoutMs: number
  onLate: (error: NodeJS.ErrnoException, connection: Socket) => void
}): BodyTime {
  const timers = new WeakMap<IncomingMessage, Timer>()
  const late = new WeakSet<IncomingMessage>()
  return {
    watch(request) {
      const { 'transfer-encoding': coding, 'content-length': length = '0' } = request.headers
      if (coding === undefined && length === '0') return
      const timer = by.clock.after(by.timeoutMs, () => {
        if (request.complete || request.destroyed) return
        late.add(request)
        by.onLate(Object.assign(new Error('request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), request.socket)
      })
      timers.set(request, timer)
      request.once('close', () => timer.cancel())
    },
    exempt: (request) => timers.get(request)?.cancel(),
    wasLate: (request) => late.has(request),
  }
}

// Request heads are normalized, so that every later rule looks at the same host and the same origin.

/** Headers that decide whether a request is let in, each with its own bit. */
const LONE: ReadonlyMap<string, number> = new Map([
  ['host', 1],
  ['origin', 2],
  ['referer', 4],
  ['authorization', 8],
])
/** A name of any other length needs no further look; that excludes most. */
const LENGTHS: ReadonlySet<number> = new Set([...LONE.keys()].map(({ length }) => length))

/**
 * Most header fields in a request: other servers allow about a hundred, and each takes 136 bytes, however short it is.
 */
const MOST_FIELDS = 128

/**
 * Refuses a request that repeats such a header: Node keeps the first, but a proxy may have looked at the second.
 * @throws Fault `bad_http`; `head_too_large` where it has too many fields
 * @source RFC 9112, 3.2; RFC 9110, 5.3
 */
export function checkLoneHeaders({ rawHeaders }: IncomingMessage): void {
  const fields = rawHeaders.length / 2
  if (fields > MOST_FIELDS)
    throw new Fault('head_too_large', `the request has ${fields} header fields, expected at most ${MOST_FIELDS}`)
  let seen = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const said = rawHeaders[at] ?? ''
    if (!LENGTHS.has(said.length)) continue
    const name = said.toLowerCase()
    const bit = LONE.get(name) ?? 0
    if ((seen & bit) !== 0) throw new Fault('bad_http', `the request has the header ${name} twice`)
    seen |= bit
  }
}

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/**
 * A request may name its whole address in its first line; that host then replaces the Host header.
 * @returns the path and query alone
 * @source RFC 9112, 3.2.2
 */
export function originForm(request: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const url = request.url ?? ''
  if (url.startsWith('/')) return url
  const [whole, authority] = ABSOLUTE.exec(url) ?? []
  if (whole === undefined) return url
  request.headers.host = authority
  const rest = url.slice(whole.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** At most one log line about refused connections in this time. */
const TURNED_AWAY_LINE_MS = 60_000

interface AdmissionNeeds {
  config: Pick<HttpConfig, 'max_connections' | 'max_connections_per_address'>
  shareOf: ShareOf
  clock: Clock
  log: Log
  metrics: Metrics
}

/** Connection admission of one daemon, for every server that its address needs: `localhost` is two. */
export interface Admission {
  /** Call before the server listens. */
  guard(server: Server): void
  /** Its connection has asked, and was answered, without a request of Node's. */
  answeredAtOnce(socket: Socket): void
  /** Logs what was counted but not logged yet. */
  close(): void
}

export function createAdmission({ config, shareOf, clock, log, metrics }: AdmissionNeeds): Admission {
  const { max_connections: most, max_connections_per_address: mostPerAddress } = config
  const places = createPlaces({ most, mostPerAddress, shareOf })
  const gate = createLogGate(clock, TURNED_AWAY_LINE_MS, (times, facts) =>
    log.warning('connections_turned_away', { times, ...facts, limit: most, limitPerAddress: mostPerAddress }),
  )
  count(metrics, () => places.counts())

  function admit(socket: Socket): Connection | undefined {
    const address = socket.remoteAddress ?? ''
    const { evicted } = places.counts()
    const connection = new Connection(socket, clock)
    const isIn = places.take(address, connection)
    if (!isIn || places.counts().evicted > evicted) gate.note({ last: isIn ? 'made room' : 'refused', for: address })
    if (!isIn) {
      socket.destroy()
      return undefined
    }
    socket.once('close', () => places.leave(connection))
    return connection
  }

  const connections = new WeakMap<Socket, Connection>()

  return {
    answeredAtOnce: (socket) => connections.get(socket)?.rests(),
    guard(server) {
      server.on('connection', (socket) => {
        const connection = admit(socket)
        if (connection) connections.set(socket, connection)
      })
      // The same connection, encrypted: requests name that stream.
      server.on('secureConnection', (stream: Socket, wire: Socket) => {
        const connection = connections.get(wire)
        if (connection) connections.set(stream, connection)
      })
      server.prependListener('request', ({ socket }, response) => {
        const connection = connections.get(socket)
        if (!connection) return
        connection.asks()
        response.on('close', connection.answered)
      })
      // Without an `upgrade` listener Node answers an upgrade like any other request, so ours is added only to servers
      // that have one.
      server.on('newListener', function watchUpgrades(event) {
        if (event !== 'upgrade') return
        server.off('newListener', watchUpgrades)
        server.on('upgrade', ({ socket }) => connections.get(socket as Socket)?.lasts())
      })
    },
    close: () => gate.close(),
  }
}

/** Files a daemon has open beside connections: lines, sockets, databases, its own files. */
const OTHER_FILES = 128

/**
 * Lowers the connection limit so that connections never take the last file descriptor: without one no disk, line or
 * network can be read. By now Node has raised its own limit as far as it may. @source proc_pid_limits(5)
 */
export function withinFiles<Config extends { max_connections: number }>(
  config: Config,
  log: Pick<Log, 'warning'>,
  files = openFiles(),
): Config {
  const { limit, open } = files
  if (limit >= open + config.max_connections + OTHER_FILES) return config
  const max_connections = Math.max(1, Math.min(config.max_connections, Math.floor((limit - open) / 2)))
  const remedy = `raise LimitNOFILE (ulimit -n) to ${open + config.max_connections + OTHER_FILES}`
  log.warning('few files may be open', { limit, connections: max_connections, remedy })
  return { ...config, max_connections }
}

function openFiles(): { limit: number; open: number } {
  const [, limit = 'unlimited'] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return {
    limit: limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit),
    open: readdirSync('/proc/self/fd').length,
  }
}

function count(metrics: Metrics, counts: () => { refused: number; evicted: number }): void {
  metrics.counts(
    {
      name: 'http_connections_turned_away_total',
      help: 'Connections closed because as many as allowed were open, in all or of their address',
    },
    () => [{ labels: {}, value: counts().refused }],
  )
  metrics.counts(
    { name: 'http_connections_evicted_total', help: 'Connections closed to make room for another address' },
    () => [{ labels: {}, value: counts().evicted }],
  )
}

class Connection implements Holder {
  readonly #socket: Socket
  readonly #clock: Clock
  #use: Use = 'opening'
  #sinceMs: number
  #waiting = 0

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket
    this.#clock = clock
    this.#sinceMs = clock.monotonicMs()
  }

  use(): { use: Use; sinceMs: number } {
    return { use: this.#use, sinceMs: this.#sinceMs }
  }

  giveWay(): void {
    this.#socket.destroy()
  }

  asks(): void {
    if (this.#waiting++ === 0) this.#is('busy')
  }

  readonly answered = (): void => {
    if (--this.#waiting === 0) this.#is('idle')
  }

  rests(): void {
    this.#is('idle')
  }

  lasts(): void {
    this.#is('lasting')
  }

  #is(use: Use): void {
    this.#use = use
    this.#sinceMs = this.#clock.monotonicMs()
  }
}

// Decides whose request is handled next: requests of one connection run one after the other, and no address gets more
// than its share of each round of the event loop. A client that sends thousands at once waits for its own backlog, and
// gets only part of the processor while others ask: the machine has more to do than this daemon.

interface TurnsNeeds {
  config: Pick<HttpConfig, 'turn_ms' | 'turn_rest_ms' | 'pipelined_max' | 'header_bytes'>
  /** What addresses are grouped by; addresses without a share are not limited. */
  shareOf: ShareOf
  clock: Pick<Clock, 'monotonicMs' | 'after'>
  /** Runs a callback once the event loop has read what is ready. Default: `setImmediate` */
  onceAround?: (run: () => void) => void
}

/** Takes turns between all connections of a daemon. */
export interface Turns {
  /** Wraps a request listener: it is called when the request's turn comes, or never if the client has gone. */
  inTurn(listener: RequestListener): RequestListener
  /** Whether it is the turn of a connection on which no request waits; if so, the turn is taken. */
  isNow(socket: Socket): boolean
  /** Runs something else for an address when it is its turn, such as a TLS handshake. */
  take(remoteAddress: string, run: () => void): void
}

/** The requests of one connection. */
interface Line {
  /** Share of its address, the same for all its requests. */
  share: string | undefined
  isBusy: boolean
  /** Characters of the waiting heads, plus the overhead of their fields. */
  headChars: number
  waiting: (() => void)[]
}

/** The requests of one address. */
interface Share {
  /** When its first request of this round started. */
  beganMs: number
  waiting: (() => void)[]
}

export function createRequestTurns(needs: TurnsNeeds): Turns {
  const { config, shareOf } = needs
  const lines = new WeakMap<Socket, Line>()
  const { begin, isNow } = createShares(needs)

  function lineOf(connection: Socket): Line {
    const known = lines.get(connection)
    if (known) return known
    // Computed once per connection: it is the same for each request, and computing it costs more than many requests do.
    const share = shareOf(connection.remoteAddress ?? '')
    const line: Line = { share, isBusy: false, headChars: 0, waiting: [] }
    lines.set(connection, line)
    return line
  }

  return {
    take: (remoteAddress, run) => begin(shareOf(remoteAddress), run),
    isNow: (socket) => isNow(lineOf(socket).share),
    inTurn: (listener) => (request, response) => {
      const { socket } = request
      const line = lineOf(socket)
      const chars = line.isBusy ? charsOf(request) : 0
      const isLong = line.headChars + chars > PIPELINED_HEADS * config.header_bytes
      if (line.isBusy && (line.waiting.length >= config.pipelined_max || isLong)) {
        socket.destroy()
        return
      }
      const unlessGone = () => {
        if (!socket.destroyed) listener(request, response)
      }
      const run = () => {
        line.headChars -= chars
        begin(line.share, unlessGone)
      }
      // Emitted once, whatever happened to the answer.
      response.on('close', () => {
        const next = line.waiting.shift()
        if (next) next()
        else line.isBusy = false
      })
      if (line.isBusy) {
        line.headChars += chars
        line.waiting.push(run)
      } else {
        line.isBusy = true
        run()
      }
    },
  }
}

/** Other clients count as active while turns have changed address within this time. */
const OTHERS_MS = 1000

/** `begin` runs a request of that address when its turn comes; at once if it is not limited. */
function createShares({ config, clock, onceAround = setImmediate }: TurnsNeeds) {
  /** Addresses that asked in this round, or wait for the next. */
  const shares = new Map<string, Share>()
  /** The address that asked last; null before the first request. */
  let latest: string | undefined | null = null
  let changedMs = Number.NEGATIVE_INFINITY
  let isRoundComing = false
  let isResting = false

  function isSpent({ beganMs }: Share): boolean {
    return clock.monotonicMs() - beganMs >= config.turn_ms
  }

  function isNow(name: string | undefined): boolean {
    if (latest !== null && name !== latest) changedMs = clock.monotonicMs()
    latest = name
    const share = shares.get(name ?? '')
    if (name === undefined) return true
    if (share !== undefined) return share.waiting.length === 0 && !isSpent(share)
    shares.set(name, { beganMs: clock.monotonicMs(), waiting: [] })
    comeRound()
    return true
  }

  function begin(name: string | undefined, run: () => void): void {
    if (isNow(name)) run()
    else shares.get(name ?? '')?.waiting.push(run)
  }

  function comeRound(): void {
    if (isRoundComing) return
    isRoundComing = true
    onceAround(() => {
      isRoundComing = false
      nextRound()
    })
  }

  function nextRound(): void {
    const nowMs = clock.monotonicMs()
    const areOthersThere = nowMs - changedMs < OTHERS_MS
    const restMs = areOthersThere ? config.turn_rest_ms : 0
    for (const [name, share] of shares) {
      if (share.waiting.length === 0) shares.delete(name)
      else if (restMs === 0 || nowMs - share.beganMs >= config.turn_ms + restMs) {
        share.beganMs = clock.monotonicMs()
        goOn(share)
      }
    }
    if (shares.size === 0) return
    if (restMs === 0) comeRound()
    else if (!isResting) {
      isResting = true
      clock.after(restMs, () => {
        isResting = false
        nextRound()
      })
    }
  }

  /** Runs at least one request. Its full cost is only known once its promises have run as well. */
  function goOn(share: Share): void {
    share.waiting.shift()?.()
    if (share.waiting.length === 0) return
    queueMicrotask(() =>
      process.nextTick(() => {
        if (!isSpent(share)) goOn(share)
      }),
    )
  }

  return { begin, isNow }
}

/** Overhead of a name or a value, however short. @source measured: 136 bytes a field */
const TEXT_CHARS = 48

function charsOf({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, { length }) => sum + length + TEXT_CHARS, url.length)
}
