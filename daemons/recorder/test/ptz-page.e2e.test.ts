/** The pad that turns a camera, in a browser: held, released, and lost. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig, play, type Rig, type Scene } from '#kit/test/web/page-rig.ts'
import { LONG_MS } from './camera.ts'
import { admin } from './client.ts'
import { startOnvifPeer } from './peer/onvif-camera.ts'
import { PtzSimulator } from './peer/ptz-simulator.ts'

interface Stage extends Rig {
  dome: PtzSimulator
}

const scenes: Scene<Stage>[] = [
  ['turns a camera while a button is held, and stops it when that is let go or lost', turns],
  ['sets a patrol, tells what it does, and says why the camera cannot follow', byItself],
]

t.test('turning a camera on its page', { skip: noBrowser }, async (t) => {
  const stateFolder = join(stateFolderOf(t), 'state')
  const presets = new Map([['1', { name: 'Gate', pan: 5, tilt: 0, zoom: 0 }]])
  const dome = new PtzSimulator({ keepsTimeout: false, degPerS: 1, presets })
  const user = { username: '', password: '' }
  const { service } = await startOnvifPeer(t, { host: '127.0.9.7', isFound: false, user, ptz: dome })
  const onvif = { service, recordToken: 'main', watchToken: null, fps: null }
  const place = { url: 'rtsp://127.0.9.7:1/none', username: null, sealedPassword: null }
  const cameras = [{ id: '0000000a', name: 'Yard', enabled: false, ...place, onvif }]
  mkdirSync(stateFolder)
  writeFileSync(join(stateFolder, 'cameras.json'), JSON.stringify({ version: 1, cameras }))
  const recorder = await startDaemon(t, 'recorder', { stateFolder, sets: ['storage.free_bytes=0'] })
  await play<Stage>(t, { ...(await openRig(t, recorder.url, { pictures: 'recorder' })), dome }, scenes)
})

async function turns(t: Test, { audit, dome, page, visit }: Stage): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Make administrator' }).click()
  await page.getByText('Footage goes to').waitFor()
  await page.evaluate(`(async () => {
    const { csrf } = await (await fetch('/api/status')).json()
    const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf }
    await fetch('/api/onboarding', { method: 'PATCH', headers, body: JSON.stringify({ step: 'complete' }) })
  })()`)
  await visit('cameras')
  await page.getByRole('link', { name: 'Yard', exact: true }).last().click()
  const right = page.getByRole('button', { name: 'Right', exact: true })
  await right.waitFor()
  const moves = () => dome.told.filter(({ name }) => name === 'ContinuousMove').length
  for (const end of ['let go', 'lost'] as const) {
    const before = moves()
    await right.hover()
    await page.mouse.down()
    await until('it is said again', () => moves() >= before + 3, LONG_MS)
    t.ok(dome.isMoving())
    if (end === 'let go') await page.mouse.up()
    else await right.dispatchEvent('pointercancel')
    await until(
      `it is still once the button is ${end}`,
      () => dome.told.at(-1)?.name !== 'ContinuousMove' && !dome.isMoving(),
      LONG_MS,
    )
    await page.mouse.up()
  }
  await page.getByRole('button', { name: 'Gate' }).click()
  await until('it goes to its preset', () => dome.told.some(({ name }) => name === 'GotoPreset'), LONG_MS)
  await audit(t, 'camera-turns')
}

async function byItself(t: Test, { audit, dome, page }: Stage): Promise<void> {
  await page.getByLabel('Save this view').fill('Yard gate')
  await page.getByRole('button', { name: 'Save preset' }).click()
  await page.getByText('Yard gate is saved in the camera.').waitFor()
  await page.getByRole('link', { name: 'Patrol and tracking' }).click()
  await page.getByText('No patrol').waitFor()
  await page.getByText('It cannot follow now').waitFor()
  await audit(t, 'turning-none')
  const patrol = page.getByRole('form', { name: 'Set the patrol' })
  for (const nth of [1, 2]) {
    await patrol.getByRole('button', { name: 'Add step' }).click()
    await patrol.getByLabel(`${nth}. preset`).waitFor()
  }
  await patrol.getByRole('button', { name: 'Save patrol' }).click()
  await patrol.getByText('Choose a preset.').first().waitFor()
  await patrol.getByLabel('1. preset').selectOption({ label: 'Gate' })
  await patrol.getByLabel('2. preset').selectOption({ label: 'Yard gate' })
  await patrol.getByLabel('For').first().fill('5')
  await patrol.getByText('At any time').click()
  for (const day of ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']) await patrol.getByText(day).click()
  await patrol.getByRole('button', { name: 'Save patrol' }).click()
  await patrol.getByText('Tick at least one day.').waitFor()
  await patrol.getByText('At any time').click()
  await patrol.getByRole('button', { name: 'Save patrol' }).click()
  await patrol.getByText('is 5, expected a whole number from 10 to 3600').waitFor()
  await audit(t, 'turning-refused')
  await patrol.getByLabel('For').first().fill('10')
  await patrol.getByRole('button', { name: 'Save patrol' }).click()
  await page.getByText('The camera is switched off.').waitFor()
  await page.getByRole('button', { name: 'Hold' }).click()
  await page.getByText('Held until somebody has it go on.').waitFor()
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByText('The patrol goes on.').waitFor()
  const tracking = page.getByRole('form', { name: 'Set auto tracking' })
  await tracking.getByRole('button', { name: 'Save tracking' }).click()
  await tracking.getByRole('alert').waitFor()
  await tracking.getByText('Switched on').click()
  await tracking.getByRole('button', { name: 'Save tracking' }).click()
  await page.getByText('Auto tracking is saved.').waitFor()
  await audit(t, 'turning')
  t.ok(dome.traits.presets.size >= 2)
  await page.getByRole('button', { name: 'Remove patrol' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove patrol' }).click()
  await page.getByText('No patrol').waitFor()
}
