/** The socket `/ws`: who is on it, within which bounds, and what it hears of the building. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock, Timer } from '#kit/clock.ts'
import { readJson } from '#kit/http/dialect.ts'
import type { Caller } from '#kit/http/route.ts'
import type { Socket, SocketKnock, SocketRoute, Tickets } from '#kit/http/sockets.ts'
import type { Log } from '#kit/log.ts'
import { networkOf } from '#kit/net/address.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { dropGreediest } from '#kit/pure/pace.ts'
import type { Origin, Session } from '../core/access/accounts.ts'
import { type AuditBook, type Outcome, onceKept } from '../core/audit.ts'
import { bodyText, isObject, type Json } from '../core/json.ts'
import type { LiveBook } from '../core/live/live-book.ts'
import { type FeedLimits, type FeedMessage, type FeedWish, type Sight, SocketFeed } from '../core/live/socket-feed.ts'
import { createLoad, createPace, type Load, type LoadLimits, type Pace } from '../core/socket-bounds.ts'
import type { UiPending } from '../core/surfaces.ts'
import { handedToken, notRecorded } from './rest-surface.ts'
import { type SocketAnswer, type SocketCall, type SocketCalls, socketCallOf } from './socket-calls.ts'
import { MUST_CHANGE, reasonOf, statusOf } from './ui-gate.ts'

/** Who opened a socket, and from where. */
export interface SocketCaller extends Caller {
  from: Origin
  /** The bearer secret of the session; undefined if somebody is to sign in over the socket. */
  token: string | undefined
}

/** Bounds of sockets; each is a setting. */
export interface SocketLimits extends FeedLimits, LoadLimits {
  /** Most sockets of one session: one per open tab. */
  socketsPerSession: number
  signInMs: number
  strangers: number
  perAccount: number
  messages: number
  badMessages: number
  requests: number
  ids: number
  /** How long an answer waits for its record to be on disk (config `audit.record_ms`). */
  recordMs: number
}

/** What the socket depends on. */
export interface SocketParts extends SocketCalls {
  tickets: Tickets<SocketCaller>
  pending: Pick<UiPending, 'count'>
  updates: { onChange(listener: (update: object) => void): () => void }
  audit: AuditBook
  live: LiveBook
  /** Tells which attributes have changed. */
  attributes: { onChange(listener: (id: number) => void): () => void }
  /** What a session may see now. */
  sights(session: Session): Sight
  clock: Clock
  log: Log
  originOf(ask: { remoteAddress: string; headers: IncomingHttpHeaders }): Origin
  limits: SocketLimits
}

/** The socket, and the function that ends it with its session. */
interface SocketSurface extends SocketRoute {
  /** Closes at once every socket whose session is over. Without this, the next beat would find them. */
  closeEnded(): void
}

/** Close codes of RFC 6455, 7.4.1. */
const POLICY = 1008
const TRY_AGAIN_LATER = 1013

/** What the sockets share. */
interface Shared {
  parts: SocketParts
  open: Set<Connection>
  load: Load
  /** Sockets on which nobody has signed in, oldest first, with their networks. */
  strangers: Map<Connection, string>
}

/** Sets no timer before a socket is open. */
export function socketRoute(parts: SocketParts): SocketSurface {
  const { people, tickets, clock, limits, originOf } = parts
  const shared: Shared = { parts, open: new Set(), load: createLoad(limits), strangers: new Map() }
  const { open } = shared
  let beats: Timer | undefined

  function recognize({ ticket, headers, remoteAddress }: SocketKnock): SocketCaller {
    const from = originOf({ headers, remoteAddress })
    const token = ticket === undefined ? handedToken(headers) : tickets.take(ticket)?.token
    const session = token === undefined ? undefined : people.sessionOf(token, from, true)
    const isStranger = token === undefined && ticket === undefined
    if (session === undefined && !isStranger) {
      const sentence =
        ticket === undefined ? 'the token is not known, or no longer' : 'the ticket is not known: each is good once'
      const asked = { path: '/ws', from, beganMs: clock.monotonicMs() }
      void parts.audit.add(recordOf(parts, asked, { status: 401, reason: 'invalid_session' }))
      throw new Fault('unauthorized', `${sentence}; sign in again`)
    }
    if (session !== undefined && token !== undefined) checkRoom(shared, session.userId, token)
    return { name: session?.username ?? '', role: 'viewer', from, token }
  }

  const closeEnded = () => {
    for (const connection of [...open]) connection.check()
  }

  return {
    path: '/ws',
    who: 'anyone',
    summary: 'What zones, devices and attributes do, and requests; by ticket, by token, or signing in over it',
    recognize,
    open(socket, caller) {
      const connection = new Connection(shared, socket, caller as SocketCaller)
      // Of many that knocked at once, all were let in while none was open yet.
      connection.checkRoom()
      open.add(connection)
      beats ??= clock.every(limits.beatMs, closeEnded)
      socket.onClose(() => {
        connection.end()
        open.delete(connection)
        if (open.size > 0) return
        beats?.cancel()
        beats = undefined
      })
    },
    closeEnded,
  }
}

/** @throws Fault `too_many_sockets` */
function checkRoom({ open, parts: { limits } }: Shared, userId: number, token: string, own?: Connection): void {
  const others = [...open].filter((other) => other !== own)
  const ofAccount = others.filter((other) => other.holds('userId', userId)).length
  if (ofAccount >= limits.perAccount)
    throw new Fault(
      'too_many_sockets',
      `${ofAccount} sockets of this account are open; socket.per_account allows no more`,
    )
  const ofSession = others.filter((other) => other.holds('token', token)).length
  if (ofSession >= limits.socketsPerSession)
    throw new Fault(
      'too_many_sockets',
      `${ofSession} sockets of this session are open; ui.sockets_per_session allows no more`,
    )
}

// Messages as sent.

interface Message {
  id: string | number | null
  call: SocketCall
  fields: Readonly<Record<string, Json>>
  sizeBytes: number
}

const LONGEST_ID = 64

/** @throws Fault `bad_message` */
function readMessage(data: string | Uint8Array): { json: { readonly [key: string]: Json }; sizeBytes: number } {
  if (typeof data !== 'string') throw new Fault('bad_message', 'the message is binary, expected JSON as text')
  const bytes = Buffer.from(data)
  let json: unknown
  try {
    json = readJson(bytes)
  } catch (error) {
    throw new Fault(
      'bad_message',
      faultOf(error, 'bad_json', 'the message is not JSON').message.replace('the body', 'the message'),
    )
  }
  if (!isObject(json)) throw new Fault('bad_message', 'the message is not a JSON object with a type')
  return { json, sizeBytes: bytes.length }
}

/** @throws Fault `bad_message` */
function idOf(id: Json | undefined): string | number | null {
  if (id === undefined || id === null) return null
  if (typeof id === 'string' ? id.length <= LONGEST_ID : Number.isSafeInteger(id)) return id as string | number
  throw new Fault('bad_message', `id is a whole number, or a text of at most ${LONGEST_ID} characters`)
}

/** A place that somebody has on a socket. */
interface Claim {
  userId: number
  token: string
}

/** One open socket. It is bound to a bearer secret, and judged by it before each message in either direction. */
class Connection {
  token: string | undefined
  userId: number | undefined
  /** Who is signing in, while the record of that is on its way to the disk: each counts as if it were signed in. */
  readonly #claims = new Set<Claim>()
  readonly #shared: Shared
  readonly #socket: Socket
  readonly #from: Origin
  readonly #gone = new AbortController()
  #feed: SocketFeed | undefined
  #signIn: Timer | undefined
  #underWay = 0
  #bad = 0
  readonly #pace: Pace

  constructor(shared: Shared, socket: Socket, { from, token }: SocketCaller) {
    const { limits, clock } = shared.parts
    this.#shared = shared
    this.#socket = socket
    this.#from = from
    this.#pace = createPace(clock, limits.messages)
    socket.onMessage((data) => this.#hear(data))
    const session = token === undefined ? undefined : shared.parts.people.sessionOf(token, from, false)
    if (token !== undefined && session !== undefined) this.#adopt(token, session)
    else this.#wait()
  }

  /** Whether this socket takes a place of an account or a session. */
  holds<Key extends keyof Claim>(key: Key, value: Claim[Key]): boolean {
    return this[key] === value || [...this.#claims].some((claim) => claim[key] === value)
  }

  /** @throws Fault `too_many_sockets`, which closes it */
  checkRoom(): void {
    if (this.token !== undefined && this.userId !== undefined) checkRoom(this.#shared, this.userId, this.token, this)
  }

  /** Closes it if its session is over, and tells what has changed for it. */
  check(): void {
    if (this.token !== undefined && this.#session(false) === undefined) this.#over()
    else this.#feed?.look()
  }

  end(): void {
    this.#gone.abort()
    this.#endFeed()
    this.#signIn?.cancel()
    this.#shared.strangers.delete(this)
    this.token = undefined
  }

  #session(isUse: boolean): Session | undefined {
    return this.token === undefined ? undefined : this.#shared.parts.people.sessionOf(this.token, this.#from, isUse)
  }

  #over(): void {
    this.#endFeed()
    this.#socket.close(POLICY, 'signed out')
  }

  #adopt(token: string, session: Session): void {
    this.#endFeed()
    this.#signIn?.cancel()
    this.#shared.strangers.delete(this)
    this.token = token
    this.userId = session.userId
  }

  #leave(): void {
    const { token } = this
    this.#endFeed()
    this.token = undefined
    this.userId = undefined
    if (token !== undefined) this.#shared.parts.people.signOut(token)
    this.#wait()
    for (const other of [...this.#shared.open]) other.check()
  }

  /** Waits for somebody to sign in. */
  #wait(): void {
    const { strangers, parts } = this.#shared
    const { clock, limits } = parts
    const before = [...strangers.keys()]
    dropGreediest(strangers, limits.strangers, (network) => network)
    for (const other of before)
      if (!strangers.has(other)) other.#socket.close(TRY_AGAIN_LATER, 'others want to sign in')
    strangers.set(this, networkOf(this.#from.clientIp))
    const late = () => {
      if (this.#underWay === 0) this.#socket.close(POLICY, 'nobody has signed in')
      else this.#signIn = clock.after(limits.signInMs, late)
    }
    this.#signIn = clock.after(limits.signInMs, late)
  }

  #hear(data: string | Uint8Array): void {
    // Messages that arrived after the last one are still delivered: ignore them.
    if (!this.#socket.isOpen) return
    const beganMs = this.#shared.parts.clock.monotonicMs()
    let id: Message['id'] = null
    let message: Message
    try {
      this.#pace.take()
      const { json, sizeBytes } = readMessage(data)
      const { id: said, type, ...fields } = json
      id = idOf(said)
      message = { id, call: socketCallOf(type), fields, sizeBytes }
    } catch (error) {
      this.#answer({ id, path: '/ws', beganMs }, outcomeOf(error))
      this.#countBad()
      return
    }
    void this.#run(message, beganMs)
  }

  #countBad(): void {
    if (++this.#bad < this.#shared.parts.limits.badMessages) return
    this.#endFeed()
    this.#socket.close(POLICY, `${this.#bad} messages were not understood, or too many`)
  }

  /** Answers a request; each check is told in this order. */
  async #run(message: Message, beganMs: number): Promise<void> {
    const { id, call, fields, sizeBytes } = message
    const { parts, load } = this.#shared
    const path = `/ws/${call.type}`
    const session = this.#session(true)
    const asked: Asked = { id, path, beganMs, session }
    const refused = this.#refusalOf(call, session)
    if (refused !== undefined) return this.#answer(asked, refused)
    const account = session?.userId ?? `from ${networkOf(this.#from.clientIp)}`
    const end = this.#underWay < parts.limits.requests ? load.begin(account, sizeBytes) : undefined
    if (end === undefined) return this.#answer(asked, BUSY)
    this.#underWay++
    const link = this.#link()
    try {
      const ask = { fields, from: this.#from, signal: this.#gone.signal, link }
      const answer =
        call.isRecordedFirst && !parts.audit.takes() ? unrecorded(false) : await call.run(parts, ask, session)
      await this.#answerKept(asked, answer, call.isRecordedFirst === true)
    } catch (error) {
      if (isForLog(error)) parts.log.error('socket_request_failed', { type: call.type, error })
      this.#answer(asked, outcomeOf(error))
    } finally {
      link.giveUpRoom()
      this.#underWay--
      end()
    }
  }

  #refusalOf({ who, needs, isForOldPassword }: SocketCall, session: Session | undefined): Outcome | undefined {
    if (who === 'anyone') return undefined
    if (session === undefined) {
      if (this.token !== undefined) this.#over()
      return outcomeOf(
        new Fault('not_signed_in', 'You are not signed in, or your sign-in has ended. Sign in and try again.'),
      )
    }
    if (session.mustChangePassword && isForOldPassword !== true)
      return outcomeOf(new Fault('password_change_required', MUST_CHANGE))
    if (needs === undefined || session.may(needs)) return undefined
    const json = { error: 'unauthorized', message: `Your roles do not allow ${needs} on the socket.` }
    return { status: 403, body: { json }, reason: 'role_denied' }
  }

  async #answerKept(asked: Asked, answer: SocketAnswer, isRecordedFirst: boolean): Promise<void> {
    const { parts } = this.#shared
    const { audit, limits } = parts
    const record = recordOf(parts, { ...asked, from: this.#from }, answer.outcome)
    // A refusal had no effect that would need a record: while the disk accepts nothing, it is not held back.
    if (!isRecordedFirst || !(record.granted || audit.takes())) {
      void audit.add(record)
      return this.#send(asked.id, answer)
    }
    this.#send(asked.id, await onceKept({ ...parts, recordMs: limits.recordMs }, record, answer, unrecorded(true)))
  }

  #answer(asked: Asked, outcome: Outcome): void {
    const { parts } = this.#shared
    void parts.audit.add(recordOf(parts, { ...asked, from: this.#from }, outcome))
    this.#send(asked.id, { outcome })
  }

  #send(id: Message['id'], { outcome: { status, body }, settle }: SocketAnswer): void {
    const head = `{"type":"answer","id":${JSON.stringify(id)},"status":${status},"body":`
    if (!this.#socket.isOpen) return
    if (this.#socket.send(`${head}${bodyText(body)}}`)) {
      settle?.()
      return
    }
    // Reads may be asked for again in parts; whoever does not read his answers at all is let go.
    const message = 'The answer does not fit beside those that wait to be read. Ask for less, by _limit and _offset.'
    const short = JSON.stringify({ error: 'too_much_unsent', message })
    if (!this.#socket.send(`{"type":"answer","id":${JSON.stringify(id)},"status":503,"body":${short}}`))
      this.#socket.close(TRY_AGAIN_LATER, 'answers are not read')
  }

  #link() {
    let claim: Claim | undefined
    return {
      claimRoom: (userId: number, token: string) => {
        checkRoom(this.#shared, userId, token, this)
        claim = { userId, token }
        this.#claims.add(claim)
      },
      giveUpRoom: () => claim && this.#claims.delete(claim),
      adopt: (token: string, session: Session) => this.#adopt(token, session),
      leave: () => this.#leave(),
      subscribe: (wish: FeedWish, isWhole: boolean) => this.#subscribe(wish, isWhole),
      unsubscribe: () => this.#endFeed(),
    }
  }

  #subscribe(wish: FeedWish, isWhole: boolean): void {
    this.#endFeed()
    const { parts } = this.#shared
    const socket = this.#socket
    const sink = {
      send: (message: FeedMessage) => socket.send(JSON.stringify(message)),
      get hasCaughtUp() {
        return socket.bufferedBytes === 0
      },
    }
    const isElevated = () => this.#session(false)?.isElevated === true
    const pending = () => (isElevated() ? parts.pending.count() : null)
    const onTooSlow = () => socket.close(TRY_AGAIN_LATER, 'too slow: what is told is not read')
    this.#feed = new SocketFeed({ ...parts, sight: () => this.#sight(), pending, isElevated, onTooSlow }, wish, sink)
    if (isWhole) this.#feed.tellAll()
  }

  /** What may be heard now. Without a session the socket is closed; without the function its subscription ends. */
  #sight(): Sight | undefined {
    const session = this.#session(false)
    if (session === undefined) {
      this.#over()
      return undefined
    }
    if (session.may('subscribe') && !session.mustChangePassword) return this.#shared.parts.sights(session)
    this.#endFeed()
    const message = 'Your roles do not allow subscribe on the socket any more.'
    this.#socket.send(JSON.stringify({ type: 'ended', error: 'unauthorized', message }))
    return undefined
  }

  #endFeed(): void {
    this.#feed?.end()
    this.#feed = undefined
  }
}

/** What is known of a request for its record. */
interface Asked {
  id: Message['id']
  path: string
  beganMs: number
  session?: Session | undefined
}

function recordOf(
  { clock }: Pick<SocketParts, 'clock'>,
  { path, beganMs, session, from }: Omit<Asked, 'id'> & { from: Origin },
  outcome: Omit<Outcome, 'body'>,
) {
  return {
    at: clock.epochMs(),
    requestType: 'socket' as const,
    method: 'WS',
    path,
    status: outcome.status,
    elapsedMs: Math.round(clock.monotonicMs() - beganMs),
    clientIp: from.clientIp,
    userId: session?.userId ?? outcome.user?.id ?? null,
    username: session?.username ?? outcome.user?.username ?? null,
    granted: outcome.reason === null && outcome.status < 400,
    reason: outcome.reason ?? outcome.alarm ?? null,
    target: outcome.target ?? null,
    runId: outcome.runId ?? null,
    facts: outcome.facts ?? null,
  }
}

function unrecorded(done: boolean): SocketAnswer {
  return { outcome: notRecorded(done) }
}

const BUSY: Outcome = {
  status: 503,
  body: {
    json: { error: 'busy', message: 'As many requests as are allowed are under way. Try again when one has ended.' },
  },
  reason: 'busy',
}

/** A fault as an answer. What the caller cannot mend is not told, but is in the log. */
function outcomeOf(error: unknown): Outcome {
  if (isForLog(error)) {
    const json = { error: 'internal', message: 'A fault of the program or of its disk; the log has it.' }
    return { status: 500, body: { json }, reason: null }
  }
  const { code, message, details = {} } = error
  const { fields, retryAfterMs } = details as { fields?: unknown; retryAfterMs?: unknown }
  return {
    status: statusOf(code),
    body: { json: { error: code, message, fields, retryAfterMs } },
    reason: reasonOf(code),
  }
}

/** A full disk is not the caller's either, and its message names files of the building. */
function isForLog(error: unknown): error is Exclude<unknown, Fault> {
  return !(error instanceof Fault) || statusOf(error.code) === 500 || error.code === 'store_write_failed'
}
