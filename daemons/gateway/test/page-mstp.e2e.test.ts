/** An MS/TP line on the page: it is set up, its ring is shown, and a frame is sent from the console. */
import t, { type Test } from 'tap'
import { noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { readPresentValue, SimulatedRing } from '../../../scripts/sim/mstp-ring.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('an MS/TP ring on the page', { skip: noBrowser, timeout: 240_000 }, async (t) => {
  const stage = await openStage(t, 'ring', [])
  const ring = new SimulatedRing({ duplex: stage.bus, nodes: [{ mac: 4 }, { mac: 9, manner: 'postponed' }] })
  t.teardown(() => ring.stop())
  await play<Stage>(t, stage, scenes)
})

const scenes: Scene<Stage>[] = [
  ['is set up as a node; an address beyond the highest master is shown at its field', setUp],
  ['shows the ring, and sends a frame from the console', send],
  ['as a listener it has no console', listen],
]

async function setUp(t: Test, { page, visit, bus, audit }: Stage): Promise<void> {
  await visit('port', bus.path, 'settings')
  await page.getByText('BACnet MS/TP', { exact: true }).click()
  await page.getByLabel('Address (MAC)').fill('12')
  await page.getByLabel('Highest master').fill('10')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.locator('.err').waitFor()
  t.equal(await page.evaluate("document.activeElement.getAttribute('name')"), 'settings.mac')
  await audit(t, 'port-settings-mstp', 'unpictured')
  await page.getByLabel('Address (MAC)').fill('1')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.getByRole('heading', { name: 'Ring' }).waitFor()
}

async function send(t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByText('this gateway, passes to 4').waitFor()
  await page.getByText('master, passes to 9').waitFor()
  await page.getByLabel('Frame type').selectOption('BACNET_DATA_EXPECTING_REPLY')
  await page.getByLabel('To', { exact: true }).fill('9')
  await page.getByLabel('Data', { exact: true }).fill(readPresentValue(5))
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('9 answered: complex-ack read-property').waitFor()
  await page.getByText('once it had the token').waitFor()
  await page.getByLabel('Data', { exact: true }).fill('01 0')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('the text ends in the middle of a pair').first().waitFor()
  t.match(await page.locator('.verdict').textContent(), /is open and its bytes are read/)
  await audit(t, 'port-mstp')
}

async function listen(t: Test, { page, visit, bus }: Stage): Promise<void> {
  await visit('port', bus.path, 'settings')
  await page.getByLabel('On the ring it').selectOption('listen')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.getByText('This line only listens').waitFor()
  t.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0)
}
