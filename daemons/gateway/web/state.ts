/** What the pages know of this gateway, asked again every two seconds while somebody looks. */
import { computed, signal } from '@preact/signals'
import { CallFault, NoContact } from '#kit/web/call.ts'
import { aheadMs, zone } from '#kit/web/now.ts'
import { isSignedOut, token } from '#kit/web/session.ts'
import { api, type Me, type Port, type Status, type System } from './api.ts'
import { type Sample, withSample } from './rates.ts'

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
  return { role: 'Gateway', name, address: location.host }
}
