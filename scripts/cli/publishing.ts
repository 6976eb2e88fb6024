/** What it takes to publish anything, an update as well as an image: keys, a right clock, a signed record, progress. */
import type { KeyObject } from 'node:crypto'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions } from '#kit/pure/version.ts'
import {
  followRelease,
  pinRoot,
  proveRelease,
  type ReleaseKind,
  type ReleaseRecord,
  readRelease,
  writeRelease,
} from '#kit/release/record.ts'
import type { SignedRoot } from '#kit/release/root.ts'
import type { World } from './command.ts'
import type { Push, PushTarget } from './push-release.ts'
import type { Arch } from './release-archive.ts'
import {
  lockKeys,
  newestRoots,
  type Published,
  readPublished,
  readReleaseKey,
  readRoots,
  refuseTree,
} from './release-keys.ts'

/** The server that is published to. */
export type Target = Pick<PushTarget, 'server' | 'updateKey'>

/** An upload is given up after so long without a byte. */
export const STALL_MS = 60_000
/** Progress is told after each such part of a file. */
const PROGRESS_PERCENT = 10

/** Tells how far an upload is. @returns called with the bytes sent since the last call */
export function progressOf({ kind, sizeBytes }: Pick<Push, 'kind' | 'sizeBytes'>, world: World) {
  let sentBytes = 0
  let toldPercent = 0
  return (bytes: number) => {
    sentBytes += bytes
    const percent = Math.floor((100 * sentBytes) / sizeBytes / PROGRESS_PERCENT) * PROGRESS_PERCENT
    if (percent === toldPercent) return
    toldPercent = percent
    world.err(`uploading the ${kind}: ${percent} %\n`)
  }
}

/** What a publish works with while nobody else uses the folder of keys. */
export interface Signing {
  roots: { newest: SignedRoot; carried: SignedRoot[] }
  key: KeyObject
  /** What was published before; its number is that of this release. */
  state: Published
  nowAt: number
}

/** @throws Fault `keys_in_tree`, and those of the keys, the roots and what was published */
export async function withKeys<Result>(keys: string, work: (signing: Signing) => Promise<Result>): Promise<Result> {
  refuseTree(keys)
  const lock = lockKeys(keys)
  try {
    const roots = newestRoots(await readRoots(keys))
    const key = await readReleaseKey(keys, roots.newest.signed)
    const state = await readPublished(keys)
    state.sequence = Math.max(state.sequence + 1, roots.newest.signed.min_sequence)
    return await work({ roots, key, state, nowAt: systemClock.epochMs() })
  } finally {
    lock.release()
  }
}

/**
 * A record that was signed too early would be expired where it is taken; one after the root's end would be refused.
 * @param madeAt when what is published was made, if that is known
 * @throws Fault `publish_clock`, `root_expired`
 */
export function refuseClock({ nowAt, roots, state }: Signing, madeAt = 0): void {
  const { expires, issued_at: issuedAt, version } = roots.newest.signed
  const publishedAt = [...(state.images ?? []), ...state.releases].map(({ at }) => at)
  if (nowAt < Math.max(issuedAt, madeAt, ...publishedAt))
    throw new Fault(
      'publish_clock',
      `the clock says ${new Date(nowAt).toISOString()}, and something here was made later: set the clock`,
    )
  if (nowAt >= expires)
    throw new Fault('root_expired', `root ${version} has expired: renew it with plantroom updates keys rotate expiry`)
}

/** Who may take a release, and for how long. */
export interface ReleaseWish {
  minFrom: string | null
  arch: Arch | null
  isSecurityFix: boolean
  validMs: number
}

/** @throws Fault `bad_usage` */
export function refuseMinFrom({ minFrom }: ReleaseWish, version: string): void {
  if (minFrom !== null && compareVersions(minFrom, version) > 0)
    throw new Fault('bad_usage', `--min-from is ${minFrom}, above the ${version} that is published`)
}

/**
 * Signs the record of a release, and takes it as a machine will that trusts the oldest root it carries.
 * @returns its text
 * @throws the fault that all machines would meet
 */
export function signRelease(
  { key, nowAt, roots, state }: Signing,
  { arch, isSecurityFix, minFrom, validMs }: ReleaseWish,
  kind: ReleaseKind,
  of: Pick<Push, 'version' | 'compatible' | 'sizeBytes' | 'sha256' | 'bundle'>,
): string {
  const { bundle, compatible, sha256, sizeBytes, version } = of
  const ofKind = compatible === undefined ? {} : { compatible }
  const record: ReleaseRecord = {
    ...{ version, ...ofKind, sequence: state.sequence, min_from: minFrom, arch, size: sizeBytes, sha256, bundle },
    ...{ security_fix: isSecurityFix, issued_at: nowAt, expires: nowAt + validMs },
  }
  const text = writeRelease(kind, record, { keys: [key], roots: roots.carried })
  const release = readRelease(Buffer.from(text))
  const [oldest] = roots.carried
  const trust = oldest && followRelease(pinRoot(oldest), release)
  const machine = { arch: arch ?? 'amd64', version: minFrom ?? version, ...ofKind, nowAt }
  proveRelease(trust, kind, release, machine)
  return text
}
