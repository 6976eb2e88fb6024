/** The pages' state of this board: pushed by the feed, polled when the feed is down, kept across a restart. */
import { signal } from '@preact/signals'
import { aheadMs, isLost, lose, tryNow } from '#kit/web/contact.ts'
import { createLevels, type ToldLevels } from '#kit/web/levels.ts'
import { age } from '#kit/web/numbers.ts'
import { toast } from '#kit/web/parts.ts'
import type { PlateFacts } from '#kit/web/shell.ts'
import { keepSocket } from '#kit/web/socket.ts'
import { api, type Status } from './api.ts'
import * as texts from './texts.ts'
import { roleTitles } from './words.ts'

// A restart that the hand asked for: waited for here, and followed to where the board is afterwards.

/** A restart that is waited for. Times are the browser's, epoch ms. */
interface Restarting {
  /** What the board does, such as `Saved.`; how long it takes follows. */
  what: string
  /** When the board that goes down had started, by its own clock. */
  startedAt: number
  sinceMs: number
  aboutS: number
  /** Addresses it may have afterwards, `http://10.20.4.12`, beside the one this page came from. */
  places: readonly string[]
}

/** The restart under way; null while there is none. */
export const restarting = signal<Restarting | null>(null)

/** How often it is looked for the board. */
const RESTART_LOOK_MS = 1000
/** One try at another address. */
const TRY_MS = 3000
/** A board that needs this much longer than it said does not come back where it is looked for. */
const LATE_S = 45

let timer: ReturnType<typeof setInterval> | undefined

/** Waits for a restart that the board has just announced. */
export function awaitRestart(facts: Omit<Restarting, 'sinceMs'>): void {
  restarting.value = { ...facts, sinceMs: Date.now() }
  clearInterval(timer)
  timer = setInterval(() => void lookAround(), RESTART_LOOK_MS)
}

/** The board told when it started: another instant than before means that it is back. */
function noticeStart(startedAt: number): void {
  const waited = restarting.value
  if (!waited || waited.startedAt === startedAt) return
  end()
  toast(texts.boardIsBackAfter(age(Math.max(1000, Date.now() - waited.sinceMs))))
}

function end(): void {
  clearInterval(timer)
  restarting.value = null
}

/** Asks the old address again, and once that is silent, the others: the first that answers is followed. */
async function lookAround(): Promise<void> {
  const waited = restarting.value
  if (!waited) return
  tryNow()
  if (!isLost.value) return
  const answers = waited.places.map(async (place) => ((await doesAnswer(place)) ? place : undefined))
  const found = (await Promise.all(answers)).find((place) => place !== undefined)
  if (found === undefined || restarting.value === null) return
  end()
  location.href = `${found}/${location.hash}`
}

/** Whether anything answers there. The answer itself is not for pages of another address, and not needed. */
async function doesAnswer(place: string): Promise<boolean> {
  try {
    await fetch(`${place}/`, { mode: 'no-cors', credentials: 'omit', signal: AbortSignal.timeout(TRY_MS) })
    return true
  } catch {
    return false
  }
}

/** Whether a restart takes longer than can be explained. */
export function isLate({ sinceMs, aboutS }: Restarting, nowMs: number): boolean {
  return nowMs - sinceMs > (aboutS + LATE_S) * 1000
}

/** How the waiting is put: for how long so far, and how long it takes. */
export function waitText(waited: Restarting, nowMs: number): string {
  const so = age(Math.max(1000, nowMs - waited.sinceMs))
  if (isLate(waited, nowMs)) {
    const where = waited.places.length > 0 ? texts.mayBe(waited.places.join(' or ')) : ''
    return texts.hasNotComeBack(so, age(waited.aboutS * 1000), where)
  }
  return texts.boardRestarts(age(waited.aboutS * 1000), so)
}

/** Settings by which a board is found. */
export interface AddressSettings {
  static_ip: boolean
  ip: string
  hostname: string
}

/**
 * Addresses a board may have after its settings were saved, beside the one of this page: the fixed one where it is new;
 * its name where that is new or where nobody knows what DHCP gives.
 */
export function placesAfter(
  after: AddressSettings,
  before: AddressSettings,
  here: { protocol: string; hostname: string; port: string },
): string[] {
  const isMoved = after.static_ip !== before.static_ip || (after.static_ip && after.ip !== before.ip)
  const isRenamed = after.hostname !== before.hostname && here.hostname.endsWith('.local')
  const hosts: string[] = []
  if (isMoved && after.static_ip) hosts.push(after.ip)
  if ((isMoved || isRenamed) && isHostName(after.hostname)) hosts.push(`${after.hostname}.local`)
  const port = here.port === '' ? '' : `:${here.port}`
  return hosts.filter((host) => host !== here.hostname).map((host) => `${here.protocol}//${host}${port}`)
}

function isHostName(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i.test(text)
}

// The board as the feed tells it.

/** How often it is made sure that there is contact. */
export const LOOK_MS = 2000
/** A feed that was silent for longer is not trusted: it tells something every second. */
const TRUSTED_MS = 2500

/** The board as it was last told; null until the first answer. */
export const status = signal<Status | null>(null)
/** True from the first step of the first run to the last, also when the board knows its name already. */
export const isSettingUp = signal(false)

/** How loud it is, in a role with sound. */
export const levels = createLevels()

let heardAtMs = 0

/** Listens as long as the page lives. */
export function startFeed(): void {
  keepSocket({
    begin() {},
    hear(message) {
      const told = message as { type: 'status'; status: Status } | { type: 'meters'; meters: ToldLevels }
      if (told.type === 'meters') levels.hear(told.meters, performance.now())
      if (told.type !== 'status') return
      heardAtMs = Date.now()
      take(told.status)
    },
    end() {
      heardAtMs = 0
      lose()
    },
  })
}

/** One look. @throws NoContact, CallFault when the board did not answer, or not with how it is */
export async function look(): Promise<void> {
  if (Date.now() - heardAtMs < TRUSTED_MS) return
  take(await api.status())
}

/** Asks at once, after the hand changed something. */
export async function lookNow(): Promise<void> {
  heardAtMs = 0
  await look().catch(() => {})
}

function take(told: Status): void {
  aheadMs.value = Date.now() - told.time.now
  status.value = told
  noticeStart(told.started_at)
}

/** The text of the name plate. */
export function plateFacts(): PlateFacts {
  const known = status.value
  const name = known?.name || known?.hostname || location.hostname
  return { role: known ? roleTitles[known.role] : texts.unknownBoard, box: texts.box, name, address: location.host }
}
