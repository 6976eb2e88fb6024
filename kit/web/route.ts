/** Where the reader is: the part of the address after `#`, as words; and edits that are asked for before he leaves them. */
import { signal } from '@preact/signals'

// The address of a page, without user and password.

/**
 * Begins once the page is at an address without user and password, or opens it anew at that. Opened as
 * `http://admin:PW@board/`, every call by a path fails, since the path is completed by an address that no request may have
 * (Fetch, 5.3, step 6); and the password stood in the address bar. The browser has kept it and signs in with it.
 */
export function atPlainAddress(begin: () => void): void {
  const { username, password } = new URL(document.URL)
  const { origin, pathname, search, hash } = location
  if (username === '' && password === '') begin()
  else location.replace(`${origin}${pathname}${search}${hash}`)
}

// Edits that were not saved: they are asked for before the page leaves them, by a link, a key, the back button or a closed tab.

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
function hasUnsaved(): boolean {
  return [...keepers].some((isDirty) => isDirty())
}

/** Asks whether edits may be lost. @param go runs once the reader says so */
function askToLeave(go: () => void): void {
  leaving.value = go
}

/** Asks when a tab is closed or loaded anew; the browser has its own words for that. */
function startUnsaved(): void {
  addEventListener('beforeunload', (event) => {
    if (hasUnsaved()) event.preventDefault()
  })
}

function read(): string[] {
  const words = location.hash.replace(/^#\/?/, '').split('/')
  return words.filter((word) => word !== '').map(decoded)
}

/** A word somebody typed wrongly is taken as it stands. */
function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}

/** The words of the address: `#/port/%2Fdev%2FttyUSB0` is `['port', '/dev/ttyUSB0']`. */
export const place = signal<string[]>(typeof location === 'undefined' ? [] : read())

/** Address of a page from its words. */
export function linkTo(...words: string[]): string {
  return `#/${words.map(encodeURIComponent).join('/')}`
}

/** Goes to a page. */
export function goTo(...words: string[]): void {
  open(linkTo(...words))
}

/** The reader has said that edits may be lost. */
let isAgreed = false

function open(hash: string): void {
  if (!hasUnsaved()) location.hash = hash
  else if (hash !== location.hash)
    askToLeave(() => {
      isAgreed = true
      location.hash = hash
    })
}

/** Follows the address bar. A new page starts at its top with the focus on it, unless a hand was quicker. */
export function startRoute(): void {
  let here = location.hash
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
    // Back, forward and what is typed into the address bar are there already: the page in sight has its address again.
    history.replaceState(null, '', here || location.pathname)
    askToLeave(() => {
      history.replaceState(null, '', hash || location.pathname)
      follow()
    })
  })
}

function arrive(): void {
  place.value = read()
  requestAnimationFrame(() => {
    scrollTo(0, 0)
    const main = document.getElementById('main')
    const isInside = main?.contains(document.activeElement) && main !== document.activeElement
    if (!isInside) main?.focus({ preventScroll: true })
  })
}
