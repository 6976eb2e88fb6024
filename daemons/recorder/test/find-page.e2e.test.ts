/** Finding cameras on the recorder's page, and adding them, in a browser. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type RunningDaemon, startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { noBrowser, openRig, play, type Rig, type Scene } from '#kit/test/web/page-rig.ts'
import { makeFootage, startCamera } from './camera.ts'
import { admin } from './client.ts'
import { cameraTurn, type OnvifPeer, startOnvifPeer } from './peer/onvif-camera.ts'

const login = { username: 'onvif', password: 'pass&word' }

interface Stage extends Rig {
  recorder: RunningDaemon
  peers: OnvifPeer[]
  rtspPort: number
  t: Test
}

const scenes: Scene<Stage>[] = [
  ['says what to look at where no camera answers', noneAnswers],
  ['shows what answers, and wants one ticked', shows],
  ['adds what takes the login, and says at its row why another is not added', adds],
  ['is opened, ticked and sent by keys alone', byKeys],
]

t.test('finding cameras on the page', { skip: noBrowser }, async (t) => {
  const work = stateFolderOf(t)
  const film = await startCamera(t, await makeFootage(work, 10), login)
  await cameraTurn(t)
  const sets = ['discovery.interface=lo', 'discovery.wait_ms=1500', 'storage.free_bytes=0']
  const recorder = await startDaemon(t, 'recorder', { stateFolder: join(work, 'state'), sets })
  const rig = await openRig(t, recorder.url, { pictures: 'recorder' })
  await play<Stage>(t, { ...rig, t, recorder, peers: [], rtspPort: Number(new URL(film.url).port) }, scenes)
})

async function noneAnswers(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Make administrator' }).click()
  // A new administrator is led through the set-up, and may leave it.
  await page.getByText('Footage goes to').waitFor()
  await visit('cameras')
  await page.getByRole('link', { name: 'Find cameras' }).click()
  await page.getByText('No camera answered').waitFor()
  await page.getByText('ONVIF is switched on in its settings.').waitFor()
  await audit(t, 'find-none')
  await visit('cameras')
  await audit(t, 'cameras-first')
}

async function shows(t: Test, { audit, page, peers, rtspPort, t: owner }: Stage): Promise<void> {
  const about = [
    { host: '127.0.7.1', name: 'Yard camera' },
    { host: '127.0.7.2', name: 'Gate', signIn: 'digest' as const, aheadMs: -1e12 },
    { host: '127.0.7.3', name: 'Vault', user: { ...login, password: 'other' } },
  ]
  for (const one of about) peers.push(await startOnvifPeer(owner, { ...one, rtspPort }))
  await page.getByRole('link', { name: 'Find cameras' }).click()
  await found(page)
  await page.getByRole('button', { name: 'Add camera' }).click()
  await page.getByText('Tick at least one camera.').waitFor()
  await audit(t, 'find')
}

/** Until all three have answered: a busy machine misses some. */
async function found(page: Stage['page']): Promise<void> {
  for (;;) {
    await page.getByText(/cameras? answered/).waitFor()
    if ((await page.locator('.found input').count()) === 3) return
    await page.getByRole('button', { name: 'Look again' }).click()
    await page.getByText('Looking for cameras').waitFor()
    await page.getByText('Looking for cameras').waitFor({ state: 'detached' })
  }
}

async function adds(t: Test, { audit, calm, page }: Stage): Promise<void> {
  await page.getByLabel(/Yard camera/).check()
  await page.getByLabel(/Vault/).check()
  await page.getByLabel('User on the camera').fill(login.username)
  await page.getByLabel('Password on the camera').fill(login.password)
  await page.getByRole('button', { name: 'Add 2 cameras' }).click()
  await page
    .locator('.found .field[data-s]', { hasText: 'Vault' })
    .getByText(/does not take this user name/)
    .waitFor()
  await page.locator('.found .known', { hasText: 'Yard camera' }).waitFor()
  t.equal(await page.evaluate('document.activeElement?.getAttribute("aria-invalid")'), 'true', 'the row has the focus')
  await page.getByText(/^Recording since/).waitFor()
  await calm()
  await audit(t, 'find-failed')
}

async function byKeys(t: Test, { page, visit }: Stage): Promise<void> {
  await visit('cameras')
  await page.locator('#main').focus()
  await page.keyboard.press('f')
  await page.getByRole('form', { name: 'Find cameras' }).waitFor()
  await page.getByLabel(/Gate/).focus()
  await page.keyboard.press('Space')
  await page.getByLabel('User on the camera').fill(login.username)
  await page.getByLabel('Password on the camera').focus()
  await page.keyboard.type(login.password)
  await page.keyboard.press('Enter')
  await page.locator('.cams .name', { hasText: 'Gate' }).waitFor()
  await page.getByRole('form', { name: 'Find cameras' }).waitFor({ state: 'detached' })
  t.equal(await page.evaluate('location.hash'), '#/cameras')
}
