/** `plantroom publish`: makes a release from a built checkout, signs it, and uploads it to the update server. */
import { createReadStream } from 'node:fs'
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'
import { compareVersions, deltaFileName, isVersion, nextPatch, releaseFileName } from '#kit/pure/version.ts'
import { sha256OfFile } from '#kit/release/installed.ts'
import { writeReleaseHead } from '#kit/release/release-file.ts'
import { textOfSigned } from '#kit/release/signed.ts'
import { exitCodes, RELEASE_FILE } from '#kit/run/arguments.ts'
import { type Checkout, readCheckout } from './checkout.ts'
import { type Command, parseCommand, requireWords, sayDiskErrors, type World } from './command.ts'
import { hasMakeself, makeInstaller, type Runtime, readRuntimes } from './installer.ts'
import { publishImage } from './publish-image.ts'
import {
  progressOf,
  type ReleaseWish,
  refuseClock,
  refuseMinFrom,
  type Signing,
  STALL_MS,
  signRelease,
  type Target,
  withKeys,
} from './publishing.ts'
import { type DeltaPush, type Push, pushDelta, pushRelease } from './push-release.ts'
import { type ReleaseFile, releaseFiles } from './release-archive.ts'
import { keepArchive, makeDeltas } from './release-deltas.ts'
import { keysFolder, type Published, savePublished } from './release-keys.ts'
import { dropSealed, dropWaiting, type Sealed, sealRelease, waitingFolder } from './sealed-release.ts'
import { daysOf } from './updates-keys.ts'

const form =
  'publish [--image FILE] [--server URL] [--update-key-file FILE] [--version X.Y.Z] [--min-from X.Y.Z] [--arch amd64|arm64] [--security-fix] [--installer FILE|--no-installer] [--release-file FILE] [--valid-days N] [--keys DIR] [--checkout DIR] [--dry-run]'

const DAY_MS = 86_400_000
/** How long a release is to be taken, unless told otherwise. */
const RELEASE_DAYS = 365
const MOST_DAYS = 3650

/** Publishes; touches the caller's folder of keys alone. */
export const publish: Command = {
  name: 'publish',
  summary: 'make a release from a checkout, and upload it to the update server',
  help: `plantroom ${form}

Packs what make build made, encrypts it by a new key, decrypts it again, signs it by the release key, and uploads it. The same
commit, version and root give the same archive. Without --version it is the version of package.json, or the patch version after
the last one published. A publish that fails is not recorded: the next one sends the same version again, the same bytes if
nothing has changed; where the server has that version with other bytes, the one after.
Of the releases published before, up to three, a delta goes along: a machine that has one of them fetches that alone.
  --image FILE            publishes this firmware image (plantroom firmware sign) instead, for the boards and with the version
                          that it names; without --version, --installer and --checkout
  --server URL            the update server; default $PLANTROOM_UPDATE_URL. HTTPS, but for one on this machine
  --update-key-file FILE  holds the server's update key in its first line; default $PLANTROOM_UPDATE_KEY holds it itself
  --version X.Y.Z         higher than the last one published; X.Y.Z-beta.1 goes to the beta channel
  --min-from X.Y.Z        the oldest version from which it can be applied
  --arch amd64|arm64      with addons for one kind of machine; default for both
  --security-fix          it closes a hole
  --installer FILE        publishes this .run under the same version; default one that makeself makes of this release, with the
                          Node of each kind of machine that the checkout has. Without makeself there is none
  --no-installer          publishes the update alone
  --release-file FILE     makes a file of it too, to be carried by hand to machines that reach no server (recorder, page Updates).
                          Without --server the release is that file alone: nothing is uploaded, and it counts as published
  --valid-days N          how long it is to be taken, 1 to ${MOST_DAYS}; default ${RELEASE_DAYS}
  --keys DIR              the keys (plantroom updates keys); default $PLANTROOM_KEYS, else ~/.config/plantroom/keys
  --checkout DIR          default the one that this command is part of
  --dry-run               does all of it but upload and record
NODE_EXTRA_CA_CERTS=FILE in the environment names a root certificate of the server's own.
Exit codes: 0 published; 1 failed, and not recorded; 2 wrong usage.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const wish = await readWish(argv, world)
    const failed = (sentence: string, cause: unknown) => new Fault('publish_failed', sentence, { cause })
    return await sayDiskErrors(() => publishFrom(wish, world), failed)
  },
}

interface Wish extends ReleaseWish {
  /** A firmware image that is published in the place of a checkout. */
  image: string | undefined
  checkout: string
  keys: string
  version: string | undefined
  /** A file, or whether one is made. */
  installer: string | boolean
  /** Where a file of it is to be, for machines that reach no server. */
  releaseFile: string | undefined
  isDryRun: boolean
  /** Undefined for a dry run, and for a release file alone. */
  target: Target | undefined
}

async function readWish(argv: readonly string[], world: World): Promise<Wish> {
  const { values, positionals } = parseCommand(argv, {
    ...{ server: { type: 'string' }, 'update-key-file': { type: 'string' }, version: { type: 'string' } },
    ...{ 'min-from': { type: 'string' }, arch: { type: 'string' }, 'security-fix': { type: 'boolean' } },
    ...{
      installer: { type: 'string' },
      'no-installer': { type: 'boolean' },
      'release-file': { type: 'string' },
      'valid-days': { type: 'string' },
      keys: { type: 'string' },
      image: { type: 'string' },
    },
    ...{ checkout: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  } as const)
  requireWords(positionals, 0, 0, form)
  const { version, 'min-from': minFrom = null, arch = null } = values
  for (const given of [version, minFrom ?? undefined])
    if (given !== undefined && !isVersion(given))
      throw new Fault('bad_usage', `${given} is not a version, expected one such as 1.4.0`)
  const { image } = values
  const others = (['version', 'installer', 'no-installer', 'release-file', 'checkout'] as const).filter(
    (name) => name in values,
  )
  if (image !== undefined && others.length > 0)
    throw new Fault('bad_usage', `--image and --${others[0]} exclude each other: plantroom ${form}`)
  if (values.installer !== undefined && values['no-installer'])
    throw new Fault('bad_usage', `--installer and --no-installer exclude each other: plantroom ${form}`)
  if (arch !== null && arch !== 'amd64' && arch !== 'arm64')
    throw new Fault('bad_usage', `--arch is ${arch}, expected amd64 or arm64`)
  const isDryRun = values['dry-run'] === true
  const isFileAlone =
    values['release-file'] !== undefined && values.server === undefined && !world.env.PLANTROOM_UPDATE_URL
  return {
    image,
    // The bundles and the sources of the daemons are both in folders of their checkout.
    checkout: resolve(values.checkout ?? dirname(world.daemonsFolder)),
    keys: keysFolder(values.keys, world.env),
    ...{
      version,
      minFrom,
      arch,
      installer: values.installer ?? !values['no-installer'],
      isSecurityFix: values['security-fix'] === true,
    },
    validMs: daysOf(values['valid-days'], RELEASE_DAYS, MOST_DAYS) * DAY_MS,
    ...{ releaseFile: values['release-file'] && resolve(values['release-file']), isDryRun },
    target: isDryRun || isFileAlone ? undefined : await readTarget(values, world.env),
  }
}

async function readTarget(
  values: { server?: string | undefined; 'update-key-file'?: string | undefined },
  env: NodeJS.ProcessEnv,
): Promise<Target> {
  const address = values.server ?? env.PLANTROOM_UPDATE_URL ?? ''
  const server = URL.parse(address)
  if (server === null || !/^https?:$/.test(server.protocol) || server.username !== '' || server.search !== '')
    throw new Fault('bad_usage', 'name the update server with --server, such as https://updates.example:3131')
  if (server.protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(server.hostname))
    throw new Fault('bad_usage', `${address} would carry the keys in the clear: use https`)
  const file = values['update-key-file']
  const text = file === undefined ? env.PLANTROOM_UPDATE_KEY : await readFile(file, 'utf8').catch(() => undefined)
  const updateKey = text?.split(/\r?\n/)[0]?.trim() ?? ''
  if (!/^[\x21-\x7e]{1,512}$/.test(updateKey))
    throw new Fault(
      'bad_usage',
      'name a file that holds the update key with --update-key-file, or set PLANTROOM_UPDATE_KEY',
    )
  return { server, updateKey }
}

/** What a publish works with, once keys and checkout are read. */
interface Session extends Signing {
  wish: Wish
  world: World
  checkout: Checkout
  runtimes: readonly Runtime[]
  version: string
}

async function publishFrom(wish: Wish, world: World): Promise<number> {
  if (wish.image !== undefined) return await publishImage({ ...wish, image: wish.image }, world)
  return await withKeys(wish.keys, async (signing) => {
    const checkout = await readCheckout(wish.checkout)
    refuseClock(signing, checkout.committedAt)
    const version = versionFor(wish, checkout, signing.state)
    refuseMinFrom(wish, version)
    const runtimes = await readRuntimes(wish.checkout, wish.arch)
    const session = { ...signing, wish, world, checkout, runtimes, version }
    await (wish.isDryRun ? rehearse(session) : publishVersion(session))
    return exitCodes.fine
  })
}

/** @throws Fault `version_taken` */
function versionFor({ version }: Wish, checkout: Checkout, { releases, taken }: Published): string {
  const known = [...releases.map((release) => release.version), ...taken]
  const highest = known
    .filter((one) => !isPrerelease(one))
    .sort(compareVersions)
    .at(-1)
  if (version === undefined)
    return highest === undefined || compareVersions(checkout.version, highest) > 0
      ? checkout.version
      : nextPatch(highest)
  if (known.includes(version) || (highest !== undefined && compareVersions(version, highest) <= 0))
    throw new Fault(
      'version_taken',
      `${version} cannot be published: ${highest ?? version} is already. Choose one above it.`,
    )
  return version
}

function isPrerelease(version: string): boolean {
  return version.includes('-')
}

async function publishVersion(session: Session): Promise<void> {
  const { nowAt, state, version, wish, world } = session
  const folder = waitingFolder(wish.keys, version)
  const sealed = await sealVersion(session, folder)
  const pushes = await pushesOf(session, sealed, folder)
  const deltas = wish.target === undefined ? [] : await deltasOf(session, sealed, folder)
  // Before anything is sent: no number is signed twice.
  await savePublished(wish.keys, state)
  for (const push of pushes) {
    if (push.kind === 'update' && wish.releaseFile !== undefined) await writeReleaseFile(push, wish.releaseFile, world)
    if (wish.target === undefined) continue
    await pushOne(session, push, wish.target)
    if (push.kind === 'update') for (const delta of deltas) await pushDeltaOf(session, delta, wish.target)
  }
  const { bundle, sha256 } = sealed
  const release = { version, sequence: state.sequence, at: nowAt, commit: session.checkout.commit, sha256, bundle }
  await keepArchive(wish.keys, version, sealed.archive)
  await savePublished(wish.keys, { ...state, releases: [release, ...state.releases] })
  await dropWaiting(wish.keys)
  world.out(`${version} is published, number ${state.sequence}.\n`)
}

/** Under another name until it is whole. */
async function writeReleaseFile(push: Push, to: string, world: World): Promise<void> {
  const { encryptionKey = '', file, release, sizeBytes, version } = push
  const draft = `${to}.part`
  try {
    await using out = await open(draft, 'w', 0o644)
    await out.appendFile(writeReleaseHead({ encryptionKey, release }))
    for await (const piece of createReadStream(file, { highWaterMark: 1_048_576 }))
      await out.appendFile(piece as Buffer)
    await out.sync()
    await rename(draft, to)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  world.out(`${to} is ${version} as a file, ${sizeBytes} bytes and its head\n`)
}

/** All of it but to upload and to record. */
async function rehearse(session: Session): Promise<void> {
  const { version, wish, world } = session
  const folder = join(wish.keys, 'dry-run')
  try {
    const sealed = await sealVersion(session, folder)
    for (const { kind, sha256 } of await pushesOf(session, sealed, folder))
      world.out(`would publish ${releaseFileName(kind, version)}, SHA-256 ${sha256}\n`)
    for (const { from, sizeBytes } of await deltasOf(session, sealed, folder))
      world.out(`would publish ${deltaFileName(from, version)}, ${sizeBytes} of ${sealed.sizeBytes} bytes\n`)
    world.out(`bundle hash ${sealed.bundle}\nnothing was uploaded or recorded: a dry run\n`)
  } finally {
    await dropSealed(folder)
  }
}

async function sealVersion(session: Session, folder: string): Promise<Sealed> {
  const { checkout, roots, runtimes, version, wish, world } = session
  const hashes = Object.fromEntries(runtimes.map(({ arch, sha256 }) => [arch, sha256]))
  const about = { commit: checkout.commit, node: checkout.node, runtimes: hashes, version }
  const files = [
    ...releaseFiles(wish.checkout, wish.arch),
    fileOf(RELEASE_FILE, `${JSON.stringify(about)}\n`),
    // Who installs this begins to trust this root.
    fileOf('root.json', textOfSigned(roots.newest)),
  ]
  world.err(`packing ${counted(files.length, 'file')} of ${version}\n`)
  const sealed = await sealRelease(files, folder)
  world.err(`encrypted, and decrypted again: ${sealed.sizeBytes} bytes\n`)
  return sealed
}

async function pushesOf(session: Session, sealed: Sealed, folder: string): Promise<Push[]> {
  const { installer, isDryRun, target } = session.wish
  const update = pushOf(session, 'update', sealed, sealed)
  if (target === undefined && !isDryRun) return [update]
  const file = typeof installer === 'string' ? installer : installer && (await installerOf(session, sealed, folder))
  if (file === false) return [update]
  return [update, pushOf(session, 'installer', { file, ...(await measured(file)) }, sealed)]
}

/** @returns false where none can be made; machines that run Plantroom are updated all the same */
async function installerOf(session: Session, { archive, bundle }: Sealed, folder: string): Promise<string | false> {
  const { checkout, runtimes, version, wish, world } = session
  if (!(await hasMakeself(world.env))) {
    world.err(`no installer of ${version} is made, since makeself is not here: apt-get install makeself\n`)
    return false
  }
  if (runtimes.length === 0) {
    world.err(`no installer of ${version} is made, since the checkout has no Node for ${wish.arch ?? 'any machine'}\n`)
    return false
  }
  world.err(`making the installer of ${version}, for ${runtimes.map(({ arch }) => arch).join(' and ')}\n`)
  const parts = { checkout: wish.checkout, node: checkout.node, version, bundle, archive, runtimes }
  return await makeInstaller(parts, join(folder, 'installer'), world.env)
}

async function pushOne({ state, version, wish, world }: Session, push: Push, target: Target): Promise<void> {
  try {
    const recorded = await pushRelease(push, { ...target, stallMs: STALL_MS, onSent: progressOf(push, world) })
    world.out(`${push.kind} ${version}: bundle hash ${recorded === null ? 'missing' : `${recorded} recorded`}\n`)
  } catch (error) {
    if ((error as Fault).code === 'push_taken')
      await savePublished(wish.keys, { ...state, taken: [...new Set([...state.taken, version])] })
    throw error
  }
}

function deltasOf({ state, version, wish, world }: Session, sealed: Sealed, folder: string): Promise<DeltaPush[]> {
  const say = (sentence: string) => world.err(`${sentence}\n`)
  return makeDeltas({ keys: wish.keys, folder, version, sealed, published: state, minFrom: wish.minFrom, say })
}

/** A delta that cannot be uploaded does not fail the release: machines fetch the archive instead. */
async function pushDeltaOf({ version, world }: Session, delta: DeltaPush, target: Target): Promise<void> {
  try {
    await pushDelta(delta, { ...target, stallMs: STALL_MS, onSent: () => {} })
    world.out(`delta from ${delta.from} to ${version}: ${delta.sizeBytes} bytes\n`)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    world.err(`the delta from ${delta.from} is not published, and machines fetch the archive: ${error.message}\n`)
  }
}

function fileOf(path: string, text: string): ReleaseFile {
  return { path, mode: 0o644, from: Buffer.from(text) }
}

function pushOf(
  session: Session,
  kind: 'update' | 'installer',
  { file, sha256, sizeBytes }: Pick<Push, 'file' | 'sha256' | 'sizeBytes'>,
  { bundle, encryptionKey }: Sealed,
): Push {
  const { version, wish } = session
  const of = { version, sizeBytes, sha256, bundle }
  const release = signRelease(session, wish, kind, of)
  return { kind, file, ...of, release, encryptionKey: kind === 'update' ? encryptionKey : undefined }
}

async function measured(file: string): Promise<Pick<Push, 'sha256' | 'sizeBytes'>> {
  const { size: sizeBytes } = await stat(file)
  if (sizeBytes === 0) throw new Fault('publish_failed', `${file} is empty`)
  return { sha256: await sha256OfFile(await realpath(file)), sizeBytes }
}
