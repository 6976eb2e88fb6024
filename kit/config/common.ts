/** The config tables that every daemon has: `http`, `connections`, `mdns` and `log`. */
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { Fault } from '#kit/fault.ts'
import { parseNetwork } from '../net/address.ts'
import { parseListen } from './listen.ts'
import { loginKeys } from './login-keys.ts'
import { mdnsTable } from './mdns-table.ts'

/**
 * The `http` table. Every bound of the server is a key here.
 * @param defaultPort the daemon's own port, 1..65535
 * @param own keys beside those that every server has, such as those of its logins
 */
export function httpTable<Own extends TProperties>(defaultPort: number, own: Own) {
  return Type.Object(
    { ...serverKeys(defaultPort), ...own },
    { additionalProperties: false, default: {}, description: 'the HTTP interface and its bounds' },
  )
}

/** The `connections` table: of every TCP port that a daemon opens. */
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

/** The tables of a daemon to which people sign in for a token, to be spread into its `config.ts`. */
export function commonTables(defaultPort: number) {
  return tablesOf(httpTable(defaultPort, tokenLoginKeys()))
}

/** The tables of any daemon, with an `http` table of its own making. */
export function tablesOf<Http extends TSchema>(http: Http) {
  return { http, connections: connectionsTable(), mdns: mdnsTable(), log: logTable() }
}

/** What a server needs of its checked `http` table. */
export type HttpConfig = Static<TObject<ReturnType<typeof serverKeys>>>

/** The checked `http` table of a daemon to which people sign in for a token. */
export type TokenHttpConfig = HttpConfig & Static<TObject<ReturnType<typeof tokenLoginKeys>>>

/** A checked `log` table. */
export type LogConfig = Static<ReturnType<typeof logTable>>

function serverKeys(defaultPort: number) {
  return { ...addressKeys(defaultPort), ...requestKeys(), ...socketKeys() }
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

/** A daemon whose queries are long gives its own default. @param byDefault bytes */
export function headerBytes(byDefault: number) {
  return Type.Integer({
    default: byDefault,
    minimum: 4096,
    maximum: 65_536,
    unit: 'bytes',
    description: 'largest request head, line and headers together; more is answered 431',
  })
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
    header_bytes: headerBytes(16_384),
    headers_timeout_ms: milliseconds(10_000, 100, 300_000, 'time a client has to send its request head'),
    request_timeout_ms: milliseconds(10_000, 100, 300_000, 'time a client has to send its request body'),
    keep_alive_ms: milliseconds(5000, 0, 600_000, 'time an idle connection is kept open'),
    max_connections: count(
      512,
      1,
      65_536,
      'connections open at once; where all are, the address with most loses one to the next, or one that asks nothing goes',
    ),
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

/** What answers may hold that nobody reads. */
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

function socketKeys() {
  return {
    max_sockets: count(
      64,
      0,
      4096,
      'WebSockets open at once; where all are, the address with most loses its oldest to the next, else that is answered 503',
    ),
    max_sockets_per_address: count(
      32,
      1,
      4096,
      'WebSockets of one address (IPv6: one /64) open at once; further ones are answered 503',
    ),
    socket_buffer_bytes: Type.Integer({
      default: 1_048_576,
      minimum: 16_384,
      maximum: 67_108_864,
      unit: 'bytes',
      description: 'unsent bytes of one WebSocket before messages to it are dropped',
    }),
    socket_message_bytes: Type.Integer({
      default: 65_536,
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

/** The sentence of the first entry that is neither address nor network. */
function badNetwork(value: unknown): string | undefined {
  const bad = (value as string[]).find((entry) => !parseNetwork(entry))
  return bad === undefined
    ? undefined
    : `saw ${JSON.stringify(bad)}, expected an address or the first one of a network, such as 10.20.4.7 or 10.20.4.0/24`
}

function milliseconds(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, unit: 'ms', description })
}

function count(byDefault: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: byDefault, minimum, maximum, description })
}

/** The sentence of a bad address, undefined for a good one. */
function listenSentence(value: unknown): string | undefined {
  try {
    parseListen(String(value))
    return undefined
  } catch (fault) {
    if (fault instanceof Fault) return fault.message
    throw fault
  }
}
