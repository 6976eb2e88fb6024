/** Which page is shown: first run, sign-in, or one of the pages inside the shell. */
import type { VNode } from 'preact'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { type KeyedPage, useEverywhereKeys } from '#kit/web/keys.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import { age } from '#kit/web/numbers.ts'
import { type IconName, say } from '#kit/web/parts.ts'
import { linkTo, place } from '#kit/web/route.ts'
import { isSignedOut, token } from '#kit/web/session.ts'
import { type Entry, plate, Shell } from '#kit/web/shell.ts'
import { isAdmin, isSettingUp, me, plateFacts, ports, status, system } from './state.ts'
import * as texts from './texts.ts'
import { shortPath, shortVerdict, sortPorts, stateOf } from './words.ts'

const SignIn = lazy(async () => (await import('#kit/web/sign-in.ts')).SignIn)
const SignedOut = lazy(async () => (await import('#kit/web/sign-in.ts')).SignedOut)
const FirstRun = lazy(async () => (await import('./first-run.ts')).FirstRun)
const PortsPage = lazy(async () => (await import('./ports-page.ts')).PortsPage)
const PortPage = lazy(async () => (await import('./port-page.ts')).PortPage)
const PortSettings = lazy(async () => (await import('./port-settings.ts')).PortSettings)
const HistoryPage = lazy(async () => (await import('./history-page.ts')).HistoryPage)
const ReportPage = lazy(async () => (await import('./report-page.ts')).ReportPage)
const PointsPage = lazy(async () => (await import('./points-page.ts')).PointsPage)
const HuntPage = lazy(async () => (await import('./hunt-page.ts')).HuntPage)
const ScanPage = lazy(async () => (await import('./scan-page.ts')).ScanPage)
const WebhooksPage = lazy(async () => (await import('./webhooks-page.ts')).WebhooksPage)
const UsersPage = lazy(async () => (await import('./users-page.ts')).UsersPage)
const JournalPage = lazy(async () => (await import('#kit/web/journal-page.ts')).JournalPage)
const TodayPage = lazy(async () => (await import('#kit/web/today-page.ts')).TodayPage)
const SystemPage = lazy(async () => (await import('./system-page.ts')).SystemPage)

/** A page: its word in the address, its entry in the navigation, the key that opens it after `g`, and what draws it. */
interface Page extends KeyedPage {
  icon: IconName
  draw: (first?: string, second?: string) => VNode
}

/** Also shown for an address of no page. */
const PORTS: Page = {
  word: 'ports',
  label: texts.ports,
  key: 'p',
  icon: 'ports',
  draw: () => html`<${PortsPage} />`,
}

/** The pages, in the order of the navigation. */
const PAGES: readonly Page[] = [
  PORTS,
  {
    word: 'webhooks',
    label: texts.webhooks,
    key: 'w',
    icon: 'hook',
    draw: (port, id) => html`<${WebhooksPage} port=${port} id=${id} />`,
  },
  {
    word: 'users',
    label: texts.users,
    key: 'u',
    icon: 'users',
    draw: (what, which) => html`<${UsersPage} what=${what} which=${which} />`,
  },
  { word: 'today', label: texts.today, key: 't', icon: 'today', draw: () => html`<${Today} />` },
  { word: 'system', label: texts.system, key: 's', icon: 'system', draw: () => html`<${SystemPage} />` },
  // Below Today in the navigation, which has room for five.
  { word: 'journal', label: texts.journal, key: 'j', icon: 'journal', draw: () => html`<${GatewayJournal} />` },
]

/** How many lines are listed under Ports; the page shows them all. */
const MOST_SUB = 8

/** The whole app. */
export function App(): VNode {
  const known = status.value
  if (known && (isSettingUp.value || !known.adminConfigured)) return html`<${FirstRun} />`
  if (token.value !== null) return html`<${Signed} />`
  if (known) return html`<${SignIn} plate=${plate(plateFacts())} footer=${texts.version(known.version)} />`
  const wait = firstWait('gateway', texts.askingGateway)
  return html`<main class="alone" id="main"><h1 class="sr">Plantroom gateway</h1><div class="panel alone-in">${wait}</div></main>`
}

function Signed(): VNode {
  useEverywhereKeys(PAGES)
  const name = plateFacts().name
  const title = `${pageTitle(place.value)} – ${name}`
  if (document.title !== title) document.title = title
  return html`<${Shell} plate=${plateFacts()} entries=${entries()} footer=${footer()}
      state=${ports.value ? shortVerdict(ports.value) : undefined}>
      ${page(place.value)}</${Shell}>
    ${isSignedOut.value ? html`<${SignedOut} />` : null}`
}

/** The page of a word. The page of a port has its own address and no entry in the navigation. */
function pageOf(name: string | undefined): Page {
  return PAGES.find(({ word }) => word === name) ?? PORTS
}

function page([name, first, second, ...rest]: string[]): VNode {
  if (name === 'port' && first !== undefined) return portPage(first, second, rest)
  return pageOf(name).draw(first, second)
}

function portPage(path: string, part: string | undefined, [what, which]: string[]): VNode {
  if (part === 'settings') return html`<${PortSettings} path=${path} taken=${what} key=${`settings ${path}`} />`
  if (part === 'points' && what === 'history' && which !== undefined)
    return html`<${HistoryPage} path=${path} name=${which} key=${`history ${path} ${which}`} />`
  if (part === 'points') return html`<${PointsPage} path=${path} what=${what} which=${which} key=${`points ${path}`} />`
  if (part === 'report') return html`<${ReportPage} path=${path} key=${`report ${path}`} />`
  if (part === 'hunt') return html`<${HuntPage} path=${path} key=${`hunt ${path}`} />`
  if (part === 'scan') return html`<${ScanPage} path=${path} key=${`scan ${path}`} />`
  return html`<${PortPage} path=${path} key=${path} />`
}

function pageTitle([name, first]: string[]): string {
  return name === 'port' && first !== undefined ? shortPath(first) : pageOf(name).label
}

function entries(): Entry[] {
  const [name, first] = place.value
  const known = ports.value
  const hooks = known?.reduce((all, port) => all + port.webhooks, 0)
  const counts: Readonly<Record<string, number | undefined>> = { ports: known?.length, webhooks: hooks || undefined }
  return PAGES.filter(({ word }) => word !== 'journal').map(({ word, label, icon }) => ({
    href: linkTo(word),
    label,
    icon,
    isHere: pageOf(name).word === word || (word === 'today' && name === 'journal'),
    count: String(counts[word] ?? ''),
    sub: subEntries(word, name, first),
  }))
}

function subEntries(word: string, name: string | undefined, first: string | undefined): Entry['sub'] {
  if (word === 'today') return [{ href: linkTo('journal'), label: texts.journal, isHere: name === 'journal' }]
  return word === 'ports' ? portEntries(name === 'port' ? first : undefined) : undefined
}

/** The entries under Ports, one per line. @param here the line whose page is shown */
function portEntries(here: string | undefined): Entry['sub'] {
  return sortPorts(ports.value ?? [])
    .filter((port) => port.configured)
    .toSorted((a, b) => a.path.localeCompare(b.path))
    .slice(0, MOST_SUB)
    .map((port) => {
      const { lit, word } = stateOf(port, daemonNow(), zone.value)
      const label = shortPath(port.path)
      return { href: linkTo('port', port.path), label, isHere: here === port.path, lit, litWord: word }
    })
}

/** What was wrong, and on which line. */
function Today(): VNode {
  const more = html`<a class="btn quiet" href=${linkTo('journal')}>Journal</a>`
  return html`<${TodayPage} path="/api/ledger" mayAcknowledge=${isAdmin.value} nameWhere=${nameTarget} more=${more} />`
}

/** The journal of this gateway, for administrators only. Lines appear by their short names. */
function GatewayJournal(): VNode {
  if (me.value && !isAdmin.value)
    return html`<div class="head"><h1>Journal</h1></div><section class="panel">
      ${say('off', texts.onlyAdministratorsSeeJournal, texts.journalNamesPeople)}</section>`
  return html`<${JournalPage} nameTarget=${nameTarget} />`
}

function nameTarget(target: string): string {
  const [path = '', ...rest] = target.split(' ')
  return path.startsWith('/dev/') ? [shortPath(path), ...rest].join(' ') : target
}

function footer(): VNode | null {
  const facts = system.value
  if (!facts) return null
  return html`Version ${facts.version}<br />Up ${age(Math.max(1000, daemonNow() - facts.startedAt))}`
}
