/** Several of a few, ticked: the value of such a field of a form is their ids with spaces between. */
import type { Form } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lamp } from '#kit/web/parts.ts'

interface TicksFacts {
  form: Form
  name: string
  label: string
  options: readonly (readonly [id: string, label: string])[]
  hint?: Child
}

/** The ids that are ticked. */
export function ticked(value: string | boolean | undefined): string[] {
  return String(value ?? '')
    .split(' ')
    .filter((id) => id !== '')
}

/** A group of switches; a fault of the field stands below them. */
export function fieldTicks({ form, hint, label, name, options }: TicksFacts): Child {
  const chosen = ticked(form.values.value[name])
  const fault = form.faults.value[name]
  const id = `${form.id}-${name.replaceAll(/[^\w-]/g, '-')}`
  const turn = (one: string, isOn: boolean) =>
    form.set(name, [...chosen.filter((each) => each !== one), ...(isOn ? [one] : [])].join(' '))
  const note = fault
    ? html`<p class="err">${lamp('fault')}<span>${fault}</span></p>`
    : hint
      ? html`<p>${hint}</p>`
      : null
  return html`<fieldset class="ticks" data-s=${fault ? 'fault' : undefined}><legend>${label}</legend>
    <div class="ticks-row">${options.map(
      ([one, own], at) =>
        html`<label key=${one}><input type="checkbox" id=${at === 0 ? id : undefined} name=${name} aria-invalid=${fault && at === 0 ? 'true' : undefined}
          checked=${chosen.includes(one)} onChange=${(event: Event) => turn(one, (event.target as HTMLInputElement).checked)} />${own}</label>`,
    )}</div><div class="field" data-s=${fault ? 'fault' : undefined}>${note}</div></fieldset>`
}
