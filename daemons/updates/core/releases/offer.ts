/** Which release an installation is offered. */
import { compareVersions } from '#kit/pure/version.ts'
import { type InstallationRecord, type ReleaseRecord, releaseKey } from '../ports.ts'

/**
 * The highest release for an installation, whether or not it has it already.
 * @param releases of its kind, highest version first, without deleted ones
 */
export function offerTo(
  installation: InstallationRecord,
  releases: readonly ReleaseRecord[],
): ReleaseRecord | undefined {
  // Nobody is offered more than a version that is held.
  const from = Math.max(
    0,
    releases.findIndex(({ isHeld }) => isHeld),
  )
  for (let at = from; at < releases.length; at++) {
    const release = releases[at]
    if (release && isFor(release, installation)) return release
  }
  return undefined
}

function isFor(release: ReleaseRecord, installation: InstallationRecord): boolean {
  const { arch, channel, askedChannel, deliveries, id, version } = installation
  if (release.update === null || release.state !== 'offered') return false
  if (release.channel === 'beta' && (channel ?? askedChannel) !== 'beta') return false
  if (release.arch !== null && arch !== null && release.arch !== arch) return false
  if (release.minFrom !== null && version !== null && compareVersions(version, release.minFrom) < 0) return false
  // Else it would install, fall back and install again for ever.
  if (deliveries.some((one) => one.outcome === 'rolled_back' && releaseKey(one) === releaseKey(release))) return false
  return release.percent >= 100 || placeOf(release.version, id) < release.percent
}

/**
 * The place of an installation in the rollout of a version, 0 to 99: always the same, and another one in the next
 * version, so that it is not always the same ones who come first.
 */
export function placeOf(version: string, id: string): number {
  const text = `${version} ${id}`
  // FNV-1a, then mixed: the last characters alone would decide.
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % 100
}
