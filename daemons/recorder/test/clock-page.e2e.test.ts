/** Clocks on the recorder's pages, in a browser: of its machine, and of a camera. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, openRig, play, type Rig, type Scene } from '#kit/test/web/page-rig.ts'
import { LONG_MS, makeFootage, startCamera } from './camera.ts'
import { admin } from './client.ts'
import { type ClockServicePeer, startClockServicePeer } from './peer/clock-service.ts'
import { cameraTurn, type OnvifPeer, startOnvifPeer } from './peer/onvif-camera.ts'

const login = { username: 'onvif', password: 'pass&word' }
const HOUR_MS = 3_600_000

interface Stage extends Rig {
  gate: OnvifPeer
  service: ClockServicePeer
}

const scenes: Scene<Stage>[] = [
  ['says how the clock of the machine is, and who gives cameras the time', ownClock],
  ['says at its field what is refused, and sets zone and time after asking', setsOwnClock],
  ['leaves the clocks of cameras alone, and corrects them again', switchesSync],
  ['says why the clock cannot be set where its service is not there', noService],
  ['shows how far the clock of a camera is off, and sets it', cameraClock],
  ['switches a camera to manual time after asking', manualTime],
  ['says what a camera answers that cannot be read, and what one without ONVIF lacks', unreadable],
]

t.test('clocks on the page', { skip: noBrowser }, async (t) => {
  const work = stateFolderOf(t)
  const film = await startCamera(t, await makeFootage(work, 10), login)
  const about = { host: '127.0.10.1', name: 'Gate', rtspPort: Number(new URL(film.url).port) }
  await cameraTurn(t)
  const gate = await startOnvifPeer(t, { ...about, aheadMs: HOUR_MS })
  const service = startClockServicePeer(t)
  const port = await freePort()
  const sets = ['discovery.interface=lo', 'discovery.wait_ms=1500', 'storage.free_bytes=0', `time_server.port=${port}`]
  const within = ['env', `PATH=${service.folder}:${process.env.PATH}`]
  const recorder = await startDaemon(t, 'recorder', { stateFolder: join(work, 'state'), sets, within })
  const rig = await openRig(t, recorder.url, { pictures: 'recorder' })
  await play<Stage>(t, { ...rig, gate, service }, scenes)
})

/** A figure by its name. */
const figure = (page: Stage['page'], name: string) => page.locator('.fig', { hasText: name })

async function ownClock(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Make administrator' }).click()
  await page.getByText('Footage goes to').waitFor()
  await page.evaluate(`(async () => {
    const { csrf } = await (await fetch('/api/status')).json()
    const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf }
    await fetch('/api/onboarding', { method: 'PATCH', headers, body: JSON.stringify({ step: 'complete' }) })
  })()`)
  await visit('clock')
  await page.getByText('The clock is right: its time comes from the network.').waitFor()
  await figure(page, 'Time for cameras').getByText('Given', { exact: true }).waitFor()
  await figure(page, 'Time zone').getByText('Etc/UTC').waitFor()
  await countIs(page.getByLabel('Time', { exact: true }), 0, 'a time to set by hand')
  await audit(t, 'clock')
}

async function setsOwnClock(t: Test, { audit, page, service }: Stage): Promise<void> {
  await page.getByLabel('Time zone').fill('Mars/Base')
  await page.getByRole('button', { name: 'Set clock' }).click()
  await page.getByText(/knows no time zone Mars\/Base/).waitFor()
  await page.getByLabel('Time zone').fill('Europe/Berlin')
  await page.getByRole('switch', { name: 'Network time' }).uncheck()
  await page.getByLabel('Time', { exact: true }).fill('2031-07-09 14:00')
  await page.getByRole('button', { name: 'Set clock' }).click()
  await page.getByRole('dialog').getByText('Set the time to 2031-07-09 14:00?').waitFor()
  await audit(t, 'clock-set')
  await page.getByRole('button', { name: 'Keep time' }).click()
  t.same(service.asked(), [])
  await page.getByRole('button', { name: 'Set clock' }).click()
  await page.getByRole('button', { name: 'Set time' }).click()
  await page.getByText('The clock is set.').waitFor()
  const instant = Date.UTC(2031, 6, 9, 12)
  t.same(service.asked(), ['SetTimezone Europe/Berlin', 'SetNTP false', `SetTime ${instant * 1000}`])
  await figure(page, 'Time zone').getByText('Europe/Berlin').waitFor()
  service.put('synchronized', 'false')
  await page.getByText('The time does not come from the network.').waitFor()
  await audit(t, 'clock-by-hand')
}

async function switchesSync(_: Test, { page }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Leave clocks alone' }).click()
  await page.getByText('what is wrong is listed under Today').waitFor()
  await page.getByRole('button', { name: 'Correct clocks' }).click()
  await page.getByRole('button', { name: 'Leave clocks alone' }).waitFor()
  await page.getByRole('button', { name: 'Leave clocks alone' }).click()
  await page.getByRole('button', { name: 'Correct clocks' }).waitFor()
}

async function noService(t: Test, { audit, page, service }: Stage): Promise<void> {
  service.put('complaint', 'Failed to connect to bus: No such file or directory')
  await page.getByText('The clock of this machine cannot be set here.').waitFor()
  await page.getByText(/cannot be reached: No such file/).waitFor()
  await countIs(page.getByRole('button', { name: 'Set clock' }), 0)
  await audit(t, 'clock-none')
  service.put('complaint', '')
  service.put('synchronized', 'true')
  await page.getByText('The clock is right, by another program than network time.').waitFor()
}

/** Adds both cameras by the API: the page is tested elsewhere. @returns the id of the one over ONVIF */
function addCameras(page: Stage['page']): Promise<string | null> {
  return page.evaluate(`(async () => {
    const { csrf } = await (await fetch('/api/status')).json()
    const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf }
    const post = async (path, body) => (await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    await post('/api/discovery/rtsp', { name: 'Plain', url: 'rtsp://127.0.0.1:1/x' })
    const { found } = await post('/api/discovery/scan', {})
    const gate = found.find(({ name }) => name === 'Gate')
    return gate ? (await post('/api/discovery/' + gate.id + '/adopt', ${JSON.stringify(login)})).id : null
  })()`)
}

async function cameraClock(t: Test, { audit, gate, page, visit }: Stage): Promise<void> {
  let id: string | null = null
  const isAdded = async () => {
    id = await addCameras(page)
    return id !== null
  }
  await until('the camera is added', isAdded, LONG_MS)
  await visit('cameras')
  await page.getByRole('link', { name: 'Gate', exact: true }).last().click()
  await page.locator('#main').getByRole('link', { name: 'Clock', exact: true }).click()
  await page.getByRole('heading', { name: 'Clock of Gate' }).waitFor()
  await page.getByText(/^Its clock is (1.h|59.min).* ahead\.$/).waitFor()
  await page.getByText('Nothing was written to it').waitFor()
  await audit(t, 'camera-clock')
  await page.getByRole('button', { name: 'Set the clock' }).click()
  await page.getByRole('region', { name: 'What came of it' }).getByText('127.0.0.1').waitFor()
  await page.getByRole('region', { name: 'Written to the camera' }).getByText('admin').waitFor()
  t.match(gate.traits, { dateTimeType: 'NTP', ntp: { servers: ['127.0.0.1'] } })
  await audit(t, 'camera-clock-set')
}

async function manualTime(t: Test, { audit, gate, page }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Switch to manual time' }).click()
  await page.getByRole('dialog').getByText('Switch Gate to manual time?').waitFor()
  await audit(t, 'camera-clock-manual')
  await page.getByRole('button', { name: 'Leave it' }).click()
  t.equal(gate.traits.dateTimeType, 'NTP')
  await page.getByRole('button', { name: 'Switch to manual time' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Switch to manual time' }).click()
  await page.getByRole('region', { name: 'Written to the camera' }).getByText('Manual time').waitFor()
  t.equal(gate.traits.dateTimeType, 'Manual')
}

async function unreadable(t: Test, { audit, gate, page, visit }: Stage): Promise<void> {
  gate.traits.instead = { GetSystemDateAndTime: '<no>' }
  await page.getByText('The clock of the camera could not be read.').waitFor()
  await audit(t, 'camera-clock-unread')
  await visit('cameras')
  await page.getByRole('link', { name: 'Plain', exact: true }).last().click()
  await page.locator('#main').getByRole('link', { name: 'Clock', exact: true }).click()
  await page.getByText('Its clock cannot be reached').waitFor()
}
