/** First run: the administrator, then the rest of the set-up. */
import type { VNode } from 'preact'
import { type Form, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { Act, Toasts } from '#kit/web/parts.ts'
import { goTo } from '#kit/web/route.ts'
import { plate } from '#kit/web/shell.ts'
import { api } from './api.ts'
import { plateFacts, signedIn } from './state.ts'
import * as texts from './texts.ts'

/** The API decides; checking here says it beside the field, before the recorder was asked. */
const LEAST_PASSWORD = 8

/** Makes the administrator, and goes on with the set-up. */
export function FirstRun(): VNode {
  const form = useForm({ username: 'admin', password: '', isShown: false })
  async function save(): Promise<void> {
    const { password, username } = form.values.value
    const made = await api.setUp({ username: String(username).trim(), password: String(password) })
    goTo('set-up')
    await signedIn(made)
  }
  function submit(event: Event): void {
    event.preventDefault()
    if (isGoodStart(form)) void form.submit(save)
  }
  return html`<main class="alone" id="main"><div class="alone-in wide">${plate(plateFacts())}
    <form class="panel" onSubmit=${submit} novalidate><div class="in stack">
      <h1>Who looks after this recorder?</h1>
      <p class="soft">This makes the first administrator, who adds cameras and lets others in. The disk and the first camera come next.</p>
      ${input({ form, name: 'username', label: texts.userName, autocomplete: 'username', kind: 'wide', first: true })}
      ${input({ form, name: 'password', label: texts.password, type: form.values.value.isShown ? 'text' : 'password', autocomplete: 'new-password', hint: texts.atLeastCharacters(LEAST_PASSWORD), kind: 'wide' })}
      ${toggle({ form, name: 'isShown', label: texts.showPassword })}${refusal(form)}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${texts.makeAdministrator}</${Act}>
    </div></form></div><${Toasts} /></main>`
}

function isGoodStart(form: Form): boolean {
  const { password, username } = form.values.value
  const faults: Record<string, string> = {}
  if (String(username).trim() === '') faults.username = texts.enterAUserName
  const length = String(password).length
  if (length < LEAST_PASSWORD) faults.password = texts.passwordIsShort(length, LEAST_PASSWORD)
  form.faults.value = faults
  const first = Object.keys(faults)[0]
  if (first) document.getElementById(`${form.id}-${first}`)?.focus()
  return first === undefined
}
