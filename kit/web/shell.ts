/** The frame of every page: name plate, navigation, banner, toasts, shortcuts and the skip link. */
import type { VNode } from 'preact'
import { contact, isLost, now, tryNow, zone } from './contact.ts'
import { type Child, html } from './html.ts'
import { areShown } from './keys.ts'
import { lazy } from './lazy.ts'
import { age, timeOf } from './numbers.ts'
import { type IconName, icon, type Lit, lamp, Toasts } from './parts.ts'
import { leaving } from './route.ts'
import * as texts from './texts.ts'

const LeaveQuestion = lazy(async () => (await import('./shell-dialogs.ts')).LeaveQuestion)
const KeysDialog = lazy(async () => (await import('./shell-dialogs.ts')).KeysDialog)

/** The name plate: what this box is, its name and its address. */
export interface PlateFacts {
  role: string
  /** How sentences name it, if not by its role: `board`. */
  box?: string
  name: string
  address: string
}

/** One entry of the navigation; at most five at the top level. */
export interface Entry {
  href: string
  label: string
  icon?: IconName
  isHere: boolean
  /** A count, or nothing. */
  count?: string
  lit?: Lit
  litWord?: string
  sub?: Entry[]
}

/** Contents of the shell. */
export interface ShellFacts {
  plate: PlateFacts
  entries: Entry[]
  /** The overall state in a few words, for the phone's bar. */
  state?: { lit: Lit; words: string }
  footer: Child
  /** Shown above every page. */
  notices?: Child
  /** Replaces the banner of lost contact while the reason is known. */
  waits?: Child
  children?: Child
}

/** The name plate alone. */
export function plate({ role, name, address }: PlateFacts): VNode {
  return html`<div class="plate"><small>${role}</small><b>${name}</b><span class="mono">${address}</span></div>`
}

/** Plate, navigation and page. */
export function Shell(shell: ShellFacts): VNode {
  const { plate: facts, entries, state, footer, children } = shell
  return html`<div class=${isLost.value ? 'frame lost' : 'frame'}>
    <a class="skip btn primary" href="#main" onClick=${skip}>To the page</a>
    <header class="bar">${plate(facts)}
      ${state ? html`<div class="bar-state">${lamp(state.lit)}${state.words}</div>` : null}</header>
    <nav class="rail" aria-label="Pages">${entries.map(entry)}<footer>${footer}</footer></nav>
    <div class="page">
      ${shell.waits ?? html`<${Banner} box=${facts.box ?? facts.role.toLowerCase()} />`}${shell.notices}
      <main class=${isLost.value ? 'main stale' : 'main'} id="main" tabindex="-1">${children}</main>
    </div>
    ${leaving.value ? html`<${LeaveQuestion} />` : null}<${Toasts} />${areShown.value ? html`<${KeysDialog} />` : null}
  </div>`
}

function entry(facts: Entry): VNode {
  const current = facts.isHere ? (facts.sub?.some((each) => each.isHere) ? 'true' : 'page') : undefined
  const behind = facts.lit ? lamp(facts.lit, facts.litWord ?? true) : null
  return html`<a href=${facts.href} aria-current=${current} key=${facts.href}>
      ${facts.icon ? icon(facts.icon) : null}<span class="grow">${facts.label}</span>
      ${facts.count ? html`<span class="faint small">${facts.count}</span>` : behind}</a>
    ${facts.sub?.length ? html`<div class="sub">${facts.sub.map(entry)}</div>` : null}`
}

/** The hash is the page's route, so the skip link moves the focus itself and leaves the hash alone. */
function skip(event: Event): void {
  event.preventDefault()
  focusMain()
}

/** When the focused element is gone, makes Tab continue at the top of the page, not of the window. */
export function focusMain(): void {
  document.getElementById('main')?.focus({ preventScroll: true })
}

/** Contact lost: since when, how old the values are, when the next try is. Goes away by itself. */
function Banner({ box }: { box: string }): VNode | null {
  const { isLost: lost, lastGoodAt, nextTryAt } = contact.value
  if (!lost) return null
  const nextMs = nextTryAt - now.value
  const next = nextMs > 500 ? texts.nextTry(age(Math.ceil(nextMs / 1000) * 1000)) : texts.tryingNow
  return html`<section class="banner" data-s="warn" aria-label="Contact">${lamp('warn')}
    <span><b role="alert">No contact with this ${box}</b><b> for ${age(Math.max(1000, now.value - lastGoodAt))}.</b>
      ${texts.valuesAreFrom(timeOf(lastGoodAt, zone.value), next)}</span>
    <button class="btn" type="button" onClick=${tryNow}>Try now</button></section>`
}
