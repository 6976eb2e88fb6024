/** Limits answers that nobody reads: counts them per address and in total, and ends the worst. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import type { HttpConfig } from '../config/tables.ts'
import type { Log } from '../log.ts'
import type { ShareOf } from '../net/address.ts'
import { Fault } from '../pure/fault.ts'
import { createLogGate } from '../pure/pace.ts'
import type { Metrics } from './metrics.ts'
import type { Caller } from './route.ts'

// Answers that run until their client leaves, such as a live capture; they end when their caller is signed out.

/** The long answers in progress. */
export interface LongAnswers {
  add(caller: Caller, answer: ServerResponse): void
  /** Ends those whose caller is no longer signed in. */
  endSignedOut(): void
}

/** @param isStillSignedIn gets the very caller that the answer was begun for */
export function createLongAnswers(isStillSignedIn: (caller: Caller) => boolean): LongAnswers {
  const running = new Map<ServerResponse, Caller>()
  return {
    add(caller, answer) {
      // The client left while it was being started; no event would follow.
      if (answer.destroyed) return
      running.set(answer, caller)
      answer.once('close', () => running.delete(answer))
    },
    endSignedOut() {
      for (const [answer, caller] of running) if (!isStillSignedIn(caller)) answer.destroy()
    },
  }
}

interface UnsentNeeds {
  config: Pick<HttpConfig, 'unsent_bytes' | 'unsent_bytes_per_address' | 'stalled_ms'>
  shareOf: ShareOf
  clock: Clock
  log: Log
  metrics: Metrics
}

/** Tracks the unsent bytes in a daemon's connections. */
export interface Unsent {
  /** Call before the server listens. */
  guard(server: Server): void
  /**
   * Call before an answer is made.
   * @throws Fault `too_much_unsent` if too much is waiting for the address
   */
  check(request: Pick<IncomingMessage, 'socket'>): void
  /** Whether a long answer may be added: the first always may, further ones while they fit. */
  takes(request: IncomingMessage, sizeBytes: number): boolean
  close(): void
}

/** Answers up to this size are sent whatever waits, as is the refusal by `check`. */
const SHORT_BYTES = 65_536

/** Stands for all addresses that have no share: only the total limit applies to them. */
const TRUSTED = ''

/**
 * A group of more connections is recounted at most this often, not for each request; answers added meanwhile are
 * included.
 */
const FEW = 4
const COUNT_MS = 20

/** Checks per stall timeout. */
const LOOKS = 4

/** At most one log line about ended connections in this time. */
const LINE_MS = 60_000

export function createUnsent({ config, shareOf, clock, log, metrics }: UnsentNeeds): Unsent {
  const { unsent_bytes: most, unsent_bytes_per_address: mostPerAddress, stalled_ms: stalledMs } = config
  const held = createHoldings(shareOf, clock)
  const ended = { stalled: 0, greedy: 0 }
  const gate = createLogGate(clock, LINE_MS, (times, facts) => log.warning('unread_answers_ended', { times, ...facts }))

  function end(one: Waiting, why: 'stalled' | 'greedy'): void {
    ended[why]++
    gate.note({ why, for: one.socket.remoteAddress, bytes: one.bytes() })
    one.socket.destroy()
    held.leave(one)
  }

  function makeRoom(): void {
    if (held.inAll(most) <= most) return
    for (let over = sumOf(held.all()) - most; over > 0; ) {
      const worst = held.worst()
      if (!worst) return
      over -= worst.bytes()
      end(worst, 'greedy')
    }
  }

  const look = clock.every(Math.ceil(stalledMs / LOOKS), () => {
    const nowMs = clock.monotonicMs()
    for (const one of [...held.all()]) if (one.stalledForMs(nowMs) >= stalledMs) end(one, 'stalled')
    makeRoom()
  })
  metrics.gauge({ name: 'http_unsent_bytes', help: 'Bytes of answers that wait to be sent' }, () => [
    { labels: {}, value: sumOf(held.all()) },
  ])
  metrics.counts(
    {
      name: 'http_unread_answers_ended_total',
      help: 'Connections ended since nobody read what they hold',
      labels: ['why'],
    },
    () => Object.entries(ended).map(([why, value]) => ({ labels: { why }, value })),
  )
  return {
    guard: (server) => held.watch(server),
    check({ socket }) {
      const waiting = held.forShareOf(socket, mostPerAddress)
      if (waiting <= mostPerAddress) return
      throw new Fault(
        'too_much_unsent',
        `${waiting} bytes of answers wait to be read at your address; read or close them, then ask again`,
      )
    },
    takes({ socket }, sizeBytes) {
      if (sizeBytes <= SHORT_BYTES) return true
      const waiting = held.forShareOf(socket, mostPerAddress - sizeBytes)
      if (waiting > 0 && waiting + sizeBytes > mostPerAddress) return false
      makeRoom()
      if (!socket.destroyed) held.added(socket, sizeBytes)
      return !socket.destroyed
    },
    close() {
      look.cancel()
      gate.close()
    },
  }
}

function sumOf(all: Iterable<Waiting>): number {
  let bytes = 0
  for (const one of all) bytes += one.bytes()
  return bytes
}

/** The open connections, by the share they count towards. */
function createHoldings(shareOf: ShareOf, clock: Clock) {
  const connections = new Map<Socket, Waiting>()
  const byShare = new Map<string, Group>()
  const everybody = new Group()

  function leave(one: Waiting): void {
    connections.delete(one.socket)
    const ofShare = byShare.get(one.share)
    ofShare?.members.delete(one)
    everybody.members.delete(one)
    if (ofShare?.members.size === 0) byShare.delete(one.share)
  }

  return {
    leave,
    all: () => connections.values(),
    watch(server: Server): void {
      const add = (socket: Socket) => {
        const one = new Waiting(socket, shareOf(socket.remoteAddress ?? '') ?? TRUSTED)
        connections.set(socket, one)
        const ofShare = byShare.get(one.share) ?? new Group()
        byShare.set(one.share, ofShare)
        for (const group of [ofShare, everybody]) group.members.add(one)
        socket.once('close', () => leave(one))
      }
      // With TLS what waits is in the stream above the bare connection.
      server.on('connection', add)
      server.on('secureConnection', add)
      server.prependListener('request', (request, response) => connections.get(request.socket)?.add(response))
    },
    forShareOf(socket: Socket, most: number): number {
      const share = connections.get(socket)?.share ?? TRUSTED
      return share === TRUSTED ? 0 : (byShare.get(share)?.bytes(clock.monotonicMs(), most) ?? 0)
    },
    inAll: (most: number) => everybody.bytes(clock.monotonicMs(), most),
    added(socket: Socket, bytes: number): void {
      byShare.get(connections.get(socket)?.share ?? TRUSTED)?.add(bytes)
      everybody.add(bytes)
    },
    /** The connection with the most unsent bytes of the address that has the most. */
    worst(): Waiting | undefined {
      const [greediest] = [...byShare.values()]
        .map(({ members: all }) => ({ all, bytes: sumOf(all) }))
        .toSorted(byBytes)
      const [worst] = [...(greediest?.all ?? [])].map((one) => ({ one, bytes: one.bytes() })).toSorted(byBytes)
      return worst?.one
    },
  }
}

const byBytes = (one: { bytes: number }, other: { bytes: number }) => other.bytes - one.bytes

/** Applies `takes` to long answers of routes. */
export function holdLongAnswers(app: FastifyInstance, unsent: Pick<Unsent, 'takes'>): void {
  app.addHook('onSend', (request, _reply, payload, done) => {
    const answer = typeof payload === 'string' ? asCounted(payload) : payload
    if (answer instanceof Uint8Array && !unsent.takes(request.raw, answer.length))
      done(new Fault('too_much_unsent', 'the answer does not fit beside those that wait to be read at your address'))
    else done(null, answer)
  })
}

/**
 * Converts a long text to bytes: for a queued text Node reports characters, and it may take three times as many bytes.
 */
export function asCounted(text: string): string | Uint8Array {
  return text.length > SHORT_BYTES / 3 ? Buffer.from(text) : text
}

/** Connections that are counted together. */
class Group {
  readonly members = new Set<Waiting>()
  #bytes = 0
  #countedMs = Number.NEGATIVE_INFINITY

  /**
   * Their unsent bytes. For many connections the number may be slightly old, but it is too low by short answers at
   * most. If it seems over the limit it is counted anew: fast readers have caught up by then.
   */
  bytes(nowMs: number, most: number): number {
    if (this.members.size <= FEW || nowMs - this.#countedMs >= COUNT_MS || this.#bytes > most) {
      this.#bytes = sumOf(this.members)
      this.#countedMs = nowMs
    }
    return this.#bytes
  }

  /** Counts a long answer before it is written. */
  add(bytes: number): void {
    this.#bytes += bytes
  }
}

/** One connection, with the answers queued behind the current one. */
class Waiting {
  readonly socket: Socket
  readonly share: string
  readonly #answers = new Set<ServerResponse>()
  #queued = ''
  #sinceMs: number | undefined

  constructor(socket: Socket, share: string) {
    this.socket = socket
    this.share = share
  }

  /** Skips an answer that has the connection at once: its bytes are counted with the connection. */
  add(response: ServerResponse): void {
    if (response.socket !== null) return
    this.#answers.add(response)
    response.on('close', () => this.#answers.delete(response))
  }

  /** Bytes the kernel has not taken, and bytes that wait for their turn on the connection. */
  bytes(): number {
    let bytes = this.socket.writableLength
    if (this.#answers.size === 0) return bytes
    for (const answer of this.#answers) if (answer.socket === null) bytes += answer.writableLength
    return bytes
  }

  /** How long none of the waiting bytes were taken. */
  stalledForMs(nowMs: number): number {
    const { socket } = this
    // What libuv has left of the current write: of 20 MB in one write Node reports nothing before the end.
    const handle = (socket as Socket & { _handle?: { writeQueueSize?: number } | null })._handle
    const queued = `${socket.writableLength} ${socket.bytesWritten} ${handle?.writeQueueSize ?? 0}`
    if (socket.writableLength === 0 || queued !== this.#queued || this.#sinceMs === undefined) this.#sinceMs = nowMs
    this.#queued = queued
    return nowMs - this.#sinceMs
  }
}
