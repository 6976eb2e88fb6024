/** The form for the first administrator, the same on every daemon that has accounts. */
import type { VNode } from 'preact'
import { type Form, input, toggle } from './form.ts'
import { html } from './html.ts'
import * as texts from './texts.ts'

/** The API decides; checking here says it beside the field, before the daemon was asked. */
const LEAST_PASSWORD = 8

/** What the form begins with. */
export const firstAdministrator = { username: 'admin', password: '', isShown: false }

/** User name, password, and the switch that shows it. */
export function administratorFields(form: Form): VNode {
  const type = form.values.value.isShown ? 'text' : 'password'
  const hint = texts.atLeastCharacters(LEAST_PASSWORD)
  return html`${input({ form, name: 'username', label: texts.userName, autocomplete: 'username', kind: 'wide', first: true })}
    ${input({ form, name: 'password', label: texts.password, type, autocomplete: 'new-password', kind: 'wide', hint })}
    ${toggle({ form, name: 'isShown', label: texts.showPassword })}`
}

/** Says beside each field what is wrong with it, and goes to the first of them. */
export function isGoodAdministrator(form: Form): boolean {
  const { username, password } = form.values.value
  const faults: Record<string, string> = {}
  if (String(username).trim() === '') faults.username = texts.enterAUserName
  const { length } = String(password)
  if (length < LEAST_PASSWORD) faults.password = texts.passwordIsShort(length, LEAST_PASSWORD)
  form.faults.value = faults
  const first = Object.keys(faults)[0]
  if (first) document.getElementById(`${form.id}-${first}`)?.focus()
  return first === undefined
}
