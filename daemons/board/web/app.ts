/** Chooses the page: first run, or one inside the shell; with the banners and dialogs over every page. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { daemonNow, now } from '#kit/web/contact.ts'
import { Dialog } from '#kit/web/dialog.ts'
import { input, refusal, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useEverywhereKeys } from '#kit/web/keys.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import { age, fixed, THIN } from '#kit/web/numbers.ts'
import { Act, type IconName, type Lit, lamp, toast } from '#kit/web/parts.ts'
import { linkTo, place } from '#kit/web/route.ts'
import { type Entry, plate, Shell } from '#kit/web/shell.ts'
import { api, isSignedOut, type Status, tryPassword } from './api.ts'
import { isLate, isSettingUp, lookNow, plateFacts, restarting, status, waitText } from './state.ts'
import * as texts from './texts.ts'
import { litOf, stateWords } from './words.ts'

// Banners above every page: a pending restart, an address to confirm, no password, a board that blinks.

/** Replaces the banner of lost contact during a requested restart; undefined otherwise. */
function restartBanner(): VNode | undefined {
  const waited = restarting.value
  if (!waited) return undefined
  const isOver = isLate(waited, now.value)
  return banner(
    isOver ? 'warn' : 'busy',
    texts.restart,
    html`<b role="alert">${waited.what}</b> ${waitText(waited, now.value)}`,
  )
}

/** Notices shown on every page. */
function notices(status: Status): Child {
  return [addressNotice(status), identifyNotice(status), openNotice(status)]
}

function banner(lit: Lit, label: string, words: Child, act?: Child): VNode {
  return html`<section class="banner" data-s=${lit} aria-label=${label} key=${label}>${lamp(lit)}<span>${words}</span>${act}</section>`
}

/** A new address must be confirmed within two minutes; after that the board reverts it. */
function addressNotice({ network }: Status): Child {
  if (network.state === 'fallen_back' || network.state === 'refused')
    return banner('warn', texts.address, network.text, html`<a class="btn" href=${linkTo('settings')}>Settings</a>`)
  if (network.state !== 'unconfirmed') return null
  const leftMs = (network.confirm_until ?? 0) - daemonNow()
  const left = leftMs > 0 ? texts.timeLeft(age(Math.max(1000, leftMs))) : texts.timeIsOver
  return banner('warn', texts.address, html`<b role="alert">New address</b><b>, ${left}.</b> ${network.text}`)
}

function identifyNotice({ identify_until: until }: Status): Child {
  if (until === null || until <= daemonNow()) return null
  const words = html`<b role="alert">This is the board that blinks.</b> It stops by itself in ${age(until - daemonNow())}.`
  return banner('busy', texts.identify, words, html`<${StopBlinking} />`)
}

function StopBlinking(): VNode {
  const [isBusy, setBusy] = useState(false)
  async function stop(): Promise<void> {
    setBusy(true)
    try {
      await api.identify(false)
      await lookNow()
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    setBusy(false)
  }
  return html`<${Act} waits=${isBusy} run=${() => void stop()}>Stop</${Act}>`
}

/** A board without a password says so permanently. */
function openNotice({ password_set: hasPassword }: Status): Child {
  if (hasPassword) return null
  const words = html`<b>No password.</b> Everybody on this network can change this board.`
  return banner('warn', texts.password, words, html`<a class="btn" href=${linkTo('system', 'password')}>Set one</a>`)
}

// Asks for the password again over the page, which keeps everything typed.

/** The dialog. */
function SignedOut(): VNode {
  const form = useForm({ password: '' })
  async function tryIt(): Promise<void> {
    if (!(await tryPassword(String(form.values.value.password)))) throw new Error(texts.boardDoesNotTakePassword)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(tryIt)
  }
  return html`<${Dialog} title="Sign in again">
    <form onSubmit=${submit} novalidate class="again"><div class="stack">
      <p class="soft">The password of this board was changed. What you typed on the page is kept.</p>
      ${input({ form, name: 'password', label: texts.password, type: 'password', autocomplete: 'current-password', first: true, kind: 'wide' })}${refusal(form)}</div>
      <footer><${Act} kind="primary" type="submit" waits=${form.isBusy.value || form.values.value.password === ''}>Sign in</${Act}></footer></form>
  </${Dialog}>`
}

// The pages.

const FirstRun = lazy(async () => (await import('./first-run.ts')).FirstRun)
const SerialPage = lazy(async () => (await import('./serial-page.ts')).SerialPage)
const UsbipPage = lazy(async () => (await import('./usbip-page.ts')).UsbipPage)
const EncoderPage = lazy(async () => (await import('./encoder-page.ts')).EncoderPage)
const DecoderPage = lazy(async () => (await import('./decoder-page.ts')).DecoderPage)
const SilentPage = lazy(async () => (await import('./system-page.ts')).SilentPage)
const MatrixPage = lazy(async () => (await import('./matrix-page.ts')).MatrixPage)
const SettingsPage = lazy(async () => (await import('./settings-page.ts')).SettingsPage)
const FirmwarePage = lazy(async () => (await import('./firmware-page.ts')).FirmwarePage)
const SystemPage = lazy(async () => (await import('./system-page.ts')).SystemPage)
const TodayPage = lazy(async () => (await import('#kit/web/today-page.ts')).TodayPage)
const JournalPage = lazy(async () => (await import('#kit/web/journal-page.ts')).JournalPage)

/** The pages of the rail, by the word in the address. */
const ENTRIES: readonly (readonly [word: string, label: string, icon: IconName, key: string])[] = [
  ['live', texts.live, 'live', 'l'],
  ['matrix', texts.matrix, 'matrix', 'm'],
  ['settings', texts.settings, 'settings', 's'],
  ['firmware', texts.firmware, 'firmware', 'f'],
  ['system', texts.system, 'system', 'y'],
]

/** Pages below System in the navigation, which has room for five. */
const OTHERS = [
  { word: 'today', label: texts.today, key: 't' },
  { word: 'journal', label: texts.journal, key: 'j' },
] as const

/** The whole page. The password dialog is part of it: fetched on demand it would need the password itself. */
export function App(): VNode {
  return html`${body(status.value)}${isSignedOut.value ? html`<${SignedOut} />` : null}`
}

function body(known: Status | null): VNode {
  if (!known) return waiting()
  if (isSettingUp.value || isNew(known)) return html`<${FirstRun} />`
  return html`<${Known} known=${known} />`
}

/** Whether nobody has set it up yet. */
function isNew(known: Status): boolean {
  return known.set_up === false
}

function waiting(): VNode {
  const words = firstWait('board', texts.askingBoardHow)
  return html`<main class="alone" id="main"><div class="alone-in">${plate(plateFacts())}<h1 class="sr">Plantroom board</h1><div class="panel">${words}</div></div></main>`
}

function Known({ known }: { known: Status }): VNode {
  useEverywhereKeys([...ENTRIES.map(([word, label, , key]) => ({ word, label, key })), ...OTHERS])
  const words = placeWords()
  const facts = plateFacts()
  const label =
    ENTRIES.find(([word]) => word === words[0])?.[1] ??
    OTHERS.find(({ word }) => word === words[0])?.label ??
    texts.journal
  const title = `${label} – ${facts.name}`
  if (document.title !== title) document.title = title
  return html`<${Shell} plate=${facts} entries=${entries(words)} footer=${footer(known)} notices=${notices(known)}
      waits=${restartBanner()} state=${{ lit: litOf(known.verdict.state), words: stateWords[known.verdict.state] }}>
      ${page(words, known)}</${Shell}>`
}

/** At `/matrix` the matrix is shown until another page is opened from there. */
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
  if (name === 'today') return html`<${Today} revision=${known.ledger?.revision} />`
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
    const sub = word === 'system' ? OTHERS.map((other) => otherEntry(other, here)) : undefined
    return { href: linkTo(word), label, icon, isHere, sub }
  })
}

function otherEntry({ word, label }: (typeof OTHERS)[number], here: string | undefined): Entry {
  return { href: linkTo(word), label, isHere: word === here }
}

/** What was wrong with this board. */
function Today({ revision }: { revision?: number }): VNode {
  const more = html`<a class="btn quiet" href=${linkTo('journal')}>Journal</a>`
  return html`<${TodayPage} path="/api/ledger" mayAcknowledge=${true} takesForms=${true} revision=${revision} more=${more} />`
}

function footer(known: Status): VNode {
  const temperature = known.temperature_c === null ? '' : html`<br />${fixed(known.temperature_c, 1)}${THIN}°C`
  return html`Version ${known.version}<br />Up ${age(Math.max(1000, daemonNow() - known.started_at))}${temperature}`
}
