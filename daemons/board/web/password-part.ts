/** The password of the board: set, changed, removed. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { input, refusal, toggle } from '#kit/web/field.ts'
import { useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { toast } from '#kit/web/toast.ts'
import { api } from './api.ts'
import { changePassword } from './basic.ts'
import { lookNow } from './state.ts'

/** The panel. @param isFirst gives the field the focus, where somebody came here to set one */
export function PasswordPart({ isSet, isFirst }: { isSet: boolean; isFirst: boolean }): VNode {
  const form = useForm({ password: '', isShown: false })
  const [isRemoving, setRemoving] = useState(false)

  async function save(): Promise<void> {
    const password = String(form.values.value.password)
    if (password === '') throw new Error('Type the new password first.')
    await changePassword(password, () => api.setPassword(password))
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (!(await form.submit(save))) return
    form.settle({ password: '', isShown: false })
    toast('The password is set. The user name is admin.')
    await lookNow()
  }
  async function remove(): Promise<void> {
    try {
      await changePassword('', () => api.setPassword(''))
      toast('The password is removed.')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await lookNow()
  }
  const type = form.values.value.isShown === true ? 'text' : 'password'
  return html`<form class="panel" aria-label="Password" onSubmit=${(event: Event) => void submit(event)} novalidate><header><h2>Password</h2>
      <span class="faint">${isSet ? 'set, for the user admin' : 'none'}</span></header>
    <div class="in stack">${input({ form, name: 'password', label: isSet ? 'New password' : 'Password', type, autocomplete: 'new-password', first: isFirst, kind: 'wide', hint: isSet ? 'Replaces the one before, everywhere at once.' : 'Until there is one, everybody on this network can change this board.' })}
      ${toggle({ form, name: 'isShown', label: 'Show password' })}${refusal(form)}</div>
    <footer class="save">${isSet ? html`<button class="btn apart" type="button" onClick=${() => setRemoving(true)}>Remove password</button>` : html`<span class="grow"></span>`}
      <${Act} type="submit" waits=${form.isBusy.value || form.values.value.password === ''}>${isSet ? 'Change password' : 'Set password'}</${Act}></footer>
    ${
      isRemoving
        ? html`<${Confirm} title="Remove the password?" text="Everybody on this network can then see and change this board, and its pages say so in amber." act="Remove password" keep="Keep password"
            close=${() => setRemoving(false)} run=${() => void remove()} />`
        : null
    }</form>`
}
