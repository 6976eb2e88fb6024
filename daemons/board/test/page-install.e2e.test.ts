/** Firmware and first run in a real browser: what an installer does on the first day and on the day of an update. */
import t, { type Test } from 'tap'
import { countIs, noBrowser, play } from '#kit/test/web/page-rig.ts'
import { fakeOta, fakeSerial, fakeStatus } from './fake-states.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('firmware', { skip: noBrowser }, async (t) => {
  await play<Stage>(t, await openStage(t, { serial: fakeSerial() }), [
    ['says that the running version is untouched when an image is refused', firmwareRefused],
    ['says why the last update was taken back', firmwareFellBack],
    ['goes through all four steps', firmwareInstalled],
  ])
})

t.test('the first run', { skip: noBrowser }, async (t) => {
  const status = fakeStatus({ set_up: false, password_set: false, name: 'ser-lift' })
  await play<Stage>(t, await openStage(t, { serial: fakeSerial(), status }), [
    ['sets the board up in four steps and keeps nothing before the last', firstRun],
  ])
})

async function firmwareRefused(t: Test, { page, board, audit, visit }: Stage): Promise<void> {
  const message = 'this board takes no image, as it knows no key to prove one by'
  board.on('GET /api/ota', () => [
    200,
    { takes_images: false, missing: { code: 'ota_not_set_up', message }, last: null },
  ])
  await visit('firmware')
  await page.getByText('This board takes no image yet.').waitFor()
  await page.getByText('This board takes no image, as it knows no key to prove one by.').waitFor()
  t.equal(await page.getByRole('button', { name: 'Pick an image' }).isVisible(), false, 'and invites none')
  board.on('GET /api/ota', () => [200, { takes_images: true, missing: null, last: null }])
  await visit('system')
  await visit('firmware')
  await page.getByText('Version 0.2.0 runs.', { exact: true }).waitFor()
  await audit(t, 'firmware')
  board.on('POST /api/ota', () => [
    400,
    { error: 'image_signature', message: 'The signature of the image is not that of the maker.' },
  ])
  const image = { name: 'board-0.3.0.img', mimeType: 'application/octet-stream', buffer: Buffer.alloc(100_000) }
  await page.getByLabel('Firmware image').setInputFiles(image)
  await page.getByText('board-0.3.0.img was not installed.').waitFor()
  await page.getByText('The running version is untouched.').waitFor()
  await audit(t, 'firmware-refused')
}

async function firmwareFellBack(t: Test, { page, board, audit, visit }: Stage): Promise<void> {
  const why = 'it was not well within 5 min: plantroom-board is failed'
  const last = { result: 'fell_back', version: '0.3.0', runs: '0.2.0', why, at: 1 }
  board.on('GET /api/ota', () => [200, { takes_images: true, missing: null, last }])
  // The page still shows the earlier refusal until it is reloaded.
  await page.reload()
  await visit('firmware')
  await page.getByText('The last update failed; version 0.2.0 runs again.').waitFor()
  await page.getByText(`Version 0.3.0 was taken back, as ${why}. Settings are as they were.`).waitFor()
  await audit(t, 'firmware-fell-back')
  board.on('GET /api/ota', () => [200, { takes_images: true, missing: null, last: { ...last, result: 'good' } }])
}

async function firmwareInstalled(t: Test, { page, board, audit }: Stage): Promise<void> {
  let answer: (value: [number, unknown]) => void = () => {}
  board.on('POST /api/ota', () => new Promise((resolve) => (answer = resolve)))
  const image = { name: 'board-0.3.0.img', mimeType: 'application/octet-stream', buffer: Buffer.alloc(100_000) }
  await page.getByLabel('Firmware image').setInputFiles(image)
  await page.getByText('Checking board-0.3.0.img.').waitFor()
  board.state.status.ota = fakeOta('verifying')
  await audit(t, 'firmware-checking')
  board.state.status.ota = fakeOta('installing')
  board.tell()
  await page.locator('.steps [aria-current]', { hasText: 'Installed' }).waitFor()
  answer([200, { installed: true, version: '0.3.0', reboots: true }])
  await page.locator('.steps [aria-current]', { hasText: 'Restarted' }).waitFor()
  board.state.status.version = '0.3.0'
  board.state.status.ota = fakeOta('idle')
  board.restart(1000)
  await page.getByText('Version 0.3.0 runs since the restart.').waitFor()
  await countIs(page.locator('.steps [data-s=ok]'), 4)
}

async function firstRun(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByRole('heading', { name: 'Who may change this board?' }).waitFor()
  await audit(t, 'first-run')
  await page.getByLabel('Password', { exact: true }).fill('ladder and torch')
  await page.keyboard.press('Enter')
  await page.getByLabel('Name', { exact: true }).fill('Till 2')
  await audit(t, 'first-run-name')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'What is this board for?' }).waitFor()
  await page.getByText('has no usbip-host, so it cannot share USB.').waitFor()
  await page.getByText('Shares a USB device').click()
  await audit(t, 'first-run-role')
  t.same(
    board.asked.filter(({ path }) => path !== '/api/ticket'),
    [],
    'nothing was sent so far',
  )
  board.on('POST /api/config', () => {
    setTimeout(() => board.restart(1500), 50)
    return [200, { saved: true, changed: ['name', 'role'], restarts: true, about_s: 2 }]
  })
  await page.getByRole('button', { name: 'Use as USB server' }).click()
  await page.getByRole('heading', { name: 'It restarts' }).waitFor()
  await audit(t, 'first-run-restarts', 'unpictured')
  await page.getByRole('heading', { name: 'Done' }).waitFor()
  await audit(t, 'first-run-done')
  t.equal(board.state.password, 'ladder and torch')
  t.match(board.asked.findLast(({ path }) => path === '/api/config')?.form, {
    name: 'Till 2',
    role: 'usbip',
    hostname: 'ser-lift',
  })
  await page.getByRole('button', { name: 'To the board' }).click()
  await page.locator('.rail').waitFor()
}
