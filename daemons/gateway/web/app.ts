/** Which page is shown: first run, sign-in, or one of the pages inside the shell. */
import type { VNode } from 'preact'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { useEverywhereKeys } from '#kit/web/keys.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import { age } from '#kit/web/numbers.ts'
import { type IconName, say } from '#kit/web/parts.ts'
import { linkTo, place } from '#kit/web/route.ts'
import { isSignedOut, token } from '#kit/web/session.ts'
import { type Entry, plate, Shell } from '#kit/web/shell.ts'
import { isAdmin, isSettingUp, me, plateFacts, ports, status, system } from './state.ts'
import { nameOf, shortVerdict, sortPorts, stateOf } from './words.ts'

// The journal of this gateway: for administrators, with lines by their short names.

const JournalPage = lazy(async () => (await import('#kit/web/journal-page.ts')).JournalPage)

/** The journal of this gateway: for administrators, with lines by their short names. */
function GatewayJournal(): VNode {
  if (me.value && !isAdmin.value)
    return html`<div class="head"><h1>Journal</h1></div><section class="panel">
      ${say('off', 'Only administrators see the journal', 'It names people and the addresses they came from.')}</section>`
  return html`<${JournalPage} nameTarget=${nameTarget} />`
}

function nameTarget(target: string): string {
  return target.startsWith('/dev/') ? nameOf(target) : target
}

const SignIn = lazy(async () => (await import('#kit/web/sign-in.ts')).SignIn)
const SignedOut = lazy(async () => (await import('#kit/web/sign-in.ts')).SignedOut)
const FirstRun = lazy(async () => (await import('./first-run.ts')).FirstRun)
const PortsPage = lazy(async () => (await import('./ports-page.ts')).PortsPage)
const PortPage = lazy(async () => (await import('./port-page.ts')).PortPage)
const PortSettings = lazy(async () => (await import('./port-settings.ts')).PortSettings)
const PointsPage = lazy(async () => (await import('./points-page.ts')).PointsPage)
const ScanPage = lazy(async () => (await import('./scan-page.ts')).ScanPage)
const WebhooksPage = lazy(async () => (await import('./webhooks-page.ts')).WebhooksPage)
const UsersPage = lazy(async () => (await import('./users-page.ts')).UsersPage)
const SystemPage = lazy(async () => (await import('./system-page.ts')).SystemPage)

/** Pages beside Ports, by the word in the address. */
const TITLES: Readonly<Record<string, string>> = {
  webhooks: 'Webhooks',
  users: 'Users',
  journal: 'Journal',
  system: 'System',
}

/** Lines listed under Ports; the rest is on the page. */
const MOST_SUB = 8

/** The whole page. */
export function App(): VNode {
  const known = status.value
  if (known && (isSettingUp.value || !known.adminConfigured)) return html`<${FirstRun} />`
  if (token.value !== null) return html`<${Signed} />`
  if (known) return html`<${SignIn} plate=${plate(plateFacts())} footer=${`Version ${known.version}`} />`
  const wait = firstWait('gateway', 'Asking the gateway who it is')
  return html`<main class="alone" id="main"><h1 class="sr">Plantroom gateway</h1><div class="panel alone-in">${wait}</div></main>`
}

function Signed(): VNode {
  useEverywhereKeys([
    { word: 'ports', label: 'Ports', key: 'p' },
    { word: 'webhooks', label: 'Webhooks', key: 'w' },
    { word: 'users', label: 'Users', key: 'u' },
    { word: 'journal', label: 'Journal', key: 'j' },
    { word: 'system', label: 'System', key: 's' },
  ])
  const name = plateFacts().name
  const title = `${pageTitle(place.value)} – ${name}`
  if (document.title !== title) document.title = title
  return html`<${Shell} plate=${plateFacts()} entries=${entries()} footer=${footer()}
      state=${ports.value ? shortVerdict(ports.value) : undefined}>
      ${page(place.value)}</${Shell}>
    ${isSignedOut.value ? html`<${SignedOut} />` : null}`
}

function page([name = 'ports', first, second, ...rest]: string[]): VNode {
  if (name === 'port' && first !== undefined) return portPage(first, second, rest)
  if (name === 'webhooks') return html`<${WebhooksPage} port=${first} id=${second} />`
  if (name === 'users') return html`<${UsersPage} what=${first} which=${second} />`
  if (name === 'journal') return html`<${GatewayJournal} />`
  if (name === 'system') return html`<${SystemPage} />`
  return html`<${PortsPage} />`
}

function portPage(path: string, part: string | undefined, [what, which]: string[]): VNode {
  if (part === 'settings') return html`<${PortSettings} path=${path} key=${`settings ${path}`} />`
  if (part === 'points') return html`<${PointsPage} path=${path} what=${what} which=${which} key=${`points ${path}`} />`
  if (part === 'scan') return html`<${ScanPage} path=${path} key=${`scan ${path}`} />`
  return html`<${PortPage} path=${path} key=${path} />`
}

function pageTitle([name = 'ports', first]: string[]): string {
  if (name === 'port' && first !== undefined) return nameOf(first)
  return TITLES[name] ?? 'Ports'
}

function entries(): Entry[] {
  const [name = 'ports', first] = place.value
  const known = ports.value
  const configured = sortPorts(known ?? []).filter((port) => port.configured)
  const sub = configured
    .toSorted((a, b) => a.path.localeCompare(b.path))
    .slice(0, MOST_SUB)
    .map((port) => {
      const { lit, word } = stateOf(port, daemonNow(), zone.value)
      const isHere = name === 'port' && first === port.path
      return { href: linkTo('port', port.path), label: nameOf(port.path), isHere, lit, litWord: word }
    })
  const hooks = known?.reduce((all, port) => all + port.webhooks, 0)
  const portsEntry: Entry = {
    href: linkTo('ports'),
    label: 'Ports',
    icon: 'ports',
    isHere: !(name in TITLES),
    count: known ? String(known.length) : '',
    sub,
  }
  return [
    portsEntry,
    ...Object.entries(TITLES).map(([word, label]) => ({
      href: linkTo(word),
      label,
      icon: (word === 'webhooks' ? 'hook' : word) as IconName,
      isHere: name === word,
      count: word === 'webhooks' && hooks ? String(hooks) : '',
    })),
  ]
}

function footer(): VNode | null {
  const facts = system.value
  if (!facts) return null
  return html`Version ${facts.version}<br />Up ${age(Math.max(1000, daemonNow() - facts.startedAt))}`
}
