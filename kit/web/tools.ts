/** What stands over the rows of a table page: its filter, and the one thing one adds there. */
import type { VNode } from 'preact'
import { type Child, html } from './html.ts'
import { icon } from './icon.ts'

/** What the tools are told. */
export interface ToolsFacts {
  filter: string
  setFilter: (text: string) => void
  /** Spoken name of the filter, `Filter users`. */
  label: string
  placeholder?: string
  /** A second filter beside the first. */
  more?: Child
  children?: Child
}

/** Filter and buttons. */
export function Tools({ filter, setFilter, label, placeholder = 'Filter', more, children }: ToolsFacts): VNode {
  return html`<header class="tools">${filterInput({ filter, setFilter, label, placeholder, isFirst: true })}${more}
    <div class="acts">${children}</div></header>`
}

/** A filter; Esc empties it. @param facts.isFirst the one that `/` finds */
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
