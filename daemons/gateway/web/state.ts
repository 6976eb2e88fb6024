/** What the pages know of this gateway, asked again every two seconds while somebody looks; and what counters tell from one look to the next. */
import { computed, signal } from '@preact/signals'
import { CallFault, NoContact } from '#kit/web/call.ts'
import { aheadMs, zone } from '#kit/web/contact.ts'
import { isSignedOut, token } from '#kit/web/session.ts'
import { api, type Counters, type Me, type Port, type Status, type System } from './api.ts'
import * as texts from './texts.ts'
import { bitsPerByte } from './words.ts'

// Rates from counters: what came per second between two looks, and how full the line was.

/** One look at a port's counters. */
export interface Sample {
  atMs: number
  counters: Counters
}

/** Looks kept for each port: a minute at one every two seconds. */
const SAMPLES = 30

/** Adds a look. Counters that went down (a new port, a restart) start over. */
export function withSample(samples: readonly Sample[], port: Port, atMs: number): readonly Sample[] {
  if (!port.counters) return []
  const last = samples.at(-1)
  const isAnew = last !== undefined && total(last.counters) > total(port.counters)
  return [...(isAnew ? [] : samples.slice(-SAMPLES + 1)), { atMs, counters: port.counters }]
}

function total(counters: Counters): number {
  return (counters.rxBytes ?? 0) + (counters.txBytes ?? 0)
}

/** Per second between each look and the one before, of the sum of these counters, oldest first. */
export function counterRates(samples: readonly Sample[], names: readonly string[]): number[] {
  const sum = (counters: Counters): number => names.reduce((all, name) => all + (counters[name] ?? 0), 0)
  return samples.slice(1).flatMap((sample, at) => {
    const before = samples[at]
    if (!before || sample.atMs <= before.atMs) return []
    return [Math.max(0, ((sum(sample.counters) - sum(before.counters)) * 1000) / (sample.atMs - before.atMs))]
  })
}

/** How much of the line's time bytes took, in percent, oldest first. Empty where the line is not set up. */
export function loadsOf(samples: readonly Sample[], port: Port): number[] {
  const { line } = port
  if (!line) return []
  return counterRates(samples, ['rxBytes', 'txBytes']).map((rate) =>
    Math.min(100, (rate * bitsPerByte(line) * 100) / line.baud),
  )
}

/** The newest of a history over its last few looks, so that one slow look does not jump; null without any. */
export function recentMean(history: readonly number[]): number | null {
  const last = history.slice(-3)
  return last.length === 0 ? null : last.reduce((all, each) => all + each, 0) / last.length
}

/** How often lines are looked at. */
export const LOOK_MS = 2000
/** Time, memory and addresses change slowly. */
const SYSTEM_EVERY = 5

export const status = signal<Status | null>(null)
export const me = signal<Me | null>(null)
export const system = signal<System | null>(null)
/** Null until the first answer. */
export const ports = signal<Port[] | null>(null)
export const samples = signal<ReadonlyMap<string, readonly Sample[]>>(new Map())
/** Whether the reader may change things. */
export const isAdmin = computed(() => me.value?.role === 'admin')

/** True from the first step of the first run to the last, also when the administrator was just made. */
export const isSettingUp = signal(false)

let looks = 0
let knownToken: string | null = null

/** One look at everything. @throws NoContact when the gateway did not answer */
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

/** Somebody signed in: who it is, and nothing of whoever was here before. */
async function meet(): Promise<void> {
  const signedIn = token.value
  me.value = await api.me()
  if (status.value === null) status.value = await api.status()
  looks = 0
  knownToken = signedIn
}

/** Reads the system; its clock tells how far this browser's is off. */
export async function lookAtSystem(): Promise<void> {
  const askedAt = Date.now()
  const answer = await api.system()
  aheadMs.value = (askedAt + Date.now()) / 2 - answer.epochMs
  zone.value = answer.timeZone
  system.value = answer
  // The plate of the sign-in page has its name from the status.
  if (status.value) status.value = { ...status.value, name: answer.name }
}

/** Reads the lines now: after every change the hand made, and every two seconds. */
export async function lookAtPorts(): Promise<void> {
  const seen = await api.ports()
  const at = Date.now()
  samples.value = new Map(seen.map((port) => [port.path, withSample(samples.value.get(port.path) ?? [], port, at)]))
  ports.value = seen
}

/** Forgets everything of the one who was signed in. */
export function forget(): void {
  me.value = null
  system.value = null
  ports.value = null
  samples.value = new Map()
  knownToken = null
}

/** A line by its path, or null. */
export function portAt(path: string): Port | null {
  return ports.value?.find((port) => port.path === path || port.byId === path) ?? null
}

/** What the name plate says. */
export function plateFacts(): { role: string; name: string; address: string } {
  const name = system.value?.name ?? status.value?.name ?? ''
  return { role: texts.gateway, name, address: location.host }
}
