/** The password of whoever reads this. */
import type { VNode } from 'preact'
import { Act } from '#kit/web/button.ts'
import { input, refusal } from '#kit/web/field.ts'
import { useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { linkTo } from '#kit/web/route.ts'
import { signIn } from '#kit/web/session.ts'
import { toast } from '#kit/web/toast.ts'
import { usersApi } from './users-api.ts'

/** The form. @param isBeside it stands beside a table and can be closed */
export function OwnPassword({ isBeside = false }: { isBeside?: boolean }): VNode {
  const form = useForm({ current: '', password: '' })
  async function save(): Promise<void> {
    const { current, password } = form.values.value
    const { token } = await usersApi.changePassword({ current: String(current), password: String(password) })
    signIn(token)
    form.settle({ current: '', password: '' })
    toast('Your password is changed. You are signed out everywhere else.')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  const close = html`<div class="acts"><a class="btn quiet icon" href=${linkTo('users')} aria-label="Close form">${icon('close')}</a></div>`
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="Own password">
    <header><h2>Own password</h2>${isBeside ? close : null}</header>
    <div class="in stack">
      ${input({ form, name: 'current', label: 'Password now', type: 'password', autocomplete: 'current-password', first: isBeside })}
      ${input({ form, name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', hint: 'At least 8 characters.' })}
      ${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Change password</${Act}></footer></form>`
}
