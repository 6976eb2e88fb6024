/** Which page is shown: first run, or one of the pages inside the shell. */
import type { VNode } from 'preact'
import { useEverywhereKeys } from '#kit/web/everywhere-keys.ts'
import { firstWait } from '#kit/web/first-wait.ts'
import { html } from '#kit/web/html.ts'
import type { IconName } from '#kit/web/icon.ts'
import { lazy } from '#kit/web/lazy.ts'
import { daemonNow } from '#kit/web/now.ts'
import { age, fixed, THIN } from '#kit/web/numbers.ts'
import { linkTo, place } from '#kit/web/route.ts'
import { type Entry, plate, Shell } from '#kit/web/shell.ts'
import type { Status } from './api.ts'
import { isSignedOut } from './basic.ts'
import { notices, restartBanner } from './notices.ts'
import { SignedOut } from './signed-out.ts'
import { isSettingUp, plateFacts, status } from './state.ts'
import { litOf, stateWords } from './words.ts'

const FirstRun = lazy(async () => (await import('./first-run.ts')).FirstRun)
const SerialPage = lazy(async () => (await import('./serial-page.ts')).SerialPage)
const UsbipPage = lazy(async () => (await import('./usbip-page.ts')).UsbipPage)
const EncoderPage = lazy(async () => (await import('./encoder-page.ts')).EncoderPage)
const DecoderPage = lazy(async () => (await import('./decoder-page.ts')).DecoderPage)
const SilentPage = lazy(async () => (await import('./silent-page.ts')).SilentPage)
const MatrixPage = lazy(async () => (await import('./matrix-page.ts')).MatrixPage)
const SettingsPage = lazy(async () => (await import('./settings-page.ts')).SettingsPage)
const FirmwarePage = lazy(async () => (await import('./firmware-page.ts')).FirmwarePage)
const SystemPage = lazy(async () => (await import('./system-page.ts')).SystemPage)
const JournalPage = lazy(async () => (await import('#kit/web/journal-page.ts')).JournalPage)

/** The pages of the rail, by the word in the address. */
const ENTRIES: readonly (readonly [word: string, label: string, icon: IconName, key: string])[] = [
  ['live', 'Live', 'live', 'l'],
  ['matrix', 'Matrix', 'matrix', 'm'],
  ['settings', 'Settings', 'settings', 's'],
  ['firmware', 'Firmware', 'firmware', 'f'],
  ['system', 'System', 'system', 'y'],
]

/** The whole page. What asks for the password is not fetched when it is needed: it would need the password itself. */
export function App(): VNode {
  return html`${body(status.value)}${isSignedOut.value ? html`<${SignedOut} />` : null}`
}

function body(known: Status | null): VNode {
  if (!known) return waiting()
  if (isSettingUp.value || isNew(known)) return html`<${FirstRun} />`
  return html`<${Known} known=${known} />`
}

/** Nobody has set it up yet. */
function isNew(known: Status): boolean {
  return known.set_up === false
}

function waiting(): VNode {
  const words = firstWait('board', 'Asking the board how it is')
  return html`<main class="alone" id="main"><div class="alone-in">${plate(plateFacts())}<h1 class="sr">Plantroom board</h1><div class="panel">${words}</div></div></main>`
}

function Known({ known }: { known: Status }): VNode {
  useEverywhereKeys([
    ...ENTRIES.map(([word, label, , key]) => ({ word, label, key })),
    { word: 'journal', label: 'Journal', key: 'j' },
  ])
  const words = placeWords()
  const facts = plateFacts()
  const label = ENTRIES.find(([word]) => word === words[0])?.[1] ?? 'Journal'
  const title = `${label} – ${facts.name}`
  if (document.title !== title) document.title = title
  return html`<${Shell} plate=${facts} entries=${entries(words)} footer=${footer(known)} notices=${notices(known)}
      waits=${restartBanner()} state=${{ lit: litOf(known.verdict.state), words: stateWords[known.verdict.state] }}>
      ${page(words, known)}</${Shell}>`
}

/** The address `/matrix` is the matrix as long as nothing else was opened from there. */
function placeWords(): string[] {
  if (place.value.length > 0) return place.value
  return location.pathname === '/matrix' ? ['matrix'] : ['live']
}

function page([name, first, second]: string[], known: Status): VNode {
  if (name === 'matrix') return html`<${MatrixPage} />`
  if (name === 'settings') return html`<${SettingsPage} />`
  if (name === 'firmware') return html`<${FirmwarePage} />`
  if (name === 'system') return html`<${SystemPage} what=${first} />`
  if (name === 'journal') return html`<${JournalPage} />`
  if (known.role === 'serial') return html`<${SerialPage} what=${first} which=${second} />`
  if (known.role === 'usbip') return html`<${UsbipPage} />`
  if (known.decoder?.checks) return html`<${DecoderPage} />`
  if (known.encoder?.checks) return html`<${EncoderPage} />`
  return html`<${SilentPage} />`
}

function entries([here]: string[]): Entry[] {
  const isOther = !ENTRIES.some(([word]) => word === here)
  return ENTRIES.map(([word, label, icon]) => {
    const isHere = word === here || (isOther && word === 'system')
    return { href: linkTo(word), label, icon, isHere }
  })
}

function footer(known: Status): VNode {
  const temperature = known.temperature_c === null ? '' : html`<br />${fixed(known.temperature_c, 1)}${THIN}°C`
  return html`Version ${known.version}<br />Up ${age(Math.max(1000, daemonNow() - known.started_at))}${temperature}`
}
