/** The page's clock: steps a few times a second while the page is looked at, and knows the daemon's time. */
import { signal } from '@preact/signals'

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
