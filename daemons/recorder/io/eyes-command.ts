/** Finds the detector of the optional package plantroom-detector. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const PROGRAM = 'plantroom-eyes'

/** Beside the daemons of a package; of a built checkout, from its bundle and from its sources; and for a release of an update. */
const PLACES = [
  join(import.meta.dirname, 'detector'),
  join(import.meta.dirname, 'detector', process.arch),
  join(import.meta.dirname, '../../../build/detector', process.arch),
  '/usr/lib/plantroom/detector',
]

/**
 * @returns the command that begins it, for a recorder whose `detector.command` names none; undefined where the package is not
 *   installed
 */
export function eyesCommand(): string[] | undefined {
  const found = PLACES.map((place) => join(place, PROGRAM)).find((path) => existsSync(path))
  return found === undefined ? undefined : [found]
}
