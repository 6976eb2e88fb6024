/** `plantroom updates keys`: makes, renews and shows the keys that sign releases. */
import type { KeyObject } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'
import { type Root, type SignedRoot, signRoot } from '#kit/release/root.ts'
import { publicKeyOf } from '#kit/release/signed.ts'
import { exitCodes } from '#kit/run/arguments.ts'
import { makeFolder } from '#kit/store/store.ts'
import { type Command, parseCommand, requireWords, runForm, type World } from './command.ts'
import {
  keysFolder,
  lockKeys,
  makeKeys,
  newestRoots,
  ROOT_KEYS,
  readPublished,
  readReleaseKey,
  readRootKeys,
  readRoots,
  refuseTree,
  replaceReleaseKey,
  rootKeyFolders,
  saveRoot,
  THRESHOLD,
} from './release-keys.ts'

const DAY_MS = 86_400_000
/** How long a root is good unless told otherwise. */
const ROOT_DAYS = 1095
const MOST_DAYS = 3650

const forms = {
  init: 'updates keys init [--keys DIR] [--valid-days N]',
  rotate:
    'updates keys rotate release|root|expiry [--keys DIR] [--root-keys PLACE]... [--new-root-keys DIR] [--valid-days N]',
  show: 'updates keys show [--keys DIR]',
}

type Words = readonly string[]

/** Makes, renews and shows keys; touches the caller's folder of keys alone. */
export const updatesKeys: Command = {
  name: 'updates keys',
  summary: 'make, renew and show the keys that sign releases',
  help: `plantroom ${Object.values(forms).join('\n          ')}

init makes a release key, ${ROOT_KEYS} root keys of which ${THRESHOLD} sign, and root 1, which says so.
Take each root key to a medium of its own, kept apart and offline: who has ${THRESHOLD} of them decides what every machine installs.
rotate makes the next root, signed by ${THRESHOLD} root keys of the one before:
  release    with a new release key instead of the old one: when it was lost or stolen, or its keeper left
  root       with new root keys, which sign too
  expiry     with the same keys for another while
show says what there is, and whether it fits together.
  --keys DIR             where they are, outside of any tree; default $PLANTROOM_KEYS, else ~/.config/plantroom/keys
  --root-keys PLACE      a root key, or a folder of which every *.pem is one; may repeat; default root-keys-* of DIR
  --new-root-keys DIR    where new root keys go; default root-keys-<version of the root> of DIR
  --valid-days N         how long the root is good, 1 to ${MOST_DAYS}; default ${ROOT_DAYS}
Exit codes: 0 done, 1 failed, keys missing or not fitting together, 2 wrong usage.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const known = {
      init: { form: forms.init, run: init },
      rotate: { form: forms.rotate, run: rotate },
      show: { form: forms.show, run: show },
    }
    return await runForm(known, argv, world, (sentence, cause) => new Fault('keys_failed', sentence, { cause }))
  },
}

const OPTIONS = {
  keys: { type: 'string' },
  'root-keys': { type: 'string', multiple: true },
  'new-root-keys': { type: 'string' },
  'valid-days': { type: 'string' },
} as const

async function init(argv: Words, world: World): Promise<number> {
  const { keys: given, 'valid-days': days, ...rest } = parseCommand(argv, OPTIONS).values
  if (Object.keys(rest).length > 0) throw new Fault('bad_usage', `expected: plantroom ${forms.init}`)
  const folder = keysFolder(given, world.env)
  refuseTree(folder)
  const validMs = daysOf(days, ROOT_DAYS, MOST_DAYS) * DAY_MS
  await makeFolder(folder)
  const lock = lockKeys(folder)
  try {
    if (existsSync(join(folder, 'roots')))
      throw new Fault('bad_key', `there are keys in ${folder} already: renew them with rotate, or take another folder`)
    const rootKeys = await makeRootKeys(join(folder, 'root-keys-1'), 1)
    const { key, save } = await replaceReleaseKey(folder)
    await save()
    const issuedAt = systemClock.epochMs()
    const root: Root = {
      ...{ version: 1, root_keys: namesOf(rootKeys), threshold: THRESHOLD, release_keys: namesOf([key]) },
      ...{ min_sequence: 1, issued_at: issuedAt, expires: issuedAt + validMs },
    }
    const file = await saveRoot(folder, signRoot(root, rootKeys.slice(0, THRESHOLD)))
    world.out(
      `Root 1 is in ${file}; machines are to trust it.\nThe release key is in ${join(folder, 'release.pem')}.\n`,
    )
    world.out(
      `Take the ${counted(ROOT_KEYS, 'file')} in ${join(folder, 'root-keys-1')} to media of their own, and remove them here.\n`,
    )
    return exitCodes.fine
  } finally {
    lock.release()
  }
}

async function rotate(argv: Words, world: World): Promise<number> {
  const { values, positionals } = parseCommand(argv, OPTIONS)
  requireWords(positionals, 1, 1, forms.rotate)
  const [what = ''] = positionals
  if (!['release', 'root', 'expiry'].includes(what)) throw new Fault('bad_usage', `expected: plantroom ${forms.rotate}`)
  const folder = keysFolder(values.keys, world.env)
  const validMs = daysOf(values['valid-days'], ROOT_DAYS, MOST_DAYS) * DAY_MS
  const lock = lockKeys(folder)
  try {
    const { newest: before } = newestRoots(await readRoots(folder))
    const version = before.signed.version + 1
    const signers = signersOf(before.signed, await readRootKeys(values['root-keys'] ?? rootKeyFolders(folder)))
    const { sequence } = await readPublished(folder)
    const issuedAt = Math.max(systemClock.epochMs(), before.signed.issued_at)
    const next: Root = { ...before.signed, version, issued_at: issuedAt, expires: issuedAt + validMs }
    const file = await (what === 'root' ? renewRoot : what === 'release' ? renewRelease : renewExpiry)({
      ...{ folder, next, signers, minSequence: Math.max(before.signed.min_sequence, sequence + 1) },
      newRootKeys: resolve(values['new-root-keys'] ?? join(folder, `root-keys-${version}`)),
    })
    world.out(`Root ${version} is in ${file}; the next release carries it to every machine.\n`)
    return exitCodes.fine
  } finally {
    lock.release()
  }
}

interface Renewal {
  folder: string
  /** The next root, still with the keys of the one before. */
  next: Root
  /** A threshold of the root keys before. */
  signers: readonly KeyObject[]
  newRootKeys: string
  /** Above all that the old release key signed. */
  minSequence: number
}

async function renewExpiry({ folder, next, signers }: Renewal): Promise<string> {
  return saveRoot(folder, signRoot(next, signers))
}

/** The root is saved first: without it the new key is of no use, and without the new key the next renewal makes one. */
async function renewRelease({ folder, next, signers, minSequence }: Renewal): Promise<string> {
  const { key, save } = await replaceReleaseKey(folder)
  const file = await saveRoot(
    folder,
    signRoot({ ...next, release_keys: namesOf([key]), min_sequence: minSequence }, signers),
  )
  await save()
  return file
}

async function renewRoot({ folder, next, signers, newRootKeys }: Renewal): Promise<string> {
  refuseTree(newRootKeys)
  const keys = await makeRootKeys(newRootKeys, next.version)
  try {
    const root: SignedRoot = signRoot({ ...next, root_keys: namesOf(keys), threshold: THRESHOLD }, [
      ...signers,
      ...keys.slice(0, THRESHOLD),
    ])
    return await saveRoot(folder, root)
  } catch (error) {
    for (const name of rootNames(next.version)) await rm(join(newRootKeys, name), { force: true })
    throw error
  }
}

async function show(argv: Words, world: World): Promise<number> {
  const { values, positionals } = parseCommand(argv, { keys: { type: 'string' } })
  requireWords(positionals, 0, 0, forms.show)
  const folder = keysFolder(values.keys, world.env)
  const { newest } = newestRoots(await readRoots(folder))
  const { expires, min_sequence, release_keys, root_keys, threshold, version } = newest.signed
  const published = await readPublished(folder)
  const [latest] = published.releases
  const facts: [string, string | number][] = [
    ['folder', folder],
    ['root', `${version}, in ${join(folder, 'roots', `${version}.json`)}`],
    ['good until', new Date(expires).toISOString().slice(0, 10)],
    ...root_keys.map((key): [string, string] => ['root key', key]),
    ['signing', `${threshold} of ${root_keys.length}`],
    ...release_keys.map((key): [string, string] => ['release key', key]),
    ['least number', min_sequence],
    ['published', latest === undefined ? 'nothing yet' : `${latest.version}, number ${latest.sequence}`],
  ]
  for (const [name, value] of facts) world.out(`${name.padEnd(13)} ${value}\n`)
  await readReleaseKey(folder, newest.signed)
  if (expires <= systemClock.epochMs())
    throw new Fault('root_expired', `root ${version} has expired: renew it with plantroom updates keys rotate expiry`)
  return exitCodes.fine
}

/** @param text of an option; @throws Fault `bad_usage` */
export function daysOf(text: string | undefined, otherwise: number, most: number): number {
  const days = text === undefined ? otherwise : /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > most) throw new Fault('bad_usage', `--valid-days is ${text}, expected 1 to ${most}`)
  return days
}

function makeRootKeys(folder: string, version: number): Promise<KeyObject[]> {
  return makeKeys(folder, rootNames(version))
}

function rootNames(version: number): string[] {
  return Array.from({ length: ROOT_KEYS }, (_, at) => `root-${version}-${at + 1}.pem`)
}

function namesOf(keys: readonly KeyObject[]): string[] {
  return keys.map(publicKeyOf).sort()
}

/** As many of the root's own keys as must sign. @throws Fault `root_untrusted` if there are not so many */
function signersOf(root: Root, keys: readonly KeyObject[]): KeyObject[] {
  const own = new Map(keys.map((key) => [publicKeyOf(key), key]))
  const signers = root.root_keys.flatMap((name) => own.get(name) ?? [])
  if (signers.length < root.threshold)
    throw new Fault(
      'root_untrusted',
      `${signers.length} of the root keys of root ${root.version} are here, and ${root.threshold} must sign: name where they are with --root-keys`,
    )
  return signers.slice(0, root.threshold)
}
