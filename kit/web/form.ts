/** Forms and their fields: typed values, the daemon's faults, and where the focus goes. */
import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallFault, sentenceOf } from './call.ts'
import { type Child, html } from './html.ts'
import { sentence } from './numbers.ts'
import { lamp } from './parts.ts'
import { guardEdits } from './route.ts'

/** Values as typed: texts, and switches. */
export type Values = Record<string, string | boolean>

/** A form of one page. */
export interface Form {
  /** Prefix of its element ids. */
  readonly id: string
  readonly values: Signal<Values>
  /** Field name to sentence, as the daemon sent it. */
  readonly faults: Signal<Record<string, string>>
  /** A refusal that belongs to no field on this page. */
  readonly refusal: Signal<string>
  readonly isBusy: Signal<boolean>
  set(name: string, value: string | boolean): void
  isChanged(name: string): boolean
  /** Whether anything differs from what was saved or loaded. */
  hasChanges(): boolean
  /** Whether changed fields are marked. */
  readonly marksChanges: boolean
  /** Takes the current values, or new ones, as saved. */
  settle(values?: Values): void
  /** Runs a save. If refused, puts every fault at its field and focuses the first; true if it went through. */
  submit(save: () => Promise<void>): Promise<boolean>
}

let made = 0

/** `edit` marks changes; `edit` and `draft`, which is a new record, ask before typed values are lost. */
type FormKind = 'new' | 'draft' | 'edit'

/** A form for the life of a component. */
export function useForm(initial: Values, kind: FormKind = 'new'): Form {
  const [form] = useState(() => createForm(initial, kind))
  useEffect(() => {
    if (kind === 'new') return
    // Loaded while there is contact: without it the user could not leave the page.
    import('./shell-dialogs.ts').catch(() => {})
    return guardEdits(() => form.hasChanges())
  }, [])
  return form
}

/** Creates a form. */
export function createForm(initial: Values, kind: FormKind = 'new'): Form {
  made += 1
  const id = `f${made}`
  const values = signal(initial)
  const saved = signal(initial)
  const faults = signal<Record<string, string>>({})
  const refusal = signal('')
  const isBusy = signal(false)

  function set(name: string, value: string | boolean): void {
    values.value = { ...values.value, [name]: value }
    if (name in faults.value) {
      const { [name]: _gone, ...rest } = faults.value
      faults.value = rest
    }
  }

  async function submit(save: () => Promise<void>): Promise<boolean> {
    if (isBusy.value) return false
    isBusy.value = true
    faults.value = {}
    refusal.value = ''
    try {
      await save()
      // Saved values may be left without asking.
      saved.value = values.value
      return true
    } catch (thrown) {
      const sorted = sortFaults(thrown, Object.keys(values.value))
      faults.value = sorted.faults
      refusal.value = sorted.refusal
      setTimeout(() => focusFault(id), 0)
      return false
    } finally {
      isBusy.value = false
    }
  }

  return {
    id,
    values,
    faults,
    refusal,
    isBusy,
    set,
    isChanged: (name) => values.value[name] !== saved.value[name],
    hasChanges: () =>
      !isBusy.value && Object.entries(values.value).some(([name, value]) => value !== saved.value[name]),
    marksChanges: kind === 'edit',
    settle: (fresh) => {
      if (fresh) values.value = fresh
      saved.value = values.value
      faults.value = {}
      refusal.value = ''
    },
    submit,
  }
}

/**
 * Assigns sentences to fields. A fault of a group (`line.rs485`) goes to the first field of the group; a fault of no
 * field here refuses the whole form.
 */
export function sortFaults(
  thrown: unknown,
  names: readonly string[],
): { faults: Record<string, string>; refusal: string } {
  const faults: Record<string, string> = {}
  const rest: string[] = []
  const fields = thrown instanceof CallFault ? thrown.fields : []
  for (const { field, message } of fields) {
    const name = nameFor(field, names)
    if (name === undefined) rest.push(field === '' ? message : `${field}: ${message}`)
    else faults[name] ??= sentence(message)
  }
  if (fields.length === 0) rest.push(sentenceOf(thrown))
  return { faults, refusal: rest.join(' ') }
}

/** The field itself, the field that contains it (`headers.X-Key`, `values[3]`), or the first one of the group. */
function nameFor(field: string, names: readonly string[]): string | undefined {
  const isPart = (each: string): boolean => field.startsWith(`${each}.`) || field.startsWith(`${each}[`)
  return (
    names.find((each) => each === field) ?? names.find(isPart) ?? names.find((each) => each.startsWith(`${field}.`))
  )
}

function focusFault(id: string): void {
  const first = document.querySelector<HTMLElement>(`[id^="${id}-"][aria-invalid="true"]`)
  const place = first ?? document.getElementById(`${id}-refusal`)
  place?.focus({ preventScroll: true })
  // Bars stick to the top and the bottom of the page, two of them on a phone: only the middle is surely visible.
  place?.scrollIntoView({ block: 'center' })
}

/** A typed number as the API expects it: a number if it is one, else the text itself for the API to refuse. */
export function typedNumber(text: string | boolean | undefined): number | string {
  const trimmed = String(text ?? '')
    .trim()
    .replace(/[\s\u202f\u00a0]/g, '')
  return /^[-+]?(\d+\.?\d*|\.\d+)$/.test(trimmed) ? Number(trimmed) : String(text ?? '')
}

// Fields of a form: label, control with unit, and a hint or a fault.

/** Common to every kind of field. */
interface FieldFacts {
  form: Form
  name: string
  label: Child
  hint?: Child
  /** Extra class of the field: `wide` takes a whole row. */
  kind?: string
}

/** A text field. */
interface InputFacts extends FieldFacts {
  unit?: string
  type?: 'text' | 'password' | 'number'
  autocomplete?: string
  placeholder?: string
  /** Suggestions; anything else may be typed as well. */
  options?: readonly string[]
  mono?: boolean
  /** Hidden digits: a phone shows the keys for them. */
  isDigits?: boolean
  /** Gets the focus when it appears. */
  first?: boolean
}

/**
 * A text field. Numbers are text with a numeric keyboard, so that the mouse wheel changes nothing, and the API
 * validates.
 */
export function input(facts: InputFacts): VNode {
  const { form, name, unit, type = 'text' } = facts
  const list = facts.options ? `${idOf(facts)}-list` : undefined
  const control = html`<input
    ...${ariaOf(facts)}
    type=${type === 'password' ? 'password' : 'text'}
    inputmode=${type === 'number' ? 'decimal' : facts.isDigits ? 'numeric' : undefined}
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

/** `autofocus` works only once per page load; this works whenever the field appears. */
export function focusOnce(element: HTMLElement | null): void {
  element?.focus()
}

/** A field to choose one of a few options. */
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

/** The daemon's refusal of the form as a whole. @param more faults of fields that are not on the page */
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
