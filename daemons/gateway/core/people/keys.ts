/** API keys: how they are made, kept as hashes, and limited to ports. */

import type { Role } from '#kit/auth/credentials.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { userKey } from '#kit/pure/users.ts'

// What a key may see and do beyond its role. This is decided here and nowhere else.

/** The part of a caller that matters here; users are never limited to ports. */
export interface Fenced {
  name: string
  isKey?: boolean
  /** Device paths of the ports that the key is for; absent: all ports. */
  only?: readonly string[]
}

/** What is requested: the route's path as the route table spells it, and its decoded parameters. */
interface Knock {
  method: string
  path: string
  params: Readonly<Record<string, string>>
}

/** Closed to all keys: a leaked key must not be able to make another key, nor to lock its administrators out. */
const FOR_PEOPLE = /^\/api\/(users|keys|me\/password|logout)(\/|$)/

/** Open to a key that is limited to ports: these reveal nothing about a port, or filter by the key's ports. */
const OPEN_TO_ANY_KEY: ReadonlySet<string> = new Set([
  'GET /api/ledger',
  'GET /api/ledger/export',
  'GET /api/me',
  'GET /api/openapi.json',
  'GET /api/ports',
  'GET /api/templates/modbus',
  'POST /api/ticket',
  'GET /metrics',
  'GET /ws',
])

const PORT = '/api/ports/:path'

/**
 * Refuses whatever a key may not request; users are not asked about here. A key that is limited to ports gets only the routes named above, and its own
 * ports.
 * @throws Fault `not_for_keys`, `not_your_port`
 */
export function checkKey(caller: Fenced, { method, path, params }: Knock): void {
  if (FOR_PEOPLE.test(path))
    throw new Fault(
      'not_for_keys',
      `An API key may not do this, whatever its role: sign in as a user. (${caller.name})`,
    )
  if (!caller.only || OPEN_TO_ANY_KEY.has(`${method} ${path}`)) return
  if (path !== PORT && !path.startsWith(`${PORT}/`))
    throw new Fault('not_for_keys', `${caller.name} is for single ports, and this is not about one of them.`)
  if (!seesPort(caller, params.path)) throw notYourPort(caller)
}

/** Whether the caller may see a port. @param port the name by which it is set up */
export function seesPort({ only }: Pick<Fenced, 'only'>, port: string | undefined): boolean {
  return !only || (port !== undefined && only.includes(port))
}

/** The sentence is the same whether the port exists or not. */
export function notYourPort({ name }: Pick<Fenced, 'name'>): Fault {
  return new Fault('not_your_port', `${name} is not for this port. Its list names ports as they are set up.`)
}

/** One entry of keys.json. */
export interface KeyRecord {
  id: string
  name: string
  role: Role
  /** Device paths of the ports that the key is for; null: all ports. */
  ports: readonly string[] | null
  createdAt: number
  /** The administrator who made it; this user may have been removed. */
  createdBy: string
  /** Epoch milliseconds; null: never. */
  expiresAt: number | null
  lastUsedAt: number | null
  secretHash: string
}

/** The caller that a key stands for. */
interface KeyCaller {
  name: string
  role: Role
  isKey: true
  only?: readonly string[]
}

/** Makes keys and their secrets, and checks a secret. */
interface KeyMint {
  make(): { id: string; text: string; secretHash: string }
  isSecretOf(secret: string, secretHash: string | undefined): boolean
}

interface ApiKeyParts {
  clock: Clock
  log: Log
  mint: KeyMint
  save(records: KeyRecord[]): Promise<void>
  /**
   * `max`: how many keys; `saveMs`: the least time between two writes of last uses. Keys `keys.max` and `keys.save_ms`.
   */
  limits: { max: number; saveMs: number }
}

/** What an administrator asks for in a new key. */
export type KeyWish = Pick<KeyRecord, 'name' | 'role' | 'ports' | 'expiresAt'>

/** A key as shown to an administrator. */
export type KeyView = Omit<KeyRecord, 'secretHash'> & { state: 'live' | 'expired' }

/** Changes throw Fault `store_write_failed` if they could not be saved; then nothing has changed. */
export interface ApiKeys {
  list(): KeyView[]
  /** @returns also the text of the key, which nobody can read again. @throws Fault `key_exists`, `too_many_keys` */
  make(wish: KeyWish, createdBy: string): Promise<KeyView & { key: string }>
  /** @throws Fault `unknown_key` */
  remove(id: string): Promise<KeyView>
  /** The caller with this key; undefined if the key is unknown or its secret is wrong. @throws Fault `key_expired` */
  callerOf(key: { id: string; secret: string }): KeyCaller | undefined
  /** The name of a key in the journal; undefined if there is no such key. */
  nameOf(id: string): string | undefined
  /** Whether the key by which `callerOf` found this caller still exists and has not expired. */
  isLive(caller: object): boolean
  /** Calls the handler after a key was removed. */
  onRemoved(handler: () => void): void
  /** Saves the last uses. */
  close(): Promise<void>
}

interface Entry {
  record: KeyRecord
  caller: KeyCaller
}

/** @param records the saved keys */
export function createApiKeys(parts: ApiKeyParts, records: readonly KeyRecord[]): ApiKeys {
  const { clock, mint, limits } = parts
  const entries = new Map(records.map((record) => [record.id, entryOf(record)]))
  const handlers: (() => void)[] = []
  const inTurn = createSerialTurn()
  const saveAll = (list: Iterable<Entry>) => parts.save([...list].map(({ record }) => ({ ...record })))
  const uses = createUseSaver(parts, () => inTurn(() => saveAll(entries.values())))
  const isExpired = ({ expiresAt }: { expiresAt: number | null }) => expiresAt !== null && clock.epochMs() >= expiresAt
  const viewOf = ({ secretHash: _, ...facts }: KeyRecord): KeyView => ({
    ...facts,
    state: isExpired(facts) ? 'expired' : 'live',
  })

  return {
    list: () => [...entries.values()].map(({ record }) => viewOf(record)),
    make: (wish, createdBy) =>
      inTurn(async () => {
        refuseNew([...entries.values()], wish.name, limits.max)
        const { id, text, secretHash } = mint.make()
        const made = { id, ...wish, createdAt: clock.epochMs(), createdBy, lastUsedAt: null, secretHash }
        const entry = entryOf(made)
        await saveAll([...entries.values(), entry])
        entries.set(id, entry)
        return { ...viewOf(made), key: text }
      }),
    remove: (id) =>
      inTurn(async () => {
        const entry = entries.get(id)
        if (!entry) throw new Fault('unknown_key', 'There is no key of this id.')
        await saveAll([...entries.values()].filter((other) => other !== entry))
        entries.delete(id)
        for (const handler of handlers) handler()
        return viewOf(entry.record)
      }),
    callerOf({ id, secret }) {
      const entry = entries.get(id)
      if (!mint.isSecretOf(secret, entry?.record.secretHash) || !entry) return undefined
      if (isExpired(entry.record)) throw expired(entry.record)
      entry.record.lastUsedAt = clock.epochMs()
      uses.happened()
      return entry.caller
    },
    nameOf: (id) => entries.get(id)?.caller.name,
    isLive: (caller) => [...entries.values()].some((entry) => entry.caller === caller && !isExpired(entry.record)),
    onRemoved: (handler) => void handlers.push(handler),
    close: () => uses.close(),
  }
}

/** Saves the last uses of keys only now and then, because a key may be used a hundred times a second. */
function createUseSaver({ clock, limits, log }: ApiKeyParts, save: () => Promise<void>) {
  let timer: Timer | undefined
  let writing = Promise.resolve()

  async function write(): Promise<void> {
    timer = undefined
    try {
      await save()
    } catch (fault) {
      // The next use starts another save; until then only the file is out of date.
      log.warning('last uses of keys are not saved', { fault })
    }
  }

  return {
    happened(): void {
      timer ??= clock.after(limits.saveMs, () => {
        writing = write()
      })
    },
    async close(): Promise<void> {
      await writing
      if (!timer) return
      timer.cancel()
      await write()
    },
  }
}

function entryOf(record: KeyRecord): Entry {
  const { name, role, ports } = record
  // A user's name has no colon, so no user can be mistaken for a key, nor a key for a user.
  return { record, caller: { name: `key:${name}`, role, isKey: true, ...(ports && { only: ports }) } }
}

function refuseNew(entries: readonly Entry[], name: string, max: number): void {
  if (entries.some(({ record }) => userKey(record.name) === userKey(name)))
    throw new Fault('key_exists', `There is a key ${name} already. Names that differ only in case count as the same.`)
  if (entries.length >= max)
    throw new Fault('too_many_keys', `There are ${entries.length} keys; keys.max allows ${max}.`)
}

function expired({ name, expiresAt }: KeyRecord): Fault {
  const at = new Date(expiresAt ?? 0).toISOString()
  return new Fault('key_expired', `The key ${name} expired at ${at}. An administrator makes a new one.`, {
    details: { expiredAt: expiresAt },
  })
}
