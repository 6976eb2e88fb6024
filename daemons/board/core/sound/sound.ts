/** Shared by encoder and decoder: sources, addresses of paths, the chain of checks, an hour of measurements. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'

/** Source of an encoder's sound. An empty ALSA name means the first card. */
export type AudioSource = { kind: 'tone' } | { kind: 'file'; path: string } | { kind: 'alsa'; name: string }

/** @param text `tone`, `file:PATH` or an ALSA name */
export function audioSourceOf(text: string): AudioSource {
  if (text === 'tone') return { kind: 'tone' }
  return text.startsWith('file:') ? { kind: 'file', path: text.slice(5) } : { kind: 'alsa', name: text }
}

/** Name for people, before the source is open. */
export function sourceName(source: AudioSource): string {
  if (source.kind === 'tone') return 'A tone of 997 Hz'
  if (source.kind === 'file') return source.path
  return source.name === '' ? 'The first sound card' : source.name
}

// Addresses of a stream's paths: one of two networks may be down while the other carries the sound.

/** One per path; null if its interface has no address. */
export type PathAddresses = readonly (string | null)[]

/**
 * @param names of the interfaces of the paths
 * @param addressOf the present address of an interface; throws Fault `no_interface`
 * @throws Fault `no_interface` of the first path, if none has an address
 */
export function pathAddresses(names: readonly string[], addressOf: (name: string) => string): PathAddresses {
  const faults: Fault[] = []
  const addresses = names.map((name) => {
    try {
      return addressOf(name)
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault
      faults.push(fault)
      return null
    }
  })
  const [first] = faults
  if (first !== undefined && faults.length === names.length) throw first
  return addresses
}

/** Whether a path has a new address; a lost one is waited for. */
export function hasMoved(from: PathAddresses, now: PathAddresses): boolean {
  return now.some((address, at) => address !== null && address !== from[at])
}

/**
 * A path keeps its address while its network is down: pulling a plug must not change the stream.
 * @returns a function that fills gaps with the last known addresses
 */
export function createLastAddresses(): (now: PathAddresses) => PathAddresses {
  let last: PathAddresses = []
  return (now) => {
    last = now.map((address, at) => address ?? last[at] ?? null)
    return last
  }
}

// A chain of checks from the cause of sound to its effect: the first one broken is why it is silent.

/**
 * - `ok` as it should be
 * - `warn` not as it should be, but sound goes on
 * - `fault` broken: there is no sound because of it
 * - `off` switched off on purpose
 * - `not_judged` something before it is broken, or nothing is known yet
 */
export type CheckState = 'ok' | 'warn' | 'fault' | 'off' | 'not_judged'

/** One link of the chain, as in the status. */
export interface Check<Name extends string = string> {
  name: Name
  state: CheckState
  /** For programs: why it is not `ok`, or what is special about it; null if there is nothing to report. */
  code: string | null
  /** One sentence with numbers and names; empty if not judged. */
  text: string
}

/** Result of judging one link. */
export type Judgement = Omit<Check, 'name'>

/** @param judges in the order of the chain; those after the first broken link are not called */
export function judgeChain<Name extends string>(judges: readonly (readonly [Name, () => Judgement])[]): Check<Name>[] {
  let isBroken = false
  return judges.map(([name, judge]) => {
    const judgement = isBroken ? NOT_JUDGED : judge()
    isBroken ||= judgement.state !== 'ok' && judgement.state !== 'warn'
    return { name, ...judgement }
  })
}

const NOT_JUDGED: Judgement = { state: 'not_judged', code: null, text: '' }

/** Why nothing is heard: the first check that failed; undefined when all passed. */
export function brokenCheck<Name extends string>(checks: readonly Check<Name>[]): Check<Name> | undefined {
  return checks.find(({ state }) => state !== 'ok' && state !== 'warn')
}

// Measurements of each second, for as long as a page shows.

/** One hour. */
export const HISTORY_SECONDS = 3600

/** The answer of `GET /api/history`. */
export interface HistoryView {
  step_s: 1
  /** Epoch ms of the first point of every series. */
  from_at: number
  /** Oldest first, all of the same length, which grows up to the whole span; unknown is null. */
  series: Record<string, (number | null)[]>
}

/** Some of this second's values. Unknown and missing values are null. */
export type Measured<Name extends string> = Readonly<Partial<Record<Name, number | null>>>

export interface History<Name extends string = string> {
  /**
   * Adds values to the present second; several callers may add their own. Call each second: if a late timer skipped one
   * second, that second gets the same values.
   */
  add(values: Measured<Name>): void
  view(): HistoryView
}

interface HistoryOptions<Name extends string> {
  clock: Clock
  names: readonly Name[]
  seconds: number
}

/** Digits that a 32-bit float keeps. */
const DIGITS = 7

/** Always holds `seconds` values of each name, four bytes each. */
export function createHistory<Name extends string>({ clock, names, seconds }: HistoryOptions<Name>): History<Name> {
  const rings = new Map(names.map((name) => [name, new Float32Array(seconds).fill(Number.NaN)]))
  const second = () => Math.floor(clock.monotonicMs() / 1000)
  /** The newest second with values, and the first. */
  let newest: number | undefined
  let first = 0

  /** Makes room for a second; skipped ones are unknown. */
  function moveTo(now: number): void {
    if (newest === undefined) first = now
    else for (let at = Math.max(newest + 1, now - seconds + 1); at <= now; at++) forget(at)
    newest = now
  }

  function forget(at: number): void {
    for (const ring of rings.values()) ring[at % seconds] = Number.NaN
  }

  return {
    add(values) {
      const now = second()
      const leftOut = newest !== undefined && now - newest === 2 ? now - 1 : undefined
      if (newest === undefined || now > newest) moveTo(now)
      for (const [name, ring] of rings) {
        const value = values[name]
        if (value === undefined || value === null) continue
        ring[now % seconds] = value
        if (leftOut !== undefined) ring[leftOut % seconds] = value
      }
    },
    view() {
      const last = newest ?? second()
      const from = Math.max(newest === undefined ? last + 1 : first, last - seconds + 1)
      const series = [...rings].map(([name, ring]) => [name, pointsOf(ring, from, last)] as const)
      const fromMs = clock.epochMs() - (clock.monotonicMs() - from * 1000)
      return { step_s: 1, from_at: Math.round(fromMs), series: Object.fromEntries(series) }
    },
  }
}

function pointsOf(ring: Float32Array, from: number, last: number): (number | null)[] {
  return Array.from({ length: last - from + 1 }, (_, index) => {
    const value = ring[(from + index) % ring.length]
    return value === undefined || Number.isNaN(value) ? null : Number(value.toPrecision(DIGITS))
  })
}
