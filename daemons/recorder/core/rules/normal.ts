/** What is normal at a site: how many things are seen at a camera at this time of the week, and when it is something else. */
import type { Clock, Timer } from '#kit/clock.ts'
import { sameTimeBefore } from '../schedule.ts'
import type { DensityWish, Slice } from '../sight/events.ts'
import { type Group, groups, type Rule, type Sensitivity, type Trigger } from './rule.ts'
import { type DetectedEvent, fitsThing, isAbout, type Occurrence } from './triggers.ts'

type Unusual = Extract<Trigger, { type: 'unusual' }>

interface NormalParts {
  clock: Clock
  rules(): readonly Rule[]
  cameras(): readonly string[]
  /** IANA name of the recorder's zone. */
  zone(): string
  /** How much began to be seen at a camera, slice by slice. @throws Fault `store_read_failed` */
  history(wish: DensityWish): Promise<Slice[]>
  onOccurrence(rule: Rule, occurrence: Occurrence): void
}

/** Counts are of quarters of an hour: every zone begins its days with one. */
const QUARTER_MS = 900_000
const DAY_MS = 86_400_000
/** So far back it is looked for what is usual. */
const DAYS = 35
const SLICES = ((DAYS + 2) * DAY_MS) / QUARTER_MS
/** The same day of the week is compared, once so many of it are known; before, all days, once there are so many. */
const LEAST_SAME_DAYS = 3
const LEAST_DAYS = 7
/** What was seen in the last moments is written by then. */
const LATE_MS = 15_000

/** How many standard deviations from the mean are usual. */
const SPREADS: Readonly<Record<Sensitivity, number>> = { low: 4, medium: 3, high: 2 }

/** How many are usual. */
interface Usual {
  least: number
  most: number
  /** Days that this was learned from. */
  days: number
}

/** One rule at one camera. */
interface Watched {
  rule: UnusualRule
  /** What is usual in the quarter of that number, and how many were seen before it within the time of the rule. */
  learned: { quarter: number; usual: Usual; before: number } | undefined
  /** How many were seen in the quarter of that number. */
  running: { quarter: number; seen: number }
  /** What was told and is still so. */
  told: 'more' | 'fewer' | null
}

/** Tells a rule when more or fewer things are seen than is usual; once, until it is as usual again. */
export class Normal {
  readonly #parts: NormalParts
  readonly #watched = new Map<string, Watched>()
  readonly #beganMs: number
  #isStopped = false
  #timer: Timer

  constructor(parts: NormalParts) {
    this.#parts = parts
    this.#beganMs = parts.clock.monotonicMs()
    this.#timer = this.#next()
  }

  /** Something begins to be seen. @param before what it was taken for until now */
  happened(event: DetectedEvent, before: DetectedEvent | undefined): void {
    const { cameraId } = event
    const quarter = quarterOf(this.#parts.clock.epochMs())
    for (const rule of this.#parts.rules()) {
      if (!isUnusual(rule) || !isAbout(rule, cameraId) || !fitsThing(rule, event)) continue
      if (before && fitsThing(rule, before)) continue
      const one = this.#of(rule, cameraId)
      if (one.running.quarter !== quarter) one.running = { quarter, seen: 0 }
      one.running.seen++
      this.#tellMore(one, cameraId)
    }
  }

  /** Rules or cameras are others now. */
  changed(): void {
    const [rules, cameras] = [this.#parts.rules(), this.#parts.cameras()]
    for (const [key, { rule }] of this.#watched)
      if (!rules.includes(rule) || !cameras.some((camera) => keyOf(rule, camera) === key)) this.#watched.delete(key)
  }

  stop(): void {
    this.#isStopped = true
    this.#timer.cancel()
  }

  #next(): Timer {
    const { clock } = this.#parts
    const nowAt = clock.epochMs()
    const dueAt = quarterOf(nowAt - LATE_MS) * QUARTER_MS + QUARTER_MS + LATE_MS
    return clock.after(dueAt - nowAt, () => {
      this.#timer = this.#next()
      // What cannot be read now is read in a quarter of an hour: what was learned counts for its own quarter alone.
      void this.#look().catch(() => {})
    })
  }

  #of(rule: UnusualRule, camera: string): Watched {
    const known = this.#watched.get(keyOf(rule, camera))
    if (known?.rule === rule) return known
    const made: Watched = { rule, learned: undefined, running: { quarter: 0, seen: 0 }, told: null }
    this.#watched.set(keyOf(rule, camera), made)
    return made
  }

  /** Looks back at the time that ended with the last quarter, and learns what is usual in the one that goes on. */
  async #look(): Promise<void> {
    const { cameras, clock, history, rules, zone } = this.#parts
    const all = rules().filter(isUnusual)
    if (all.length === 0) return
    const at = quarterOf(clock.epochMs()) * QUARTER_MS
    const from = at - SLICES * QUARTER_MS
    const days = { ended: daysBefore(at, zone()), goesOn: daysBefore(at + QUARTER_MS, zone()) }
    for (const camera of cameras()) {
      const about = all.filter((rule) => isAbout(rule, camera))
      if (about.length === 0) continue
      const slices = await history({ camera, from, to: at, bucketMs: QUARTER_MS })
      if (this.#isStopped) return
      const everything = sumsOf(slices, ({ total }) => total)
      for (const rule of about) {
        const count = counterOf({ all: everything, fitting: sumsOf(slices, fittingOf(rule)) }, from)
        this.#learn(rule, camera, { at, count, days })
      }
    }
  }

  #learn(rule: UnusualRule, camera: string, { at, count, days }: Looked): void {
    const one = this.#of(rule, camera)
    this.#settle(one, camera, { seen: count.fitting(at - lengthOf(rule), at), usual: usualOf(days.ended, rule, count) })
    const usual = usualOf(days.goesOn, rule, count)
    const before = count.fitting(at + QUARTER_MS - lengthOf(rule), at)
    one.learned = usual && { quarter: quarterOf(at), usual, before }
    this.#tellMore(one, camera)
  }

  /** What was so over the whole time that has ended. */
  #settle(one: Watched, camera: string, { seen, usual }: { seen: number; usual: Usual | undefined }): void {
    // What was seen while the recorder was not there nobody knows.
    if (!usual || this.#parts.clock.monotonicMs() - this.#beganMs < lengthOf(one.rule)) return
    const isFew = seen < usual.least
    if (!isFew && seen <= usual.most) one.told = null
    if (isFew && one.rule.trigger.direction !== 'more') this.#tell(one, camera, { direction: 'fewer', seen, usual })
  }

  #tellMore(one: Watched, camera: string): void {
    const { learned, rule, running } = one
    const quarter = quarterOf(this.#parts.clock.epochMs())
    if (learned?.quarter !== quarter || rule.trigger.direction === 'fewer') return
    const seen = learned.before + (running.quarter === quarter ? running.seen : 0)
    if (seen > learned.usual.most) this.#tell(one, camera, { direction: 'more', seen, usual: learned.usual })
  }

  #tell(one: Watched, camera: string, what: Omit<Found, 'at'>): void {
    if (one.told === what.direction) return
    one.told = what.direction
    const at = this.#parts.clock.epochMs()
    this.#parts.onOccurrence(one.rule, occurrenceOf(one.rule, camera, { ...what, at }))
  }
}

type UnusualRule = Rule & { readonly trigger: Unusual }

function isUnusual(rule: Rule): rule is UnusualRule {
  return rule.trigger.type === 'unusual'
}

const keyOf = (rule: Rule, camera: string) => `${rule.id} ${camera}`
const quarterOf = (at: number) => Math.floor(at / QUARTER_MS)
const lengthOf = ({ trigger }: UnusualRule) => trigger.minutes * 60_000

/** Instants of the same time on the days before, yesterday first. */
function daysBefore(at: number, zone: string): number[] {
  return Array.from({ length: DAYS }, (_, day) => sameTimeBefore(at, day + 1, zone))
}

/** Counts what began within a span. */
interface Counter {
  /** Of what the rule is about. */
  fitting(from: number, to: number): number
  /** Of everything. */
  all(from: number, to: number): number
}

function fittingOf({ groups: own }: Rule): (slice: Slice) => number {
  const wanted: readonly Group[] = own.length === 0 ? groups : own
  return (slice) => wanted.reduce((all, group) => all + slice[group], 0)
}

/** How many there were in all before each slice. */
function sumsOf(slices: readonly Slice[], of: (slice: Slice) => number): Uint32Array {
  const sums = new Uint32Array(SLICES + 1)
  for (const slice of slices) if (slice.bucket < SLICES) sums[slice.bucket + 1] = of(slice)
  for (let at = 1; at <= SLICES; at++) sums[at] = (sums[at] ?? 0) + (sums[at - 1] ?? 0)
  return sums
}

function counterOf({ all, fitting }: { all: Uint32Array; fitting: Uint32Array }, from: number): Counter {
  const at = (sums: Uint32Array, instant: number) => sums[Math.round((instant - from) / QUARTER_MS)] ?? 0
  return {
    fitting: (since, until) => at(fitting, until) - at(fitting, since),
    all: (since, until) => at(all, until) - at(all, since),
  }
}

/**
 * @param days instants at which the same time ended on the days before, yesterday first
 * @returns undefined where too little is known
 */
function usualOf(days: readonly number[], rule: UnusualRule, count: Counter): Usual | undefined {
  const known = days.map((at, before) => ({
    isSameDay: (before + 1) % 7 === 0,
    // Of a day on which a camera saw nothing at all it is not known whether it was there.
    isKnown: count.all(at - DAY_MS, at) > 0,
    seen: count.fitting(at - lengthOf(rule), at),
  }))
  const all = known.filter(({ isKnown }) => isKnown)
  const same = all.filter(({ isSameDay }) => isSameDay)
  const used = same.length >= LEAST_SAME_DAYS ? same : all.length >= LEAST_DAYS ? all : []
  return used.length === 0
    ? undefined
    : spreadOf(
        used.map(({ seen }) => seen),
        rule.trigger.sensitivity,
      )
}

/** As counts of things that come by chance spread: by the root of their mean at least. What was seen before is never unusual. */
function spreadOf(counts: readonly number[], sensitivity: Sensitivity): Usual {
  const days = counts.length
  // Half a thing in all: what was never seen before is not impossible.
  const mean = (counts.reduce((all, one) => all + one, 0) + 0.5) / days
  const variance = counts.reduce((all, one) => all + (one - mean) ** 2, 0) / days
  const spread = SPREADS[sensitivity] * Math.sqrt(Math.max(variance, mean))
  return {
    least: Math.max(0, Math.min(Math.ceil(mean - spread), ...counts)),
    most: Math.max(Math.floor(mean + spread), ...counts),
    days,
  }
}

interface Looked {
  at: number
  count: Counter
  days: { ended: readonly number[]; goesOn: readonly number[] }
}

interface Found {
  direction: 'more' | 'fewer'
  at: number
  seen: number
  usual: Usual
}

function occurrenceOf({ trigger }: UnusualRule, camera: string, { at, direction, seen, usual }: Found): Occurrence {
  const { days, least, most } = usual
  const range = least === most ? `${most}` : `${least} to ${most}`
  return {
    ...{ type: 'unusual', at, camera, by: null },
    sentence: `Seen within ${trigger.minutes} minutes: ${seen}. Usual at this time: ${range}.`,
    facts: { unusual: { direction, count: seen, minutes: trigger.minutes, least, most, days } },
  }
}
