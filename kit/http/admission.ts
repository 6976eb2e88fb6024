/** Who gets a connection and a turn, for how long a body may take, and which heads are refused. */

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

// The time that a request's body may take. Node's own bound holds for every request alike, and an upload takes minutes.

/** The bodies that are under way. */
export interface BodyTime {
  /**
   * Begins with the head, whether a route answers the request or not: the rest of a body that nobody reads would hold
   * its connection for as long as it drips.
   */
  watch(request: IncomingMessage): void
  /** Leaves this one to bounds of its own. */
  exempt(request: IncomingMessage): void
  /** Whether it was ended for its slowness. */
  wasLate(request: IncomingMessage): boolean
}

/** @param by `onLate` is given an error as Node would give it, and the connection */
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

// Heads of requests made plain, so that every rule after it looks at the same host and the same origin.

/** Headers by which somebody is let in or turned away, each with a bit of its own. */
const LONE: ReadonlyMap<string, number> = new Map([
  ['host', 1],
  ['origin', 2],
  ['referer', 4],
  ['authorization', 8],
])
/** Most names are none of them by their length alone. */
const LENGTHS: ReadonlySet<number> = new Set([...LONE.keys()].map(({ length }) => length))

/** Fields of a head: a hundred is what servers take elsewhere, and each takes 136 bytes, however short it is. */
const MOST_FIELDS = 128

/**
 * Of two such headers Node keeps the first; what stands between may have looked at the second.
 * @throws Fault `bad_http`; `head_too_large` where it has more fields than may be
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
 * A request may name its whole address in its first line; then that is the host it speaks to, whatever Host says.
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

/** One line for connections turned away is written at most this often. */
const TURNED_AWAY_LINE_MS = 60_000

interface AdmissionNeeds {
  config: Pick<HttpConfig, 'max_connections' | 'max_connections_per_address'>
  shareOf: ShareOf
  clock: Clock
  log: Log
  metrics: Metrics
}

/** The door of one daemon, for every server that its address needs: `localhost` is two. */
export interface Admission {
  /** Before the server listens. */
  guard(server: Server): void
  /** Writes what was counted and not said yet. */
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

  return {
    guard(server) {
      const connections = new WeakMap<Socket, Connection>()
      server.on('connection', (socket) => {
        const connection = admit(socket)
        if (connection) connections.set(socket, connection)
      })
      server.prependListener('request', ({ socket }, response) => {
        const connection = connections.get(socket)
        if (!connection) return
        connection.asks()
        response.on('close', connection.answered)
      })
      // Without this listener Node answers an upgrade as any other request: nothing is added but to servers that have one.
      server.on('newListener', function watchUpgrades(event) {
        if (event !== 'upgrade') return
        server.off('newListener', watchUpgrades)
        server.on('upgrade', ({ socket }) => connections.get(socket as Socket)?.lasts())
      })
    },
    close: () => gate.close(),
  }
}

/** What a daemon has open beside connections: lines, sockets, databases, its own files. */
const OTHER_FILES = 128

/**
 * Connections never take the last file that the process may open: without one no disk, line or network can be looked at.
 * Node has raised its own limit as far as it may by now. @source proc_pid_limits(5)
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

  lasts(): void {
    this.#is('lasting')
  }

  #is(use: Use): void {
    this.#use = use
    this.#sinceMs = this.#clock.monotonicMs()
  }
}

// Whose request is looked at next: those of one connection one after the other, and no address more than its share of each
// round of the event loop. Whoever sends thousands at once waits for the rest of them himself, and takes a part of the
// processor while others ask: the machine has more to do than this daemon.

interface TurnsNeeds {
  config: Pick<HttpConfig, 'turn_ms' | 'turn_rest_ms' | 'pipelined_max' | 'header_bytes'>
  /** What addresses are counted by; those without a share are not held back. */
  shareOf: ShareOf
  clock: Pick<Clock, 'monotonicMs' | 'after'>
  /** Runs when the event loop has read what lies ready. Default: `setImmediate` */
  onceAround?: (run: () => void) => void
}

/** Turns of all connections of a daemon. */
export interface Turns {
  /** Puts a listener of requests behind the turns: it hears of a request when its turn comes, or never where the client has gone. */
  inTurn(listener: RequestListener): RequestListener
}

/** The requests of one connection. */
interface Line {
  /** Of its address, which is the same for all of them. */
  share: string | undefined
  isBusy: boolean
  /** Characters of the heads that wait, and what their fields take beside. */
  headChars: number
  waiting: (() => void)[]
}

/** The requests of one address. */
interface Share {
  /** When its first request of this round began. */
  beganMs: number
  waiting: (() => void)[]
}

export function createTurns(needs: TurnsNeeds): Turns {
  const { config, shareOf } = needs
  const lines = new WeakMap<Socket, Line>()
  const begin = createShares(needs)

  function lineOf(connection: Socket): Line {
    const known = lines.get(connection)
    if (known) return known
    // Its address is read once: it is the same for each request, and reading one costs more than many of those do.
    const share = shareOf(connection.remoteAddress ?? '')
    const line: Line = { share, isBusy: false, headChars: 0, waiting: [] }
    lines.set(connection, line)
    return line
  }

  return {
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
      // Comes once, whatever became of the answer.
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

/** Others are there while addresses have taken turns within so long. */
const OTHERS_MS = 1000

/** @returns runs a request of that address when its turn comes; at once where it is not held back */
function createShares({ config, clock, onceAround = setImmediate }: TurnsNeeds) {
  /** Those that asked in this round, or wait for the next. */
  const shares = new Map<string, Share>()
  /** Who asked last; null before anybody did. */
  let latest: string | undefined | null = null
  let changedMs = Number.NEGATIVE_INFINITY
  let isRoundComing = false
  let isResting = false

  function isSpent({ beganMs }: Share): boolean {
    return clock.monotonicMs() - beganMs >= config.turn_ms
  }

  function begin(name: string | undefined, run: () => void): void {
    if (latest !== null && name !== latest) changedMs = clock.monotonicMs()
    latest = name
    const share = shares.get(name ?? '')
    if (name === undefined) run()
    else if (share === undefined) {
      shares.set(name, { beganMs: clock.monotonicMs(), waiting: [] })
      comeRound()
      run()
    } else if (share.waiting.length > 0 || isSpent(share)) share.waiting.push(run)
    else run()
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

  /** One at least. What a request costs is known when its promises have run as well. */
  function goOn(share: Share): void {
    share.waiting.shift()?.()
    if (share.waiting.length === 0) return
    queueMicrotask(() =>
      process.nextTick(() => {
        if (!isSpent(share)) goOn(share)
      }),
    )
  }

  return begin
}

/** A name or a value beside its characters, however short it is. @source measured: 136 bytes a field */
const TEXT_CHARS = 48

function charsOf({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, { length }) => sum + length + TEXT_CHARS, url.length)
}
