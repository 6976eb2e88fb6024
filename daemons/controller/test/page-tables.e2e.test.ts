/** From an empty box to a working zone in a browser, by keyboard alone: no file, no shell. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startDaemon } from '#kit/test/running-daemon.ts'
import { countIs, focusIs, goByKeys, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { SETS } from './operating.ts'

t.test('the tables of the site, from an empty box', { skip: noBrowser }, async (t) => {
  const daemon = await startDaemon(t, 'controller', { sets: SETS })
  const rig = await openRig(t, daemon.url, { pictures: 'controller', wanted: /400/ })
  await play<Rig>(t, rig, [
    ['the first account is made, and there is nothing yet', begin],
    ['a device and its zone are entered by keyboard, and wait for Apply all', enter],
    ['after Apply all the zone is on the first page and can be switched', apply],
    ['what does not fit is said at its field, and nothing is kept', refuse],
    ['a person gets a role and a password, neither of which is shown again', person],
    ['a row is removed with Apply all, and can be kept until then', remove],
  ])
})

/** Goes to a field by Tab, as somebody without a mouse does, and types. */
async function type(page: Page, label: string, text: string): Promise<void> {
  const field = page.getByLabel(label, { exact: true })
  for (let step = 0; step < MOST_TABS; step++) {
    if (await field.evaluate((element) => element === document.activeElement)) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
}

/** More than any form has fields. */
const MOST_TABS = 60

async function newRow(page: Page, table: string): Promise<void> {
  await page.locator('.rail').waitFor()
  await page.evaluate((name) => {
    location.hash = `#/tables/${name}`
  }, table)
  await page.getByRole('link', { name: 'New', exact: true }).waitFor()
  await page.locator('#main').focus()
  await page.keyboard.press('n')
  await page.getByRole('button', { name: 'Keep change' }).waitFor()
}

async function keep(page: Page): Promise<void> {
  await page.keyboard.press('Enter')
  await page.locator('.toast', { hasText: 'Kept. It takes effect with Apply all.' }).waitFor()
}

async function begin(t: Test, { page, audit }: Rig): Promise<void> {
  await page.getByLabel('User name').fill('ada')
  await page.getByLabel('Password', { exact: true }).fill('a long enough one')
  await page.getByLabel('Name of the building').fill('Mill')
  await page.keyboard.press('Enter')
  await page.getByText('Signed in as').waitFor()
  await goByKeys(page, 'i')
  await page.getByText('Zones: there are none yet.').waitFor()
  await audit(t, 'tables-empty')
}

async function enter(t: Test, { page, audit }: Rig): Promise<void> {
  await newRow(page, 'device')
  await focusIs(page, 'name', 'name')
  await type(page, 'Name', 'Rack')
  await type(page, 'Driver', 'sim')
  await keep(page)
  await page.locator('.rows', { hasText: 'new, waits for Apply all' }).waitFor()
  await newRow(page, 'zone')
  await type(page, 'Name', 'Hall ceiling')
  await type(page, 'Device', 'Rack')
  await type(page, 'Type', 'dimmer')
  await audit(t, 'tables-form')
  await keep(page)
  await page.locator('.verdict', { hasText: '2 changes wait.' }).waitFor()
}

async function apply(_t: Test, { page }: Rig): Promise<void> {
  await goByKeys(page, 'p')
  await page.getByText('New: zone, Hall ceiling').waitFor()
  await page.getByRole('button', { name: 'Apply all' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('2 changes are applied.').waitFor()
  await goByKeys(page, 'z')
  await page.getByRole('button', { name: 'Hall ceiling: On' }).focus()
  await page.keyboard.press('Enter')
  await page.locator('.tile button[aria-pressed="true"]', { hasText: 'On' }).waitFor()
  await countIs(page.locator('.tile'), 1)
}

async function refuse(t: Test, { page, visit }: Rig): Promise<void> {
  await newRow(page, 'zone')
  await type(page, 'Name', 'Window')
  await type(page, 'Device', 'Rackk')
  await type(page, 'Least', 'much')
  await page.keyboard.press('Enter')
  await page.locator('.field[data-s="fault"]', { hasText: 'Device' }).getByText('Rack').waitFor()
  await page.locator('.field[data-s="fault"]', { hasText: 'Least' }).waitFor()
  t.equal(
    await page.evaluate("document.activeElement.getAttribute('name')"),
    'device_id',
    'the first one has the focus',
  )
  await page.getByRole('link', { name: 'Close form' }).click()
  await page.getByRole('dialog').getByRole('button').first().waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click()
  await page.getByText('Nothing is pending.').waitFor()
  await visit('tables', 'nothing')
  await page.getByText('There is no table nothing here.').waitFor()
}

async function person(t: Test, { page, audit }: Rig): Promise<void> {
  await newRow(page, 'auth_user')
  await type(page, 'Username', 'bob')
  await type(page, 'Password', 'another long one')
  await page.getByRole('switch', { name: 'Administrator' }).focus()
  await page.keyboard.press('Space')
  await page.getByRole('button', { name: 'Keep change' }).focus()
  await keep(page)
  await page.getByRole('link', { name: 'bob' }).click()
  await page.getByRole('heading', { name: 'bob' }).waitFor()
  await page.getByText('Set. Type a new one to replace it.').first().waitFor()
  t.equal(await page.getByLabel('Password', { exact: true }).inputValue(), '')
  t.notOk((await page.content()).includes('another long one'))
  await audit(t, 'tables-person')
}

async function remove(_t: Test, { page }: Rig): Promise<void> {
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
  await page.locator('.toast', { hasText: 'It goes with Apply all.' }).waitFor()
  await page.getByRole('link', { name: 'bob' }).waitFor({ state: 'detached' })
  await page.getByText('Nothing is pending.').waitFor()
  await countIs(page.getByRole('link', { name: 'ada' }), 1)
}
