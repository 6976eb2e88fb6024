/** What time it is here and at the daemon, and whether it can be reached: since when not, and when it is tried again. */
import { computed, signal } from '@preact/signals'

// The page's clock: steps a few times a second while the page is looked at, and knows the daemon's time.

const STEP_MS = 500

/** Time of the browser, epoch ms; steps twice a second while the page is visible. */
export const now = signal(Date.now())

/** How far the browser's clock is ahead of the daemon's, in ms. */
export const aheadMs = signal(0)

/** The daemon's time zone; undefined until it is known, then times are the site's. */
export const zone = signal<string | undefined>(undefined)

/** The daemon's time as this page understands it, epoch ms, stepping with `now`. */
export function daemonNow(): number {
  return now.value - aheadMs.value
}

/** Starts the clock; hidden pages stand still. */
export function startNow(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now()
  }, STEP_MS)
  document.addEventListener('visibilitychange', () => {
    now.value = Date.now()
  })
}

/** Waits between tries while there is no contact: quick at first, never longer than the last. */
export const RETRY_MS: readonly number[] = [1000, 2000, 4000, 8000]

/** State of the contact. All times are the browser's, epoch ms. */
interface Contact {
  isLost: boolean
  /** When the daemon last answered anything. */
  lastGoodAt: number
  /** When it is asked again; only while lost. */
  nextTryAt: number
  /** Tries in vain since it was lost. */
  tries: number
}

/** The contact after an answer came. */
export function contactKept(atMs: number): Contact {
  return { isLost: false, lastGoodAt: atMs, nextTryAt: 0, tries: 0 }
}

/** The contact after a try in vain. */
export function contactFailed(before: Contact, atMs: number): Contact {
  const waitMs = RETRY_MS[Math.min(before.tries, RETRY_MS.length - 1)] ?? 8000
  return { isLost: true, lastGoodAt: before.lastGoodAt, nextTryAt: atMs + waitMs, tries: before.tries + 1 }
}

/** The contact of this page. */
export const contact = signal<Contact>(contactKept(Date.now()))

/** True while there is no contact: values look old and controls wait. */
export const isLost = computed(() => contact.value.isLost)

let wake: () => void = () => {}
let isTrying = false

/** Tries at once. */
export function tryNow(): void {
  wake()
}

/**
 * Asks the daemon again and again: every `everyMs` while the page is looked at, after the waits of RETRY_MS while
 * there is no contact. Everything else that fails for lack of contact calls `lose` and is found out here.
 * @param ask rejects when there is no contact; whatever else goes wrong it keeps to itself
 */
export function startContact(ask: () => Promise<void>, everyMs: number): void {
  let timer: ReturnType<typeof setTimeout> | undefined

  async function turn(): Promise<void> {
    clearTimeout(timer)
    if (isTrying) return
    isTrying = true
    try {
      await ask()
      contact.value = contactKept(Date.now())
    } catch {
      contact.value = contactFailed(contact.value, Date.now())
    }
    isTrying = false
    const waitMs = contact.value.isLost ? Math.max(0, contact.value.nextTryAt - Date.now()) : everyMs
    if (!document.hidden) timer = setTimeout(() => void turn(), waitMs)
  }
  wake = () => void turn()
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) wake()
  })
  addEventListener('online', wake)
  void turn()
}

/** Something else got no answer: find out at once whether contact is lost. */
export function lose(): void {
  if (!contact.value.isLost) wake()
}
