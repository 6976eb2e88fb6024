/** Signing in: the page before everything else, and the dialog over a page whose token has expired. */
import type { VNode } from 'preact'
import { call } from './call.ts'
import { Dialog } from './dialog.ts'
import { type Form, input, refusal, useForm } from './form.ts'
import { type Child, html } from './html.ts'
import { Act } from './parts.ts'
import { keepToken, signOut } from './session.ts'
import * as texts from './texts.ts'

/** How the typed name and password become a session, and how it is left. */
export interface SignInUse {
  enter(body: { username?: string; password: string }): Promise<void>
  leave(): void
  /** Whether there is one user, who types a password and no name. */
  hasOneUser?: boolean
  /** Why a session ends, where it is not for want of use. */
  ended?: string
}

const byToken: SignInUse = {
  async enter(body) {
    keepToken((await call<{ token: string }>('POST /api/login', body, { isSignIn: true })).token)
  },
  leave: signOut,
}

/** Name and password; the name may be empty if there is only one user. */
function fields(form: Form, { hasOneUser = false }: SignInUse): VNode {
  return html`${hasOneUser ? null : input({ form, name: 'username', label: texts.userName, autocomplete: 'username', first: true, kind: 'wide' })}
    ${input({ form, name: 'password', label: texts.password, type: 'password', autocomplete: 'current-password', first: hasOneUser, kind: 'wide' })}`
}

async function login(form: Form, use: SignInUse): Promise<void> {
  const username = String(form.values.value.username)
  const password = String(form.values.value.password)
  await use.enter(username === '' ? { password } : { username, password })
}

interface SignInFacts {
  /** The name plate, so that nobody signs in to the wrong box. */
  plate: Child
  footer?: Child
  /** Left out where the session is a token that this tab keeps. */
  use?: SignInUse
}

/** The sign-in page. */
export function SignIn({ plate, footer, use = byToken }: SignInFacts): VNode {
  const form = useForm({ username: '', password: '' })
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(() => login(form, use))
  }
  return html`<main class="alone" id="main"><div class="alone-in">${plate}
    <form class="panel" onSubmit=${submit} novalidate><div class="in stack">
      <h1>Sign in</h1>${fields(form, use)}${refusal(form)}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Sign in</${Act}>
    </div></form><p class="faint small">${footer}</p></div></main>`
}

/** Asks for the password again over the page, which keeps everything typed. */
export function SignedOut({ use = byToken }: { use?: SignInUse }): VNode {
  const form = useForm({ username: '', password: '' })
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(() => login(form, use))
  }
  return html`<${Dialog} title="Sign in again">
    <form onSubmit=${submit} novalidate class="again"><div class="stack">
      <p class="soft">${use.ended ?? texts.sessionEnded} What you typed on the page is kept.</p>
      ${fields(form, use)}${refusal(form)}</div>
      <footer><button class="btn quiet" type="button" onClick=${use.leave}>Leave page</button>
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Sign in</${Act}></footer></form>
  </${Dialog}>`
}
