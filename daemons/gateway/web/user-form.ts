/** One user: name, role, password. A password is only replaced, never shown. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Role } from '#kit/auth/credentials.ts'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { choice, input, refusal } from '#kit/web/field.ts'
import { useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import { roleNames } from './user-words.ts'
import { type User, usersApi } from './users-api.ts'

/** What the form is told. */
export interface UserFormProps {
  /** Absent: a new one. */
  user?: User
  again: () => Promise<void>
}

const ROLES = Object.entries(roleNames) as [Role, string][]

/** The form. */
export function UserForm({ user, again }: UserFormProps): VNode {
  const form = useForm(
    { username: user?.username ?? '', role: user?.role ?? 'viewer', password: '' },
    user ? 'edit' : 'draft',
  )
  async function save(): Promise<void> {
    const { username, role, password } = form.values.value
    if (user)
      await usersApi.changeUser(user.username, {
        ...(role === user.role ? {} : { role }),
        ...(password === '' ? {} : { password }),
      })
    else await usersApi.addUser({ username, role, password })
    await again()
    toast(user ? `${username} is changed.` : `${username} may sign in from now on.`)
    goTo('users')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  // The last administrator keeps the role, and one's own password has a form of its own: nothing is left to save.
  const isFixed = user?.isLastAdmin === true && user.isYou
  const isSame = user !== undefined && !form.isChanged('role') && form.values.value.password === ''
  const footer = html`<footer class="save">${user && !user.isLastAdmin ? html`<${Removal} user=${user} again=${again} />` : null}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || isSame}>${user ? 'Save' : 'Add user'}</${Act}></footer>`
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${user ? `User ${user.username}` : 'New user'}>
    <header><h2>${user?.username ?? 'New user'}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('users')} aria-label="Close form">${icon('close')}</a></div></header>
    <div class="in stack">
      ${user ? null : input({ form, name: 'username', label: 'User name', first: true })}
      ${user?.isLastAdmin ? html`<p class="small soft">The last administrator: neither removed nor made a viewer, because then nobody could change anything. Make another administrator first.</p>` : choice({ form, name: 'role', label: 'Role', options: ROLES, hint: 'A viewer reads everything but webhooks, users and the journal, and changes nothing.' })}
      ${user?.isYou ? html`<p class="small soft">Your password is changed under <a href=${linkTo('users', 'password')}>Own password</a>, which asks for the present one.</p>` : input({ form, name: 'password', label: user ? 'New password' : 'Password', type: 'password', autocomplete: 'new-password', hint: user ? 'Empty: stays as it is. A new one signs the user out everywhere.' : 'At least 8 characters.' })}
      ${refusal(form)}</div>
    ${isFixed ? null : footer}</form>`
}

function Removal({ user, again }: { user: User; again: () => Promise<void> }): VNode {
  const [isAsked, setAsked] = useState(false)
  async function run(): Promise<void> {
    try {
      await usersApi.removeUser(user.username)
      await again()
      toast(`${user.username} may no longer sign in.`)
      goTo('users')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  const text = `${user.username} is signed out at once and may not sign in again. What ${user.username} did stays in the journal; API keys stay as well.`
  return html`<${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}>
    ${isAsked ? html`<${Confirm} title=${`Remove ${user.username}?`} text=${text} act="Remove user" keep="Keep user" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}
