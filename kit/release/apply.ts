/**
 * Updates the Plantroom of this machine: check, backup, download, proof, unpacking, then the switch (switch.ts). Until the
 * links are swapped nothing that runs is touched, and every step may be killed at any instant and run again.
 */
import { rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '../pure/fault.ts'
import type { UpdateRun } from '../pure/update-told.ts'
import { compareVersions } from '../pure/version.ts'
import { makeFolder } from '../store/store.ts'
import { makeByDelta } from './by-delta.ts'
import { decryptFile } from './container.ts'
import { diskFull, isDiskFull, requireRoom } from './disk-room.ts'
import { type Installed, installedAt, type ReleaseMark, releaseFolder, releasePath, sha256OfFile } from './installed.ts'
import { followRelease, proveRelease, type Release, readRelease } from './record.ts'
import { bringRuntime } from './runtime.ts'
import {
  finishSwitch,
  type Switched,
  type SwitchParts,
  sentenceOf,
  type UpdateHooks,
  type UpdateOutcome,
  type UpdateStep,
} from './switch.ts'
import { beginTelling } from './told.ts'
import { type Unpacked, unpackRelease } from './unpack.ts'
import { lockUpdates } from './update-lock.ts'
import { type Pending, type UpdateMemory, type UpdateReport, updateMemory } from './update-memory.ts'
import { type Offer, type UpdateServer, updateServer } from './update-server.ts'
import type { ImageSettings, UpdateSettings } from './update-settings.ts'

/** A machine that asks for releases, and fetches them. */
export interface FetchParts extends Pick<SwitchParts, 'clock' | 'say'> {
  /** What is kept of updates (update-memory.ts). */
  state: string
  settings: UpdateSettings
  /** As Debian names it: amd64, arm64. */
  arch: string
  /** Of a board that takes images in the place of updates. */
  image?: Pick<ImageSettings, 'compatible' | 'image_bytes'>
  /** Undefined where the clock is not known to be right. */
  nowAt(): number | undefined
  /** Called once it has the lock. @param at when, as it is told (told.ts) */
  onBegun?(at: number): void
}

/** The machine, and who updates it. */
export interface UpdateParts extends FetchParts {
  /** The folder with `releases`, `current` and `previous`. */
  root: string
  hooks: UpdateHooks
}

/**
 * Brings an update under way to its end, if there is one: after a start of the machine, and before anything else.
 * @returns undefined if there was none
 * @throws Fault as `applyUpdate`
 */
export async function settleUpdate(parts: UpdateParts): Promise<Switched | undefined> {
  return await withRelease(parts, 'settle', settle)
}

/**
 * Asks the server whether there is an update that this machine may take.
 * @throws Fault `update_running`, `update_not_ours`, `update_no_server`, those of the server, of signed records
 * (`release_...`, `root_...`), and `update_other_record`, `update_older`, `update_memory_damaged`, `update_disk_full`
 */
export async function checkForUpdate(parts: UpdateParts): Promise<UpdateOutcome> {
  return await withRelease(parts, 'check', async (run) => {
    const found = await check(run)
    if ('outcome' in found) return found
    const { from, offered } = found
    return { outcome: 'available', version: offered.version, from: from.mark.version, window: offered.window }
  })
}

/**
 * Applies the update that the server offers, if there is one; first it ends one that was cut off. Resolves when it has
 * proven itself, or has been taken back.
 * @throws Fault as `checkForUpdate`, and of the download, the container and the archive; what runs then runs on
 */
export async function applyUpdate(parts: UpdateParts): Promise<UpdateOutcome> {
  return await withRelease(parts, 'apply', async (run) => {
    const settled = await settle(run)
    if (settled !== undefined) return settled
    const found = await check(run)
    if ('outcome' in found) return found
    const archive = { part: run.memory.part, fetch: () => download(run, found.offered) }
    return await applyOffered(run, { ...found, archive })
  })
}

/** What is to be applied, and where its archive comes from. */
interface Given extends Found {
  /** `part` is where it is once it is fetched, and is proven. */
  archive: { part: string; fetch(): Promise<void> }
}

/** Applies a release that is proven. @throws Fault as `applyUpdate` */
export async function applyOffered(run: Run, given: Given): Promise<Switched> {
  const { from, offered } = given
  const mark = { version: offered.version, bundle: offered.bundle }
  run.say(`${offered.version} is there, ${from.mark.version} runs`, 'check')
  const pending = await prepare(run, { ...given, mark })
  // Not a step: what is put off is no failure of the release, and the server is told of none.
  const held = await run.hooks.hold(pending.daemons, (sentence) => run.say(sentence, 'restart'))
  try {
    return await finishSwitch(run, pending)
  } finally {
    held.release()
  }
}

/** An update while it has the lock. */
export interface Run extends SwitchParts {
  parts: UpdateParts
}

/** Does it as the only one, and tells it. */
export async function withRelease<Result extends UpdateOutcome | undefined>(
  parts: UpdateParts,
  task: UpdateRun['task'],
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  const { clock, hooks, root, settings, state } = parts
  const installed = installedAt(root)
  await installed.current()
  return await underLock(parts, root, task, async (say) =>
    work({ parts, installed, memory: updateMemory(state), hooks, settings, clock, say }),
  )
}

/** Does it as the only one, and tells it. @param root the folder that is locked */
export async function underLock<Result extends UpdateOutcome | undefined>(
  parts: Pick<FetchParts, 'clock' | 'state' | 'say' | 'onBegun'>,
  root: string,
  task: UpdateRun['task'],
  work: (say: SwitchParts['say']) => Promise<Result>,
): Promise<Result> {
  const { clock, state } = parts
  const lock = await lockUpdates(root).catch((cause) => {
    throw isDiskFull(cause) ? diskFull(root, 1, cause) : cause
  })
  try {
    const teller = await beginTelling(state, task, clock)
    parts.onBegun?.(teller.begunAt)
    function say(sentence: string, step: UpdateStep): void {
      parts.say(sentence, step)
      teller.say(sentence)
    }
    try {
      const outcome = await work(say)
      await teller.end(outcome)
      return outcome
    } catch (cause) {
      const fault = isDiskFull(cause) ? diskFull(state, 1, cause) : cause
      await teller.fail(fault as Error)
      throw fault
    }
  } finally {
    lock.release()
  }
}

/** Ends what was cut off. */
export async function settle(run: Run): Promise<Switched | undefined> {
  const { installed, memory, say } = run
  // What was carried here by hand is copied anew.
  await rm(memory.handed, { force: true })
  const pending = await memory.pending()
  if (pending === undefined || pending.phase === 'fetching') return undefined
  const { folder } = await installed.current()
  if (pending.phase === 'swapping' && folder === pending.from) {
    // Nothing was swapped. Since then daemons may have saved: the backup is made anew.
    await memory.savePending({ ...pending, phase: 'fetching' })
    return undefined
  }
  say(`the update to ${pending.version} was cut off, and goes on`, 'check')
  return await finishSwitch(run, pending)
}

// Check.

/** An offer that the machine may take. */
export interface ProvenOffer extends Offer {
  /** The bundle hash, signed where a root is pinned. */
  bundle: string
}

interface Found {
  offered: ProvenOffer
  from: Awaited<ReturnType<Installed['current']>>
}

async function check({ installed, memory, parts }: Run): Promise<Found | UpdateOutcome> {
  const from = await installed.current()
  const found = await findOffer({ memory, parts }, from.mark.version)
  return 'outcome' in found ? found : { from, offered: found }
}

/**
 * Asks for what is to be in the place of a version, and proves it.
 * @throws Fault as `checkForUpdate`
 */
export async function findOffer(
  { memory, parts }: { memory: UpdateMemory; parts: FetchParts },
  version: string,
): Promise<ProvenOffer | UpdateOutcome> {
  const offered = await askServer(await serverOf(parts, memory), parts, version, memory)
  if (offered === undefined || offered.version === version) return { outcome: 'current', version }
  const bad = (await memory.history()).bad.find((one) => one.version === offered.version)
  if (bad) return { outcome: 'bad', version: bad.version, from: version, reason: bad.reason }
  return await proveOffer(offered, parts, version, memory)
}

async function serverOf({ clock, image, settings }: FetchParts, memory: UpdateMemory): Promise<UpdateServer> {
  if (settings.update_url === '')
    throw new Fault('update_no_server', 'no update server is set: set update_url to its address')
  const ofKind = image && { compatible: image.compatible }
  return updateServer({ clock, settings, installationId: await memory.installationId(), ...ofKind })
}

async function askServer(
  server: UpdateServer,
  { arch, settings }: FetchParts,
  version: string,
  memory: UpdateMemory,
): Promise<Offer | undefined> {
  const { report } = await memory.history()
  const { channel } = settings
  const offered = await server.check({ version, arch, channel, deltas: true, ...(report && { facts: report }) })
  // Told: at least once, since an answer may be lost.
  if (report) await memory.remember({ report: null })
  return offered
}

/** @throws Fault as `checkForUpdate` */
export async function proveOffer(
  offered: Offer,
  { arch, image, nowAt, settings }: FetchParts,
  version: string,
  memory: UpdateMemory,
): Promise<ProvenOffer> {
  const text = offered.release ?? undefined
  const release = text === undefined ? undefined : readRelease(Buffer.from(text, 'base64'))
  const known = await memory.trust()
  const followed = known && release ? followRelease(known, release) : known
  // Kept even if the release is refused.
  if (followed !== undefined && followed !== known) await memory.saveTrust(followed)
  const machine = { arch, version, nowAt: nowAt(), ...(image && { compatible: image.compatible }) }
  const trust = proveRelease(followed, image ? 'image' : 'update', release, machine)
  const bundle = release?.signed.bundle ?? offered.bundle_hash ?? undefined
  if (bundle === undefined)
    throw new Fault('update_other_record', `${offered.version} is offered without its bundle hash: publish it again`)
  if (release) refuseOther(offered, release)
  if (trust) await memory.saveTrust(trust)
  else if (compareVersions(offered.version, version) < 0)
    throw new Fault('update_older', `${offered.version} is offered, which is older than ${version}, and not signed`)
  const [what, most] = image
    ? ['image.image_bytes', image.image_bytes]
    : (['update.archive_bytes', settings.archive_bytes] as const)
  if (offered.size > most)
    throw new Fault('archive_too_large', `${offered.version} has ${offered.size} bytes, and ${what} allows ${most}`)
  // Without a pinned root, whoever answers at that address could choose the hour in which what it sends is run as root.
  const { window, ...proven } = offered
  return { ...proven, bundle, ...(trust && window !== undefined && { window }) }
}

/** @throws Fault `update_other_record` if the signed record is of something else than what is offered */
function refuseOther(offered: Offer, { signed }: Release): void {
  const isSame =
    signed.version === offered.version &&
    signed.sha256 === offered.checksum &&
    signed.size === offered.size &&
    (offered.bundle_hash ?? signed.bundle) === signed.bundle
  if (!isSame)
    throw new Fault(
      'update_other_record',
      `what is offered as ${offered.version} is not what its signed record says: look at the update server`,
    )
}

// Everything before the links are swapped.

interface Plan extends Given {
  mark: ReleaseMark
}

/** @returns the saved journal: the release is on the disk, whole */
async function prepare(run: Run, { archive, from, mark, offered }: Plan): Promise<Pending> {
  const { hooks, installed, memory, say } = run
  const before = (await memory.pending())?.checksum
  // In this order: the part never is one of another archive than the journal says.
  if (before !== offered.checksum) await removeParts(memory)
  const daemons = await hooks.activeDaemons()
  const pending: Pending = {
    phase: 'fetching',
    ...mark,
    checksum: offered.checksum,
    from: from.folder,
    from_version: from.mark.version,
    before: (await installed.previous()) ?? null,
    backup: null,
    daemons,
    tries: 0,
  }
  await memory.savePending(pending)
  const step = stepsOf(run, mark.version)
  const backup = await step('backup', () => hooks.backup(daemons, { from: from.mark.version, to: mark.version }))
  if (backup !== null) say(`the states are kept in ${backup}`, 'backup')
  const plan = { archive, mark, offered, from, backup, step }
  if (!(await installed.isWhole(mark)) && !(await byDelta(run, plan))) {
    await step('download', archive.fetch)
    await step('verify', () => verify({ say: run.say, part: archive.part }, offered))
    await step('unpack', () => unpack(run, plan))
  }
  await step('runtime', () => runtime(run, mark))
  const ready: Pending = { ...pending, phase: 'swapping', backup }
  await step('swap', () => memory.savePending(ready))
  await removeParts(memory)
  return ready
}

async function removeParts({ delta, handed, part }: UpdateMemory): Promise<void> {
  for (const path of [part, delta, handed]) await rm(path, { force: true })
}

export type RunStep = <Result>(name: UpdateStep, task: () => Promise<Result>) => Promise<Result>

/** An archive with the right checksum that is damaged all the same stays so. The key is not signed, so a wrong one may be put right. */
function isBadArchive(name: UpdateStep, { code }: Fault): boolean {
  return name === 'unpack' && /^(archive|container)_(?!wrong_key)|^bad_manifest$/.test(code)
}

/** What a run works with while it fetches. */
export interface Fetching extends Pick<SwitchParts, 'clock' | 'memory' | 'say'> {
  parts: FetchParts
}

/**
 * Keeps why a step failed, for the next check; the first step that fails is the one.
 * @param isForGood whether the version would fail again tomorrow
 */
export function stepsOf({ clock, memory, parts }: Fetching, version: string, isForGood = isBadArchive): RunStep {
  const kept = new WeakSet<object>()
  return async (name, task) => {
    try {
      return await task()
    } catch (cause) {
      const fault = isDiskFull(cause) ? diskFull(parts.state, 1, cause) : cause
      if (kept.has(fault as object)) throw fault
      kept.add(fault as object)
      const code = fault instanceof Fault ? fault.code : ''
      // Downloads and services make room for what runs.
      if (code === 'update_disk_full') await removeParts(memory)
      const reason = sentenceOf(fault)
      const report: UpdateReport = { failed: version, failed_step: name, reason }
      const isBad = fault instanceof Fault && isForGood(name, fault)
      await memory
        .remember({ report, ...(isBad && { bad: { version, reason, at: clock.epochMs() } }) })
        .catch(() => undefined)
      throw fault
    }
  }
}

/** @param besideBytes that have to be free as well once it is there */
export async function download(
  { clock, memory, parts, say }: Fetching,
  offered: ProvenOffer,
  besideBytes = 0,
): Promise<void> {
  const { size, version } = offered
  const server = await serverOf(parts, memory)
  const folder = dirname(memory.part)
  await makeFolder(folder)
  const missing = async () => size - (await sizeOf(memory.part)) + besideBytes
  await requireRoom(folder, await missing())
  let toldMs = clock.monotonicMs()
  try {
    await server.pull(offered, memory.part, (bytes) => {
      if (clock.monotonicMs() - toldMs < TELL_MS) return
      toldMs = clock.monotonicMs()
      say(`${megabytes(bytes)} of ${megabytes(size)} MB of ${version} are here`, 'download')
    })
  } catch (cause) {
    if (!isDiskFull(cause)) throw cause
    await requireRoom(folder, await missing())
    throw diskFull(folder, 1, cause)
  }
  say(`${megabytes(size)} MB of ${version} are here`, 'download')
}

/** How often the progress of a download is told. */
const TELL_MS = 10_000

async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

/** @param part the file with the archive; removed if it is another one */
export async function verify(
  { part, say }: Pick<Fetching, 'say'> & { part: string },
  { checksum, version }: ProvenOffer,
): Promise<void> {
  const seen = await sha256OfFile(part)
  if (seen !== checksum) {
    await rm(part, { force: true })
    throw new Fault(
      'update_wrong_checksum',
      `what came is not ${version}: its SHA-256 is ${seen}, expected ${checksum}. It is loaded anew the next time.`,
    )
  }
  say(`${version} is what its checksum says`, 'verify')
}

interface Unpacking extends Plan {
  backup: string | null
  step: RunStep
}

async function unpack(run: Run, plan: Unpacking): Promise<void> {
  const { ratio, unpacked_bytes: unpackedBytes } = run.parts.settings
  const { bundle } = plan.mark
  await make(run, plan, (folder) =>
    unpackRelease(decryptFile(plan.archive.part, keyOf(plan)), folder, { bundle, bounds: { unpackedBytes, ratio } }),
  )
}

/** @returns whether the release was made; whatever is wrong with a delta, the archive is there */
async function byDelta(run: Run, plan: Unpacking): Promise<boolean> {
  const { memory, parts, say } = run
  const { mark, offered, step } = plan
  const { delta, version } = offered
  if (delta === undefined || delta.from !== plan.from.mark.version || delta.size >= offered.size) return false
  const server = await serverOf(parts, memory)
  const made = makeByDelta({
    ...{ settings: parts.settings, file: memory.delta, version, bundle: mark.bundle, delta },
    before: releasePath(parts.root, plan.from.folder),
    pull: () => server.pull({ ...delta, version }, memory.delta),
    decrypted: () => decryptFile(memory.delta, keyOf(plan)),
    make: (fill) => make(run, plan, fill),
    say,
  })
  return await made.catch((cause) => step('unpack', () => Promise.reject(cause)))
}

function keyOf({ offered }: Pick<Plan, 'offered'>): Buffer {
  return Buffer.from(offered.encryption_key, 'hex')
}

/** @param fill makes the files in a folder that is not there yet */
async function make({ hooks, installed, say }: Run, plan: Unpacking, fill: (folder: string) => Promise<Unpacked>) {
  const { backup, mark, step } = plan
  await installed.make(mark, async (folder) => {
    const { entries } = await fill(folder)
    say(`${entries.length} files of ${mark.version} are unpacked`, 'unpack')
    const { dependencies } = hooks
    if (dependencies) await step('dependencies', () => withDependencies(() => dependencies(folder), backup))
  })
}

/** A Node that cannot be had holds no update up. */
async function runtime({ memory, parts, say }: Run, mark: ReleaseMark): Promise<void> {
  const { arch, root, settings } = parts
  const fetchInstaller = async () => {
    say(`${mark.version} wants another Node, which comes with its installer`, 'runtime')
    await (await serverOf(parts, memory)).pullInstaller(mark.version, memory.installer)
    return memory.installer
  }
  try {
    await bringRuntime({ root, arch, mostBytes: settings.unpacked_bytes, fetchInstaller }, releaseFolder(mark))
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    say(`warning: ${cause.message}`, 'runtime')
  }
}

async function withDependencies(install: () => Promise<void>, backup: string | null): Promise<void> {
  try {
    await install()
  } catch (cause) {
    const kept = backup === null ? '' : ` The backup from before is ${backup}: put it back before any restart.`
    throw new Fault(
      'update_dependencies_failed',
      `what the update needs could not be installed (${sentenceOf(cause)}); nothing was restarted, and what runs stays.${kept}`,
      { cause },
    )
  }
}
