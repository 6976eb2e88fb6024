/** A whole controller with a site, and clocks that the test sets. */
import type { Test } from 'tap'
import { type SetClock, setClock } from '#kit/test/shifted-clock.ts'
import { openRestSite, type RestSite, type SiteOptions } from './rest-site.ts'

const SECOND_MS = 1000
export const HOUR_MS = 3600 * SECOND_MS
export const YEAR_MS = 365 * 24 * HOUR_MS

/** Successive changes of a wall clock: back for winter time, to another year, and back. */
export const STEPS: readonly [string, number][] = [
  ['back one hour', -HOUR_MS],
  ['forward one year', YEAR_MS],
  ['and home again', HOUR_MS - YEAR_MS],
]

/** Starts one. Calls do not share connections: an idle one might expire just when it is used. */
export async function openTimedSite(t: Test, options: SiteOptions = {}): Promise<{ site: RestSite; clock: SetClock }> {
  const clock = setClock(t)
  const headers = { connection: 'close' }
  return { clock, site: await openRestSite(t, { ...options, headers, within: () => clock.within }) }
}
