/** What stands over the audit: outcome, user, path, reason, and from when until when. */
import type { VNode } from 'preact'
import { type Child, html } from '#kit/web/html.ts'
import { zone } from '#kit/web/now.ts'
import { segments } from '#kit/web/segments.ts'
import { filterInput } from '#kit/web/tools.ts'
import { type AuditChoice, reasonChoices } from './audit-words.ts'

const TIMES = [
  ['', 'any time'],
  ['1', 'last hour'],
  ['24', 'last day'],
  ['168', 'last week'],
  ['picked', 'from … until …'],
] as const

/** What the tools are told. */
export interface AuditToolsFacts {
  choice: AuditChoice
  choose(choice: AuditChoice): void
  children?: Child
}

/** The tools. Times are those of the building, which need not be those of the reader. */
export function AuditTools({ choice, choose, children }: AuditToolsFacts): VNode {
  const change = (part: Partial<AuditChoice>): void => choose({ ...choice, ...part })
  const isGranted = choice.outcome === 'granted'
  return html`<header class="tools audit-tools">
    ${segments({
      label: 'Outcome',
      name: 'outcome',
      value: choice.outcome,
      options: [
        ['refused', 'Refused'],
        ['granted', 'Granted'],
        ['all', 'All'],
      ],
      choose: (outcome) =>
        change({ outcome: outcome as AuditChoice['outcome'], reason: outcome === 'granted' ? '' : choice.reason }),
    })}
    ${filterInput({ filter: choice.user, setFilter: (user) => change({ user }), label: 'Filter by user', placeholder: 'User', isFirst: true })}
    ${filterInput({ filter: choice.path, setFilter: (path) => change({ path }), label: 'Filter by path', placeholder: 'Path' })}
    ${select({ label: 'Filter by reason', value: choice.reason, options: [['', 'any reason'], ...reasonChoices], isOff: isGranted, pick: (reason) => change({ reason }) })}
    ${select({ label: 'Filter by time', value: choice.hours, options: TIMES, pick: (hours) => change({ hours }) })}
    <div class="acts">${children}</div>
    ${choice.hours === 'picked' ? span(choice, change) : null}</header>`
}

interface SelectFacts {
  label: string
  value: string
  options: readonly (readonly [value: string, words: string])[]
  isOff?: boolean
  pick(value: string): void
}

function select({ label, value, options, isOff, pick }: SelectFacts): VNode {
  const picked = (event: Event): void => pick((event.target as HTMLSelectElement).value)
  return html`<div class="input"><select aria-label=${label} value=${value} disabled=${isOff} onChange=${picked}>
    ${options.map(([each, words]) => html`<option value=${each} selected=${each === value}>${words}</option>`)}</select></div>`
}

/** Both ends of a time that is picked; one may stay open. */
function span(choice: AuditChoice, change: (part: Partial<AuditChoice>) => void): VNode {
  const end = (name: 'from' | 'until', label: string): VNode => html`<label class="span-end"><span>${label}</span>
    <span class="input"><input type="datetime-local" value=${choice[name]}
      onChange=${(event: Event) => change({ [name]: (event.target as HTMLInputElement).value })} /></span></label>`
  return html`<div class="span">${end('from', 'From')}${end('until', 'Until')}
    <span class="small faint">${zone.value ? `Time of the building, ${zone.value}.` : 'Time of this browser.'}</span></div>`
}
