/**
 * Ten pictures of a real street, and who is in them. The film is `vtest.avi` of Debian's opencv-doc (768 x 576, a camera above a
 * yard, from PETS 2009), which is read where it is installed, or else fetched into build/, and never kept in the repository.
 *
 * The boxes were drawn by hand, on the pictures enlarged, before any network had seen them.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const KEPT = join(import.meta.dirname, '../../../build/films')
const FETCH_MS = 40_000
const SIZE = { width: 768, height: 576 }

/** Left, top, right, bottom, in pixels of the film. */
type Sides = readonly [number, number, number, number]

interface Scene {
  /** Number of the picture in the film. */
  picture: number
  persons: readonly Sides[]
  /** Persons of whom less than half is seen: nobody is asked to find them, and to find them is no mistake. */
  hidden: readonly Sides[]
}

/** Parked all the time. */
const VEHICLES: readonly Sides[] = [
  [651, 44, 724, 100],
  [735, 51, 768, 94],
]

// biome-ignore format: a table
const SCENES: readonly Scene[] = [
  { picture: 0, hidden: [], persons: [[254, 220, 284, 308], [500, 157, 531, 233], [639, 240, 685, 321]] },
  { picture: 50, hidden: [[410, 180, 430, 264]], persons: [[373, 179, 400, 260], [432, 175, 460, 247], [506, 216, 541, 310],
    [553, 214, 588, 303], [668, 257, 715, 371]] },
  { picture: 100, hidden: [[427, 173, 451, 257]], persons: [[223, 62, 239, 95], [348, 199, 383, 275], [374, 178, 412, 256],
    [493, 148, 520, 221], [515, 151, 541, 221], [590, 152, 618, 233]] },
  { picture: 200, hidden: [], persons: [[82, 154, 112, 215], [217, 191, 250, 267], [488, 145, 518, 222], [676, 98, 698, 154],
    [701, 103, 722, 156], [616, 264, 650, 368], [704, 253, 744, 354]] },
  { picture: 300, hidden: [], persons: [[186, 158, 219, 235], [243, 158, 270, 222], [298, 158, 323, 230], [313, 209, 345, 296],
    [581, 159, 610, 237], [619, 161, 644, 235]] },
  { picture: 400, hidden: [], persons: [[273, 200, 303, 286], [589, 140, 618, 204], [686, 300, 745, 411]] },
  { picture: 500, hidden: [[762, 270, 768, 306]], persons: [[306, 187, 332, 264], [556, 239, 593, 348], [570, 282, 613, 391],
    [614, 274, 641, 375]] },
  { picture: 550, hidden: [[412, 165, 440, 210]], persons: [[126, 166, 156, 233], [597, 166, 631, 244], [643, 303, 671, 412],
    [169, 368, 226, 512], [236, 374, 289, 510]] },
  { picture: 600, hidden: [], persons: [[188, 145, 215, 215], [568, 199, 597, 287], [668, 208, 706, 297], [640, 304, 672, 412],
    [454, 302, 508, 420], [284, 431, 330, 576]] },
  { picture: 700, hidden: [[734, 42, 750, 60]], persons: [[184, 165, 213, 239], [280, 210, 309, 294], [365, 171, 398, 255],
    [405, 152, 426, 207], [475, 135, 496, 200], [518, 165, 546, 235], [681, 217, 729, 307], [102, 286, 145, 397]] },
]

/** @returns the path of the film; undefined where it is not installed and cannot be fetched */
export function streetFilm(): string | undefined {
  const known = globSync(['/usr/share/doc/opencv-doc/**/vtest.avi', join(KEPT, 'vtest.avi')])[0]
  if (known !== undefined) return known
  mkdirSync(KEPT, { recursive: true })
  const work = mkdtempSync(join(KEPT, 'fetching-'))
  try {
    // All of opencv-doc is 270 MB, most of it text about programming.
    const options = { cwd: work, timeout: FETCH_MS, stdio: 'ignore', killSignal: 'SIGKILL' } as const
    spawnSync('apt-get', ['download', 'opencv-doc'], options)
    spawnSync('sh', ['-c', "dpkg-deb --fsys-tarfile *.deb | tar -x --wildcards '*/vtest.avi'"], options)
    const found = globSync('**/vtest.avi', { cwd: work })[0]
    if (found === undefined) return undefined
    renameSync(join(work, found), join(KEPT, 'vtest.avi'))
    return join(KEPT, 'vtest.avi')
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/**
 * Pictures of the film as a recorder hands them to a detector, smaller in the same proportions.
 * @param numbers ascending
 */
export function picturesOf(film: string, numbers: readonly number[], width: number, height: number): Uint8Array[] {
  const wanted = numbers.map((number) => `eq(n\\,${number})`).join('+')
  const filters = `select=${wanted},scale=${width}:${height}:flags=bilinear`
  const args = ['-loglevel', 'error', '-i', film, '-vf', filters, '-fps_mode', 'passthrough', '-f', 'rawvideo']
  const bytes = execFileSync('ffmpeg', [...args, '-pix_fmt', 'rgb24', '-'], { maxBuffer: 2 ** 28 })
  const size = width * height * 3
  return numbers.map((_, at) => bytes.subarray(at * size, (at + 1) * size))
}

export const SCENE_NUMBERS = SCENES.map(({ picture }) => picture)

/** A box as detectors tell it, in fractions. */
interface Told {
  label: string
  score: number
  box: Sides
}

/** What a detector found of what is there. */
export interface Finding {
  persons: number
  personsFound: number
  vehicles: number
  vehiclesFound: number
  /** Persons where there are none, each said in words. */
  false: string[]
  /** Persons that were not found. */
  missed: string[]
}

/** A box is right where it shares half of the area that both cover together. */
const RIGHT = 0.5

/**
 * @param told what was said of each of the ten pictures
 * @param score what has less is left out
 */
export function judgeBoxes(told: readonly (readonly Told[])[], score: number): Finding {
  const finding: Finding = { persons: 0, personsFound: 0, vehicles: 0, vehiclesFound: 0, false: [], missed: [] }
  for (const [at, { hidden, persons, picture }] of SCENES.entries()) {
    const boxes = (told[at] ?? []).filter((box) => box.score >= score)
    const unused = new Set(boxes.filter(({ label }) => label === 'person'))
    const takeBest = (sides: Sides, least: number) => {
      const [best] = [...unused].sort((one, other) => sharedOf(sides, other) - sharedOf(sides, one))
      if (!best || sharedOf(sides, best) < least) return false
      return unused.delete(best)
    }
    for (const sides of persons) {
      finding.persons++
      if (takeBest(sides, RIGHT)) finding.personsFound++
      else finding.missed.push(`${picture}: ${sides}`)
    }
    for (const sides of hidden) takeBest(sides, RIGHT / 2)
    for (const box of unused) finding.false.push(`${picture}: ${inPixels(box).map(Math.round)} ${box.score.toFixed(2)}`)
    const vehicles = boxes.filter(({ label }) => ['car', 'truck', 'bus'].includes(label))
    for (const sides of VEHICLES) {
      finding.vehicles++
      if (vehicles.some((box) => sharedOf(sides, box) >= RIGHT)) finding.vehiclesFound++
    }
  }
  return finding
}

function inPixels({ box }: Told): Sides {
  const { height, width } = SIZE
  return [box[0] * width, box[1] * height, box[2] * width, box[3] * height]
}

function sharedOf(one: Sides, told: Told): number {
  const other = inPixels(told)
  const width = Math.min(one[2], other[2]) - Math.max(one[0], other[0])
  const height = Math.min(one[3], other[3]) - Math.max(one[1], other[1])
  if (width <= 0 || height <= 0) return 0
  const area = ([left, top, right, bottom]: Sides) => (right - left) * (bottom - top)
  return (width * height) / (area(one) + area(other) - width * height)
}
