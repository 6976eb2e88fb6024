/** Versions of releases: semantic versions, read strictly and put in order. */
import parse from 'semver/functions/parse.js'
import { Fault } from './fault.ts'

/** Longest version: it is a part of file names. */
const MOST_CHARACTERS = 64

/**
 * Whether the text is a version such as `1.4.0` or `1.5.0-beta.2`: no `v` before it, no blanks, at most 64 characters.
 * Build metadata (`1.4.0+7`) is refused: it takes no part in the order, so two releases could be the same version.
 * @source Semantic Versioning 2.0.0, 2, 9 and 10
 */
export function isVersion(text: string): boolean {
  return text.length <= MOST_CHARACTERS && parse(text)?.version === text
}

/**
 * Puts two versions in order; a prerelease comes before its release.
 * @returns below 0 if `one` is older than `other`, above 0 if it is newer, 0 if they are the same
 * @throws Fault `bad_version` if one of them is none
 * @source Semantic Versioning 2.0.0, 11
 */
export function compareVersions(one: string, other: string): number {
  return versionOf(one).compare(versionOf(other))
}

/**
 * The next patch version: `1.3.10` after `1.3.9`; a prerelease is followed by its release.
 * @throws Fault `bad_version` if it is none
 */
export function nextPatch(version: string): string {
  return versionOf(version).inc('patch').version
}

function versionOf(text: string) {
  const version = isVersion(text) ? parse(text) : null
  if (version === null)
    throw new Fault(
      'bad_version',
      `${JSON.stringify(text.slice(0, MOST_CHARACTERS))} is no version, expected one such as 1.4.0`,
    )
  return version
}

/** The name under which an update server files a delta. */
export function deltaFileName(from: string, version: string): string {
  return `plantroom-${version}-from-${from}.delta.enc`
}

/**
 * The name under which an update server files a release.
 * @param compatible of an image: the kind of board that it is for
 */
export function releaseFileName(kind: 'update' | 'installer' | 'image', version: string, compatible?: string): string {
  if (kind === 'image') return `${compatible}-${version}.img.enc`
  return `plantroom-${version}${kind === 'update' ? '.tar.gz.enc' : '.run'}`
}
