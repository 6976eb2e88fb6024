/** Which page is shown: first run, sign-in, or one of the pages inside the shell. */
import type { VNode } from 'preact'
import { daemonNow } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { type KeyedPage, useEverywhereKeys } from '#kit/web/keys.ts'
import { firstWait, lazy } from '#kit/web/lazy.ts'
import { type IconName, say } from '#kit/web/parts.ts'
import { linkTo, place, visits } from '#kit/web/route.ts'
import { type Entry, plate, Shell } from '#kit/web/shell.ts'
import { litOf, shortVerdict, stateText } from './camera-words.ts'
import { cameras, isAdmin, isSignedOut, leave, me, plateFacts, setUp, signInUse, status } from './state.ts'
import * as texts from './texts.ts'

const SignIn = lazy(async () => (await import('#kit/web/sign-in.ts')).SignIn)
const SignedOut = lazy(async () => (await import('#kit/web/sign-in.ts')).SignedOut)
const FirstRun = lazy(async () => (await import('./first-run.ts')).FirstRun)
const WallPage = lazy(async () => (await import('./wall-page.ts')).WallPage)
const CamerasPage = lazy(async () => (await import('./cameras-page.ts')).CamerasPage)
const CameraPage = lazy(async () => (await import('./camera-page.ts')).CameraPage)
const PlaybackPage = lazy(async () => (await import('./playback-page.ts')).PlaybackPage)
const PlanPage = lazy(async () => (await import('./plan-page.ts')).PlanPage)
const EventsPage = lazy(async () => (await import('./events-page.ts')).EventsPage)
const PeoplePage = lazy(async () => (await import('./people-page.ts')).PeoplePage)
const HealthPage = lazy(async () => (await import('./health-page.ts')).HealthPage)
const SetUpPage = lazy(async () => (await import('./set-up-page.ts')).SetUpPage)
const StoragePage = lazy(async () => (await import('./storage-page.ts')).StoragePage)
const ClockPage = lazy(async () => (await import('./clock-page.ts')).ClockPage)
const LicencePage = lazy(async () => (await import('./licence-page.ts')).LicencePage)
const UpdatePage = lazy(async () => (await import('./update-page.ts')).UpdatePage)
const MqttPage = lazy(async () => (await import('./mqtt-page.ts')).MqttPage)
const AccountsPage = lazy(async () => (await import('./accounts-page.ts')).AccountsPage)
const ActionsPage = lazy(async () => (await import('./actions-page.ts')).ActionsPage)
const MessagesPage = lazy(async () => (await import('./messages-page.ts')).MessagesPage)
const RulesPage = lazy(async () => (await import('./rules-page.ts')).RulesPage)
const TodayPage = lazy(async () => (await import('#kit/web/today-page.ts')).TodayPage)
const JournalPage = lazy(async () => (await import('#kit/web/journal-page.ts')).JournalPage)

/** A page: its word in the address, its entry in the navigation, the key that opens it after `g`, and what draws it. */
interface Page extends KeyedPage {
  icon: IconName
  isForAdmins?: true
  /** The page below which it stands: a phone has room for five. */
  below?: string
  draw: (first?: string, second?: string) => VNode
}

/** Shown first, and for an address of no page. */
const WALL: Page = { word: 'wall', label: texts.wall, key: 'w', icon: 'matrix', draw: () => html`<${WallPage} />` }

/** Shown first while there is no camera. */
const CAMERAS: Page = {
  word: 'cameras',
  label: texts.cameras,
  key: 'c',
  icon: 'streams',
  draw: (what, which) => html`<${CamerasPage} what=${what} which=${which} />`,
}

/** The first set-up, before everything else until it is over. */
const SET_UP: Page = {
  word: 'set-up',
  label: texts.setUp,
  key: 'u',
  icon: 'play',
  isForAdmins: true,
  below: 'today',
  draw: (step) => html`<${SetUpPage} step=${step} />`,
}

/** The pages, in the order of the navigation. */
const PAGES: readonly Page[] = [
  WALL,
  CAMERAS,
  {
    word: 'actions',
    label: texts.buttonsAndAlerts,
    key: 'b',
    icon: 'live',
    below: 'wall',
    draw: () => html`<${ActionsPage} />`,
  },
  {
    word: 'rules',
    label: texts.rules,
    key: 'r',
    icon: 'settings',
    isForAdmins: true,
    below: 'wall',
    draw: (what, which) => html`<${RulesPage} what=${what} which=${which} />`,
  },
  {
    word: 'messages',
    label: texts.messages,
    key: 'o',
    icon: 'sound',
    below: 'wall',
    draw: (what) => html`<${MessagesPage} what=${what} />`,
  },
  {
    word: 'playback',
    label: texts.playback,
    key: 'p',
    icon: 'play',
    draw: (camera, at) => html`<${PlaybackPage} camera=${camera} at=${at} key=${visits.value} />`,
  },
  {
    word: 'plan',
    label: texts.plan,
    key: 'l',
    icon: 'rooms',
    below: 'wall',
    draw: (which, camera) => html`<${PlanPage} which=${which} camera=${camera} />`,
  },
  {
    word: 'events',
    label: texts.events,
    key: 'e',
    icon: 'search',
    below: 'playback',
    draw: (event) => html`<${EventsPage} event=${event} />`,
  },
  {
    word: 'people',
    label: texts.people,
    key: 'n',
    icon: 'users',
    isForAdmins: true,
    below: 'playback',
    draw: (what, which) => html`<${PeoplePage} what=${what} which=${which} />`,
  },
  {
    word: 'health',
    label: texts.health,
    key: 'h',
    icon: 'system',
    isForAdmins: true,
    below: 'today',
    draw: () => html`<${HealthPage} />`,
  },
  {
    word: 'storage',
    label: texts.storage,
    key: 's',
    icon: 'system',
    isForAdmins: true,
    below: 'today',
    draw: () => html`<${StoragePage} />`,
  },
  {
    word: 'clock',
    label: texts.clock,
    key: 'k',
    icon: 'waiting',
    isForAdmins: true,
    below: 'today',
    draw: () => html`<${ClockPage} />`,
  },
  {
    word: 'mqtt',
    label: texts.mqtt,
    key: 'm',
    icon: 'streams',
    isForAdmins: true,
    below: 'today',
    draw: () => html`<${MqttPage} />`,
  },
  {
    word: 'licence',
    label: texts.licence,
    key: 'i',
    icon: 'system',
    isForAdmins: true,
    below: 'today',
    draw: () => html`<${LicencePage} />`,
  },
  {
    word: 'updates',
    label: texts.updates,
    key: 'v',
    icon: 'system',
    isForAdmins: true,
    below: 'today',
    draw: () => html`<${UpdatePage} />`,
  },
  {
    word: 'accounts',
    label: texts.accounts,
    key: 'a',
    icon: 'users',
    draw: (what, which) => html`<${AccountsPage} what=${what} which=${which} />`,
  },
  { word: 'today', label: texts.today, key: 't', icon: 'today', draw: () => html`<${Today} />` },
  {
    word: 'journal',
    label: texts.journal,
    key: 'j',
    icon: 'journal',
    isForAdmins: true,
    below: 'today',
    draw: () => html`<${JournalPage} hasCookie=${true} />`,
  },
]

/** How many cameras are listed under Cameras; the page shows them all. */
const MOST_SUB = 12

/** The whole app. */
export function App(): VNode {
  const known = status.value
  if (me.value) return html`<${Signed} />`
  if (known && !known.adminConfigured) return html`<${FirstRun} />`
  if (known && me.value === null)
    return html`<${SignIn} plate=${plate(plateFacts())} footer=${texts.version(known.version)} use=${signInUse} />`
  const wait = firstWait('recorder', texts.askingRecorder)
  return html`<main class="alone" id="main"><h1 class="sr">Plantroom recorder</h1><div class="panel alone-in">${wait}</div></main>`
}

function Signed(): VNode {
  const isBegun = setUp.value !== undefined
  const pages = (isBegun ? [...PAGES, SET_UP] : PAGES).filter(({ isForAdmins }) => isAdmin.value || !isForAdmins)
  useEverywhereKeys(pages)
  const [name, first, second] = place.value
  const isOfCamera = name === 'camera' || cameras.value?.length === 0
  const landing = isBegun && !name ? SET_UP : isOfCamera ? CAMERAS : WALL
  const page = pages.find(({ word }) => word === name) ?? landing
  const camera = name === 'camera' ? cameras.value?.find(({ id }) => id === first) : undefined
  const title = `${camera?.name ?? page.label} – ${plateFacts().name}`
  if (document.title !== title) document.title = title
  return html`<${Shell} plate=${plateFacts()} entries=${entries(pages, page)} footer=${footer()}
      state=${cameras.value ? shortVerdict(cameras.value) : undefined}>
      ${isBegun && page !== SET_UP ? setUpGoesOn() : null}${name === 'camera' && first !== undefined ? html`<${CameraPage} id=${first} what=${second} key=${first} />` : page.draw(first, second)}</${Shell}>
    ${isSignedOut.value ? html`<${SignedOut} use=${signInUse} />` : null}`
}

/** The set-up was left, and is gone on with from every page. */
function setUpGoesOn(): VNode {
  const act = html`<a class="btn" href=${linkTo('set-up')}>Go on with set-up</a>`
  return html`<section class="panel" aria-label="Set-up">${say('busy', texts.setUpIsNotOver, cameras.value?.length ? texts.recordingIsNext : texts.camerasAreNext, act)}</section>`
}

function entries(pages: readonly Page[], here: Page): Entry[] {
  return pages
    .filter(({ below }) => below === undefined)
    .map(({ icon, label, word }) => ({
      ...{ href: linkTo(word), label, icon },
      isHere: here.word === word || here.below === word,
      count: word === 'cameras' ? String(cameras.value?.length || '') : '',
      sub: word === 'cameras' ? cameraEntries() : subEntries(pages, word, here),
    }))
}

function subEntries(pages: readonly Page[], word: string, here: Page): Entry[] {
  const sub = pages.filter(({ below }) => below === word)
  return sub.map((page) => ({ href: linkTo(page.word), label: page.label, isHere: page === here }))
}

function cameraEntries(): Entry[] {
  const [name, first] = place.value
  const when = { nowMs: daemonNow(), zone: undefined }
  return (cameras.value ?? [])
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .slice(0, MOST_SUB)
    .map((camera) => ({
      ...{ href: linkTo('camera', camera.id), label: camera.name },
      isHere: name === 'camera' && first === camera.id,
      ...{ lit: litOf(camera), litWord: stateText(camera, when) },
    }))
}

/** What was wrong, and with which camera. */
function Today(): VNode {
  const more = isAdmin.value
    ? html`<a class="btn quiet" href=${linkTo('health')}>Health</a><a class="btn quiet" href=${linkTo('storage')}>Storage</a><a class="btn quiet" href=${linkTo('clock')}>Clock</a><a class="btn quiet" href=${linkTo('mqtt')}>MQTT</a><a class="btn quiet" href=${linkTo('licence')}>Licence</a><a class="btn quiet" href=${linkTo('updates')}>Updates</a><a class="btn quiet" href=${linkTo('journal')}>Journal</a>`
    : null
  return html`<${TodayPage} path="/api/ledger" mayAcknowledge=${isAdmin.value} hasCookie=${true} more=${more} />`
}

function footer(): VNode {
  const known = status.value
  return html`${known ? texts.version(known.version) : null}<br />${texts.signedInAs(me.value?.username ?? '')}<br />
    <button class="link" type="button" onClick=${() => void leave()}>Sign out</button>`
}
