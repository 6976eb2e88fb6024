/** Edits that were not saved: they are asked for before the page leaves them, by a link, a key, the back button or a closed tab. */
import { signal } from '@preact/signals'

/** Forms on the page that hold more than what is saved say so. */
const keepers = new Set<() => boolean>()

/** Where the reader wants to go, while he is asked. */
export const leaving = signal<(() => void) | null>(null)

/** Has edits asked for as long as they are on the page. @returns ends that */
export function guardEdits(isDirty: () => boolean): () => void {
  keepers.add(isDirty)
  return () => void keepers.delete(isDirty)
}

/** Whether something typed would be lost. */
export function hasUnsaved(): boolean {
  return [...keepers].some((isDirty) => isDirty())
}

/** Asks whether edits may be lost. @param go runs once the reader says so */
export function askToLeave(go: () => void): void {
  leaving.value = go
}

/** Asks when a tab is closed or loaded anew; the browser has its own words for that. */
export function startUnsaved(): void {
  addEventListener('beforeunload', (event) => {
    if (hasUnsaved()) event.preventDefault()
  })
}
