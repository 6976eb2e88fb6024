/** Starts the controller's pages, and chooses which is shown: sign-in, or one of the pages inside the shell. */
import { options, render, type VNode } from 'preact'
import { signCallsWith } from '#kit/web/call.ts'
import { startContact, startNow } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { startKeys, useEverywhereKeys } from '#kit/web/keys.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import type { IconName, Lit } from '#kit/web/parts.ts'
import { atPlainAddress, linkTo, place, startRoute } from '#kit/web/route.ts'
import { type Entry, type PlateFacts, plate, Shell } from '#kit/web/shell.ts'
import type { PersonView } from '../core/access/accounts.ts'
import {
  allZones,
  cookieCredentials,
  isSignedOut,
  isSlow,
  LOOK_MS,
  list,
  look,
  me,
  needsAccount,
  pendingCount,
  site,
} from './state.ts'
import * as texts from './texts.ts'
import { shortVerdict } from './zone-words.ts'

// The pages, each loaded when it is opened.

const SignIn = lazy(async () => (await import('./sign-in.ts')).SignIn)
const SignedOut = lazy(async () => (await import('./sign-in.ts')).SignedOut)
const SetUp = lazy(async () => (await import('./set-up.ts')).SetUp)
const ZonesPage = lazy(async () => (await import('./zones-page.ts')).ZonesPage)
const PlanPage = lazy(async () => (await import('./plan-page.ts')).PlanPage)
const PendingPage = lazy(async () => (await import('./pending-page.ts')).PendingPage)
const TablesPage = lazy(async () => (await import('./tables-page.ts')).TablesPage)
const DevicesPage = lazy(async () => (await import('./devices-page.ts')).DevicesPage)
const AuditPage = lazy(async () => (await import('./audit-page.ts')).AuditPage)
const TodayPage = lazy(async () => (await import('#kit/web/today-page.ts')).TodayPage)
const SchedulePage = lazy(async () => (await import('./schedule-page.ts')).SchedulePage)
const MacrosPage = lazy(async () => (await import('./macros-page.ts')).MacrosPage)
const DefinitionsPage = lazy(async () => (await import('./definitions-page.ts')).DefinitionsPage)
const SystemPage = lazy(async () => (await import('./system-page.ts')).SystemPage)
const MustChange = lazy(async () => (await import('./sign-in.ts')).MustChange)
const AccountPage = lazy(async () => (await import('./sign-in.ts')).AccountPage)

/** A page in the rail; some are only for elevated sessions. */
interface PageEntry {
  /** In the address. */
  word: string
  label: string
  icon: IconName
  key: string
  isElevated?: true
  /** The page below which it stands: a phone has room for five. */
  below?: string
}

const ENTRIES: readonly PageEntry[] = [
  { word: 'zones', label: texts.zones, icon: 'rooms', key: 'z' },
  { word: 'plan', label: texts.floorPlan, icon: 'rooms', key: 'f', below: 'zones' },
  { word: 'today', label: texts.today, icon: 'today', key: 't', isElevated: true },
  { word: 'audit', label: texts.audit, icon: 'journal', key: 'a', isElevated: true, below: 'today' },
  { word: 'schedule', label: texts.schedule, icon: 'waiting', key: 'h', isElevated: true },
  { word: 'macros', label: texts.macros, icon: 'play', key: 'm', isElevated: true, below: 'schedule' },
  { word: 'tables', label: texts.siteTables, icon: 'settings', key: 'i', isElevated: true },
  { word: 'devices', label: texts.devices, icon: 'ports', key: 'd', isElevated: true, below: 'tables' },
  { word: 'definitions', label: texts.definitions, icon: 'journal', key: 'c', isElevated: true, below: 'tables' },
  { word: 'pending', label: texts.pending, icon: 'waiting', key: 'p', isElevated: true, below: 'tables' },
  { word: 'system', label: texts.system, icon: 'system', key: 's', isElevated: true, below: 'tables' },
  { word: 'account', label: texts.account, icon: 'users', key: 'u' },
]

/** The whole page. */
function App(): VNode {
  const person = me.value
  if (person?.must_change_password) return html`<${MustChange} plate=${plate(plateFacts())} />`
  if (person) return html`<${Signed} person=${person} />`
  if (person === null && needsAccount.value) return html`<${SetUp} plate=${plate(plateFacts())} />`
  if (person === null) return html`<${SignIn} plate=${plate(plateFacts())} />`
  const wait = firstWait('controller', texts.askingControllerWhoYou)
  return html`<main class="alone" id="main"><h1 class="sr">Plantroom controller</h1><div class="panel alone-in">${wait}</div></main>`
}

function plateFacts(): PlateFacts {
  return { role: texts.controller, name: site.value?.name ?? texts.unnamedSite, address: location.host }
}

function Signed({ person }: { person: PersonView }): VNode {
  const hasPlan = person.elevated || (list.value?.plans.length ?? 0) > 0
  const entries = ENTRIES.filter(
    ({ isElevated, word }) => (person.elevated || !isElevated) && (word !== 'plan' || hasPlan),
  )
  useEverywhereKeys(entries)
  const here = entries.find(({ word }) => word === place.value[0]) ?? entries[0]
  const facts = plateFacts()
  const title = `${here?.label ?? texts.zones} – ${facts.name}`
  if (document.title !== title) document.title = title
  const shown = entries
    .filter(({ below }) => below === undefined)
    .map((entry): Entry => {
      const sub = entries.filter(({ below }) => below === entry.word)
      const isHere = entry === here || sub.some((each) => each === here)
      return { ...entryOf(entry, isHere), icon: entry.icon, sub: sub.map((each) => entryOf(each, each === here)) }
    })
  return html`<${Shell} plate=${facts} entries=${shown} footer=${footer(person)}
      state=${barState()}>${page(here?.word)}</${Shell}>
    ${isSignedOut.value ? html`<${SignedOut} />` : null}`
}

function entryOf({ word, label }: PageEntry, isHere: boolean): Entry {
  return { href: linkTo(word), label, isHere, count: countText(countOf(word)) }
}

function countOf(word: string): number | null {
  if (word === 'zones') return list.value && allZones.value.length
  return word === 'pending' ? pendingCount.value : null
}

/** The state in the phone's bar, on every page. */
function barState(): { lit: Lit; words: string } | undefined {
  if (!list.value) return undefined
  return isSlow.value ? { lit: 'warn', words: texts.notLive } : shortVerdict(allZones.value)
}

function countText(count: number | null): string {
  return count === null || count === 0 ? '' : String(count)
}

function page(word: string | undefined): VNode {
  if (word === 'plan') return html`<${PlanPage} />`
  if (word === 'pending') return html`<${PendingPage} />`
  if (word === 'tables') return html`<${TablesPage} />`
  if (word === 'devices') return html`<${DevicesPage} />`
  if (word === 'audit') return html`<${AuditPage} />`
  if (word === 'today')
    return html`<${TodayPage} path="/ui/ledger" mayAcknowledge=${true} hasCookie=${true} more=${auditLink()} />`
  if (word === 'schedule') return html`<${SchedulePage} />`
  if (word === 'definitions') return html`<${DefinitionsPage} />`
  if (word === 'macros') return html`<${MacrosPage} />`
  if (word === 'system') return html`<${SystemPage} />`
  if (word === 'account') return html`<${AccountPage} />`
  return html`<${ZonesPage} />`
}

/** On a phone, where the navigation shows no pages below others. */
function auditLink(): VNode {
  return html`<a class="btn quiet" href=${linkTo('audit')}>Audit</a>`
}

function footer({ full_name: name, username }: PersonView): VNode {
  return html`Signed in as<br />${name ?? username}`
}

// Names come from people and files: a character that turns the writing direction of what follows makes `74:40` of
// `04:47` behind it. It is marked in every text that is drawn; what is typed in a field stays as it is.
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g
const hookBefore = options.vnode
options.vnode = (vnode: { props: unknown }) => {
  if (typeof vnode.props === 'string') vnode.props = vnode.props.replace(TURNS, '\ufffd')
  hookBefore?.(vnode as VNode)
}

// The start.
atPlainAddress(() => {
  signCallsWith(cookieCredentials)
  startNow()
  startRoute()
  startKeys()
  startContact(look, LOOK_MS)
  render(html`<${App} />`, document.body)
})
