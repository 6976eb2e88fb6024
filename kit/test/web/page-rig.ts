/** A real browser on a daemon's pages, with its requests, its complaints, axe's findings, and pictures. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type axe from 'axe-core'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { until } from '#kit/test/until.ts'

/** Debian's browser without its windows, which takes a tenth less of the processor; nothing is downloaded. */
const CHROMIUM = '/usr/bin/chromium-headless-shell'

/** Why the pages cannot be tested here; false if they can. */
export const noBrowser: string | false = existsSync(CHROMIUM)
  ? false
  : `${CHROMIUM} is missing: apt-get install chromium-headless-shell`

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Reached only by failures: on a busy machine a browser takes seconds for a page. */
const LIMIT_MS = 45_000

/** Output of `make pictures`; the few in docs/img are chosen from them. */
const PICTURES = join(import.meta.dirname, '../../../build/pictures')
const SIZES = [
  { name: 'desk', width: 1280, height: 800 },
  { name: 'phone', width: 390, height: 844 },
] as const
const isPictured = process.env.PLANTROOM_PICTURES === '1'
const SCHEMES = ['light', 'dark'] as const

/** A page under test. */
export interface Rig {
  page: Page
  /** Requests that went anywhere but to the daemon. */
  strangers: string[]
  /** Complaints of the browser: script errors, violations of the content security policy, failed loads. */
  complaints: string[]
  /**
   * Runs axe at desk size in light and at phone size in dark, checks that nothing overflows, and takes pictures if
   * requested.
   */
  audit(t: Test, name: string, kind?: 'unpictured'): Promise<void>
  /** Waits until no toast is visible; does nothing unless pictures are taken. */
  calm(): Promise<void>
  /** Opens a page by the words of its address. */
  visit(...words: string[]): Promise<void>
  /** Cuts the connection, or restores it. */
  offline(is: boolean): Promise<void>
}

/** Complaints while a daemon is away, such as for a restart: a call may meet its end, or the time before its start. */
export const AWAY = /net::ERR_(EMPTY_RESPONSE|CONNECTION_(REFUSED|RESET))|WebSocket connection/

/** Options for opening a browser. */
export interface RigOptions {
  /** Token to be signed in with, kept by the tab. */
  token?: string
  /** Credentials for HTTP Basic, as if somebody had typed them when the browser asked. */
  basic?: { username: string; password: string }
  /** Folder below build/pictures for its pictures. */
  pictures?: string
  /** Expected complaints: a restarting board does not answer. */
  wanted?: RegExp
}

/** Starts Debian's browser; closed with the test. @param args in addition to the standard ones */
export async function launchBrowser(t: Test, args: readonly string[] = []): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: [...ARGS, ...args] })
  t.teardown(() => browser.close())
  return browser
}

/** Functions that scripts/tests-together.ts runs after all files of its process. */
const AT_END = Symbol.for('plantroom: what is done when all files have run')
let shared: Promise<Browser> | undefined

/** A browser shared by all files of a process; in a file with its own process it belongs to the test. */
function browserOf(t: Test): Promise<Browser> {
  const atEnd = (globalThis as { [AT_END]?: (() => Promise<void>)[] })[AT_END]
  if (atEnd === undefined) return launchBrowser(t)
  if (shared === undefined) {
    const browser = chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGS })
    atEnd.push(async () => (await browser).close())
    shared = browser
  }
  return shared
}

/** Opens a browser on `url`, signed in if requested; closed with the test. */
export async function openRig(t: Test, url: string, options: RigOptions = {}): Promise<Rig> {
  const { token, basic, pictures = '', wanted } = options
  const browser = await browserOf(t)
  const look = { viewport: SIZES[0], colorScheme: 'light', reducedMotion: 'reduce' } as const
  const context = await browser.newContext(basic ? { ...look, httpCredentials: basic } : look)
  context.setDefaultTimeout(LIMIT_MS)
  const page = await context.newPage()
  t.teardown(async () => {
    if (!t.passing()) console.error(`the page showed: ${await textOf(page)}`)
    await context.close()
  })
  const strangers: string[] = []
  const complaints: string[] = []
  const host = new URL(url).host
  let isOffline = false
  page.on('request', (request) => {
    // What a page has made itself has the address of the page behind `blob:`.
    if (new URL(request.url().replace(/^blob:/, '')).host !== host) strangers.push(request.url())
  })
  page.on('pageerror', (error) => complaints.push(`${error}`))
  page.on('console', (message) => {
    const text = message.text()
    // Refused logins, and all errors while offline, are what the page should show.
    const isShown = /status of (400|401|403|404|409|412|422|429|502|503|504)/.test(text)
    if (message.type() === 'error' && !isOffline && !isShown && !wanted?.test(text)) complaints.push(text)
  })
  await page.goto(url)
  if (token) {
    await page.evaluate((kept) => sessionStorage.setItem('plantroom.token', kept), token)
    await page.reload()
  }
  return {
    page,
    strangers,
    complaints,
    calm: () => calm(page),
    async visit(...words) {
      await page.evaluate(
        (hash) => {
          location.hash = hash
        },
        `#/${words.map(encodeURIComponent).join('/')}`,
      )
    },
    audit: (test, name, kind) =>
      auditPage(page, test, name, isPictured && kind !== 'unpictured' ? join(PICTURES, pictures) : undefined),
    async offline(is) {
      isOffline = true
      await context.setOffline(is)
      if (!is) await page.locator('.banner').waitFor({ state: 'detached' })
      isOffline = is
    },
  }
}

/** The first part of what a failing test saw. */
function textOf(page: Page): Promise<string> {
  const text = page.evaluate<string>('location.hash + " " + document.body.innerText.slice(0, 3000)')
  return text.catch((thrown: unknown) => `nothing: ${thrown}`)
}

async function calm(page: Page): Promise<void> {
  if (isPictured) await page.locator('.toast').waitFor({ state: 'detached' })
}

/** Contrast depends on the scheme, what fits and overlaps on the width: two of the four combinations cover both. */
const LOOKS = SIZES.flatMap((size) => SCHEMES.map((scheme) => ({ size, scheme })))
const AUDITED = LOOKS.filter(({ size, scheme }) => (size.name === 'desk') === (scheme === 'light'))

async function auditPage(page: Page, t: Test, name: string, folder: string | undefined): Promise<void> {
  await calm(page)
  // Parts of a page are loaded when they are first shown; until then only its frame is there.
  await page.locator('h1').first().waitFor({ state: 'attached' })
  for (const { size, scheme } of folder ? LOOKS : AUDITED) {
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme: scheme })
    t.same(await violations(page), [], `${name}, ${size.name}, ${scheme}: axe finds nothing`)
    t.ok(await fits(page), `${name}, ${size.name}: nothing stands out at the side`)
    if (folder) await picture(page, folder, `${name}-${size.name}-${scheme}`)
  }
  await page.setViewportSize(SIZES[0])
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Minified: each page reads it anew, in half the time. */
let axeSource: string | undefined

async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) {
    axeSource ??= readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    await page.evaluate(axeSource)
  }
  return (await page.evaluate(async () => {
    const runner = (window as unknown as { axe: typeof axe }).axe
    const { violations: found } = await runner.run(document, { resultTypes: ['violations'] })
    return found.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`)
  })) as string[]
}

async function fits(page: Page): Promise<boolean> {
  return (await page.evaluate('document.documentElement.scrollWidth <= innerWidth')) as boolean
}

async function picture(page: Page, folder: string, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' })
}

/**
 * Goes to a page by its two keys, from wherever the focus is. On a busy machine the two may arrive too far apart to count
 * as a pair, so they are pressed until the address changes, as a person would.
 */
export async function goByKeys(page: Page, second: string): Promise<void> {
  const before = await page.evaluate<string>('location.hash')
  await until(`g ${second} goes somewhere`, async () => {
    await page.locator('#main').focus()
    await page.keyboard.press('g')
    await page.keyboard.press(second)
    return (await page.evaluate<string>('location.hash')) !== before
  })
}

/**
 * Waits until the focus is where `attribute` has this value. A page moves it after it has drawn what the test has waited
 * for, on a busy machine much later.
 */
export async function focusIs(page: Page, attribute: string, value: string): Promise<void> {
  const focused = `document.activeElement?.getAttribute(${JSON.stringify(attribute)})`
  await until(`the focus is at ${attribute} ${value}`, async () => (await page.evaluate(focused)) === value)
}

/** Waits until there are so many: what a message tells may be drawn after it. */
export async function countIs(found: Locator, count: number, what = `${found}`): Promise<void> {
  await until(`${count} of ${what}`, async () => (await found.count()) === count)
}

/** One scene of a test. */
export type Scene<On> = [title: string, play: (t: Test, stage: On) => Promise<void>]

/** Runs the scenes one after the other in one browser, up to the first that fails: each builds on those before. */
export async function play<On extends Rig>(t: Test, stage: On, scenes: readonly Scene<On>[]): Promise<void> {
  for (const [title, scene] of scenes) {
    await t.test(title, (t) => scene(t, stage))
    if (!t.passing()) return
  }
  t.same(stage.strangers, [], 'nothing was asked of another host')
  t.same(stage.complaints, [], 'the browser had nothing to complain about')
}
