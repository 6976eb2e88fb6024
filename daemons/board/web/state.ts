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

// A restart requested by the user: waits for it, and follows the board to its new address.

/** A restart in progress. Times are the browser's, epoch ms. */
interface Restarting {
  /** What was done, such as `Saved.`; the expected duration follows. */
  what: string
  /** Start time of the board before the restart, by its own clock. */
  startedAt: number
  sinceMs: number
  aboutS: number
  /** Addresses it may have afterwards, `http://10.20.4.12`, beside the one this page came from. */
  places: readonly string[]
}

/** The restart under way; null while there is none. */
export const restarting = signal<Restarting | null>(null)

/** Interval of polls for the board. */
const RESTART_LOOK_MS = 1000
/** Timeout of one attempt at another address. */
const TRY_MS = 3000
/** A board this much later than it said will not come back where the page looks. */
const LATE_S = 45

let timer: ReturnType<typeof setInterval> | undefined

/** Waits for a restart that the board has just announced. */
export function awaitRestart(facts: Omit<Restarting, 'sinceMs'>): void {
  restarting.value = { ...facts, sinceMs: Date.now() }
  clearInterval(timer)
  timer = setInterval(() => void lookAround(), RESTART_LOOK_MS)
}

/** Called with the board's start time: a different one means that it is back. */
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

/** Polls the old address, and once that is silent, the others: the page follows the first that answers. */
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

/** Whether anything answers there. Pages of another address cannot read the answer, and need not. */
async function doesAnswer(place: string): Promise<boolean> {
  try {
    await fetch(`${place}/`, { mode: 'no-cors', credentials: 'omit', signal: AbortSignal.timeout(TRY_MS) })
    return true
  } catch {
    return false
  }
}

/** Whether a restart takes longer than can be expected. */
export function isLate({ sinceMs, aboutS }: Restarting, nowMs: number): boolean {
  return nowMs - sinceMs > (aboutS + LATE_S) * 1000
}

/** Text while waiting: for how long so far, and how long it should take. */
export function waitText(waited: Restarting, nowMs: number): string {
  const so = age(Math.max(1000, nowMs - waited.sinceMs))
  if (isLate(waited, nowMs)) {
    const where = waited.places.length > 0 ? texts.mayBe(waited.places.join(' or ')) : ''
    return texts.hasNotComeBack(so, age(waited.aboutS * 1000), where)
  }
  return texts.boardRestarts(age(waited.aboutS * 1000), so)
}

/** Settings that determine a board's address. */
export interface AddressSettings {
  static_ip: boolean
  ip: string
  hostname: string
}

/**
 * Addresses a board may have after its settings were saved, besides this page's: the fixed one if it is new; its name
 * if that is new or if only DHCP knows the address.
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

// The board as reported by the feed.

/** Interval of checks for contact. */
export const LOOK_MS = 2000
/** A feed silent for longer is not trusted: it sends something every second. */
const TRUSTED_MS = 2500

/** The latest status; null until the first answer. */
export const status = signal<Status | null>(null)
/** True throughout the first run, even once the board knows its name. */
export const isSettingUp = signal(false)

/** Levels, in a role with sound. */
export const levels = createLevels()

let heardAtMs = 0

/** Listens for the life of the page. */
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

/** Polls once. @throws NoContact, CallFault if the board did not answer, or not with its status */
export async function look(): Promise<void> {
  if (Date.now() - heardAtMs < TRUSTED_MS) return
  take(await api.status())
}

/** Polls at once, after the user changed something. */
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
