/** Rows of a table under the hand: arrows walk their links, a press anywhere on a row follows its link. */

/** The links of the rows a selector names, in the order of the page. */
export function rowLinks(selector: string): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(selector)]
}

/** Gives the focus to the next link, or the one before; stays at the ends. @returns false where there is none */
export function walkRows(selector: string, step: number): boolean {
  const all = rowLinks(selector)
  const at = all.indexOf(document.activeElement as HTMLElement)
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))]
  next?.focus()
  return next !== undefined
}

/** Follows a row that was pressed; a link inside it goes its own way, and marked text stays marked. */
export function followRow(event: Event, href: string): void {
  if (event.target instanceof Element && event.target.closest('a')) return
  if (getSelection()?.toString()) return
  location.hash = href
}
