/** The keys that every page of a daemon understands: `?`, `g` and a letter, and `/` for the filter in sight. */
import { useKeys } from './keys.ts'
import { goTo } from './route.ts'

/** A page and the letter that goes to it after `g`. */
export interface KeyedPage {
  word: string
  label: string
  key: string
}

/** As long as the component is drawn. */
export function useEverywhereKeys(pages: readonly KeyedPage[]): void {
  useKeys('Everywhere', [
    { key: '?', what: 'shows these keys', run: () => false },
    ...pages.map(({ word, label, key }) => ({ key: `g ${key}`, what: label, run: () => go(word) })),
    { key: '/', what: 'filter', run: focusFilter },
  ])
}

function go(word: string): undefined {
  goTo(word)
}

/** Filters are marked, so that `/` finds the one of the page; some are behind a button that opens them. */
function focusFilter(): boolean {
  const filter = document.querySelector<HTMLElement>('[data-filter]')
  filter?.focus()
  if (filter instanceof HTMLButtonElement) filter.click()
  return filter !== null
}
