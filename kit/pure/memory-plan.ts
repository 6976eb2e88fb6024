/** Memory plan: what a daemon may hold in memory, as rows that depend on settings, and the rows every daemon has. */

/**
 * Most writes queued by connected clients, and as many by those who left: a client may send byte by byte, and each
 * write is an object.
 */
export const MOST_WRITES = 256

/** Looks up a numeric setting by its name, such as `http.body_bytes`. */
export type Setting = (name: string) => number

/** A number, the name of a setting, or a function of several settings. */
export type Amount = number | string | ((setting: Setting) => number)

/** Something held in memory, and its limit: `all` bytes, or `each` for every one of `many`. */
export type MemoryRow = HeldAll | HeldByMany

interface Held {
  what: string
  /** It is on the heap of V8's main thread, which has its own limit and also holds garbage. */
  isHeap?: boolean
  /** The test that fills it to its limit, or shows its size. */
  shownBy: string
}

interface HeldAll extends Held {
  all: Amount
  /** What has its own limited share of it, and the bytes of that. */
  of?: string
  each?: Amount
  many?: undefined
}

interface HeldByMany extends Held {
  of: string
  each: Amount
  many: Amount
  all?: undefined
}

/** Memory of one daemon. */
export interface MemoryPlan {
  /** Resident bytes after the start, before any request: Node, its code and the daemon's own. Measured. */
  idleBytes: number
  /** Garbage that V8 may have, as a fraction of live heap. */
  garbage: number
  /** Most bytes of young objects in the main thread: three half spaces. */
  youngBytes: number
  rows: readonly MemoryRow[]
  /** Threads and processes at once, by kind. */
  tasks: Readonly<Record<string, Amount>>
}

export const KIB = 1024
export const MIB = 1_048_576

/**
 * What the kernel holds for a connection that nobody reads, before its autotuning grows the buffer. @source tcp(7):
 * tcp_rmem
 */
export const KERNEL_BYTES = 131_072

/** Node's overhead of a connection. @source measured: 500 idle connections of a gateway take 6 MB */
const CONNECTION_BYTES = 16 * KIB

/**
 * Heads queued on one connection may together take this many times the largest head: 64 usual ones are much smaller.
 */
export const PIPELINED_HEADS = 4

/** Overhead in Node and a daemon of a TCP client beside its bytes. */
export const CLIENT_BYTES = 16 * KIB

/** What is read from a line at once, and what has passed and is not reported yet. */
const READ_BYTES = 128 * KIB

/** Overhead of a queued write to a line, including a sender used only once. @source measured: 1.2 to 2.4 KiB */
const LINE_WRITE_BYTES = 3 * KIB

/**
 * Memory of one line: read at once, queued by clients and by the daemon itself, left behind, and the objects of both
 * queues, of which a client that sends byte by byte makes many.
 * @param table of the settings of `queueKeys`
 */
export function lineBytes(setting: Setting, table: string): number {
  const bytes = READ_BYTES + 2 * setting(`${table}.queue_bytes`) + setting(`${table}.left_bytes`)
  return bytes + 2 * MOST_WRITES * LINE_WRITE_BYTES
}

/** Memory of one TCP client of a line. @param table of its settings */
export function clientBytes(setting: Setting, table: string): number {
  return CLIENT_BYTES + KERNEL_BYTES + setting(`${table}.backlog_bytes`)
}

/** What Node reads from a connection at once; a view of a part keeps all of it alive. */
const PACKET_BYTES = 64 * KIB

/** Overhead of each received packet as an object. @source measured: 260 bytes */
const PACKET_OBJECT_BYTES = 512

/** Fragments of a WebSocket message: clients send few, of their own size. */
export const mostFragments = (messageBytes: number) => 8 + Math.ceil(messageBytes / (64 * KIB))

/** Packets of one frame: four times as many as of TCP's smallest packets. */
export const mostPackets = (messageBytes: number) => 64 + Math.ceil(messageBytes / 128)

/** Answers up to this size are sent whatever waits. */
const SHORT_ANSWER_BYTES = 64 * KIB

/**
 * Threads of Node itself: the main one, four of libuv, one of V8 (scripts/bundle.ts), and two for signals and delayed
 * tasks.
 */
export const NODE_TASKS = 8

/**
 * Rows of the HTTP server.
 * @param body set if the largest request body is another one that is held elsewhere, and has its own limit
 */
export function serverRows(body: { bytes?: number; isHeap?: false } = {}): MemoryRow[] {
  const connections = { of: 'connection', many: 'http.max_connections' }
  const sockets = { of: 'WebSocket', many: 'http.max_sockets' }
  return [
    {
      ...{ what: 'HTTP connections', ...connections, each: CONNECTION_BYTES, isHeap: true },
      shownBy: 'kit/test/http/admission.test.ts',
    },
    {
      ...{ what: 'heads of requests, those that wait for the answer before theirs too', ...connections, isHeap: true },
      // Raw and parsed: the one being answered, and those queued behind it (kit/http/admission.ts).
      each: (setting) => 2 * (1 + PIPELINED_HEADS) * setting('http.header_bytes'),
      shownBy: 'kit/test/http/admission.test.ts',
    },
    {
      ...{ what: 'bodies of requests', ...connections, isHeap: body.isHeap ?? true },
      each: body.bytes ?? ((setting) => 2 * setting('http.body_bytes')),
      shownBy: 'kit/test/http/admission.test.ts',
    },
    {
      ...{ what: 'answers that nobody has read yet', of: 'address', each: 'http.unsent_bytes_per_address' },
      all: (setting) => setting('http.unsent_bytes') + setting('http.max_connections') * SHORT_ANSWER_BYTES,
      shownBy: 'kit/test/http/unsent.test.ts',
    },
    {
      ...{ what: 'messages to WebSockets, until what waits is looked at next', ...sockets },
      // Node does not use the pieces it cuts messages from to their ends.
      each: (setting) => setting('http.socket_buffer_bytes') + PACKET_BYTES,
      shownBy: 'kit/test/http/sockets.test.ts',
    },
    {
      ...{ what: 'messages from WebSockets', ...sockets },
      each: (setting) => {
        const bytes = setting('http.socket_message_bytes')
        return 2 * bytes + mostFragments(bytes) * PACKET_BYTES + mostPackets(bytes) * PACKET_OBJECT_BYTES
      },
      shownBy: 'kit/test/http/sockets.test.ts',
    },
    {
      ...{ what: 'buffers of the kernel for HTTP', ...connections, each: KERNEL_BYTES },
      shownBy: 'kit/test/pure/memory-plan.test.ts',
    },
    {
      ...{ what: 'one-time tickets', of: 'ticket', each: KIB / 2, many: 'http.max_tickets', isHeap: true },
      shownBy: 'kit/test/http/sockets.test.ts',
    },
  ]
}

/** One encrypted connection beside what it takes without TLS, mostly OpenSSL's. @source measured: 80 KiB */
export const TLS_BYTES = 112 * KIB

/** The row of a server that may speak TLS; counted although it is off, since switching it on changes no unit. */
export function tlsRow(): MemoryRow {
  return {
    ...{ what: 'TLS of connections, with `http.tls`', of: 'connection', each: TLS_BYTES, many: 'http.max_connections' },
    shownBy: 'daemons/gateway/test/tls.e2e.test.ts',
  }
}

const HTTP_KEYS = {
  workers: 'http.password_workers',
  queue: 'http.password_queue',
  table: 'http.login_table',
  homes: 'http.login_homes',
}

/**
 * Rows of signing in.
 * @param keys settings: passwords hashed at once, sign-ins that wait, those remembered as wrong, homes
 */
export function signInRows(keys = HTTP_KEYS): MemoryRow[] {
  return [
    {
      ...{ what: 'passwords that are being hashed, each in a thread', of: 'password', many: keys.workers },
      each: 65 * MIB,
      shownBy: 'kit/test/auth/password.test.ts',
    },
    {
      ...{ what: 'sign-ins that wait', of: 'sign-in', each: 6 * KIB, many: keys.queue, isHeap: true },
      shownBy: 'kit/test/pure/sign-in-limiter.test.ts',
    },
    {
      ...{ what: 'wrong sign-ins and homes that are remembered', of: 'network or account', each: KIB / 2 },
      // Wrong tries are kept for as many networks, accounts, and pairs of both.
      many: (setting) => 3 * setting(keys.table) + setting(keys.homes),
      isHeap: true,
      shownBy: 'kit/test/pure/sign-in-limiter.test.ts',
    },
  ]
}

/** The row of people who sign in for a token. */
export function userRow(): MemoryRow {
  return {
    ...{ what: 'users and login tokens', of: 'one of them', each: KIB, isHeap: true },
    many: (setting) => setting('users.max') + setting('http.max_tokens'),
    shownBy: 'kit/test/pure/user-book.test.ts',
  }
}

/** Services of one round as the library decodes them, 3.3 MB if their keys are numbers. @source measured */
const HEARD_BYTES = 4 * MIB

/** Rows of the journal, the ledger and mDNS. */
export function houseRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'the journal', isHeap: true },
      // In UTF-16; lists and rewrites are made in pieces.
      all: (setting) => 3 * setting('journal.chars'),
      shownBy: 'kit/test/records/journal-list.test.ts',
    },
    {
      // The longest texts in UTF-16.
      ...{ what: 'the ledger', of: 'entry', each: 3 * KIB, many: 'ledger.entries', isHeap: true },
      shownBy: 'kit/test/records/ledger.test.ts',
    },
    {
      ...{ what: 'what mDNS has heard and said', all: () => HEARD_BYTES, isHeap: true },
      shownBy: 'kit/test/net/mdns/library.test.ts',
    },
  ]
}

/** A thread with its own heap. @param of whose tasks it runs; @param shownBy as for a row */
export function threadRow(what: string, heapMib: number, shownBy: string): MemoryRow {
  return { what: `${what}: its heap and stack`, all: (heapMib + THREAD_MIB) * MIB, shownBy }
}

/** Overhead of a thread beside its heap: code, stack and what Node keeps for it. @source measured: 7 to 9 MB */
const THREAD_MIB = 10
