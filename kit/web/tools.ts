/** Tools of a page of rows: its filter, the button to add one, and keys to move through the rows. */
import type { VNode } from 'preact'
import { type Child, html } from './html.ts'
import { icon } from './parts.ts'
import * as texts from './texts.ts'

/** Contents of the tools. */
interface ToolsFacts {
  filter: string
  setFilter: (text: string) => void
  /** Accessible name of the filter, `Filter users`. */
  label: string
  placeholder?: string
  /** A second filter beside the first. */
  more?: Child
  children?: Child
}

/** Filter and buttons. */
export function Tools({
  filter,
  setFilter,
  label,
  placeholder = texts.toolsFilter,
  more,
  children,
}: ToolsFacts): VNode {
  return html`<header class="tools">${filterInput({ filter, setFilter, label, placeholder, isFirst: true })}${more}
    <div class="acts">${children}</div></header>`
}

/** A filter; Esc clears it. @param facts.isFirst the one that `/` finds */
export function filterInput(facts: ToolsFacts & { isFirst?: boolean }): VNode {
  const onInput = (event: InputEvent): void => facts.setFilter((event.target as HTMLInputElement).value)
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') facts.setFilter('')
  }
  return html`<div class="input">${facts.isFirst ? icon('search') : null}<input type="text" data-filter=${facts.isFirst || undefined}
      aria-label=${facts.label} placeholder=${facts.placeholder} value=${facts.filter} onInput=${onInput} onKeyDown=${onKeyDown}
      autocomplete="off" spellcheck=${false} /></div>`
}

/** Whether a text holds every word of a filter. */
export function matches(text: string, filter: string): boolean {
  const lower = text.toLowerCase()
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}

// Table rows: arrow keys move through their links, a press anywhere on a row follows its link.

/** The links of the rows matching a selector, in page order. */
export function rowLinks(selector: string): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(selector)]
}

/** Focuses the next link, or the previous one; stops at the ends. @returns false if there is none */
export function walkRows(selector: string, step: number): boolean {
  const all = rowLinks(selector)
  const at = all.indexOf(document.activeElement as HTMLElement)
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))]
  next?.focus()
  return next !== undefined
}

/** Follows the link of a pressed row, unless a link inside it was pressed or text is selected. */
export function followRow(event: Event, href: string): void {
  if (event.target instanceof Element && event.target.closest('a')) return
  if (getSelection()?.toString()) return
  location.hash = href
}
