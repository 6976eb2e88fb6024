/**
 * The folder of who publishes releases: the release key, the root keys until they are taken elsewhere, the signed roots, and
 * which releases were published.
 *
 *     release.pem            the private release key
 *     root-keys-<version>/   the private root keys; they belong on media of their own
 *     roots/<version>.json   the signed roots, all that there were
 *     published.json         what was published, and the last number that was signed
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { readPrivateKey } from '#kit/auth/signing-key.ts'
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions } from '#kit/pure/version.ts'
import { MOST_ROOTS } from '#kit/release/record.ts'
import { followRoots, proveRoot, type Root, readRoot, type SignedRoot } from '#kit/release/root.ts'
import { publicKeyOf, textOfSigned } from '#kit/release/signed.ts'
import { lockState, type StateLock } from '#kit/run/state-folder.ts'
import { makeFolder, replaceFile } from '#kit/store/store.ts'

/** The root keys that a root begins with, and how many of them sign. */
export const ROOT_KEYS = 3
export const THRESHOLD = 2

const RELEASE_KEY = 'release.pem'
const ROOTS = 'roots'
const PUBLISHED = 'published.json'

/** Releases remembered, of which the highest stay, and versions that were passed over, of which the latest stay. */
const MOST_PUBLISHED = 1000

const published = Type.Object(
  {
    /** The last number that was signed, of a publish that failed too. */
    sequence: Type.Integer({ minimum: 0 }),
    releases: Type.Array(
      Type.Object(
        {
          version: Type.String(),
          sequence: Type.Integer(),
          /** Epoch milliseconds. */
          at: Type.Integer(),
          commit: Type.Union([Type.String(), Type.Null()]),
          sha256: Type.String(),
          bundle: Type.String(),
        },
        { additionalProperties: false },
      ),
    ),
    /** Versions that the server has with other bytes, by a publish that failed. */
    taken: Type.Array(Type.String()),
    /** Firmware images, the last one first. */
    images: Type.Optional(
      Type.Array(
        Type.Object(
          {
            compatible: Type.String(),
            version: Type.String(),
            sequence: Type.Integer(),
            /** Epoch milliseconds. */
            at: Type.Integer(),
            sha256: Type.String(),
          },
          { additionalProperties: false },
        ),
      ),
    ),
  },
  { additionalProperties: false },
)
/** What was published from a folder of keys. */
export type Published = Static<typeof published>

/** The folder of keys that a command means. @param given of `--keys` */
export function keysFolder(given: string | undefined, env: NodeJS.ProcessEnv): string {
  const config = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config')
  return resolve(given ?? (env.PLANTROOM_KEYS || join(config, 'plantroom/keys')))
}

/**
 * Holds the folder, so that no two commands change it at once.
 * @throws Fault `keys_busy`, `keys_missing`
 */
export function lockKeys(folder: string): StateLock {
  if (!existsSync(folder))
    throw new Fault('keys_missing', `there are no keys in ${folder}: make them with plantroom updates keys init`)
  try {
    return lockState(folder)
  } catch (error) {
    if ((error as Fault).code !== 'state_locked') throw error
    throw new Fault('keys_busy', `${folder} is in use by another plantroom command: wait until it ends`, {
      cause: error,
    })
  }
}

/** @throws Fault `keys_in_tree`: what lies in a tree is committed, packed or copied one day */
export function refuseTree(folder: string): void {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if (existsSync(join(at, '.git')) || existsSync(join(at, 'package.json')))
      throw new Fault('keys_in_tree', `${folder} lies in the tree ${at}: keep keys outside of any`)
    if (at === dirname(at)) return
  }
}

// Keys.

/** Makes private keys, in files for their owner alone. Never over others: nobody could replace what those had signed. */
export async function makeKeys(folder: string, names: readonly string[]): Promise<KeyObject[]> {
  await makeFolder(folder)
  const keys = names.map((name) => ({ name, key: generateKeyPairSync('ed25519').privateKey }))
  for (const { name, key } of keys) {
    const pem = key.export({ type: 'pkcs8', format: 'pem' })
    await writeFile(join(folder, name), pem, { flag: 'wx', mode: 0o600, flush: true }).catch((cause) => {
      const why = cause.code === 'EEXIST' ? 'is there already' : `cannot be written (${cause.code})`
      throw new Fault('bad_key', `${join(folder, name)} ${why}`, { cause })
    })
  }
  return keys.map(({ key }) => key)
}

/** Makes the first release key, or replaces it by another. */
export async function replaceReleaseKey(folder: string): Promise<{ key: KeyObject; save(): Promise<void> }> {
  const { privateKey: key } = generateKeyPairSync('ed25519')
  const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { key, save: () => replaceFile(join(folder, RELEASE_KEY), pem) }
}

/** @throws Fault `bad_key`; `release_untrusted` if the root does not name it */
export async function readReleaseKey(folder: string, root: Root): Promise<KeyObject> {
  const file = join(folder, RELEASE_KEY)
  await refuseOpen(file)
  const key = await readPrivateKey(file)
  if (!root.release_keys.includes(publicKeyOf(key)))
    throw new Fault('release_untrusted', `${file} is not a release key of root ${root.version}: use the one that is`)
  return key
}

/**
 * Private keys of root.
 * @param places files, and folders whose every `*.pem` is read
 * @throws Fault `bad_key`
 */
export async function readRootKeys(places: readonly string[]): Promise<KeyObject[]> {
  const files: string[] = []
  for (const place of places) {
    const facts = await stat(place).catch((cause) => {
      throw new Fault('bad_key', `${place} cannot be read (${cause.code}): bring the medium with that root key`, {
        cause,
      })
    })
    if (!facts.isDirectory()) files.push(place)
    else files.push(...(await readdir(place)).filter((name) => name.endsWith('.pem')).map((name) => join(place, name)))
  }
  for (const file of files) await refuseOpen(file)
  return Promise.all(files.map(readPrivateKey))
}

/** Where root keys are made, in the folder: those of each root that had new ones. */
export function rootKeyFolders(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /^root-keys-\d{1,9}$/.test(name))
  return names.map((name) => join(folder, name))
}

/** @throws Fault `bad_key` for a private key that others may read */
async function refuseOpen(file: string): Promise<void> {
  const facts = await stat(file).catch(() => undefined)
  if (facts && (facts.mode & 0o077) !== 0)
    throw new Fault(
      'bad_key',
      `${file} may be read or written by others: chmod 600 it, or make new keys if somebody did`,
    )
}

// Roots.

/**
 * All roots, by version, proven from the first on.
 * @throws Fault `keys_missing`, `root_untrusted`, `root_missing`, `release_malformed`
 */
export async function readRoots(folder: string): Promise<SignedRoot[]> {
  const place = join(folder, ROOTS)
  const versions = existsSync(place)
    ? readdirSync(place).flatMap((name) => /^(\d{1,9})\.json$/.exec(name)?.[1] ?? [])
    : []
  versions.sort((one, other) => Number(one) - Number(other))
  const roots: SignedRoot[] = []
  for (const version of versions) roots.push(readRoot(await readFile(join(place, `${version}.json`))))
  const [first] = roots
  if (!first) throw new Fault('keys_missing', `there is no root in ${place}: make one with plantroom updates keys init`)
  followRoots(proveRoot(first), roots)
  return roots
}

/** The newest root, and those that a release carries. */
export function newestRoots(roots: readonly SignedRoot[]): { newest: SignedRoot; carried: SignedRoot[] } {
  const carried = roots.slice(-MOST_ROOTS)
  const newest = carried.at(-1)
  if (!newest) throw new Fault('keys_missing', 'there is no root')
  return { newest, carried }
}

/** Saves a root. @returns its file */
export async function saveRoot(folder: string, root: SignedRoot): Promise<string> {
  proveRoot(root)
  await makeFolder(join(folder, ROOTS))
  const file = join(folder, ROOTS, `${root.signed.version}.json`)
  await replaceFile(file, textOfSigned(root))
  return file
}

// What was published.

/** @throws Fault `keys_damaged` */
export async function readPublished(folder: string): Promise<Published> {
  const file = join(folder, PUBLISHED)
  let value: unknown
  try {
    value = JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return { sequence: 0, releases: [], taken: [] }
    throw damaged(file, cause)
  }
  if (!Value.Check(published, value)) throw damaged(file)
  return value
}

export async function savePublished(folder: string, state: Published): Promise<void> {
  const newest = [...state.releases].sort((one, other) => compareVersions(other.version, one.version))
  const kept = {
    ...{ ...state, releases: newest.slice(0, MOST_PUBLISHED), taken: state.taken.slice(-MOST_PUBLISHED) },
    ...(state.images && { images: state.images.slice(0, MOST_PUBLISHED) }),
  }
  await replaceFile(join(folder, PUBLISHED), `${JSON.stringify(kept, null, 2)}\n`)
}

function damaged(file: string, cause?: unknown): Fault {
  return new Fault('keys_damaged', `${file} cannot be understood: put back a copy of it, lest a number is used twice`, {
    cause,
  })
}
