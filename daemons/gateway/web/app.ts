/** Which page is shown: first run, sign-in, or one of the pages inside the shell. */
import type { VNode } from 'preact'
import { isLost } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { say } from '#kit/web/lamp.ts'
import { lazy } from '#kit/web/lazy.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { age } from '#kit/web/numbers.ts'
import { goTo, linkTo, place } from '#kit/web/route.ts'
import { token } from '#kit/web/session.ts'
import { type Entry, plate, Shell } from '#kit/web/shell.ts'
import { SignedOut, SignIn } from '#kit/web/sign-in.ts'
import { isSettingUp, plateFacts, ports, status, system } from './state.ts'
import { shortVerdict, sortPorts } from './verdicts.ts'
import { nameOf, stateOf } from './words.ts'

const FirstRun = lazy(async () => (await import('./first-run.ts')).FirstRun)
const PortsPage = lazy(async () => (await import('./ports-page.ts')).PortsPage)
const PortPage = lazy(async () => (await import('./port-page.ts')).PortPage)
const PortSettings = lazy(async () => (await import('./port-settings.ts')).PortSettings)
const WebhooksPage = lazy(async () => (await import('./webhooks-page.ts')).WebhooksPage)
const SystemPage = lazy(async () => (await import('./system-page.ts')).SystemPage)

/** Lines listed under Ports; the rest is on the page. */
const MOST_SUB = 8

/** The whole page. */
export function App(): VNode {
  const known = status.value
  if (known && (isSettingUp.value || !known.adminConfigured)) return html`<${FirstRun} />`
  if (token.value !== null) return html`<${Signed} />`
  if (known) return html`<${SignIn} plate=${plate(plateFacts())} footer=${`Version ${known.version}`} />`
  const wait = isLost.value
    ? say(
        'warn',
        'No contact with this gateway',
        'It is asked again every few seconds; this page comes back by itself.',
      )
    : say('busy', 'Asking the gateway who it is', 'This usually takes less than a second.')
  return html`<main class="alone" id="main"><h1 class="sr">Plantroom gateway</h1><div class="panel alone-in">${wait}</div></main>`
}

function Signed(): VNode {
  useKeys('Everywhere', [
    { key: '?', what: 'shows these keys', run: () => false },
    { key: 'g p', what: 'Ports', run: () => go('ports') },
    { key: 'g w', what: 'Webhooks', run: () => go('webhooks') },
    { key: 'g s', what: 'System', run: () => go('system') },
    { key: '/', what: 'filter', run: focusFilter },
  ])
  const name = plateFacts().name
  const title = `${pageTitle(place.value)} – ${name}`
  if (document.title !== title) document.title = title
  return html`<${Shell} plate=${plateFacts()} entries=${entries()} footer=${footer()}
      state=${ports.value ? shortVerdict(ports.value) : undefined}>
      ${page(place.value)}</${Shell}>
    <${SignedOut} />`
}

function go(name: string): undefined {
  goTo(name)
}

/** Filters are marked, so that `/` finds the one of the page. */
function focusFilter(): boolean {
  const button = document.querySelector<HTMLElement>('[data-filter]')
  button?.focus()
  if (button instanceof HTMLButtonElement) button.click()
  return button !== null
}

function page([name = 'ports', first, second]: string[]): VNode {
  if (name === 'port' && first !== undefined)
    return second === 'settings'
      ? html`<${PortSettings} path=${first} key=${`settings ${first}`} />`
      : html`<${PortPage} path=${first} key=${first} />`
  if (name === 'webhooks') return html`<${WebhooksPage} port=${first} id=${second} />`
  if (name === 'system') return html`<${SystemPage} />`
  return html`<${PortsPage} />`
}

function pageTitle([name = 'ports', first]: string[]): string {
  if (name === 'port' && first !== undefined) return nameOf(first)
  return { webhooks: 'Webhooks', system: 'System' }[name] ?? 'Ports'
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
  const isOther = name === 'webhooks' || name === 'system'
  return [
    {
      href: linkTo('ports'),
      label: 'Ports',
      icon: 'ports',
      isHere: !isOther,
      count: known ? String(known.length) : '',
      sub,
    },
    {
      href: linkTo('webhooks'),
      label: 'Webhooks',
      icon: 'hook',
      isHere: name === 'webhooks',
      count: hooks ? String(hooks) : '',
    },
    { href: linkTo('system'), label: 'System', icon: 'system', isHere: name === 'system' },
  ]
}

function footer(): VNode | null {
  const facts = system.value
  if (!facts) return null
  return html`Version ${facts.version}<br />Up ${age(Math.max(1000, daemonNow() - facts.startedAt))}`
}
