/** Asks for the password again over the page, which stays as it is with everything typed. */
import type { VNode } from 'preact'
import { Act } from '#kit/web/button.ts'
import { Dialog } from '#kit/web/dialog.ts'
import { input, refusal } from '#kit/web/field.ts'
import { useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { signIn } from './basic.ts'

/** The dialog. */
export function SignedOut(): VNode {
  const form = useForm({ password: '' })
  async function tryIt(): Promise<void> {
    if (!(await signIn(String(form.values.value.password)))) throw new Error('The board does not take this password.')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(tryIt)
  }
  return html`<${Dialog} title="Sign in again">
    <form onSubmit=${submit} novalidate class="again"><div class="stack">
      <p class="soft">The password of this board was changed. What you typed on the page is kept.</p>
      ${input({ form, name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', first: true, kind: 'wide' })}${refusal(form)}</div>
      <footer><${Act} kind="primary" type="submit" waits=${form.isBusy.value || form.values.value.password === ''}>Sign in</${Act}></footer></form>
  </${Dialog}>`
}
