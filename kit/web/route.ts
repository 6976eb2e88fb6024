/** Where the reader is: the part of the address after `#`, as words. */
import { signal } from '@preact/signals'
import { askToLeave, hasUnsaved, startUnsaved } from './unsaved.ts'

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
