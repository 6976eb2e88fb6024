/** An MS/TP line on the page: it is set up, its ring is shown, and a frame is sent from the console. */
import t, { type Test } from 'tap'
import { countIs, focusIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { readPresentValue, SimulatedRing } from '../../../scripts/sim/mstp-ring.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('an MS/TP ring on the page', { skip: noBrowser }, async (t) => {
  const stage = await openStage(t, 'ring', [])
  nodes.ring = new SimulatedRing({ duplex: stage.bus, nodes: [{ mac: 4 }, { mac: 9, manner: 'postponed' }] })
  t.teardown(() => nodes.ring?.stop())
  await play<Stage>(t, stage, scenes)
})

/** What is at the other end of the line. */
const nodes: { ring?: SimulatedRing } = {}

const scenes: Scene<Stage>[] = [
  ['is set up as a node; an address beyond the highest master is shown at its field', setUp],
  ['shows the ring, and sends a frame from the console', send],
  ['warns when the other nodes are gone, and forgets one that was taken away', vanish],
  ['as a listener it has no console', listen],
]

async function setUp(t: Test, { page, visit, bus, audit }: Stage): Promise<void> {
  await visit('port', bus.path, 'settings')
  await page.getByText('BACnet MS/TP', { exact: true }).click()
  await page.getByLabel('Address (MAC)').fill('12')
  await page.getByLabel('Highest master').fill('10')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'settings.mac')
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
  await page.locator('.verdict').getByText('2 other nodes are in the ring').waitFor()
  await audit(t, 'port-mstp')
}

async function vanish(t: Test, { page, visit, bus, audit }: Stage): Promise<void> {
  nodes.ring?.stop()
  await page
    .locator('.verdict')
    .getByText('Nobody else is heard any more: nodes 4, 9 are gone')
    .waitFor({ timeout: 400_000 })
  await visit('ports')
  await page.getByText('open, nobody else there, 2 silent').waitFor()
  await visit('port', bus.path)
  await page.getByRole('button', { name: 'Forget node 9' }).click()
  await page.getByText('Node 9 is forgotten until it is heard again.').waitFor()
  await countIs(page.getByRole('button', { name: 'Forget node 9' }), 0)
  await audit(t, 'port-mstp-alone', 'unpictured')
  nodes.ring = new SimulatedRing({ duplex: bus, nodes: [{ mac: 4 }, { mac: 9 }] })
}

async function listen(_t: Test, { page, visit, bus }: Stage): Promise<void> {
  await visit('port', bus.path, 'settings')
  await page.getByLabel('On the ring it').selectOption('listen')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.getByText('This line only listens').waitFor()
  await countIs(page.getByRole('button', { name: 'Send', exact: true }), 0)
}
