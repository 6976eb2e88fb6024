/** The board's pages in a real browser against the real board: what other tests fake holds for it too. */
import t, { type Test } from 'tap'
import { AWAY, focusIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { type RunningBoard, startBoard } from './running-board.ts'

interface Stage extends Rig {
  board: RunningBoard
}

t.test('B.endpoints the pages on the real board', { skip: noBrowser }, async (t) => {
  // Boards of other tests are on this machine too, and the matrix asks every board it finds.
  const board = await startBoard(t, { sets: ['mdns.enabled=false'] })
  const rig = await openRig(t, board.url, { wanted: AWAY })
  await play<Stage>(t, { ...rig, board }, [
    ['begins with the first run, which sets up and follows the restart', firstRun],
    ['shows the settings it has, and why it does not take others', settings],
    ['shows the box and its journal', system],
    ['is at /matrix', matrix],
    ['sets a password without a question of the browser', password],
  ])
})

async function firstRun(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByRole('heading', { name: 'Who may change this board?' }).waitFor()
  await page.getByRole('button', { name: 'Leave it open' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Lift shaft')
  await page.getByLabel('Host name', { exact: true }).fill('no good')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Use as serial server' }).click()
  await page.locator('.err').waitFor()
  t.equal((await board.get('/api/status')).body.set_up, false, 'nothing is kept')
  await page.getByLabel('Host name', { exact: true }).fill('ser-lift')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Use as serial server' }).click()
  await page.getByRole('heading', { name: 'Done' }).waitFor()
  const { body } = await board.get('/api/status')
  t.match(body, { set_up: true, name: 'Lift shaft', hostname: 'ser-lift', role: 'serial' })
  await page.getByRole('button', { name: 'To the board' }).click()
  await page.getByText('Everybody on this network can change this board.').waitFor()
  await audit(t, 'live', 'unpictured')
}

async function settings(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: 'Settings' }).click()
  await page.getByText('Fixed address').click()
  await page.getByLabel('Address', { exact: true }).fill('10.20.4.300')
  await page.getByRole('button', { name: 'Save and restart' }).click()
  await page.locator('.err').first().waitFor()
  await focusIs(page, 'name', 'ip')
  await audit(t, 'settings-real', 'unpictured')
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Lift shaft B')
  await page.keyboard.press('Control+s')
  await page.getByText('The board is back after').waitFor()
  t.equal((await board.get('/api/config')).body.name, 'Lift shaft B')
  await page.locator('.plate', { hasText: 'Lift shaft B' }).waitFor()
}

async function system(t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'System' }).click()
  await page.getByText('Lift shaft B has run for').waitFor()
  await page.getByText('settings were saved').waitFor()
  await page.getByRole('button', { name: 'Identify' }).click()
  await page.getByText('This is the board that blinks.').waitFor()
  await audit(t, 'system-real', 'unpictured')
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByRole('link', { name: 'who changed what' }).click()
  await page.locator('.journal tbody tr').first().waitFor()
  await audit(t, 'journal', 'unpictured')
}

async function matrix(t: Test, { page, board }: Stage): Promise<void> {
  await page.goto(`${board.url}/matrix`)
  await page.getByRole('heading', { name: 'Matrix' }).waitFor({ state: 'attached' })
  t.match((await board.get('/matrix')).headers.get('content-security-policy'), /connect-src 'self' http: https:/)
}

async function password(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'Set one' }).click()
  await page.locator('input[name=password]').fill('ladder and torch')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText('The password is set. The user name is admin.').waitFor()
  t.equal((await board.get('/api/status')).status, 401, 'the board asks for it')
  await page.reload()
  await page.getByText('set, for the user admin').waitFor()
  await page.getByRole('link', { name: 'Matrix' }).click()
  await page.getByText('this board', { exact: true }).waitFor()
  await audit(t, 'matrix-real', 'unpictured')
}
