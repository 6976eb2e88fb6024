/** Tables of settings that every daemon has. */
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import type { SignInBounds } from '../auth/sign-in-limiter.ts'
import { parseNetwork } from '../net/address.ts'
import { Fault } from '../pure/fault.ts'
import { count, milliseconds } from '../pure/setting-keys.ts'

// The address a daemon listens on, as text: HOST:PORT.

/** Where a server listens. `port` 0 picks a free one. */
interface ListenAddress {
  /** IPv4 or IPv6 address without brackets, or a host name. */
  host: string
  port: number
}

/** The same form for every daemon; brackets keep the colons of IPv6 apart from the one before the port. */
const FORM = /^(?:\[([0-9A-Fa-f:.%\w]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/

/**
 * Reads `127.0.0.1:3132`, `[::]:3132` or `localhost:0`.
 * @throws Fault `bad_listen` with what was seen and what is expected
 */
export function parseListen(text: string): ListenAddress {
  const match = FORM.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || port > 65_535)
    throw new Fault(
      'bad_listen',
      `${JSON.stringify(text)} is not a listen address: expected HOST:PORT such as 127.0.0.1:3132 or [::]:3132, port 0 to 65535`,
    )
  return { host, port }
}

/** The URL of a server that listens there; wildcard addresses become loopback, so that the URL can be opened. */
export function urlOfListen({ host, port }: ListenAddress, scheme: 'http' | 'https' = 'http'): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/**
 * Arguments for a daemon that goes on in this one's place: one that took a free port keeps it.
 * @param port where it listens now; undefined before it does
 */
export function listenArgs(listen: string, port: number | undefined): string[] {
  if (parseListen(listen).port !== 0 || port === undefined) return []
  return ['--listen', listen.replace(/:0+$/, `:${port}`)]
}

// The config table `mdns`: how daemons find each other.

/** The `mdns` table. */
export function mdnsTable() {
  return Type.Object(
    {
      enabled: Type.Boolean({ default: true, description: 'whether this daemon is announced, and looks for others' }),
      interface: Type.String({
        default: '',
        maxLength: 64,
        description: 'name or address of the only interface to use; empty means all, or the one that http listens on',
      }),
      per_second: Type.Integer({
        default: 40,
        minimum: 1,
        maximum: 10_000,
        description: 'messages looked at per second and sender, ten times as many at once; further ones are left out',
      }),
      recheck_ms: Type.Integer({
        default: 2000,
        minimum: 100,
        maximum: 600_000,
        unit: 'ms',
        description: 'how often is looked whether interfaces or addresses have changed',
      }),
    },
    { additionalProperties: false, default: {}, description: 'how daemons find each other on the network' },
  )
}

/** A checked `mdns` table. */
export type MdnsConfig = Static<ReturnType<typeof mdnsTable>>

// Settings of the sign-in rate limiter, for every daemon to which people sign in.

/** What differs between daemons. */
interface LoginDefaults {
  freeTries: number
  /** Longest wait: default, least and most, in milliseconds. */
  waitMaxMs: readonly [number, number, number]
}

/** Keys to spread into the table `http`. */
export function loginKeys({ freeTries, waitMaxMs }: LoginDefaults) {
  const [longest, least, most] = waitMaxMs
  return {
    password_workers: count(2, 1, 16, 'passwords hashed at once; each takes a core and 64 MiB at most'),
    password_queue: count(256, 1, 4096, 'sign-ins that wait for that in all; further ones are answered 503'),
    login_queue: count(64, 1, 4096, 'sign-ins of one network that wait; further ones are answered 429'),
    login_held: count(
      16,
      1,
      4096,
      'sign-ins of one network that are looked at, or were wrong and wait for their answer; further ones wait in line',
    ),
    login_free_tries: count(freeTries, 1, 1000, 'wrong sign-ins of a network or an account before answers come late'),
    login_wait_ms: milliseconds(250, 1, Math.min(most, 60_000), 'the first such wait; doubles with each further one'),
    login_wait_max_ms: milliseconds(longest, least, most, 'the longest such wait; a right password never waits'),
    login_forget_ms: milliseconds(
      600_000,
      1000,
      86_400_000,
      'time without a wrong sign-in after which all is forgotten',
    ),
    login_table: count(4096, 16, 1_048_576, 'networks and accounts of which wrong sign-ins are remembered'),
    login_homes: count(
      512,
      16,
      16_384,
      'networks from which an account has signed in rightly, remembered in all; they come first when many guess',
    ),
  }
}

/** The checked keys. */
export type LoginConfig = Static<TObject<ReturnType<typeof loginKeys>>>

export function loginBounds(keys: LoginConfig): SignInBounds {
  return {
    workers: keys.password_workers,
    queue: keys.password_queue,
    queueOfOne: keys.login_queue,
    places: keys.login_held,
    freeTries: keys.login_free_tries,
    waitMs: keys.login_wait_ms,
    waitMaxMs: keys.login_wait_max_ms,
    forgetMs: keys.login_forget_ms,
    table: keys.login_table,
  }
}

// The config table of a journal: how many entries of each kind are kept.

/** The `journal` table of a daemon. */
export function journalTable() {
  return Type.Object(
    {
      entries: Type.Integer({
        default: 10_000,
        minimum: 100,
        maximum: 1_000_000,
        description: 'who changed or sent what: entries kept, the oldest go first',
      }),
      chars: Type.Integer({
        default: 8_388_608,
        minimum: 65_536,
        maximum: 268_435_456,
        description: 'characters of all entries; beyond, the kind of entry that takes most loses its oldest',
      }),
      refusals: Type.Integer({
        default: 1000,
        minimum: 10,
        maximum: 100_000,
        description: 'entries about those turned away: kept at most, so that strangers push out no changes',
      }),
      sign_ins: Type.Integer({
        default: 1000,
        minimum: 10,
        maximum: 100_000,
        description: 'entries about sign-ins: kept at most',
      }),
      sent: Type.Integer({
        default: 5000,
        minimum: 10,
        maximum: 500_000,
        description: 'entries about what was sent to lines: kept at most, so that programs push out no changes',
      }),
      refused_ms: Type.Integer({
        default: 600_000,
        minimum: 1000,
        maximum: 86_400_000,
        unit: 'ms',
        description: 'how often at most one network or key that is turned away is told again, with a count',
      }),
      refused_groups: Type.Integer({
        default: 64,
        minimum: 1,
        maximum: 4096,
        description: 'networks and keys turned away that are counted apart; further ones are counted together',
      }),
    },
    { additionalProperties: false, default: {}, description: 'the journal of changes' },
  )
}

/** A checked `journal` table. */
export type JournalConfig = Static<ReturnType<typeof journalTable>>

/**
 * The `http` table. Every limit of the server is a key here.
 * @param defaultPort the daemon's own port, 1..65535
 * @param own keys beside those that every server has, such as those of its logins
 */
export function httpTable<Own extends TProperties>(defaultPort: number, own: Own) {
  return Type.Object(
    { ...serverKeys(defaultPort), ...own },
    { additionalProperties: false, default: {}, description: 'the HTTP interface and its bounds' },
  )
}

/** The `connections` table: applies to every TCP port that a daemon opens. */
function connectionsTable() {
  return Type.Object(
    {
      trusted: networks(
        [],
        'addresses and networks that may take every place of every port, and lose none to others, such as a proxy or a SCADA server; all others have their share',
      ),
    },
    { additionalProperties: false, default: {}, description: 'who may have how many connections' },
  )
}

/** The `log` table. */
export function logTable() {
  return Type.Object(
    {
      level: Type.Enum(['error', 'warning', 'notice', 'info', 'debug'], {
        default: 'notice',
        description: 'least urgent lines that are written',
      }),
    },
    { additionalProperties: false, default: {}, description: 'what is logged' },
  )
}

/** The tables of a daemon that serves HTTPS, and to which people sign in for a token; spread them into its `config.ts`. */
export function commonTables(defaultPort: number, sockets: SocketDefaults = USUAL_SOCKETS) {
  const own = { ...socketKeys(sockets), max_connections: connectionsKey(sockets.connections ?? USUAL_CONNECTIONS) }
  return commonTablesWith(httpTable(defaultPort, { ...tokenLoginKeys(), ...tlsKeys(), ...own }))
}

/** The tables of any daemon, with an `http` table of its own. */
export function commonTablesWith<Http extends TSchema>(http: Http) {
  return { http, connections: connectionsTable(), mdns: mdnsTable(), log: logTable() }
}

/** What a server needs of its checked `http` table. */
export type HttpConfig = Static<TObject<ReturnType<typeof serverKeys>>>

/** The checked `http` table of a daemon to which people sign in for a token. */
export type TokenHttpConfig = HttpConfig & Static<TObject<ReturnType<typeof tokenLoginKeys>>>

/** The checked keys of a server that speaks TLS. */
export type TlsConfig = Static<TObject<ReturnType<typeof tlsKeys>>>

/** A checked `log` table. */
export type LogConfig = Static<ReturnType<typeof logTable>>

function serverKeys(defaultPort: number) {
  return { ...addressKeys(defaultPort), ...requestKeys(), ...socketKeys(USUAL_SOCKETS) }
}

function addressKeys(defaultPort: number) {
  return {
    listen: Type.String({
      default: `0.0.0.0:${defaultPort}`,
      maxLength: 300,
      description: 'address and port to listen on, HOST:PORT; port 0 takes a free one',
      check: listenSentence,
    }),
    tls: Type.Boolean({
      default: false,
      description: 'HTTPS instead of HTTP; not there yet, true is refused',
      check: (value: unknown) =>
        value === true ? 'HTTPS is not there yet: leave it false and put a TLS proxy in front' : undefined,
    }),
    hosts: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
      default: [],
      maxItems: 64,
      description: 'names that a request may carry in Host, besides IP addresses and localhost; empty means any',
    }),
  }
}

/** Keys of a daemon that serves HTTPS, in place of the one that refuses it. */
function tlsKeys() {
  return {
    tls: Type.Boolean({
      default: false,
      description:
        'HTTPS with a certificate of its own root CA (`GET /api/system/ca-cert`); plain HTTP on the same port is redirected',
    }),
    tls_handshake_ms: milliseconds(10_000, 100, 300_000, 'time a client has for its TLS handshake'),
    tls_handshakes: count(
      128,
      1,
      65_536,
      'TLS handshakes under way at once; where all are, the address with most loses one to the next, or the oldest goes',
    ),
    tls_handshakes_per_address: count(
      32,
      1,
      65_536,
      'TLS handshakes of one address (IPv6: one /64) under way at once; one more ends its oldest',
    ),
    tls_check_ms: milliseconds(
      60_000,
      1000,
      3_600_000,
      'how often is looked whether the certificate ends soon, or lacks a name or an address of this machine',
    ),
  }
}

/** A daemon with long queries sets its own default. @param byDefault bytes */
export function headerBytesKey(byDefault: number) {
  return Type.Integer({
    default: byDefault,
    minimum: 4096,
    maximum: 65_536,
    unit: 'bytes',
    description: 'largest request head, line and headers together; more is answered 431',
  })
}

function connectionsKey(byDefault: number) {
  return count(
    byDefault,
    1,
    65_536,
    'connections open at once; where all are, the address with most loses one to the next, or one that asks nothing goes',
  )
}

function requestKeys() {
  return {
    ...unsentKeys(),
    body_bytes: Type.Integer({
      default: 65_536,
      minimum: 1024,
      maximum: 16_777_216,
      unit: 'bytes',
      description: 'largest request body; more is answered 413',
    }),
    header_bytes: headerBytesKey(16_384),
    headers_timeout_ms: milliseconds(10_000, 100, 300_000, 'time a client has to send its request head'),
    request_timeout_ms: milliseconds(10_000, 100, 300_000, 'time a client has to send its request body'),
    keep_alive_ms: milliseconds(5000, 0, 600_000, 'time an idle connection is kept open'),
    max_connections: connectionsKey(USUAL_CONNECTIONS),
    max_connections_per_address: count(
      128,
      1,
      65_536,
      'connections of one address (IPv6: one /64) open at once; one that asks nothing makes room for its next, else that is closed',
    ),
    turn_ms: milliseconds(
      2,
      1,
      1000,
      'time that requests of one address (IPv6: one /64) may take before those of others that wait have their turn',
    ),
    turn_rest_ms: milliseconds(
      6,
      0,
      1000,
      'rest of an address that has had its turn and asks for more, while others ask as well; 0: none',
    ),
    pipelined_max: count(
      64,
      1,
      4096,
      'requests that wait on one connection for the answer before theirs, of four times header_bytes together; one more ends it',
    ),
  }
}

/** Limits for answers that nobody reads. */
function unsentKeys() {
  const bytes = (byDefault: number, description: string) =>
    Type.Integer({ default: byDefault, minimum: 1_048_576, maximum: 1_073_741_824, unit: 'bytes', description })
  return {
    unsent_bytes: bytes(
      67_108_864,
      'answers that wait to be sent, in all; beyond, connections of the address with most are ended',
    ),
    unsent_bytes_per_address: bytes(
      16_777_216,
      'answers that wait for one address (IPv6: one /64) before its requests are answered 503',
    ),
    stalled_ms: milliseconds(
      20_000,
      100,
      600_000,
      'time after which a client that takes nothing of its answer is ended',
    ),
  }
}

/** Defaults that differ between daemons. */
interface SocketDefaults {
  most: number
  mostPerAddress: number
  /** What clients send at once. */
  messageBytes: number
  /** Unsent bytes of one; as many as usual if undefined. */
  bufferBytes?: number
  /** Connections of HTTP at once, these among them; as many as usual if undefined. */
  connections?: number
}

const USUAL_CONNECTIONS = 512

const USUAL_SOCKETS: SocketDefaults = { most: 64, mostPerAddress: 32, messageBytes: 65_536 }

function socketKeys({ bufferBytes = 1_048_576, messageBytes, most, mostPerAddress }: SocketDefaults) {
  return {
    max_sockets: count(
      most,
      0,
      4096,
      'WebSockets open at once; where all are, the address with most loses its oldest to the next, else that is answered 503',
    ),
    max_sockets_per_address: count(
      mostPerAddress,
      1,
      4096,
      'WebSockets of one address (IPv6: one /64) open at once; further ones are answered 503',
    ),
    socket_buffer_bytes: Type.Integer({
      default: bufferBytes,
      minimum: 16_384,
      maximum: 67_108_864,
      unit: 'bytes',
      description: 'unsent bytes of one WebSocket before messages to it are dropped',
    }),
    socket_message_bytes: Type.Integer({
      default: messageBytes,
      minimum: 128,
      maximum: 1_048_576,
      unit: 'bytes',
      description:
        'largest message a WebSocket client may send, in at most 8 fragments and one more for each 64 KiB; beyond, its socket is closed',
    }),
    socket_ping_ms: milliseconds(30_000, 100, 600_000, 'time between heartbeats; a client that misses one is closed'),
    max_tickets: count(
      256,
      1,
      65_536,
      'one-time tickets outstanding at once; the oldest of whoever holds most is dropped',
    ),
    ticket_life_ms: milliseconds(30_000, 1000, 300_000, 'life of a one-time ticket'),
  }
}

function tokenLoginKeys() {
  return {
    ...loginKeys({ freeTries: 5, waitMaxMs: [5000, 1000, 86_400_000] }),
    max_tokens: count(1024, 1, 65_536, 'login tokens alive at once; the oldest is dropped'),
  }
}

/** A list of addresses and networks. */
export function networks(byDefault: string[], description: string) {
  return Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    default: byDefault,
    maxItems: 256,
    description,
    check: badNetwork,
  })
}

/** The fault of the first entry that is neither address nor network. */
function badNetwork(value: unknown): string | undefined {
  const bad = (value as string[]).find((entry) => !parseNetwork(entry))
  return bad === undefined
    ? undefined
    : `saw ${JSON.stringify(bad)}, expected an address or the first one of a network, such as 10.20.4.7 or 10.20.4.0/24`
}

/** The fault of a bad address, undefined for a good one. */
function listenSentence(value: unknown): string | undefined {
  try {
    parseListen(String(value))
    return undefined
  } catch (fault) {
    if (fault instanceof Fault) return fault.message
    throw fault
  }
}
