/** Fields of a form: label, control with unit, and a hint or what is wrong with it. */
import type { VNode } from 'preact'
import type { Form } from './form.ts'
import { type Child, html } from './html.ts'
import { lamp } from './lamp.ts'

/** What every kind of field has. */
export interface FieldFacts {
  form: Form
  name: string
  label: Child
  hint?: Child
  /** Extra class of the field: `wide` takes a whole row. */
  kind?: string
}

/** A field one types into. */
export interface InputFacts extends FieldFacts {
  unit?: string
  type?: 'text' | 'password' | 'number'
  autocomplete?: string
  placeholder?: string
  /** Suggestions; anything else may be typed as well. */
  options?: readonly string[]
  mono?: boolean
  /** Gets the focus when it appears. */
  first?: boolean
}

/** A field to type into. Numbers are text with a numeric keyboard: nothing changes under the wheel, and the API judges. */
export function input(facts: InputFacts): VNode {
  const { form, name, unit, type = 'text' } = facts
  const list = facts.options ? `${idOf(facts)}-list` : undefined
  const control = html`<input
    ...${ariaOf(facts)}
    type=${type === 'password' ? 'password' : 'text'}
    inputmode=${type === 'number' ? 'decimal' : undefined}
    autocomplete=${facts.autocomplete ?? 'off'}
    autocapitalize="off" spellcheck=${false}
    class=${facts.mono ? 'mono' : undefined}
    placeholder=${facts.placeholder}
    list=${list}
    autofocus=${facts.first}
    ref=${facts.first ? focusOnce : undefined}
    value=${String(form.values.value[name] ?? '')}
    onInput=${(event: InputEvent) => form.set(name, (event.target as HTMLInputElement).value)}
  />`
  const suggestions = list
    ? html`<datalist id=${list}>${facts.options?.map((each) => html`<option value=${each} />`)}</datalist>`
    : null
  const behind = unit ? html`<span>${unit}</span>` : null
  return field(facts, html`<div class="input">${control}${behind}</div>${suggestions}`)
}

/** `autofocus` works once a page load; this works whenever the field appears. */
export function focusOnce(element: HTMLElement | null): void {
  element?.focus()
}

/** A field to choose one of few in. */
export function choice(facts: FieldFacts & { options: readonly (readonly [value: string, label: string])[] }): VNode {
  const { form, name, options } = facts
  const value = String(form.values.value[name] ?? '')
  return field(
    facts,
    html`<div class="input"><select ...${ariaOf(facts)} value=${value}
      onChange=${(event: Event) => form.set(name, (event.target as HTMLSelectElement).value)}>
      ${options.map(([each, label]) => html`<option value=${each} selected=${each === value}>${label}</option>`)}
    </select></div>`,
  )
}

/** A field for several lines of text. */
export function area(facts: FieldFacts & { rows: number; placeholder?: string }): VNode {
  const { form, name, rows, placeholder } = facts
  return field(
    facts,
    html`<div class="input"><textarea ...${ariaOf(facts)} rows=${rows} class="mono" spellcheck=${false} placeholder=${placeholder}
      value=${String(form.values.value[name] ?? '')}
      onInput=${(event: InputEvent) => form.set(name, (event.target as HTMLTextAreaElement).value)}></textarea></div>`,
  )
}

/** A switch. */
export function toggle(facts: FieldFacts): VNode {
  const { form, name, label, hint } = facts
  const fault = form.faults.value[name]
  return html`<div class=${`field ${facts.kind ?? ''}`} data-s=${fault ? 'fault' : undefined}>
    <label class="switch"><input ...${ariaOf(facts)} type="checkbox" role="switch"
      checked=${form.values.value[name] === true}
      onChange=${(event: Event) => form.set(name, (event.target as HTMLInputElement).checked)} />${label}</label>
    ${note(facts, fault, hint)}</div>`
}

/** What the daemon refused about the form as a whole. @param more of fields that are not on the page */
export function refusal(form: Form, more: readonly string[] = []): VNode | null {
  const said = [form.refusal.value, ...more].filter(Boolean).join(' ')
  if (said === '') return null
  return html`<p class="refusal" role="alert" tabindex="-1" id=${`${form.id}-refusal`} data-s="fault">
    ${lamp('fault')}<span>${said}</span></p>`
}

function idOf({ form, name }: FieldFacts): string {
  return `${form.id}-${name.replaceAll(/[^\w-]/g, '-')}`
}

function ariaOf(facts: FieldFacts): Record<string, unknown> {
  const id = idOf(facts)
  const fault = facts.form.faults.value[facts.name]
  return {
    id,
    name: facts.name,
    'aria-invalid': fault ? 'true' : undefined,
    'aria-describedby': fault || facts.hint ? `${id}-note` : undefined,
  }
}

function field(facts: FieldFacts, control: VNode): VNode {
  const fault = facts.form.faults.value[facts.name]
  return html`<div class=${`field ${facts.kind ?? ''}`} data-s=${fault ? 'fault' : undefined}
    data-changed=${(facts.form.marksChanges && facts.form.isChanged(facts.name)) || undefined}>
    <label for=${idOf(facts)}>${facts.label}</label>${control}${note(facts, fault, facts.hint)}</div>`
}

function note(facts: FieldFacts, fault: string | undefined, hint: Child): VNode | null {
  const id = `${idOf(facts)}-note`
  if (fault) return html`<p class="err" id=${id}>${lamp('fault')}<span>${fault}</span></p>`
  return hint ? html`<p id=${id}>${hint}</p>` : null
}
