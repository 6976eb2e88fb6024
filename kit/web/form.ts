/** Forms: what was typed, what the daemon said of it, and where the focus goes then. */
import { type Signal, signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { CallFault, sentenceOf } from './call.ts'
import { sentence } from './sentences.ts'
import { guardEdits } from './unsaved.ts'

/** Values as typed: texts, and switches. */
export type Values = Record<string, string | boolean>

/** A form of one page. */
export interface Form {
  /** Start of its element ids. */
  readonly id: string
  readonly values: Signal<Values>
  /** Field name to sentence, as the daemon said it. */
  readonly faults: Signal<Record<string, string>>
  /** A refusal that belongs to no field on this page. */
  readonly refusal: Signal<string>
  readonly isBusy: Signal<boolean>
  set(name: string, value: string | boolean): void
  isChanged(name: string): boolean
  /** Whether anything is otherwise than it was saved, or than it began. */
  hasChanges(): boolean
  /** Whether changed fields say so. */
  readonly marksChanges: boolean
  /** Takes the values as they are now for the saved ones, or new ones. */
  settle(values?: Values): void
  /** Runs a save. A refused one puts every fault at its field and the focus at the first; true when it went through. */
  submit(save: () => Promise<void>): Promise<boolean>
}

let made = 0

/** `edit` marks what was changed; `edit` and `draft`, which is a new record, ask before what was typed is lost. */
export type FormKind = 'new' | 'draft' | 'edit'

/** A form for the life of a component. */
export function useForm(initial: Values, kind: FormKind = 'new'): Form {
  const [form] = useState(() => createForm(initial, kind))
  useEffect(() => {
    if (kind === 'new') return
    // Fetched while there is contact: without it there would be no way to leave.
    import('./leave-question.ts').catch(() => {})
    return guardEdits(() => form.hasChanges())
  }, [])
  return form
}

/** Makes a form. */
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
      // What is saved may be left.
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
 * Which sentence stands at which field. A fault of a group (`line.rs485`) stands at the first field of the group;
 * a fault of no field here is the refusal of the whole form.
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

/** The field itself, the field it is part of (`headers.X-Key`, `values[3]`), or the first one of the group. */
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
  // Bars stick to the top and the foot of the page, on a phone two of them: only the middle is surely in sight.
  place?.scrollIntoView({ block: 'center' })
}

/** A typed number as the API wants it: a number where it is one, else the text itself for the API to refuse. */
export function typedNumber(text: string | boolean | undefined): number | string {
  const trimmed = String(text ?? '')
    .trim()
    .replace(/[\s\u202f\u00a0]/g, '')
  return /^[-+]?(\d+\.?\d*|\.\d+)$/.test(trimmed) ? Number(trimmed) : String(text ?? '')
}
