/** The controller's pages in a real browser without contact, without the socket, or after the session has ended. */
import t, { type Test } from 'tap'
import { AWAY, countIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import type { FakeHouse } from './fake-house.ts'
import { harbourHouse } from './harbour-house.ts'
import { serveUi } from './ui-server.ts'

interface Stage extends Rig {
  house: FakeHouse
  /** Stops the controller; it returns under the same address. */
  stop(): Promise<void>
  start(): Promise<void>
}

t.test('the pages of a controller that is away', { skip: noBrowser }, async (t) => {
  const house = harbourHouse()
  const { url, port, ...first } = await serveUi(t, house, { pages: true })
  let { server } = first
  const rig = await openRig(t, url, {
    pictures: 'controller',
    wanted: new RegExp(`${AWAY.source}|/ws\\?ticket=\\S+ failed: (?:HTTP Authentication failed|.* 503)`),
  })
  const start = async () => {
    server = (await serveUi(t, house, { pages: true, port })).server
  }
  // The page has asked for a handoff by now: a nonce that comes earlier would be used up by that.
  await rig.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  house.nonces.set('n'.repeat(48), 'sam')
  await rig.page.context().addCookies([{ name: 'svc_handoff', value: 'n'.repeat(48), url, httpOnly: true }])
  await rig.page.goto(url)
  await rig.page.getByRole('heading', { name: 'Lobby' }).waitFor()
  await play<Stage>(t, { ...rig, house, stop: () => server.close(), start }, [
    ['says that contact is lost, and comes back on its own', contact],
    ['says that levels are old if no socket gets through, and since when', notLive],
    ['is found in the morning as it was left, and says from when it is', overnight],
  ])
})

const tile = ({ page }: Stage, name: string) =>
  page.locator('.tile', { has: page.getByRole('heading', { name, exact: true }) })

async function contact(t: Test, { page, stop, start, audit }: Stage): Promise<void> {
  await stop()
  await page.getByText('No contact with this controller').waitFor()
  t.ok(await page.getByRole('button', { name: 'Counter: On' }).isDisabled())
  t.ok(await page.getByRole('slider', { name: 'Counter: level' }).isDisabled())
  await audit(t, 'zones-no-contact')
  await start()
  await page.locator('.banner').waitFor({ state: 'detached' })
  t.notOk(await page.getByRole('button', { name: 'Counter: On' }).isDisabled())
}

async function notLive(t: Test, stage: Stage): Promise<void> {
  const { page, house, stop, start, audit } = stage
  const { limits } = house.parts
  const most = limits.socketsPerSession
  await stop()
  limits.socketsPerSession = 0
  house.report(1, { state: 'on', level: 42 })
  await start()
  await page.getByText('Levels are not live.').waitFor()
  await page.getByText(/They are from \d\d:\d\d:\d\d, \d+\ss ago, and are read every 10 s/).waitFor()
  await countIs(page.locator('.rooms.old'), 1)
  t.notOk(await page.getByRole('button', { name: 'Counter: On' }).isDisabled(), 'commands are calls, and still work')
  await audit(t, 'zones-not-live')
  await stop()
  limits.socketsPerSession = most
  await start()
  await page.getByText('Levels are not live.').waitFor({ state: 'detached' })
  await tile(stage, 'Ceiling').locator('.val', { hasText: '42' }).waitFor()
  house.report(1, { state: 'off', level: 0 })
  await tile(stage, 'Ceiling').locator('.val', { hasText: 'Off' }).waitFor()
}

/** The controller was restarted at night: sessions exist only in its memory. */
async function overnight(t: Test, { page, house, visit, stop, start }: Stage): Promise<void> {
  await visit('audit')
  await page.getByText('All', { exact: true }).click()
  await page.getByRole('cell', { name: 'granted' }).first().waitFor()
  await page.getByLabel('Filter by user').fill('sam')
  await stop()
  house.sessions.clear()
  house.report(1, { state: 'on', level: 33 })
  await start()
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await page.getByText(/What it shows is from \d\d:\d\d\./).waitFor()
  await page.getByLabel('Password').fill('engine room')
  await page.keyboard.press('Enter')
  await page.getByRole('textbox', { name: 'Code' }).fill('K7MPQ2')
  await page.keyboard.press('Enter')
  await page.getByRole('cell', { name: 'sam' }).first().waitFor()
  t.equal(await page.getByLabel('Filter by user').inputValue(), 'sam', 'nothing that was typed is lost')
  await visit('zones')
  await page.locator('.tile', { hasText: 'Ceiling' }).locator('.val', { hasText: '33' }).waitFor()
}
