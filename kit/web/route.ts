/** Where the reader is: the part of the address after `#`, as words. */
import { signal } from '@preact/signals'

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
  location.hash = linkTo(...words)
}

/** Follows the address bar. A new page starts at its top with the focus on it, unless a hand was quicker. */
export function startRoute(): void {
  addEventListener('hashchange', () => {
    place.value = read()
    requestAnimationFrame(() => {
      scrollTo(0, 0)
      const main = document.getElementById('main')
      const isInside = main?.contains(document.activeElement) && main !== document.activeElement
      if (!isInside) main?.focus({ preventScroll: true })
    })
  })
}
