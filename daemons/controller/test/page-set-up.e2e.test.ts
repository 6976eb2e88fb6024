/** The page of a controller without accounts, in a browser. */
import t from 'tap'
import { focusIs, noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { fakeHouse } from './fake-house.ts'
import { serveUi } from './ui-server.ts'

t.test('creates the first account, and says what is wrong at its field', { skip: noBrowser }, async (t) => {
  const house = fakeHouse()
  const { url } = await serveUi(t, house, { pages: true })
  const { page, audit } = await openRig(t, url, { pictures: 'controller', wanted: /400/ })
  await page.getByRole('heading', { name: 'Who looks after this building?' }).waitFor()
  await audit(t, 'set-up', 'unpictured')
  await focusIs(page, 'name', 'username')
  await page.getByLabel('User name').fill('')
  await page.getByLabel('Password', { exact: true }).fill('short')
  await page.keyboard.press('Enter')
  await page.locator('.err', { hasText: 'Enter a user name.' }).waitFor()
  await page.locator('.err', { hasText: 'The password has 5 characters, at least 8 are needed.' }).waitFor()
  t.same(house.made, [])
  await page.getByLabel('User name').fill('x!')
  await page.getByLabel('Password', { exact: true }).fill('a long enough one')
  await page.getByLabel('Name of the building').fill('Mill')
  await page.keyboard.press('Enter')
  await page.locator('.err', { hasText: 'Latin letters' }).waitFor()
  await page.getByLabel('User name').fill('ada')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: /Make the account/ }).waitFor({ state: 'detached' })
  await page.getByText('Signed in as').waitFor()
  t.match(house.made, [{ username: 'ada', siteName: 'Mill', timeZone: /\w/ }])
})

t.test('goes to the sign-in if somebody else was first', { skip: noBrowser }, async (t) => {
  const house = fakeHouse()
  const { url } = await serveUi(t, house, { pages: true })
  const { page } = await openRig(t, url, { pictures: 'controller', wanted: /409/ })
  await page.getByLabel('Password', { exact: true }).fill('a long enough one')
  house.people.set('eve', { id: 1, password: 'x', isElevated: true, functions: [], scope: 'all' })
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.same(house.made, [])
})
