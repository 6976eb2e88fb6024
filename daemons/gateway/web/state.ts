/**
 * What the pages know of this gateway, fetched every two seconds while the page is visible, and the rates between two
 * fetches.
 */
import { computed, effect, signal } from '@preact/signals'
import { CallFault, NoContact } from '#kit/web/call.ts'
import { aheadMs, zone } from '#kit/web/contact.ts'
import { isSignedOut, token } from '#kit/web/session.ts'
import { api, type Counters, type Me, type Port, type Status, type System } from './api.ts'
import * as texts from './texts.ts'
import { bitsPerByte } from './words.ts'

// Rates from counters: how much came per second between two fetches, and how busy the line was.

/** One port's counters at one instant. */
export interface Sample {
  atMs: number
  counters: Counters
}

/** How many samples are kept per port: a minute at one every two seconds. */
const SAMPLES = 30

/** Adds a sample. If counters went down (a new port, a restart), the history starts anew. */
export function withSample(samples: readonly Sample[], port: Port, atMs: number): readonly Sample[] {
  if (!port.counters) return []
  const last = samples.at(-1)
  const isAnew = last !== undefined && total(last.counters) > total(port.counters)
  return [...(isAnew ? [] : samples.slice(-SAMPLES + 1)), { atMs, counters: port.counters }]
}

function total(counters: Counters): number {
  return (counters.rxBytes ?? 0) + (counters.txBytes ?? 0)
}

/** The rate per second of the sum of these counters between adjacent samples, oldest first. */
export function counterRates(samples: readonly Sample[], names: readonly string[]): number[] {
  const sum = (counters: Counters): number => names.reduce((all, name) => all + (counters[name] ?? 0), 0)
  return samples.slice(1).flatMap((sample, at) => {
    const before = samples[at]
    if (!before || sample.atMs <= before.atMs) return []
    return [Math.max(0, ((sum(sample.counters) - sum(before.counters)) * 1000) / (sample.atMs - before.atMs))]
  })
}

/** How busy the line was between samples, in percent, oldest first. Empty if the line is not set up. */
export function loadsOf(samples: readonly Sample[], port: Port): number[] {
  const { line } = port
  if (!line) return []
  return counterRates(samples, ['rxBytes', 'txBytes']).map((rate) =>
    Math.min(100, (rate * bitsPerByte(line) * 100) / line.baud),
  )
}

/** The mean of the last few entries, so that one slow fetch causes no jump; null if there are none. */
export function recentMean(history: readonly number[]): number | null {
  const last = history.slice(-3)
  return last.length === 0 ? null : last.reduce((all, each) => all + each, 0) / last.length
}

/** How often the lines are fetched. */
export const LOOK_MS = 2000
/** Time, memory and addresses change slowly, so they are fetched only every so many times. */
const SYSTEM_EVERY = 5

export const status = signal<Status | null>(null)
export const me = signal<Me | null>(null)
export const system = signal<System | null>(null)
/** Null until the first reply. */
export const ports = signal<Port[] | null>(null)
export const samples = signal<ReadonlyMap<string, readonly Sample[]>>(new Map())
/** Whether the user may change things. */
export const isAdmin = computed(() => me.value?.role === 'admin')

/** True from the first step of the first run to the last, even after the administrator was made. */
export const isSettingUp = signal(false)

let looks = 0
let knownToken: string | null = null

/** Fetches everything once. @throws NoContact if the gateway did not answer */
export async function look(): Promise<void> {
  try {
    if (token.value === null || isSignedOut.value) {
      status.value = await api.status()
      return
    }
    if (token.value !== knownToken) await meet()
    if (looks % SYSTEM_EVERY === 0) await lookAtSystem()
    looks += 1
    await lookAtPorts()
  } catch (thrown) {
    if (thrown instanceof NoContact) throw thrown
    if (!(thrown instanceof CallFault)) throw thrown
  }
}

/** A user has signed in: fetches who it is, and starts anew. */
async function meet(): Promise<void> {
  const signedIn = token.value
  const known = await api.me()
  if (token.value !== signedIn) return
  me.value = known
  if (status.value === null) status.value = await api.status()
  looks = 0
  knownToken = signedIn
}

/** Fetches the system page's facts, and from them the offset of this browser's clock. */
export async function lookAtSystem(): Promise<void> {
  const askedAt = Date.now()
  const answer = await api.system()
  aheadMs.value = (askedAt + Date.now()) / 2 - answer.epochMs
  zone.value = answer.timeZone
  system.value = answer
  // The name plate of the sign-in page takes its name from the status.
  if (status.value) status.value = { ...status.value, name: answer.name }
}

/** Fetches the lines now: after every change made here, and every two seconds. */
export async function lookAtPorts(): Promise<void> {
  const askedWith = token.value
  const seen = await api.ports()
  if (token.value !== askedWith) return
  const at = Date.now()
  samples.value = new Map(seen.map((port) => [port.path, withSample(samples.value.get(port.path) ?? [], port, at)]))
  ports.value = seen
}

// Nothing of one user is shown to the next.
effect(() => {
  if (token.value !== null) return
  me.value = null
  system.value = null
  ports.value = null
  samples.value = new Map()
  knownToken = null
})

/** The line at a path; null if there is none. */
export function portAt(path: string): Port | null {
  return ports.value?.find((port) => port.path === path || port.byId === path) ?? null
}

/** The facts on the name plate. */
export function plateFacts(): { role: string; name: string; address: string } {
  const name = system.value?.name ?? status.value?.name ?? ''
  return { role: texts.gateway, name, address: location.host }
}
