/**
 * What a machine keeps of its updates, each file replaced whole and synced:
 *
 *     installation-id    32 hex digits, made once
 *     pending.json       the update under way
 *     image.json         on a board that takes images, the one under way, or that was applied last
 *     download.part      what has arrived of its archive
 *     delta.part         what has arrived of the delta that is tried first
 *     handed.part        a copy of the archive that was carried here by hand
 *     installer.part     an installer, while a Node is taken out of it
 *     history.json       versions that were taken back, and what the update server is still to be told
 *     trust/root.json    the root that an operator, or the installer, put there
 *     trust/seen.json    the root that was followed to, the highest sequence and the latest signed time
 */
import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Static, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../pure/fault.ts'
import { escapeControls, shortCopy } from '../pure/text.ts'
import { makeFolder, replaceFile, syncFolder, systemDisk } from '../store/store.ts'
import { pinRoot, type Trust } from './record.ts'
import { readRoot, signedRoot } from './root.ts'
import { instant } from './signed.ts'

const strict = { additionalProperties: false }
const short = Type.String({ maxLength: 64 })
const sentence = Type.String({ maxLength: 500 })
const hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
/** A folder below `releases`. */
const folder = Type.String({ pattern: '^[^/.][^/]{0,99}$' })

const pending = Type.Object(
  {
    /**
     * fetching: the archive is on its way. swapping: the release is there, and perhaps `current` already. restarting,
     * proving: it runs, perhaps. undoing: it is taken back. undone: what ran before runs again.
     */
    phase: Type.Enum(['fetching', 'swapping', 'restarting', 'proving', 'undoing', 'undone']),
    version: short,
    bundle: hash,
    /** Of the archive: `download.part` is a part of no other. */
    checksum: hash,
    /** What ran before, and what `previous` named then. */
    from: folder,
    from_version: short,
    before: Type.Union([folder, Type.Null()]),
    /** What the backup hook answered. */
    backup: Type.Union([Type.String({ maxLength: 1000 }), Type.Null()]),
    /** Daemons that were active. */
    daemons: Type.Array(short, { maxItems: 64 }),
    /** How often the new release was started. */
    tries: Type.Integer({ minimum: 0 }),
    /** Why it is taken back, and the step at which that was seen. */
    step: Type.Optional(short),
    reason: Type.Optional(sentence),
  },
  strict,
)
/** An update under way. */
export type Pending = Static<typeof pending>

const pendingImage = Type.Object(
  {
    /**
     * fetching: the image is on its way. installing: it is handed to the board, and perhaps installed. installed: the board
     * said so, and restarts. applied: it ran well; kept, so that a board that comes back with the one before is noticed.
     */
    phase: Type.Enum(['fetching', 'installing', 'installed', 'applied']),
    version: short,
    /** Of the container: `download.part` is a part of no other. */
    checksum: hash,
    /** What ran before. */
    from_version: short,
    /** The run of the board that it was handed to; empty before. */
    run: short,
    /** How often it was handed over. */
    tries: Type.Integer({ minimum: 0 }),
    /** Daemons that ran then, and what the backup hook answered. */
    daemons: Type.Array(short, { maxItems: 64 }),
    backup: Type.Union([Type.String({ maxLength: 1000 }), Type.Null()]),
  },
  strict,
)
/** An image under way, or the one that was applied last. */
export type PendingImage = Static<typeof pendingImage>

const report = Type.Object(
  {
    applied: Type.Optional(short),
    rolled_back: Type.Optional(short),
    failed: Type.Optional(short),
    failed_step: Type.Optional(short),
    reason: Type.Optional(sentence),
  },
  strict,
)
/** What came of an update, in the words of the update server's `facts`. */
export type UpdateReport = Static<typeof report>

const bad = Type.Object({ version: short, reason: sentence, at: instant }, strict)
/** A version that is not tried again. */
export type BadVersion = Static<typeof bad>

const history = Type.Object({ bad: Type.Array(bad), report: Type.Union([report, Type.Null()]) }, strict)
export type UpdateHistory = Static<typeof history>

const count = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const seen = Type.Object(
  {
    /** SHA-256 of `root.json` when it was pinned: another one was put there by a person. */
    pinned: hash,
    trust: Type.Object({ root: signedRoot.properties.signed, sequence: count, signedAt: instant }, strict),
  },
  strict,
)

/** Longest reason that is kept: one line of a page. */
export const MOST_REASON = 500
/** Versions that are remembered as bad; the oldest is forgotten first. */
const MOST_BAD = 64

/** Makes the texts fit what is kept, and what is reported of them: they may quote a board, or the name of a file. */
export function reasonOf(text: string): string {
  return shortCopy(escapeControls(text), MOST_REASON)
}

/** The files. */
export interface UpdateMemory {
  /** Of `download.part`. */
  part: string
  /** Of `delta.part`. */
  delta: string
  /** Of `handed.part`. */
  handed: string
  /** Of `installer.part`. */
  installer: string
  /** 32 hex digits; made at the first call. @throws Fault `update_memory_damaged` */
  installationId(): Promise<string>
  /** @throws Fault `update_memory_damaged`, as all that read */
  pending(): Promise<Pending | undefined>
  savePending(next: Pending): Promise<void>
  clearPending(): Promise<void>
  image(): Promise<PendingImage | undefined>
  saveImage(next: PendingImage): Promise<void>
  clearImage(): Promise<void>
  history(): Promise<UpdateHistory>
  /** What came of an update: told at the next check; a version that is bad is not tried again. */
  remember(what: { report?: UpdateReport | null; bad?: BadVersion }): Promise<void>
  /** What is trusted; undefined if no root was ever put there. @throws Fault `root_untrusted`, `release_malformed` */
  trust(): Promise<Trust | undefined>
  saveTrust(next: Trust): Promise<void>
}

/** @param path made at the first write, for its owner alone */
export function updateMemory(path: string): UpdateMemory {
  const at = (name: string) => join(path, name)

  async function save(name: string, value: unknown): Promise<void> {
    await makeFolder(path)
    await makeFolder(at('trust'))
    await replaceFile(at(name), `${JSON.stringify(value, null, 2)}\n`)
  }

  async function read<Schema extends TSchema>(name: string, schema: Schema): Promise<Static<Schema> | undefined> {
    const text = await readIfThere(at(name))
    if (text === undefined) return undefined
    let value: unknown
    try {
      value = JSON.parse(text.toString('utf8'))
    } catch (cause) {
      throw damaged(at(name), cause)
    }
    if (!Value.Check(schema, value)) throw damaged(at(name))
    return value as Static<Schema>
  }

  async function clear(name: string): Promise<void> {
    await rm(at(name), { force: true })
    await syncFolder(systemDisk, path)
  }

  async function readHistory(): Promise<UpdateHistory> {
    return (await read('history.json', history)) ?? { bad: [], report: null }
  }

  async function pinnedRoot() {
    const text = await readIfThere(at('trust/root.json'))
    return text && { hash: createHash('sha256').update(text).digest('hex'), trust: pinRoot(readRoot(text)) }
  }

  return {
    part: at('download.part'),
    ...{ delta: at('delta.part'), handed: at('handed.part') },
    installer: at('installer.part'),
    async installationId() {
      const name = 'installation-id'
      const text = (await readIfThere(at(name)))?.toString('latin1').trim()
      if (text !== undefined && !/^[0-9a-f]{32}$/.test(text)) throw damaged(at(name))
      if (text !== undefined) return text
      const made = randomBytes(16).toString('hex')
      await makeFolder(path)
      await replaceFile(at(name), `${made}\n`)
      return made
    },
    pending: () => read('pending.json', pending),
    savePending: (next) => save('pending.json', next),
    clearPending: () => clear('pending.json'),
    image: () => read('image.json', pendingImage),
    saveImage: (next) => save('image.json', next),
    clearImage: () => clear('image.json'),
    history: readHistory,
    async remember({ bad: next, report: told }) {
      const before = await readHistory()
      const others = before.bad.filter(({ version }) => version !== next?.version)
      await save('history.json', {
        bad: (next ? [...others, next] : others).slice(-MOST_BAD),
        report: told === undefined ? before.report : told,
      })
    },
    async trust() {
      const [pinned, known] = [await pinnedRoot(), await read('trust/seen.json', seen)]
      if (pinned === undefined || known === undefined) return known?.trust ?? pinned?.trust
      return known.pinned === pinned.hash ? known.trust : merged(known.trust, pinned.trust)
    },
    async saveTrust(trust) {
      await save('trust/seen.json', { pinned: (await pinnedRoot())?.hash ?? '0'.repeat(64), trust })
    },
  }
}

/**
 * A person has put another root there. It counts if it is newer, or of other people: an older one of the same would bring
 * back keys that were taken away.
 */
function merged(known: Trust, pinned: Trust): Trust {
  const isOfOthers = !pinned.root.root_keys.some((key) => known.root.root_keys.includes(key))
  if (isOfOthers) return pinned
  if (pinned.root.version <= known.root.version) return known
  // As in followRelease: who took a key away begins anew.
  if (known.root.release_keys.some((key) => !pinned.root.release_keys.includes(key))) return pinned
  return {
    root: pinned.root,
    sequence: Math.max(known.sequence, pinned.sequence),
    signedAt: Math.max(known.signedAt, pinned.signedAt),
  }
}

/** @returns undefined if there is no such file. @throws ELOOP for a link in its place */
async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path, { flag: constants.O_RDONLY | constants.O_NOFOLLOW })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function damaged(path: string, cause?: unknown): Fault {
  return new Fault('update_memory_damaged', `${path} is damaged: move it away, and run the update again`, { cause })
}
