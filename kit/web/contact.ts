/** Time here and at the daemon, and contact with it: lost since when, and when the next try is. */
import { computed, signal } from '@preact/signals'

// The page's clock: ticks twice a second while the page is visible, and knows the daemon's time.

const STEP_MS = 500

/** Time of the browser, epoch ms; ticks twice a second while the page is visible. */
export const now = signal(Date.now())

/** How far the browser's clock is ahead of the daemon's, in ms. */
export const aheadMs = signal(0)

/** The daemon's time zone; undefined until known, then the site's zone is used. */
export const zone = signal<string | undefined>(undefined)

/** The daemon's time as estimated here, epoch ms, ticking with `now`. */
export function daemonNow(): number {
  return now.value - aheadMs.value
}

/** Starts the clock; it stops on hidden pages. */
export function startNow(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now()
  }, STEP_MS)
  document.addEventListener('visibilitychange', () => {
    now.value = Date.now()
  })
}

/** Back-off between tries while there is no contact; the last value repeats. */
export const RETRY_MS: readonly number[] = [1000, 2000, 4000, 8000]

/** State of the contact. All times are the browser's, epoch ms. */
interface Contact {
  isLost: boolean
  /** When the daemon last answered anything. */
  lastGoodAt: number
  /** Time of the next try; only while lost. */
  nextTryAt: number
  /** Failed tries since contact was lost. */
  tries: number
}

/** The contact after an answer came. */
export function contactKept(atMs: number): Contact {
  return { isLost: false, lastGoodAt: atMs, nextTryAt: 0, tries: 0 }
}

/** The contact after a failed try. */
export function contactFailed(before: Contact, atMs: number): Contact {
  const waitMs = RETRY_MS[Math.min(before.tries, RETRY_MS.length - 1)] ?? 8000
  return { isLost: true, lastGoodAt: before.lastGoodAt, nextTryAt: atMs + waitMs, tries: before.tries + 1 }
}

/** The contact of this page. */
export const contact = signal<Contact>(contactKept(Date.now()))

/** True while there is no contact: values look old and controls are disabled. */
export const isLost = computed(() => contact.value.isLost)

let wake: () => void = () => {}
let isTrying = false

/** Tries at once. */
export function tryNow(): void {
  wake()
}

/**
 * Polls the daemon: every `everyMs` while the page is visible, with the back-off of RETRY_MS while there is no contact.
 * Other code that gets no answer calls `lose`, which polls at once.
 * @param ask rejects if there is no contact; it must handle all other errors itself
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

/** Call when another request got no answer: checks at once whether contact is lost. */
export function lose(): void {
  if (!contact.value.isLost) wake()
}
