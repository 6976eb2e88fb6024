/** First run: the administrator, then the rest of the set-up. */
import type { VNode } from 'preact'
import { administratorFields, firstAdministrator, isGoodAdministrator } from '#kit/web/first-administrator.ts'
import { refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { Act, Toasts } from '#kit/web/parts.ts'
import { goTo } from '#kit/web/route.ts'
import { plate } from '#kit/web/shell.ts'
import { api } from './api.ts'
import { plateFacts, signedIn } from './state.ts'
import * as texts from './texts.ts'

/** Makes the administrator, and goes on with the set-up. */
export function FirstRun(): VNode {
  const form = useForm(firstAdministrator)
  async function save(): Promise<void> {
    const { password, username } = form.values.value
    const made = await api.setUp({ username: String(username).trim(), password: String(password) })
    goTo('set-up')
    await signedIn(made)
  }
  function submit(event: Event): void {
    event.preventDefault()
    if (isGoodAdministrator(form)) void form.submit(save)
  }
  return html`<main class="alone" id="main"><div class="alone-in wide">${plate(plateFacts())}
    <form class="panel" onSubmit=${submit} novalidate><div class="in stack">
      <h1>Who looks after this recorder?</h1>
      <p class="soft">This makes the first administrator, who adds cameras and lets others in. The disk and the first camera come next.</p>
      ${administratorFields(form)}${refusal(form)}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${texts.makeAdministrator}</${Act}>
    </div></form></div><${Toasts} /></main>`
}
