/** API keys: made, kept as hashes, fenced to ports. */

import type { Role } from '#kit/auth/credentials.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { userKey } from './users.ts'

// What a key may see and touch, beyond its role: the one place where that is decided.

/** A caller as far as it matters here; a person is never fenced. */
export interface Fenced {
  name: string
  isKey?: boolean
  /** Device paths of the ports it is for; absent for all. */
  only?: readonly string[]
}

/** Where it knocks: the route as the table has it, and its decoded parameters. */
interface Knock {
  method: string
  path: string
  params: Readonly<Record<string, string>>
}

/** No key may: one that leaked must not make itself a successor, nor shut its administrators out. */
const FOR_PEOPLE = /^\/api\/(users|keys|me\/password|logout)(\/|$)/

/** Open to a key with a list of ports: these tell nothing of a port, or are filtered by the list. */
const OPEN_TO_ANY_KEY: ReadonlySet<string> = new Set([
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
 * Whatever is not named here is refused to a key with a list.
 * @throws Fault `not_for_keys`, `not_your_port`
 */
export function checkKey(caller: Fenced, { method, path, params }: Knock): void {
  if (!caller.isKey) return
  if (FOR_PEOPLE.test(path))
    throw new Fault('not_for_keys', `Keys do not do this, whatever their role: sign in as a user. (${caller.name})`)
  if (!caller.only || OPEN_TO_ANY_KEY.has(`${method} ${path}`)) return
  if (path !== PORT && !path.startsWith(`${PORT}/`))
    throw new Fault('not_for_keys', `${caller.name} is for single ports, and this is not about one of them.`)
  if (!seesPort(caller, params.path)) throw notYourPort(caller)
}

/** Whether a port, by the name it is set up by, is this caller's to see. */
export function seesPort({ only }: Pick<Fenced, 'only'>, port: string | undefined): boolean {
  return !only || (port !== undefined && only.includes(port))
}

/** The same sentence whether there is such a port or not. */
export function notYourPort({ name }: Pick<Fenced, 'name'>): Fault {
  return new Fault('not_your_port', `${name} is not for this port. Its list names ports as they are set up.`)
}

/** One entry of keys.json. */
export interface KeyRecord {
  id: string
  name: string
  role: Role
  /** Device paths of the ports it is for; null for all. */
  ports: readonly string[] | null
  createdAt: number
  /** The administrator who made it; he may be gone. */
  createdBy: string
  /** Epoch milliseconds; null for never. */
  expiresAt: number | null
  lastUsedAt: number | null
  secretHash: string
}

/** Who calls with a key. */
interface KeyCaller {
  name: string
  role: Role
  isKey: true
  only?: readonly string[]
}

/** Makes keys and proves secrets. */
interface KeyMint {
  make(): { id: string; text: string; secretHash: string }
  isSecretOf(secret: string, secretHash: string | undefined): boolean
}

interface ApiKeyParts {
  clock: Clock
  log: Log
  mint: KeyMint
  save(records: KeyRecord[]): Promise<void>
  /** `max` keys; uses are written at most every `saveMs`. Keys `keys.max` and `keys.save_ms`. */
  limits: { max: number; saveMs: number }
}

/** What an administrator wishes for. */
export type KeyWish = Pick<KeyRecord, 'name' | 'role' | 'ports' | 'expiresAt'>

/** A key as an administrator sees it. */
export type KeyView = Omit<KeyRecord, 'secretHash'> & { state: 'live' | 'expired' }

/** Changes throw Fault `store_write_failed` where they could not be saved; then nothing has changed. */
export interface ApiKeys {
  list(): KeyView[]
  /** @returns the key's text too: nobody can read it a second time. @throws Fault `key_exists`, `too_many_keys` */
  make(wish: KeyWish, createdBy: string): Promise<KeyView & { key: string }>
  /** @throws Fault `unknown_key` */
  remove(id: string): Promise<KeyView>
  /** Who calls with this key; undefined where it is not known or its secret is wrong. @throws Fault `key_expired` */
  callerOf(key: { id: string; secret: string }): KeyCaller | undefined
  /** What the journal calls a key; undefined where there is none. */
  nameOf(id: string): string | undefined
  /** Whether the key stands by which `callerOf` found this caller. */
  isLive(caller: object): boolean
  /** Runs after a key was removed. */
  onRemoved(handler: () => void): void
  /** Writes the last uses. */
  close(): Promise<void>
}

interface Entry {
  record: KeyRecord
  caller: KeyCaller
}

/** @param records what was kept */
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

/** A key is used a hundred times a second; when it was used last is written once in a while. */
function createUseSaver({ clock, limits, log }: ApiKeyParts, save: () => Promise<void>) {
  let timer: Timer | undefined
  let writing = Promise.resolve()

  async function write(): Promise<void> {
    timer = undefined
    try {
      await save()
    } catch (fault) {
      // The next use has it written; until then only the file is behind.
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
  // A user's name has no colon, so nobody can be mistaken for a key, nor a key for somebody.
  return { record, caller: { name: `key:${name}`, role, isKey: true, ...(ports && { only: ports }) } }
}

function refuseNew(entries: readonly Entry[], name: string, max: number): void {
  if (entries.some(({ record }) => userKey(record.name) === userKey(name)))
    throw new Fault('key_exists', `There is a key ${name} already. Names differ by more than case.`)
  if (entries.length >= max)
    throw new Fault('too_many_keys', `There are ${entries.length} keys; keys.max allows ${max}.`)
}

function expired({ name, expiresAt }: KeyRecord): Fault {
  const at = new Date(expiresAt ?? 0).toISOString()
  return new Fault('key_expired', `The key ${name} expired at ${at}. An administrator makes a new one.`, {
    details: { expiredAt: expiresAt },
  })
}
