/** Users: who may change things, and which systems call with a key. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { lamp, say, verdict } from '#kit/web/lamp.ts'
import { useLook } from '#kit/web/look.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { dateOf } from '#kit/web/numbers.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { followRow } from '#kit/web/rows.ts'
import { matches, Tools } from '#kit/web/tools.ts'
import type { KeyView } from '../core/people/keys.ts'
import { KeyFacts, KeyForm } from './key-form.ts'
import { OwnPassword } from './own-password.ts'
import { isAdmin, me } from './state.ts'
import { UserForm } from './user-form.ts'
import { judgeUsers, keyState, reachText, roleNames, sortKeys, sortUsers, usedText } from './user-words.ts'
import { type User, usersApi } from './users-api.ts'
import type { When } from './verdicts.ts'

/** Who signs in changes rarely; when a key was used is worth a look. */
const LOOK_USERS_MS = 5000

/** The page. @param what `new`, `user`, `key`, `password` or nothing; @param which the user or key that is open */
export function UsersPage({ what, which }: { what?: string; which?: string }): VNode {
  if (me.value === null) return waiting()
  return isAdmin.value ? html`<${AdminPage} what=${what} which=${which} />` : html`<${ViewerPage} />`
}

function waiting(): VNode {
  return html`<div class="head"><h1>Users</h1></div><section class="panel">
    ${say('busy', 'Asking the gateway who may sign in', 'This usually takes less than a second.')}</section>`
}

/** A viewer has a password too. */
function ViewerPage(): VNode {
  const you = me.value?.username ?? ''
  return html`<h1 class="sr">Users</h1>
    ${verdict({ lit: 'off', sentence: `${you} may read everything and change nothing.`, why: 'Only administrators see who may sign in, and the keys of other systems. Ask one of them for more.' })}
    <div class="narrow"><${OwnPassword} /></div>`
}

function AdminPage({ what, which }: { what?: string; which?: string }): VNode {
  const [users, setUsers] = useState<User[] | null>(null)
  const [keys, setKeys] = useState<KeyView[] | null>(null)
  const [filter, setFilter] = useState('')
  const userLook = useLook(async () => setUsers(sortUsers(await usersApi.users())), LOOK_USERS_MS)
  const keyLook = useLook(async () => setKeys(sortKeys(await usersApi.keys())), LOOK_USERS_MS)
  useKeys('Users', [
    { key: 'n', what: 'new user', run: () => goTo('users', 'new') as undefined },
    { key: 'e', what: 'edits the one with the focus', run: edit },
    { key: 'k', what: 'new API key', run: () => goTo('users', 'key') as undefined },
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
  if (users === null) return refused === null ? null : say('fault', 'The users could not be read', refused)
  const shown = users.filter((user) => matches(`${user.username} ${roleNames[user.role]}`, filter))
  if (shown.length === 0) return say('off', `No user matches ${filter}`, 'Esc in the filter shows all again.')
  return html`<table class="table fold rows no-lit"><thead><tr><th>Name</th><th>Role</th><th class="n wide">Since</th></tr></thead>
    <tbody>${shown.map((user) => userRow(user, user.username === which))}</tbody></table>`
}

function userRow(user: User, isChosen: boolean): VNode {
  const href = linkTo('users', 'user', user.username)
  const notes = [user.isYou && 'you', user.isLastAdmin && 'cannot be removed: the last administrator'].filter(Boolean)
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
  if (keys === null) return refused === null ? null : say('fault', 'The API keys could not be read', refused)
  if (keys.length === 0)
    return say(
      'off',
      'No API keys',
      'A key lets another system call this gateway, also after a restart, without a password of a person.',
    )
  const shown = keys.filter((key) =>
    matches(`${key.name} ${roleNames[key.role]} ${reachText(key)} ${key.state}`, filter),
  )
  if (shown.length === 0) return say('off', `No key matches ${filter}`, 'Esc in the filter shows all again.')
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
