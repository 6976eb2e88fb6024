/** A DNP3 outstation on the page: it is set up, its masters and points are shown, and a point is set from the console. */
import t, { type Test } from 'tap'
import { focusIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { SimulatedMaster } from '../../../scripts/sim/dnp3-master.ts'
import { openStage, type Stage } from './page-stage.ts'

let master: SimulatedMaster

t.test('a DNP3 outstation on the page', { skip: noBrowser }, async (t) => {
  const stage = await openStage(t, 'outstation', [])
  master = new SimulatedMaster({ duplex: stage.bus })
  t.teardown(() => master.stop())
  await play<Stage>(t, stage, scenes)
})

const scenes: Scene<Stage>[] = [
  ['is set up; an address that is also that of the master is shown at its field', setUp],
  ['shows who asks and what waits, and sets a point from the console', setPoint],
]

async function setUp(t: Test, { page, visit, bus, audit }: Stage): Promise<void> {
  await visit('port', bus.path, 'settings')
  await page.getByText('DNP3 outstation', { exact: true }).click()
  await page.getByLabel('Master address').fill('10')
  await page.getByLabel('Outstation address').fill('10')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'settings.master_address')
  await audit(t, 'port-settings-dnp3', 'unpictured')
  await page.getByLabel('Master address').fill('1')
  await page.getByLabel('Analog', { exact: true }).fill('4')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.getByRole('heading', { name: 'Masters' }).waitFor()
}

async function setPoint(t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByText('not heard yet').waitFor()
  await master.ask(1, '3C 01 06')
  await page.getByText('is there').waitFor()
  await page.getByLabel('Kind of point').first().waitFor()
  await page.locator('form.console').getByLabel('Kind of point').selectOption('analog')
  await page.locator('form.console').getByLabel('Index').fill('3')
  await page.locator('form.console').getByLabel('Value').fill('21.5')
  await page.getByRole('button', { name: 'Set', exact: true }).click()
  await page.getByText('Analog 3 is 21.500 now').waitFor()
  await page.getByText('0 · 1 · 0').waitFor()
  await audit(t, 'port-dnp3', 'unpictured')
  t.match(await page.locator('.verdict').textContent(), /is open/)
}
