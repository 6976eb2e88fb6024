/** Sign-in, with a mailed code if the account needs one; the signed-in person, and sign-out. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CallFault, NoContact } from '#kit/web/call.ts'
import { isLost, now, zone } from '#kit/web/contact.ts'
import { Dialog } from '#kit/web/dialog.ts'
import { factTable } from '#kit/web/figures.ts'
import { type Form, input, refusal, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { ended, sinceText } from '#kit/web/numbers.ts'
import { Act, lamp, toast } from '#kit/web/parts.ts'
import { api } from './api.ts'
import { knownAt, leave, me, signedIn } from './state.ts'
import * as texts from './texts.ts'

// Refusals: say what to do next, and never whether the name or the password was wrong.

const SENTENCES: Readonly<Record<string, string>> = {
  missing_credential: texts.missingCredentialMeans,
  invalid_credential: texts.invalidCredentialMeans,
  remote_denied: texts.remoteDeniedMeans,
  no_sites: texts.noSitesMeans,
  no_roles: texts.noRolesMeans,
  '2fa_no_email': texts.noMailAddressMeans,
  '2fa_mismatch': texts.wrongCodeMeans,
  'missing_credential by PIN': texts.missingPin,
  'invalid_credential by PIN': texts.invalidPinMeans,
  'remote_denied by PIN': texts.pinIsForTheBuilding,
}

/** @param error of the envelope @param message of the envelope, for unknown errors */
export function signInSentence(error: string, message: string): string {
  if (Object.hasOwn(SENTENCES, error)) return SENTENCES[error] ?? message
  const text = message === '' ? error : message
  return ended(texts.controllerRefused(text))
}

/** The text beside the code: how long it is valid, or that it has expired. */
export function codeLifeText(leftMs: number): string {
  if (leftMs <= 0) return texts.codeHasExpired
  const seconds = Math.ceil(leftMs / 1000)
  const rest = String(seconds % 60).padStart(2, '0')
  return texts.goodForAnother(Math.floor(seconds / 60), rest)
}

/** A code as it is compared: upper case, without the spaces that people type. */
export function typedCode(text: string): string {
  return text.replaceAll(/[\s-]/g, '').toUpperCase()
}

// Sign-in: name and password, then the mailed code if the account needs one.

/** A mailed code. Times of the browser, epoch ms. */
interface Challenge {
  message: string
  goodUntil: number
  /** No new mail is sent before. */
  againAt: number
}

/** The controller sends another mail only after this time. */
const AGAIN_MS = 30_000

/** The sign-in page. @param plate the name plate, so that nobody signs in to the wrong building */
export function SignIn({ plate }: { plate: Child }): VNode {
  const at = useSignIn('')
  return html`<main class="alone" id="main"><div class="alone-in">${plate}
    <form class="panel" onSubmit=${at.submit} novalidate><div class="in stack">
      <h1>${at.challenge ? texts.codeFromMail : texts.signIn}</h1>${fields(at)}
      <${Act} kind="primary" type="submit" waits=${at.form.isBusy.value}>Sign in</${Act}>${under(at)}
    </div></form>
    <p class="small soft contact-line" role="status">${isLost.value ? html`${lamp('warn')} No contact with this controller. It is tried again by itself.` : null}</p></div></main>`
}

/** Asks for another sign-in over the page, which keeps everything typed. */
export function SignedOut(): VNode {
  const at = useSignIn(me.value?.username ?? '')
  return html`<${Dialog} title=${at.challenge ? texts.codeFromMail : texts.signInAgain}>
    <form onSubmit=${at.submit} novalidate class="again"><div class="stack">
      ${at.challenge ? null : html`<p class="soft">The session is over: by time, a restart, or because the account was changed. The page stays as it is.${oldness()}</p>`}
      ${fields(at, 'again')}${under(at)}</div>
      <footer><button class="btn quiet" type="button" onClick=${() => void leave()}>Leave page</button>
      <${Act} kind="primary" type="submit" waits=${at.form.isBusy.value}>Sign in</${Act}></footer></form>
  </${Dialog}>`
}

/** A page left alone overnight still shows the evening's values. */
function oldness(): string {
  return knownAt.value === 0 ? '' : texts.shownFrom(sinceText(knownAt.value, now.value, zone.value))
}

interface SigningIn {
  form: Form
  challenge: Challenge | null
  submit(event: Event): void
  resend(): void
  back(): void
  byPin: boolean
  /** Changes between password and PIN. */
  other(): void
}

function useSignIn(username: string): SigningIn {
  const form = useForm({ username, password: '', pin: '', code: '' })
  const [byPin, setByPin] = useState(false)
  const [challenge, setChallenge] = useState<Challenge | null>(null)

  async function ask(code: string): Promise<void> {
    const { username, password, pin } = form.values.value
    const secret = byPin ? { pin: String(pin).trim() } : { password: String(password) }
    const given = { username: String(username).trim(), ...secret }
    const answer = await api.signIn(code === '' ? given : { ...given, two_factor_token: code }).catch(sayWhy)
    if (!('error' in answer)) {
      if (answer.signed_in) signedIn(answer)
      return
    }
    if (answer.error !== 'two_factor_auth') {
      const sentence = signInSentence(byPin ? `${answer.error} by PIN` : answer.error, answer.message)
      throw code === '' ? new Error(sentence) : atCode(sentence)
    }
    // The page's own clock: it moves in steps, and promises no second too many.
    const atMs = now.value
    form.set('code', '')
    setChallenge({
      message: answer.message,
      goodUntil: atMs + (answer.ttl_seconds ?? 0) * 1000,
      againAt: atMs + AGAIN_MS,
    })
  }
  /** Shows the error at the field, and puts the focus there. */
  async function tryCode(code: string): Promise<void> {
    if (code === '') throw atCode(texts.typeCodeWasMailed)
    await ask(code)
  }
  return {
    form,
    challenge,
    submit(event) {
      event.preventDefault()
      const code = typedCode(String(form.values.value.code))
      void form.submit(() => (challenge ? tryCode(code) : ask(''))).then((isIn) => isIn || challenge || retype(form))
    },
    resend: () => void form.submit(() => ask('')),
    back() {
      form.settle({ ...form.values.value, password: '', code: '' })
      setChallenge(null)
    },
    byPin,
    other() {
      form.settle({ ...form.values.value, password: '', pin: '' })
      setByPin(!byPin)
      retype(form)
    },
  }
}

/** Puts the focus on a missing field, else on the password, ready to be typed over. */
function retype(form: Form): void {
  const secret = document.getElementById(`${form.id}-pin`) ? 'pin' : 'password'
  const name = form.values.value.username === '' ? 'username' : secret
  setTimeout(() => {
    const field = document.getElementById(`${form.id}-${name}`)
    if (field instanceof HTMLInputElement) field.select()
    field?.focus()
  }, 0)
}

function sayWhy(thrown: unknown): never {
  if (!(thrown instanceof NoContact)) throw thrown
  throw new Error(texts.noAnswerAtSignIn)
}

function atCode(message: string): CallFault {
  return new CallFault(200, { error: '2fa_mismatch', message, fields: { code: message } })
}

function fields({ form, challenge, byPin }: SigningIn, kind: 'again' | 'first' = 'first'): VNode {
  if (!challenge)
    return html`${input({ form, name: 'username', label: texts.userName, autocomplete: 'username', first: kind === 'first', kind: 'wide' })}
      ${
        byPin
          ? input({
              form,
              name: 'pin',
              label: texts.pin,
              type: 'password',
              autocomplete: 'off',
              isDigits: true,
              kind: 'wide code',
            })
          : input({
              form,
              name: 'password',
              label: texts.password,
              type: 'password',
              autocomplete: 'current-password',
              first: kind === 'again',
              kind: 'wide',
            })
      }${refusal(form)}`
  const hint = texts.codeHint
  return html`<p class="soft">${challenge.message} ${codeLifeText(challenge.goodUntil - now.value)}</p>
    ${input({ form, name: 'code', label: texts.code, autocomplete: 'one-time-code', mono: true, first: true, kind: 'wide code', hint })}${refusal(form)}`
}

/** Does not say that the mail failed: it may still be in transit, or in the spam folder. */
function under({ form, challenge, resend, back, byPin, other }: SigningIn): VNode | null {
  if (!challenge)
    return html`<button class="btn quiet" type="button" onClick=${other}>${byPin ? texts.signInByPassword : texts.signInByPin}</button>`
  const waitS = Math.ceil((challenge.againAt - now.value) / 1000)
  return html`<div class="resend"><p class="small soft">No mail? It can take a minute, and may lie in the junk folder.</p>
    <div class="acts between"><button class="btn quiet" type="button" onClick=${back}>Back</button>
    <${Act} waits=${waitS > 0 || form.isBusy.value} run=${resend}>${waitS > 0 ? texts.newCodeInS(waitS) : texts.sendNewCode}</${Act}></div></div>`
}

// The signed-in person, what the roles allow, and sign-out.

export function AccountPage(): VNode | null {
  const person = me.value
  if (!person) return null
  const { full_name: name, username, roles, elevated } = person
  return html`<div class="head"><h1>Account</h1></div>
    <section class="panel narrow" aria-label="Account">${factTable([
      [texts.name, name ?? '–'],
      [texts.userName, username],
      [texts.roles, roles.join(', ') || '–'],
      [texts.elevated, elevated ? texts.elevatedMeans : texts.notElevatedMeans],
    ])}<footer><${Act} run=${() => void leave()}>Sign out</${Act}></footer></section>
    <section class="panel narrow" aria-label=${texts.changePassword}><div class="in stack"><h2>${texts.changePassword}</h2><${ChangePassword} /></div></section>`
}

/** The present password, the new one. Other sessions of this person end; this page goes on under a new one. */
function ChangePassword(): VNode {
  const form = useForm({ current: '', password: '' })
  const submit = (event: Event) => {
    event.preventDefault()
    const { current, password } = form.values.value
    void form.submit(async () => {
      await api.changePassword(String(current), String(password))
      form.settle({ current: '', password: '' })
      signedIn(await api.me())
      toast(texts.passwordChanged)
    })
  }
  return html`<form class="stack" onSubmit=${submit} novalidate>
    ${input({ form, name: 'current', label: texts.presentPassword, type: 'password', autocomplete: 'current-password', kind: 'wide' })}
    ${input({ form, name: 'password', label: texts.newPassword, type: 'password', autocomplete: 'new-password', hint: texts.atLeastCharacters(8), kind: 'wide' })}
    ${refusal(form)}<${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${texts.changePassword}</${Act}></form>`
}

/** In place of all pages, as long as this person has to change the password. @param plate the name plate */
export function MustChange({ plate }: { plate: Child }): VNode {
  return html`<main class="alone" id="main"><div class="alone-in">${plate}
    <section class="panel"><div class="in stack"><h1>${texts.chooseNewPassword}</h1>
      <p class="soft">Whoever made this account, or changed it, asks for that. Until then nothing else is shown.</p><${ChangePassword} />
      <button class="btn quiet" type="button" onClick=${() => void leave()}>Sign out</button></div></section></div></main>`
}
