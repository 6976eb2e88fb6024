/** Who is signed in, what that allows, and the way out. */
import type { VNode } from 'preact'
import { Act } from '#kit/web/button.ts'
import { html } from '#kit/web/html.ts'
import { readTable } from '#kit/web/read-table.ts'
import { me } from './session.ts'
import { leave } from './state.ts'

/** The page. */
export function AccountPage(): VNode | null {
  const person = me.value
  if (!person) return null
  const { full_name: name, username, roles, elevated } = person
  return html`<div class="head"><h1>Account</h1></div>
    <section class="panel narrow" aria-label="Account">${readTable([
      ['Name', name ?? '–'],
      ['User name', username],
      ['Roles', roles.join(', ') || '–'],
      ['Elevated', elevated ? 'yes: sees everything, and may change it' : 'no: sees the zones of its UIs'],
    ])}<footer><${Act} run=${() => void leave()}>Sign out</${Act}></footer></section>`
}
