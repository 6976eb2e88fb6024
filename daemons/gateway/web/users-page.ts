/** The users page: who may sign in, and with which keys; their forms, and changing one's own password. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Role } from '#kit/auth/credentials.ts'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { factTable } from '#kit/web/figures.ts'
import { choice, type Form, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { age, dateOf, listed, sinceText } from '#kit/web/numbers.ts'
import { Act, icon, type Judgement, type Lit, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { keepToken } from '#kit/web/session.ts'
import { followRow, matches, Tools } from '#kit/web/tools.ts'
import type { KeyView } from '../core/people/keys.ts'
import { type KeyBody, type User, usersApi } from './api.ts'
import { isAdmin, me, ports } from './state.ts'
import * as texts from './texts.ts'
import { shortPath, type When } from './words.ts'

// What the page says about users and keys.

/** Names of the roles. */
export const roleNames: Readonly<Record<Role, string>> = { admin: 'administrator', viewer: 'viewer' }

/** Administrators first, then by name. */
export function sortUsers(users: readonly User[]): User[] {
  const rank = ({ role }: User): number => (role === 'admin' ? 0 : 1)
  return users.toSorted((a, b) => rank(a) - rank(b) || a.username.localeCompare(b.username))
}

/** Expired keys come first, because somebody's system has stopped; then by name. */
export function sortKeys(keys: readonly KeyView[]): KeyView[] {
  const rank = ({ state }: KeyView): number => (state === 'expired' ? 0 : 1)
  return keys.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
}

/** A key that expires within this time is mentioned. */
const SOON_MS = 14 * 86_400_000

/** The verdict on users and keys. */
export function judgeUsers(users: readonly User[], keys: readonly KeyView[], { nowMs }: When): Judgement {
  const admins = users.filter(({ role }) => role === 'admin')
  const expired = keys.filter(({ state }) => state === 'expired')
  const soon = keys.filter((key) => key.state === 'live' && key.expiresAt !== null && key.expiresAt - nowMs < SOON_MS)
  const viewers = users.length - admins.length
  const counts = texts.peopleAndKeys(admins.length, viewers, keys.length)
  const names = (of: readonly KeyView[]): string => listed(of.map(({ name }) => name))
  if (expired.length > 0)
    return {
      lit: 'warn',
      sentence: texts.haveExpired(names(expired), expired.length),
      why: texts.callsAreRefused(expired.length, counts),
    }
  const next = soon.toSorted((a, b) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0))[0]
  if (next)
    return {
      lit: 'warn',
      sentence: texts.expiresIn(next.name, age((next.expiresAt ?? nowMs) - nowMs, 1)),
      why: texts.makeANewKey(counts),
    }
  const only = admins[0]
  if (admins.length === 1 && only)
    return { lit: 'ok', sentence: texts.onlyOneAdministrator(only.username), why: counts }
  return { lit: 'ok', sentence: texts.administratorsMayChangeThings(admins.length), why: counts }
}

/** The lamp and the words for a key: how long it is valid, or since when it is not. */
export function keyState(key: KeyView, { nowMs, zone }: When): { lit: Lit; words: string } {
  if (key.expiresAt === null) return { lit: 'ok', words: texts.neverExpires }
  if (key.state === 'expired') return { lit: 'fault', words: texts.expired(dateOf(key.expiresAt, zone)) }
  const leftMs = key.expiresAt - nowMs
  return { lit: leftMs < SOON_MS ? 'warn' : 'ok', words: texts.left(age(leftMs, 1)) }
}

/** `used 12 s ago`, `never used`. */
export function usedText({ lastUsedAt }: KeyView, { nowMs }: When): string {
  return lastUsedAt === null ? texts.neverUsed : texts.usedAgo(age(Math.max(0, nowMs - lastUsedAt), 1))
}

/** The lines that a key is for: `all lines`, `ttyUSB0 and ttyUSB1`. */
export function reachText({ ports }: KeyView): string {
  return ports === null ? texts.allLines : ports.length === 0 ? texts.noLine : listed(ports.map(shortPath))
}

// The form of one user: name, role, password. A password is only replaced, never shown.

/** Props of the form. */
export interface UserFormProps {
  /** Left out for a new user. */
  user?: User
  again: () => Promise<void>
}

const ROLES = Object.entries(roleNames) as [Role, string][]

/** The form of a user. */
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
    toast(user ? texts.isChanged(username) : texts.userIsAdded(username))
    goTo('users')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  // The last administrator must keep the role, and one's own password has its own form, so there is nothing to save.
  const isFixed = user?.isLastAdmin === true && user.isYou
  const isSame = user !== undefined && !form.isChanged('role') && form.values.value.password === ''
  const footer = html`<footer class="save">${user && !user.isLastAdmin ? html`<${Removal} user=${user} again=${again} />` : null}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || isSame}>${user ? texts.save : texts.addUser}</${Act}></footer>`
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${user ? texts.user(user.username) : texts.newUser}>
    <header><h2>${user?.username ?? texts.newUser}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('users')} aria-label="Close form">${icon('close')}</a></div></header>
    <div class="in stack">
      ${user ? null : input({ form, name: 'username', label: texts.userName, first: true })}
      ${user?.isLastAdmin ? html`<p class="small soft">The last administrator: neither removed nor made a viewer, because then nobody could change anything. Make another administrator first.</p>` : choice({ form, name: 'role', label: texts.role, options: ROLES, hint: texts.viewerHint })}
      ${user?.isYou ? html`<p class="small soft">Your password is changed under <a href=${linkTo('users', 'password')}>Own password</a>, which asks for the present one.</p>` : input({ form, name: 'password', label: user ? texts.newPassword : texts.password, type: 'password', autocomplete: 'new-password', hint: user ? texts.newPasswordHint : texts.atLeast8Characters })}
      ${refusal(form)}</div>
    ${isFixed ? null : footer}</form>`
}

function Removal({ user, again }: { user: User; again: () => Promise<void> }): VNode {
  const [isAsked, setAsked] = useState(false)
  async function run(): Promise<void> {
    try {
      await usersApi.removeUser(user.username)
      await again()
      toast(texts.userIsRemoved(user.username))
      goTo('users')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  const text = texts.removingUserMeans(user.username)
  return html`<${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}>
    ${isAsked ? html`<${Confirm} title=${texts.removeQuestion(user.username)} text=${text} act="Remove user" keep="Keep user" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}

// The form for one's own password.

/** The form. @param isBeside it is open beside a table and can be closed */
export function OwnPassword({ isBeside = false }: { isBeside?: boolean }): VNode {
  const form = useForm({ current: '', password: '' })
  async function save(): Promise<void> {
    const { current, password } = form.values.value
    const { token } = await usersApi.changePassword({ current: String(current), password: String(password) })
    keepToken(token)
    form.settle({ current: '', password: '' })
    toast(texts.yourPasswordIsChanged)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  const close = html`<div class="acts"><a class="btn quiet icon" href=${linkTo('users')} aria-label="Close form">${icon('close')}</a></div>`
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="Own password">
    <header><h2>Own password</h2>${isBeside ? close : null}</header>
    <div class="in stack">
      ${input({ form, name: 'current', label: texts.passwordNow, type: 'password', autocomplete: 'current-password', first: isBeside })}
      ${input({ form, name: 'password', label: texts.newPassword, type: 'password', autocomplete: 'new-password', hint: texts.atLeast8Characters })}
      ${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Change password</${Act}></footer></form>`
}

// API keys: making one, showing it once, and the facts of an existing one.

const DAY_MS = 86_400_000
const LIVES: readonly (readonly [days: string, label: string])[] = [
  ['', texts.never],
  ['30', texts.in30Days],
  ['90', texts.in90Days],
  ['365', texts.inYear],
]

function head(title: string): VNode {
  return html`<header><h2>${title}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('users')} aria-label="Close form">${icon('close')}</a></div></header>`
}

/** The form for a new key; once made, the key is shown this one time. */
export function KeyForm({ again }: { again: () => Promise<void> }): VNode {
  const form = useForm({ name: '', role: 'viewer', life: '', isAll: true }, 'draft')
  const [made, setMade] = useState<(KeyView & { key: string }) | null>(null)
  const lines = (ports.value ?? []).filter((port) => port.configured).map(({ path }) => path)
  async function save(): Promise<void> {
    setMade(await usersApi.addKey(bodyOf(form, lines)))
    await again()
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  if (made) return html`<${ShownOnce} made=${made} />`
  const { isAll, life } = form.values.value
  const ends =
    life === '' ? texts.isGoodUntilIsRemoved : texts.until(dateOf(daemonNow() + Number(life) * DAY_MS, zone.value))
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="New API key">${head(texts.newApiKey)}
    <div class="in stack">
      ${input({ form, name: 'name', label: texts.name, first: true, placeholder: texts.bms, hint: texts.keyNameHint })}
      ${choice({ form, name: 'role', label: texts.role, options: Object.entries(roleNames), hint: texts.keyRoleHint })}
      ${choice({ form, name: 'life', label: texts.expires, options: LIVES, hint: ends })}
      ${toggle({ form, name: 'isAll', label: texts.everyLine })}
      ${isAll ? null : html`<fieldset class="ticks"><legend class="small">Lines it reaches</legend>${lines.length === 0 ? html`<p class="small soft">No line is set up yet.</p>` : lines.map((path) => toggle({ form, name: `ports.${path}`, label: shortPath(path) }))}</fieldset>`}
      ${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Make key</${Act}></footer></form>`
}

function bodyOf(form: Form, lines: readonly string[]): KeyBody {
  const { name, role, life, isAll, ...rest } = form.values.value
  const body: KeyBody = { name: String(name), role: String(role) }
  if (!isAll) body.ports = lines.filter((path) => rest[`ports.${path}`] === true)
  if (life !== '') body.expiresAt = Math.round(daemonNow() + Number(life) * DAY_MS)
  return body
}

function ShownOnce({ made }: { made: KeyView & { key: string } }): VNode {
  const mark = (event: FocusEvent): void => (event.target as HTMLTextAreaElement).select()
  return html`<section class="panel" aria-label="New API key">${head(texts.keyOf(made.name))}
    <div class="in stack"><p>This is the only time it is shown. The gateway keeps a hash of it alone.</p>
      <div class="field"><label for="made-key">Key</label><div class="input"><textarea id="made-key" class="mono" rows="2" readonly value=${made.key} onFocus=${mark}></textarea></div>
        <p>Sent as <span class="mono">Authorization: Bearer …</span></p></div></div>
    <footer class="save"><button class="btn" type="button" onClick=${() => void copyText(made.key, texts.keyOfIsCopied(made.name))}>Copy key</button>
      <a class="btn primary" href=${linkTo('users')}>I have kept it</a></footer></section>`
}

/** The facts of a key. Its rights cannot be changed: one makes a new key instead. */
export function KeyFacts({ apiKey, again }: { apiKey: KeyView; again: () => Promise<void> }): VNode {
  const [isAsked, setAsked] = useState(false)
  const when = { nowMs: daemonNow(), zone: zone.value }
  async function run(): Promise<void> {
    try {
      await usersApi.removeKey(apiKey.id)
      await again()
      toast(texts.keyIsRemoved(apiKey.name))
      goTo('users')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  const rows: [string, Child][] = [
    [texts.role, roleNames[apiKey.role]],
    [texts.lines, reachText(apiKey)],
    [
      texts.expires,
      apiKey.expiresAt === null
        ? texts.expiresNever
        : `${dateOf(apiKey.expiresAt, zone.value)}, ${keyState(apiKey, when).words}`,
    ],
    [texts.lastUsed, usedText(apiKey, when)],
    [texts.made, `${sinceText(apiKey.createdAt, when.nowMs, zone.value)} by ${apiKey.createdBy}`],
  ]
  return html`<section class="panel" aria-label=${texts.apiKey(apiKey.name)}>${head(apiKey.name)}
    ${factTable(rows)}
    <footer class="save"><${Act} kind="danger" run=${() => setAsked(true)}>Remove key</${Act}></footer>
    ${isAsked ? html`<${Confirm} title=${texts.removeKey(apiKey.name)} text="What calls with it is refused at once. It cannot be made again; a new key is another one." act="Remove key" keep="Keep key" run=${() => void run()} close=${() => setAsked(false)} />` : null}
  </section>`
}

/** The list of users changes rarely, but the last use of a key is worth watching. */
const LOOK_USERS_MS = 5000

/** The users page. @param what `new`, `user`, `key`, `password` or nothing; @param which the open user or key */
export function UsersPage({ what, which }: { what?: string; which?: string }): VNode {
  if (me.value === null) return waiting()
  return isAdmin.value ? html`<${AdminPage} what=${what} which=${which} />` : html`<${ViewerPage} />`
}

function waiting(): VNode {
  return html`<div class="head"><h1>Users</h1></div><section class="panel">
    ${say('busy', texts.askingGatewayWhoMaySign, texts.usuallyBrief)}</section>`
}

/** A viewer sees only the form for the own password. */
function ViewerPage(): VNode {
  const you = me.value?.username ?? ''
  return html`<h1 class="sr">Users</h1>
    ${verdict({ lit: 'off', sentence: texts.mayOnlyRead(you), why: texts.onlyAdministratorsSeeUsers })}
    <div class="narrow"><${OwnPassword} /></div>`
}

function AdminPage({ what, which }: { what?: string; which?: string }): VNode {
  const [users, setUsers] = useState<User[] | null>(null)
  const [keys, setKeys] = useState<KeyView[] | null>(null)
  const [filter, setFilter] = useState('')
  const userLook = useLook(async () => setUsers(sortUsers(await usersApi.users())), LOOK_USERS_MS)
  const keyLook = useLook(async () => setKeys(sortKeys(await usersApi.keys())), LOOK_USERS_MS)
  useKeys(texts.users, [
    { key: 'n', what: texts.newUserKey, run: () => goTo('users', 'new') as undefined },
    { key: 'e', what: texts.editsOneWithFocus, run: edit },
    { key: 'k', what: texts.newApiKeyKey, run: () => goTo('users', 'key') as undefined },
  ])
  const when = { nowMs: daemonNow(), zone: zone.value }
  if (users === null && keys === null && userLook.refused === null) return waiting()
  const again = async (): Promise<void> => {
    await Promise.all([userLook.again(), keyLook.again()])
  }
  const form = formOf({ what, which, users, keys, again })
  return html`<h1 class="sr">Users</h1>${users && keys ? verdict(judgeUsers(users, keys, when)) : null}
    <div class=${form ? 'cols with-form' : ''}><div class="stack">
      <section class="panel" aria-label="Users">
        <${Tools} filter=${filter} setFilter=${setFilter} label="Filter users and keys">
          <a class="btn" href=${linkTo('users', 'password')}>Own password</a>
          <a class=${form ? 'btn' : 'btn primary'} href=${linkTo('users', 'new')}>New user</a></${Tools}>
        ${userTable(users, userLook.refused, filter, which)}</section>
      <section class="panel" aria-label="API keys"><header><h2>API keys</h2><span class="faint grow">with which other systems call</span>
        <div class="acts"><a class="btn" href=${linkTo('users', 'key')}>New key</a></div></header>
        ${keyTable({ keys, refused: keyLook.refused, filter, when, which })}</section></div>${form}</div>`
}

interface FormFacts {
  what?: string
  which?: string
  users: User[] | null
  keys: KeyView[] | null
  again: () => Promise<void>
}

function formOf({ what, which, users, keys, again }: FormFacts): VNode | null {
  if (what === 'password') return html`<${OwnPassword} isBeside=${true} />`
  if (what === 'new') return html`<${UserForm} again=${again} key="new" />`
  if (what === 'key' && which === undefined) return html`<${KeyForm} again=${again} key="key" />`
  const user = what === 'user' ? users?.find((each) => each.username === which) : undefined
  if (user) return html`<${UserForm} user=${user} again=${again} key=${`user ${which}`} />`
  const key = what === 'key' ? keys?.find((each) => each.id === which) : undefined
  return key ? html`<${KeyFacts} apiKey=${key} again=${again} key=${`key ${which}`} />` : null
}

function userTable(users: User[] | null, refused: string | null, filter: string, which?: string): Child {
  if (users === null) return refused === null ? null : say('fault', texts.usersCouldNotBeRead, refused)
  const shown = users.filter((user) => matches(`${user.username} ${roleNames[user.role]}`, filter))
  if (shown.length === 0) return say('off', texts.noUserMatches(filter), texts.escShowsAll)
  return html`<table class="table fold rows no-lit"><thead><tr><th>Name</th><th>Role</th><th class="n wide">Since</th></tr></thead>
    <tbody>${shown.map((user) => userRow(user, user.username === which))}</tbody></table>`
}

function userRow(user: User, isChosen: boolean): VNode {
  const href = linkTo('users', 'user', user.username)
  const notes = [user.isYou && texts.you, user.isLastAdmin && texts.cannotBeRemovedLastAdministrator].filter(Boolean)
  return html`<tr key=${user.username} class=${isChosen ? 'chosen' : ''} onClick=${(event: Event) => followRow(event, href)}>
    <td class="name"><a href=${href} aria-current=${isChosen || undefined}><b>${user.username}</b></a>
      ${notes.length > 0 ? html`<span class="under">${notes.join(', ')}</span>` : null}</td>
    <td class="when">${roleNames[user.role]}</td><td class="n wide">${dateOf(user.createdAt, zone.value)}</td></tr>`
}

interface KeyTableFacts {
  keys: KeyView[] | null
  refused: string | null
  filter: string
  when: When
  which?: string
}

function keyTable({ keys, refused, filter, when, which }: KeyTableFacts): Child {
  if (keys === null) return refused === null ? null : say('fault', texts.apiKeysCouldNotBeRead, refused)
  if (keys.length === 0) return say('off', texts.noApiKeys, texts.whatKeysAre)
  const shown = keys.filter((key) =>
    matches(`${key.name} ${roleNames[key.role]} ${reachText(key)} ${key.state}`, filter),
  )
  if (shown.length === 0) return say('off', texts.noKeyMatches(filter), texts.escShowsAll)
  return html`<table class="table fold rows"><thead><tr><th><span class="sr">State</span></th><th>Name</th><th>Role</th><th class="wide">Lines</th>
    <th>State</th><th class="n">Last used</th></tr></thead><tbody>${shown.map((key) => keyRow(key, when, key.id === which))}</tbody></table>`
}

function keyRow(key: KeyView, when: When, isChosen: boolean): VNode {
  const href = linkTo('users', 'key', key.id)
  const { lit, words } = keyState(key, when)
  return html`<tr key=${key.id} class=${isChosen ? 'chosen' : ''} onClick=${(event: Event) => followRow(event, href)}>
    <td class="lit">${lamp(lit)}</td><td class="name"><a href=${href} aria-current=${isChosen || undefined}><b>${key.name}</b></a></td>
    <td class="setup">${roleNames[key.role]}</td><td class="wide">${reachText(key)}</td>
    <td class="state" data-s=${lit}>${words}</td><td class="n load">${usedText(key, when)}</td></tr>`
}

function edit(): boolean {
  const link =
    document.activeElement?.closest('tr')?.querySelector('a') ?? document.querySelector<HTMLElement>('.rows a')
  link?.click()
  return link !== null && link !== undefined
}
