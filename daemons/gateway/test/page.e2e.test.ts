/** The gateway's pages in a real browser, against the real gateway, from the first run to the loss of contact. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type Device, plugIn } from '#kit/test/line/named-pty.ts'
import { until } from '#kit/test/until.ts'
import { countIs, goByKeys, noBrowser, openRig, play, type Rig, type Scene } from '#kit/test/web/page-rig.ts'
import { openPty } from '#native/serial/index.ts'
import { startModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { type RunningGateway, startGateway } from './running-gateway.ts'

const PASSWORD = 'ladder and torch'
const SPARES = 8

/** What the steps of the story share. */
interface Stage extends Rig {
  gateway: RunningGateway
  bus: Device
  scale: Device
  /** Bytes the raw device was sent. */
  heard: number[]
  sink: { url: string; bodies: string[] }
}

t.test('the pages, from the first run to the loss of contact', { skip: noBrowser }, async (t) => {
  const stage = await build(t)
  await play<Stage>(t, stage, scenes)
})

const scenes: Scene<Stage>[] = [
  ['sets the gateway up in four steps and keeps nothing before the last', firstRun],
  ['sets up a line by its path; a refused save says why at the field and gives it the focus', setUpLine],
  ['asks the bus and shows the answer, the frames, and the unit that is silent', askBus],
  ['shows bytes of a raw device as they come, and sends to it', rawLine],
  ['adds a webhook, tests it, and shows its delivery', webhook],
  ['shows the box, and who did what', system],
  ['lists every line with the verdict first', ports],
  ['refuses a wrong password without saying which was wrong', wrongPassword],
  ['asks to sign in again over the page and keeps what was typed', signedOut],
  ['says when contact is lost, and comes back on its own', contactLost],
]

async function build(t: Test): Promise<Stage> {
  // Pty numbers that were just freed may be awaited by another test's gateway: those are taken and left alone.
  const spares = Array.from({ length: SPARES }, () => openPty())
  const bus = plugIn('meters')
  const scale = plugIn('scale')
  const heard: number[] = []
  scale.onBytes((bytes) => heard.push(...bytes))
  const stopUnits = startModbusLine(bus)
  const sink = await openSink()
  t.teardown(async () => {
    stopUnits()
    await Promise.all([bus.unplug(), scale.unplug(), ...spares.map((spare) => spare.close())])
    sink.server.close()
  })
  const gateway = await startGateway(t, { sets: ['ports.allow=["/dev/shm/*"]'] })
  // A ticket of the stopped gateway is worth nothing to the one that replaced it.
  const rig = await openRig(t, gateway.url, { wanted: /WebSocket connection .* HTTP Authentication failed/ })
  return { ...rig, gateway, bus, scale, heard, sink }
}

async function openSink(): Promise<{ url: string; bodies: string[]; server: Server }> {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      bodies.push(body)
      response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`, bodies, server }
}

async function firstRun(t: Test, { page, gateway, audit }: Stage): Promise<void> {
  await page.getByRole('heading', { name: 'Who looks after this gateway?' }).waitFor()
  await page.getByLabel('Password', { exact: true }).fill('short')
  await page.keyboard.press('Enter')
  await page.getByText('The password has 5 characters, at least 8 are needed.').waitFor()
  t.equal(await focusedName(page), 'password', 'the field that was refused has the focus')
  await audit(t, 'first-run')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByLabel('Name', { exact: true }).fill('Plant room B2')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'What is on its lines?' }).waitFor()
  t.equal((await gateway.call('GET', '/api/status')).body.adminConfigured, false, 'nothing is kept yet')
  await page.getByRole('button', { name: 'Back' }).click()
  t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Plant room B2', 'Back keeps what was typed')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Set up gateway' }).click()
  await page.getByRole('heading', { name: 'Done' }).waitFor()
  t.equal((await gateway.call('GET', '/api/status')).body.name, 'Plant room B2')
  await page.getByRole('button', { name: 'To the ports' }).click()
  await page.getByText('A line that is not listed').waitFor()
}

async function setUpLine(t: Test, { page, bus, audit }: Stage): Promise<void> {
  await page.getByText('A line that is not listed').click()
  await page.getByLabel('Device path').fill(bus.path)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: `Set up ${nameOf(bus)}` }).waitFor()
  await page.getByLabel('Rate').fill('quick')
  await page.getByRole('button', { name: 'Save and open' }).click()
  const rate = page.getByLabel('Rate')
  await page.locator('.field[data-s=fault] .err').first().waitFor()
  t.equal(await rate.getAttribute('aria-invalid'), 'true')
  t.equal(await focusedName(page), 'line.baud')
  await audit(t, 'port-settings')
  await rate.fill('19200')
  await page.getByRole('button', { name: 'Save and open' }).click()
  await page.getByText('No unit was asked in the last minute.').waitFor()
  await page.locator('.chip', { hasText: 'open' }).waitFor()
}

async function askBus(t: Test, { page, audit, calm }: Stage): Promise<void> {
  await calm()
  const send = page.getByRole('button', { name: 'Send', exact: true })
  await page.getByLabel('Function', { exact: true }).selectOption('4')
  await page.getByLabel('Count', { exact: true }).fill('4')
  for (let asked = 0; asked < 3; asked++) {
    await send.click()
    await page.locator('.answer .values li').nth(3).waitFor()
  }
  await page.getByText('Unit 1 answers.').waitFor()
  await page.getByLabel('Unit', { exact: true }).fill('17')
  await send.click()
  await page.locator('.refusal').waitFor()
  await page.locator('.log li[data-s=fault]', { hasText: 'No reply within' }).waitFor()
  await page.getByText('Unit 17 has not answered yet.').waitFor()
  await audit(t, 'port')
  await page.locator('#main').focus()
  await page.keyboard.press('e')
  await countIs(page.locator('.log > li:not([data-s])'), 0, 'e shows errors only')
  await page.keyboard.press('e')
  await page.keyboard.press('/')
  await page.getByLabel('Filter frames').fill('unit 9')
  await page.getByText('No frame matches unit 9').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('.log > li').first().waitFor()
  await page.keyboard.press('?')
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
  await audit(t, 'keys')
  await page.keyboard.press('Escape')
}

async function rawLine(t: Test, { page, scale, heard, audit, gateway }: Stage): Promise<void> {
  await page.evaluate(`location.hash = '#/port/${encodeURIComponent(scale.path)}/settings'`)
  await page.getByText('Raw', { exact: true }).click()
  await page.getByLabel('A frame ends with').selectOption('delimiter')
  await page.getByLabel('Delimiter').fill('0A')
  await page.getByRole('button', { name: 'Save and open' }).click()
  await page.getByText('Nothing was received or sent yet.').waitFor()
  for (const weight of ['12.480', '12.482', '12.481']) await scale.write(Buffer.from(`S S ${weight} kg\r\n`))
  await page.locator('.log li', { hasText: 'S S 12.481 kg\\r\\n' }).waitFor()
  await page.getByLabel('Bytes to send').fill('02 5G 03')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.err, .refusal').filter({ hasText: /4|5|G/ }).waitFor()
  await page.getByLabel('Bytes to send').fill('02 50 03')
  await page.keyboard.press('Enter')
  await page.getByText('3 bytes sent.').waitFor()
  await until('the device hears it', () => heard.join() === '2,80,3')
  await page.locator('.log li.ask', { hasText: '02 50 03' }).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await scale.write(Buffer.from('S S 12.483 kg\r\n'))
  await page.getByText('Paused. 1 event since.').waitFor()
  await countIs(page.locator('.log li', { hasText: '12.483' }), 0, 'a paused log stands still')
  await audit(t, 'port-raw')
  await page.locator('.hold').click()
  await page.locator('.log li', { hasText: '12.483' }).waitFor()
  t.equal((await gateway.call('GET', '/api/status')).status, 200)
}

async function webhook(t: Test, { page, sink, scale, audit }: Stage): Promise<void> {
  await goByKeys(page, 'w')
  await page.getByText('Add one to have a line').waitFor()
  await page.keyboard.press('n')
  await page.getByLabel('Events of').selectOption(scale.path)
  await page.getByLabel('Address').fill('ftp://nowhere')
  await page.getByRole('button', { name: 'Add webhook' }).click()
  await page.locator('.err').waitFor()
  t.equal(await focusedName(page), 'url')
  await page.getByLabel('Address').fill(sink.url)
  await page.getByText('Sign deliveries').click()
  await page.getByLabel('Secret').fill('between us')
  await page.getByRole('button', { name: 'Add webhook' }).click()
  await page.getByRole('button', { name: 'Test' }).click()
  await page.getByText('The sample arrived after').waitFor()
  t.ok(sink.bodies.length > 0, 'the target was sent something')
  await scale.write(Buffer.from('S S 12.490 kg\r\n'))
  await page.locator('.hooks .state', { hasText: 'ago' }).waitFor()
  await page.getByText('Set. Type a new one to replace it.').waitFor()
  t.notOk((await page.content()).includes('between us'), 'a secret that was saved is not shown')
  await audit(t, 'webhooks')
}

async function system(t: Test, { page, audit }: Stage): Promise<void> {
  await goByKeys(page, 'j')
  await page.locator('.journal td', { hasText: 'port set up' }).first().waitFor()
  await page.locator('.journal .link', { hasText: 'port set up' }).first().click()
  await page.locator('.facts dd', { hasText: '127.0.0.1' }).waitFor()
  await audit(t, 'journal', 'unpictured')
  await goByKeys(page, 's')
  await page.getByLabel('Name on the plate').fill('Plant room B3')
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.locator('.plate', { hasText: 'Plant room B3' }).waitFor()
  await audit(t, 'system')
}

async function ports(t: Test, { page, bus, audit }: Stage): Promise<void> {
  await goByKeys(page, 'p')
  await page.getByText('Both lines run.').waitFor()
  await page.locator('#main:focus').waitFor()
  // A key pressed at the very moment the page is drawn can come before the page listens: a person presses again.
  await until('arrows walk the lines', async () => {
    await page.keyboard.press('ArrowDown')
    return await page.evaluate("document.activeElement.dataset.path?.startsWith('/dev/shm/') === true")
  })
  await audit(t, 'ports')
  await bus.unplug()
  await page.getByText('1 of 2 lines runs.').waitFor()
  await page.locator('tr.stale', { hasText: nameOf(bus) }).waitFor()
  await audit(t, 'ports-absent')
}

async function wrongPassword(t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'System' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('User name').fill('admin')
  await page.getByLabel('Password').fill('not this one')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.refusal').waitFor()
  await audit(t, 'sign-in')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'System' }).waitFor()
}

async function signedOut(t: Test, { page, scale, gateway, audit }: Stage): Promise<void> {
  await page.evaluate(`location.hash = '#/port/${encodeURIComponent(scale.path)}'`)
  await page.getByLabel('Bytes to send').fill('AA BB CC')
  await gateway.call('POST', '/api/logout', undefined, await tokenOf(page))
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await audit(t, 'signed-out')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  t.equal(await page.getByLabel('Bytes to send').inputValue(), 'AA BB CC', 'what was typed is still there')
}

async function contactLost(t: Test, { page, offline, audit }: Stage): Promise<void> {
  await offline(true)
  await page.getByText('No contact with this gateway').waitFor()
  t.ok(await page.getByRole('button', { name: 'Send' }).isDisabled(), 'controls wait')
  await audit(t, 'contact-lost')
  await page.getByRole('button', { name: 'Try now' }).click()
  await offline(false)
  t.notOk(await page.getByRole('button', { name: 'Send' }).isDisabled(), 'controls are back')
}

async function tokenOf(page: Page): Promise<string> {
  return (await page.evaluate("sessionStorage.getItem('plantroom.token')")) as string
}

function nameOf(pty: Device): string {
  return pty.path.replace('/dev/', '')
}

async function focusedName(page: Page): Promise<string> {
  return (await page.evaluate("document.activeElement.getAttribute('name')")) as string
}
