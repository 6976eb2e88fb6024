/** The live page of a role that has nothing of its own to show in this version: the verdict says why. */
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { say, verdict } from '#kit/web/lamp.ts'
import { linkTo } from '#kit/web/route.ts'
import { status } from './state.ts'
import { litOf, roleTitles } from './words.ts'

/** The page. */
export function SilentPage(): VNode | null {
  const known = status.value
  if (!known) return null
  const { state, text } = known.verdict
  const act = html`<a class="btn" href=${linkTo('settings')}>Settings</a>`
  return html`<h1 class="sr">${roleTitles[known.role]}</h1>${verdict({ lit: litOf(state), sentence: text })}
    <section class="panel">${say('off', 'Nothing to show in this role', 'Settings, firmware, system and the matrix work as on every board. Another role is chosen in the settings.', act)}</section>`
}
