/** The route: the part of the address after `#`, as words; and the question before unsaved edits are left. */
import { signal } from '@preact/signals'

// Removes user and password from the page's address.

/**
 * Starts if the page's address has no user and password; otherwise reloads it without them. Opened as
 * `http://admin:PW@board/`, every call by a path would fail, since the path is completed with an address that no
 * request may have (Fetch, 5.3, step 6), and the password would be visible in the address bar. The browser has stored
 * it and signs in with it.
 */
export function atPlainAddress(begin: () => void): void {
  const { username, password } = new URL(document.URL)
  const { origin, pathname, search, hash } = location
  if (username === '' && password === '') begin()
  else location.replace(`${origin}${pathname}${search}${hash}`)
}

// Unsaved edits: the user is asked before leaving them by a link, a key, the back button or a closed tab.

/** Checks of the forms on the page: true if they hold unsaved edits. */
const keepers = new Set<() => boolean>()

/** Continues to where the user wants to go, while the question is open. */
export const leaving = signal<(() => void) | null>(null)

/** Registers a check for unsaved edits. @returns removes it */
export function guardEdits(isDirty: () => boolean): () => void {
  keepers.add(isDirty)
  return () => void keepers.delete(isDirty)
}

/** Whether anything typed would be lost. */
function hasUnsaved(): boolean {
  return [...keepers].some((isDirty) => isDirty())
}

/** Asks whether edits may be lost. @param go runs if the user agrees */
function askToLeave(go: () => void): void {
  leaving.value = go
}

/** Asks before a tab is closed or reloaded; the browser uses its own words. */
function startUnsaved(): void {
  addEventListener('beforeunload', (event) => {
    if (hasUnsaved()) event.preventDefault()
  })
}

function read(): string[] {
  const words = location.hash.replace(/^#\/?/, '').split('/')
  return words.filter((word) => word !== '').map(decoded)
}

/** A malformed word is taken as it is. */
function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}

/** The words of the address: `#/port/%2Fdev%2FttyUSB0` is `['port', '/dev/ttyUSB0']`. */
export const place = signal<string[]>(typeof location === 'undefined' ? [] : read())

/** Counts the addresses that were opened, the same one again among them: the key of a page that follows its own. */
export const visits = signal(0)

/** Link to a page from its words. */
export function linkTo(...words: string[]): string {
  return `#/${words.map(encodeURIComponent).join('/')}`
}

/** Goes to a page. */
export function goTo(...words: string[]): void {
  open(linkTo(...words))
}

/** True once the user has agreed to lose edits. */
let isAgreed = false

function open(hash: string): void {
  if (!hasUnsaved()) location.hash = hash
  else if (hash !== location.hash)
    askToLeave(() => {
      isAgreed = true
      location.hash = hash
    })
}

/** Address of what is shown. */
let here = ''

/** Gives what is shown another address, by which it can be opened again; it stays as it is. */
export function renameHere(...words: string[]): void {
  here = linkTo(...words)
  history.replaceState(null, '', here)
}

/** Follows the address bar. A new page starts at its top with the focus on it, unless the user was quicker. */
export function startRoute(): void {
  here = location.hash
  startUnsaved()
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#/"]') : null
    if (!link || !hasUnsaved() || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    open(link.getAttribute('href') ?? '')
  })
  addEventListener('hashchange', () => {
    const { hash } = location
    function follow(): void {
      isAgreed = false
      here = hash
      arrive()
    }
    if (hash === here) return
    if (isAgreed || !hasUnsaved()) return follow()
    // Back, forward and the address bar have already changed the address: restore that of the visible page.
    history.replaceState(null, '', here || location.pathname)
    askToLeave(() => {
      history.replaceState(null, '', hash || location.pathname)
      follow()
    })
  })
}

function arrive(): void {
  place.value = read()
  visits.value++
  requestAnimationFrame(() => {
    scrollTo(0, 0)
    const main = document.getElementById('main')
    const isInside = main?.contains(document.activeElement) && main !== document.activeElement
    if (!isInside) main?.focus({ preventScroll: true })
  })
}
