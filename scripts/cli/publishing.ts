/** What it takes to publish anything, an update as well as an image: a right clock, a proof as machines make it, progress. */
import { Fault } from '#kit/pure/fault.ts'
import { followRelease, pinRoot, proveRelease, type ReleaseKind, readRelease } from '#kit/release/record.ts'
import type { SignedRoot } from '#kit/release/root.ts'
import type { World } from './command.ts'
import type { Push, PushTarget } from './push-release.ts'

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

/**
 * A record that was signed too early would be expired where it is taken; one after the root's end would be refused.
 * @param madeAt when what is published was made, and what was published before
 * @throws Fault `publish_clock`, `root_expired`
 */
export function refuseClock(nowAt: number, { signed }: SignedRoot, madeAt: readonly number[]): void {
  const leastAt = Math.max(signed.issued_at, ...madeAt)
  if (nowAt < leastAt)
    throw new Fault(
      'publish_clock',
      `the clock says ${new Date(nowAt).toISOString()}, and something here was made later: set the clock`,
    )
  if (nowAt >= signed.expires)
    throw new Fault(
      'root_expired',
      `root ${signed.version} has expired: renew it with plantroom updates keys rotate expiry`,
    )
}

/** Takes the release as a machine will that trusts the oldest root it carries. @throws the fault that all of them would meet */
export function proveAsMachine(kind: ReleaseKind, text: string, [oldest]: readonly SignedRoot[], nowAt: number): void {
  const release = readRelease(Buffer.from(text))
  const { arch, compatible, min_from, version } = release.signed
  const trust = oldest && followRelease(pinRoot(oldest), release)
  const machine = { arch: arch ?? 'amd64', version: min_from ?? version, nowAt }
  proveRelease(trust, kind, release, { ...machine, ...(compatible !== undefined && { compatible }) })
}
