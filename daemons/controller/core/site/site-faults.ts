/** What is wrong with a site file: everything at once, each with its place. */
import { Fault } from '#kit/fault.ts'
import { nearestName } from '#kit/nearest.ts'

/** How much of a site file is taken in. Settings of the controller. */
export interface SiteLimits {
  /** Bytes of the file at most. */
  bytes: number
  /** Rows of all tables of a file together at most, and of the site that comes of it. */
  rows: number
  /** Devices of a site at most. */
  devices: number
  /** Characters of all JSON columns of a site at most, as core/bounded-value.ts counts them. */
  jsonChars: number
  /** Levels of a JSON column at most. */
  depth: number
  /** Characters of a text at most, and of JSON as text. */
  textChars: number
  /** Faults that are told; more are counted. */
  faults: number
}

/** One fault. `path` is `zone[3].device_id`, empty for the whole file; `sentence` holds no secret. */
export interface SiteFault {
  path: string
  sentence: string
}

/** Where faults are gathered. */
export interface FaultList {
  /** Of faults in one place only the first is taken: others mostly follow from it. */
  add(path: string, sentence: string): void
  /** `; the nearest is "..."`, or nothing. Looks only so often: a list of thousands of names costs. */
  nearest(name: string, known: readonly string[]): string
  readonly count: number
  /** @throws Fault `site_faults` with `details.faults` and `details.more` where anything was added */
  refuse(): void
}

/** Comparisons of names that one check makes at most. */
const MOST_COMPARED = 20_000

/** A sentence quotes no more of a name than this. */
const LONGEST_QUOTED = 60

export function createFaultList(most: number): FaultList {
  const faults: SiteFault[] = []
  let count = 0
  let compared = 0
  const places = new Set<string>()
  return {
    add(path, sentence) {
      if (places.has(path)) return
      places.add(path)
      count++
      if (faults.length < most) faults.push({ path, sentence })
    },
    nearest(name, known) {
      compared += known.length
      if (compared > MOST_COMPARED) return ''
      const near = nearestName(name, known)
      return near === undefined ? '' : `; the nearest is ${quoted(near)}`
    },
    get count() {
      return count
    },
    refuse() {
      const [first] = faults
      if (first === undefined) return
      const more = count - faults.length
      const said = `${first.path === '' ? '' : `${first.path}: `}${first.sentence}`
      const sentence =
        count === 1 ? `the site file has a fault: ${said}` : `the site file has ${count} faults, the first ${said}`
      throw new Fault('site_faults', `${sentence}; nothing was written`, { details: { faults, more } })
    },
  }
}

/** A name from outside as a sentence shows it: in quotes, short, in one line. */
export function quoted(name: string): string {
  const short = name.length > LONGEST_QUOTED ? `${name.slice(0, LONGEST_QUOTED)}…` : name
  return JSON.stringify(short.toWellFormed())
}
