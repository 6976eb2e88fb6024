/** What a daemon may hold in memory, as rows that follow from settings, and the rows that every daemon has. */

/** Writes that wait of all who are connected, and as many of those who have left: a client may send byte by byte, and each is an object. */
export const MOST_WRITES = 256

/** A number among the settings, by its name such as `http.body_bytes`. */
export type Setting = (name: string) => number

/** A number, the setting that says it, or what follows from several. */
export type Amount = number | string | ((setting: Setting) => number)

/** Something that is held, and what bounds it: `all` bytes, or `each` for every one of so `many`. */
export type MemoryRow = HeldAll | HeldByMany

interface Held {
  what: string
  /** Lies on the heap of V8's main thread, which is bounded by itself and has garbage besides. */
  isHeap?: boolean
  /** The test that fills it to its bound, or shows its size. */
  shownBy: string
}

interface HeldAll extends Held {
  all: Amount
  /** Who has a share of it that is bounded by itself, and the bytes of that. */
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

/** What one daemon may take. */
export interface MemoryPlan {
  /** Resident when it has started and nobody has asked it anything, bytes: Node, its code and the daemon's own. Measured. */
  idleBytes: number
  /** Garbage that V8 may have, as a part of what lives on the heap. */
  garbage: number
  /** Young objects of the main thread at most, bytes: three half spaces. */
  youngBytes: number
  rows: readonly MemoryRow[]
  /** Threads and processes at once, by what they are. */
  tasks: Readonly<Record<string, Amount>>
}

export const KIB = 1024
export const MIB = 1_048_576

/** What the kernel holds for a connection whose bytes nobody reads, until it has learned that it is a fast one. @source tcp(7): tcp_rmem */
export const KERNEL_BYTES = 131_072

/** What Node has of a connection. @source measured: 500 connections at rest of a gateway take 6 MB */
const CONNECTION_BYTES = 16 * KIB

/** Heads that wait on one connection are together no more than so many of the largest size: 64 usual ones are much less. */
export const PIPELINED_HEADS = 4

/** What Node and a daemon have of a TCP client beside its bytes. */
export const CLIENT_BYTES = 16 * KIB

/** What is read of a line at once, and what has passed and is not told yet. */
const READ_BYTES = 128 * KIB

/** A write that waits for its line, beside its bytes, with its sender where that has no other. @source measured: 1.2 to 2.4 KiB */
const LINE_WRITE_BYTES = 3 * KIB

/**
 * What is held for one line: read at once, waiting of clients and of the daemon itself, left behind, and the objects of
 * both, which a client that sends byte by byte makes many.
 * @param table of the settings of `queueKeys`
 */
export function lineBytes(setting: Setting, table: string): number {
  const bytes = READ_BYTES + 2 * setting(`${table}.queue_bytes`) + setting(`${table}.left_bytes`)
  return bytes + 2 * MOST_WRITES * LINE_WRITE_BYTES
}

/** What is held for one TCP client of a line. @param table of its settings */
export function clientBytes(setting: Setting, table: string): number {
  return CLIENT_BYTES + KERNEL_BYTES + setting(`${table}.backlog_bytes`)
}

/** What Node reads of a connection at once; a view of a part holds the whole. */
const PACKET_BYTES = 64 * KIB

/** What has come in once more, as an object. @source measured: 260 bytes */
const PACKET_OBJECT_BYTES = 512

/** Fragments that a message of a WebSocket may come in: clients make few, of a size of their own. */
export const mostFragments = (messageBytes: number) => 8 + Math.ceil(messageBytes / (64 * KIB))

/** Packets that one frame may come in: four times as many as of the smallest packets of TCP. */
export const mostPackets = (messageBytes: number) => 64 + Math.ceil(messageBytes / 128)

/** Answers up to here are sent whatever waits. */
const SHORT_ANSWER_BYTES = 64 * KIB

/** Threads of Node itself: the main one, four of libuv, one of V8 (scripts/bundle.ts), and two that wait for signals and delayed tasks. */
export const NODE_TASKS = 8

/**
 * Of the HTTP server.
 * @param body where the largest body of a request is another one that lies elsewhere, and what is read of it is bounded by itself
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
      // As they came, and as they were read: the one that is answered, and those behind it (kit/http/admission.ts).
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
      // The pieces that Node cuts messages from are not used to their ends.
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

/**
 * Of signing in.
 * @param keys settings: passwords hashed at once, sign-ins that wait, those remembered as wrong, homes
 */
export function signInRows(keys: { workers: string; queue: string; table: string; homes: string }): MemoryRow[] {
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
      // Of the first as many networks, accounts, and pairs of both.
      many: (setting) => 3 * setting(keys.table) + setting(keys.homes),
      isHeap: true,
      shownBy: 'kit/test/pure/sign-in-limiter.test.ts',
    },
  ]
}

/** Services of one round as the library decodes them, 3.3 MB where their keys are numbers. @source measured */
const HEARD_BYTES = 4 * MIB

/** Of the journal and of mDNS. */
export function houseRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'the journal', isHeap: true },
      // In UTF-16; what is asked for, or written anew, is made in pieces.
      all: (setting) => 3 * setting('journal.chars'),
      shownBy: 'kit/test/records/journal-list.test.ts',
    },
    {
      ...{ what: 'what mDNS has heard and said', all: () => HEARD_BYTES, isHeap: true },
      shownBy: 'kit/test/net/mdns/library.test.ts',
    },
  ]
}

/** A thread that has a heap of its own. @param of whose tasks it does; @param shownBy as of a row */
export function threadRow(what: string, heapMib: number, shownBy: string): MemoryRow {
  return { what: `${what}: its heap and stack`, all: (heapMib + THREAD_MIB) * MIB, shownBy }
}

/** Of a thread beside its heap: code, stack and what Node has for it. @source measured: 7 to 9 MB */
const THREAD_MIB = 10
