/** What the form of a port's settings is told of one field. */
import type { Values } from '#kit/web/form.ts'

/** How a field is drawn, and how its value is read. */
export interface PortField {
  /** Dotted name as the API spells it: its faults come under the same name. */
  name: string
  label: string
  /** `numbers`: several, by commas. `blocks`: registers of a slave, one block a line. */
  kind: 'number' | 'text' | 'choice' | 'toggle' | 'numbers' | 'blocks'
  unit?: string
  hint?: string
  placeholder?: string
  /** Suggestions of a number, or the choices: value and label. */
  options?: readonly (readonly [value: string, label: string])[]
  /** Shown only when it matters. */
  when?: (values: Values) => boolean
  /** In the part that most never open. */
  rare?: boolean
}
