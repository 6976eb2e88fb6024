/** Pages of the roles and of the firmware in a real browser, on real boards: what a client, a device or an image does shows. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { type Device, plugIn } from '#kit/test/line/named-pty.ts'
import { AWAY, focusIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { otaRig } from './ota-rig.ts'
import { type RunningBoard, setUp, startBoard } from './running-board.ts'

interface Stage extends Rig {
  board: RunningBoard
}

interface SerialStage extends Stage {
  device: Device
}

t.test('B.serial the page of a serial server', { skip: noBrowser }, async (t) => {
  const device = plugIn('lift')
  t.teardown(() => device.unplug())
  const board = await startBoard(t, { sets: [`serial.devices=["${device.path}"]`] })
  await setUp(board)
  const rig = await openRig(t, board.url, { wanted: AWAY })
  await play<SerialStage>(t, { ...rig, board, device }, [
    ['shares a line, shows who is on it, and drops a client', share],
  ])
})

async function share(t: Test, { page, board, device, audit }: SerialStage): Promise<void> {
  await page.getByText('No serial port is switched on.').waitFor()
  await page.getByRole('link', { name: 'Edit Port 1' }).click()
  await page.getByText('Share this line').click()
  await page.getByLabel('Label', { exact: true }).fill('Lift')
  await page.getByLabel('Stop bits').selectOption('1.5')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'stop_bits')
  await page.getByLabel('Stop bits').selectOption('1')
  const tcpPort = await freePort()
  await page.getByLabel('TCP port').fill(String(tcpPort))
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Lift is saved.').waitFor()
  const client = connect(tcpPort, '127.0.0.1').resume()
  t.teardown(() => client.destroy())
  await once(client, 'connect')
  await page.locator('.clients', { hasText: '127.0.0.1' }).waitFor()
  await device.write(Buffer.from('S S 12.480 kg\r\n'))
  await page.getByText('Counted').click()
  await page.locator('.counted tr', { hasText: 'Bytes from the line' }).getByText('15').waitFor()
  await audit(t, 'serial-real', 'unpictured')
  await page.getByRole('button', { name: 'Drop 127.0.0.1' }).click()
  const dropped = once(client, 'close')
  await page.getByRole('button', { name: 'Drop client' }).click()
  await Promise.all([dropped, page.getByText('Nobody is connected. Every').waitFor()])
  await device.unplug()
  await page.locator('.port-card', { hasText: 'not plugged in' }).waitFor()
  t.equal((await board.get('/api/serial')).body.ports[0].state, 'absent')
  device.replug()
}

t.test('B.usbip the page of a USB server whose kernel cannot share', { skip: noBrowser }, async (t) => {
  const board = await startBoard(t, {
    sets: ['board.role=usbip', `usbip.sysfs="${t.testdir()}"`, `usbip.port=${await freePort()}`],
  })
  await setUp(board)
  const rig = await openRig(t, board.url, { wanted: AWAY })
  await play<Stage>(t, { ...rig, board }, [['says so, and keeps the settings for later', keepSetting]])
})

async function keepSetting(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByText('This system has no USB.').first().waitFor()
  await page.getByLabel('Allowed addresses').fill('10.20.4.0/40')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.err').waitFor()
  await page.getByLabel('Allowed addresses').fill('10.20.4.0/24')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The device is not shared.').waitFor()
  t.equal((await board.get('/api/usbip')).body.allow, '10.20.4.0/24')
  await audit(t, 'usbip-real', 'unpictured')
}

t.test('B.ota the page of the firmware', { skip: noBrowser }, async (t) => {
  const { board, make } = await otaRig(t)
  await setUp(board)
  const rig = await openRig(t, `${board.url}/#/firmware`, { wanted: AWAY })
  await play<Stage>(t, { ...rig, board }, [
    ['says why an image is refused, and that the running version is untouched', refuse],
    ['sends a signed one through all steps', async (t, stage) => install(t, stage, make(Buffer.alloc(3_000_000, 'x')))],
  ])
})

/** By its path: a file given as bytes would go through the test's own protocol, which takes long. */
async function pick(t: Test, { page }: Stage, name: string, bytes: Buffer): Promise<void> {
  const file = join(t.testdir(), name)
  writeFileSync(file, bytes)
  await page.getByRole('button', { name: 'Pick an image' }).waitFor()
  await page.getByLabel('Firmware image').setInputFiles(file)
}

async function refuse(t: Test, stage: Stage): Promise<void> {
  const { page, audit } = stage
  await pick(t, stage, 'holiday.jpg', Buffer.alloc(100_000_000, 7))
  await page.getByText('holiday.jpg was not installed.').waitFor()
  await page.getByText('The running version is untouched.').waitFor()
  const told = (await page.locator('.verdict').textContent()) ?? ''
  t.notMatch(told, /without a reason|was cut/, `in the words of the board: ${told}`)
  await audit(t, 'firmware-real', 'unpictured')
}

async function install(t: Test, stage: Stage, image: Buffer): Promise<void> {
  const { page, board } = stage
  const before = (await board.get('/api/status')).body.started_at
  await pick(t, stage, 'board.img', image)
  await page.getByText('All four steps are done.').waitFor()
  t.not((await board.get('/api/status')).body.started_at, before)
}
