/** Answers that nobody reads: counted per address and in all, and ended. */
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

// Answers that run until their client leaves, such as a live capture: they end with their caller's sign-in.

/** The long answers that are under way. */
export interface LongAnswers {
  add(caller: Caller, answer: ServerResponse): void
  /** Cuts off those whose caller is signed in no longer. */
  endSignedOut(): void
}

/** @param isStillSignedIn asked with the very caller that the answer was begun for */
export function createLongAnswers(isStillSignedIn: (caller: Caller) => boolean): LongAnswers {
  const running = new Map<ServerResponse, Caller>()
  return {
    add(caller, answer) {
      // Its client has left while it was begun: nobody would tell.
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

/** What waits in the connections of a daemon. */
export interface Unsent {
  /** Before the server listens. */
  guard(server: Server): void
  /**
   * Before anything of an answer is made.
   * @throws Fault `too_much_unsent` where more waits for the address than may
   */
  check(request: IncomingMessage): void
  /** Whether a long answer may be added: one always may, and further ones while they fit. */
  takes(request: IncomingMessage, sizeBytes: number): boolean
  close(): void
}

/** An answer up to here is sent whatever waits: that is what the answer to `check` is, too. */
const SHORT_BYTES = 65_536

/** Stands for all addresses that have no share: only the bound in all is theirs. */
const TRUSTED = ''

/** What more connections than these hold is counted once in so long, not for each request; what is added meanwhile counts. */
const FEW = 4
const COUNT_MS = 20

/** Looks in the time after which a connection is stalled. */
const LOOKS = 4

/** One log line for connections that were ended is written at most this often. */
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

/** The open connections, by the address that they are counted for. */
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
      server.on('connection', (socket) => {
        const one = new Waiting(socket, shareOf(socket.remoteAddress ?? '') ?? TRUSTED)
        connections.set(socket, one)
        const ofShare = byShare.get(one.share) ?? new Group()
        byShare.set(one.share, ofShare)
        for (const group of [ofShare, everybody]) group.members.add(one)
        socket.once('close', () => leave(one))
      })
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
    /** Of the address for which most waits the connection in which most does. */
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

/** What routes answer at length is held to `takes`. */
export function holdLongAnswers(app: FastifyInstance, unsent: Pick<Unsent, 'takes'>): void {
  app.addHook('onSend', (request, _reply, payload, done) => {
    const answer = typeof payload === 'string' ? asCounted(payload) : payload
    if (answer instanceof Uint8Array && !unsent.takes(request.raw, answer.length))
      done(new Fault('too_much_unsent', 'the answer does not fit beside those that wait to be read at your address'))
    else done(null, answer)
  })
}

/**
 * A long text as its bytes: of a text that waits Node tells the characters, and what it holds may be three times as much.
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
   * What they hold; of many that was a moment ago, and never less than now but for short answers. What seems more than
   * may wait is counted anew: those who read fast have read it by now.
   */
  bytes(nowMs: number, most: number): number {
    if (this.members.size <= FEW || nowMs - this.#countedMs >= COUNT_MS || this.#bytes > most) {
      this.#bytes = sumOf(this.members)
      this.#countedMs = nowMs
    }
    return this.#bytes
  }

  /** A long answer, which is counted before it is written. */
  add(bytes: number): void {
    this.#bytes += bytes
  }
}

/** One connection, with the answers that wait behind the one that is sent. */
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

  /** An answer that has the connection at once waits in nothing but the connection. */
  add(response: ServerResponse): void {
    if (response.socket !== null) return
    this.#answers.add(response)
    response.on('close', () => this.#answers.delete(response))
  }

  /** What the kernel has not taken, and what waits for its turn on the connection. */
  bytes(): number {
    let bytes = this.socket.writableLength
    if (this.#answers.size === 0) return bytes
    for (const answer of this.#answers) if (answer.socket === null) bytes += answer.writableLength
    return bytes
  }

  /** How long nothing was taken of what waits. */
  stalledForMs(nowMs: number): number {
    const { socket } = this
    // What libuv has left of the write that is under way: of 20 MB in one write Node tells nothing before the end.
    const handle = (socket as Socket & { _handle?: { writeQueueSize?: number } | null })._handle
    const queued = `${socket.writableLength} ${socket.bytesWritten} ${handle?.writeQueueSize ?? 0}`
    if (socket.writableLength === 0 || queued !== this.#queued || this.#sinceMs === undefined) this.#sinceMs = nowMs
    this.#queued = queued
    return nowMs - this.#sinceMs
  }
}
