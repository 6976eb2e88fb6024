/** Which page of the panel is shown: sign-in, or one of the pages inside the shell. */
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { type KeyedPage, useEverywhereKeys } from '#kit/web/keys.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import type { IconName, Lit } from '#kit/web/parts.ts'
import { linkTo, place } from '#kit/web/route.ts'
import { type Entry, plate, Shell } from '#kit/web/shell.ts'
import type { Health } from './api.ts'
import { health, isSignedIn, isSignedOut, leave, plateFacts, signInUse, status } from './state.ts'
import * as texts from './texts.ts'

const SignIn = lazy(async () => (await import('#kit/web/sign-in.ts')).SignIn)
const SignedOut = lazy(async () => (await import('#kit/web/sign-in.ts')).SignedOut)
const InstallationsPage = lazy(async () => (await import('./installations-page.ts')).InstallationsPage)
const ReleasesPage = lazy(async () => (await import('./releases-page.ts')).ReleasesPage)
const ArtifactsPage = lazy(async () => (await import('./artifacts-page.ts')).ArtifactsPage)
const JournalPage = lazy(async () => (await import('#kit/web/journal-page.ts')).JournalPage)
const SettingsPage = lazy(async () => (await import('./settings-page.ts')).SettingsPage)

/** A page: its word in the address, its entry in the navigation, the key that opens it after `g`, and what draws it. */
interface Page extends KeyedPage {
  icon: IconName
  draw: (which?: string) => VNode
}

/** Shown first, and for an address of no page. */
const INSTALLATIONS: Page = {
  ...{ word: 'installations', label: texts.installations, key: 'i', icon: 'system' },
  draw: (id) => html`<${InstallationsPage} id=${id} />`,
}

/** The pages, in the order of the navigation. */
const PAGES: readonly Page[] = [
  INSTALLATIONS,
  {
    ...{ word: 'updates', label: texts.updates, key: 'u', icon: 'firmware' },
    draw: (id) => html`<${ReleasesPage} id=${id} />`,
  },
  {
    ...{ word: 'artifacts', label: texts.artifacts, key: 'a', icon: 'copy' },
    draw: (what) => html`<${ArtifactsPage} what=${what} />`,
  },
  {
    ...{ word: 'audit', label: texts.audit, key: 'j', icon: 'journal' },
    draw: () => html`<${JournalPage} title=${texts.audit} hasCookie=${true} />`,
  },
  {
    ...{ word: 'settings', label: texts.settings, key: 's', icon: 'settings' },
    draw: () => html`<${SettingsPage} />`,
  },
]

/** The whole app. */
export function App(): VNode {
  const known = status.value
  if (isSignedIn.value) return html`<${Signed} />`
  if (known && isSignedIn.value === false)
    return html`<${SignIn} plate=${plate(plateFacts())} footer=${outside(known.version)} use=${signInUse} />`
  const wait = firstWait('update server', texts.askingServer)
  return html`<main class="alone" id="main"><h1 class="sr">Plantroom update server</h1><div class="panel alone-in">${wait}</div></main>`
}

/** What somebody without the password needs here. */
function outside(version: string): VNode {
  return html`${texts.installHint} <code class="break">${texts.installCommand(location.origin)}</code><br />${texts.version(version)}`
}

function Signed(): VNode {
  useEverywhereKeys(PAGES)
  const [name, which] = place.value
  const page = PAGES.find(({ word }) => word === name) ?? INSTALLATIONS
  const title = `${page.label} – ${plateFacts().name}`
  if (document.title !== title) document.title = title
  return html`<${Shell} plate=${plateFacts()} entries=${PAGES.map((each) => entryOf(each, page))} footer=${footer()} state=${barState(health.value)}>
      ${page.draw(which)}</${Shell}>
    ${isSignedOut.value ? html`<${SignedOut} use=${signInUse} />` : null}`
}

function entryOf(page: Page, here: Page): Entry {
  const { icon, label, word } = page
  return { href: linkTo(word), label, icon, isHere: page === here, ...besideOf(word, health.value) }
}

/** What stands beside an entry: how many, or a lamp if somebody has to look. */
function besideOf(word: string, known: Health | null): { count?: string; lit?: Lit; litWord?: string } {
  if (!known) return {}
  const { pending } = known.installations
  if (word === 'installations')
    return pending > 0
      ? { lit: 'warn', litWord: texts.waiting(pending) }
      : { count: String(known.installations.enabled || '') }
  if (word !== 'updates') return {}
  return known.halted.length > 0 ? { lit: 'fault', litWord: texts.halted } : { count: String(known.releases || '') }
}

/** For the bar of a phone. */
function barState(known: Health | null): { lit: Lit; words: string } | undefined {
  if (!known) return undefined
  const { enabled, pending } = known.installations
  if (known.halted.length > 0) return { lit: 'fault', words: texts.isHalted(known.halted[0] ?? '') }
  return pending > 0
    ? { lit: 'warn', words: texts.waiting(pending) }
    : { lit: enabled > 0 ? 'ok' : 'off', words: texts.enabledShort(enabled) }
}

function footer(): VNode {
  const known = status.value
  return html`${known ? texts.version(known.version) : null}<br />
    <button class="link" type="button" onClick=${() => void leave()}>Sign out</button>`
}
