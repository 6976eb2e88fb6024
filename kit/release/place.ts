/** Who updates the Plantroom that this program is of. */
import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** release: its own updater, in the folder with `releases`. debian: apt. other: whoever put it there. */
export type UpdatePlace =
  | { kind: 'release'; root: string }
  | { kind: 'debian'; name: string }
  | { kind: 'other'; folder: string }

/** How long dpkg may take to answer. */
const ANSWER_MS = 10_000

/** @param folder of the programs, as they were started */
export async function placeOf(folder: string, env: NodeJS.ProcessEnv): Promise<UpdatePlace> {
  const real = realpathSync(folder)
  const releases = dirname(real)
  const isReleased = basename(releases) === 'releases'
  // Packages have their programs below /usr: of a checkout dpkg need not be asked.
  if (!isReleased && !real.startsWith('/usr/')) return { kind: 'other', folder: real }
  const name = await debianPackage(join(real, 'plantroom.mjs'), env)
  if (name !== undefined) return { kind: 'debian', name }
  return isReleased ? { kind: 'release', root: dirname(releases) } : { kind: 'other', folder: real }
}

/** Why a Plantroom is not updated by its own updater, and what to do. */
export function sentenceOfPlace(place: Exclude<UpdatePlace, { kind: 'release' }>): string {
  return place.kind === 'debian'
    ? `this Plantroom belongs to the Debian package ${place.name}, and apt updates it: apt-get install --only-upgrade ${place.name}`
    : `this Plantroom runs from ${place.folder}, which its installer did not make: update it as it was installed`
}

/** The package that a file is of; undefined without one, or without dpkg. */
async function debianPackage(file: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('dpkg-query', ['--search', file], { env, timeout: ANSWER_MS })
    return /^([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9]+)?: /.exec(stdout)?.[1]
  } catch {
    return undefined
  }
}
