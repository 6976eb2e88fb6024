/** Finding out on the page what a unit has: every meaning of its registers, and the point that one of them makes. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { countIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { energyMeter } from '../../../scripts/sim/energy-meter.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('finding out on the page what a unit has', { skip: noBrowser }, async (t) => {
  const input = () => [0x4366, 0x199a, 0, 0, 2301, 0xfff4, 0x4232, 0x3300]
  const units = [energyMeter(1, systemClock), simulatedUnit({ unitId: 2, input }), codedMeter(3)]
  const stage = await openStage(t, 'finding', units, { response_timeout_ms: 600 })
  await play<Stage>(t, stage, scenes)
})

/** Has the meter code of an SDM630 and 230.1 V. */
function codedMeter(unitId: number) {
  const holding: number[] = []
  holding[64_514] = 112
  return simulatedUnit({ unitId, holding, input: () => [0x4366, 0x199a] })
}

const scenes: Scene<Stage>[] = [
  ['reads registers once and shows all that each may mean', testRead],
  ['picks out the readings that are about what the display shows', byDisplay],
  ['makes a point of the chosen reading, and it gives that value', choose],
  ['says what the units of a scan are, and leads from a guess to the points of that device', whatTheyAre],
]

async function testRead(t: Test, { page, visit, bus, audit }: Stage): Promise<void> {
  await visit('port', bus.path, 'points')
  await page.getByRole('link', { name: 'Test read' }).click()
  await page.getByRole('heading', { name: 'Test read of' }).waitFor()
  await page.getByLabel('Kind').selectOption('4')
  await page.getByLabel('Unit id').fill('2')
  await page.getByLabel('Count').fill('33')
  await page.getByRole('button', { name: 'Read', exact: true }).click()
  await page.locator('.err', { hasText: 'at most 32' }).waitFor()
  await page.getByLabel('Count').fill('8')
  await page.getByRole('button', { name: 'Read', exact: true }).click()
  await page.getByText(/^Unit 2, read at \d\d:\d\d:\d\d$/).waitFor()
  await countIs(page.locator('.tested'), 8)
  const first = page.locator('.tested').first()
  t.equal(await first.locator('a').count(), 2 + 2 + 6 * 4 + 2 + 16)
  const volts = first.getByRole('link', { name: /input register 0, Float, 32 bits ABCD 230\.1$/ })
  t.equal(await volts.getAttribute('data-doubt'), null)
  const swapped = first.getByRole('link', { name: /input register 0, Float, 32 bits CDAB .*Unlikely: It is too/ })
  t.equal(await swapped.getAttribute('data-doubt'), '')
  await audit(t, 'test-read')
  await page.getByRole('button', { name: 'Open all' }).click()
  await page.locator('.tested').last().locator('a').first().waitFor()
  t.equal(await page.locator('.tested').last().locator('a').count(), 2 + 2 + 2 + 16)
  await page.getByRole('button', { name: 'Close all' }).click()
}

async function byDisplay(t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByLabel('Value on the device').fill('77777')
  await page.getByText('No reading is about 77777.').waitFor()
  await page.getByLabel('Value on the device').fill('230')
  const found = page.getByRole('list', { name: 'Readings with this value' })
  await found.getByRole('link', { name: /input register 0, Float, 32 bits ABCD/ }).waitFor()
  await audit(t, 'test-read-found', 'unpictured')
}

async function choose(t: Test, { page, gateway, bus }: Stage): Promise<void> {
  const found = page.getByRole('list', { name: 'Readings with this value' })
  await found.getByRole('link', { name: /input register 0, Float, 32 bits ABCD/ }).click()
  await page.getByRole('form', { name: 'New point' }).waitFor()
  t.equal(await page.getByLabel('Read as').inputValue(), 'f32')
  t.equal(await page.getByLabel('Kind').inputValue(), '4')
  await page.getByLabel('Name').fill('voltage')
  await page.getByRole('button', { name: 'Add point' }).click()
  await page
    .locator('.point-rows tr', { hasText: 'voltage' })
    .locator('.value', { hasText: /^230\.1/ })
    .waitFor()
  const { points } = (await gateway.call('GET', gateway.portPath(bus.path, '/points'))).body
  t.match(points, [{ unitId: 2, fc: 4, address: 0, type: 'f32', wordOrder: 'big', byteOrder: 'big', scale: 1 }])
}

async function whatTheyAre(t: Test, { page, visit, bus, audit }: Stage): Promise<void> {
  await visit('port', bus.path, 'scan')
  await page.getByLabel('To unit').fill('3')
  t.ok(await page.getByLabel('Find out what they are').isChecked())
  await page.getByRole('button', { name: 'Start scan' }).click()
  await page.getByText('3 units answered.').waitFor()
  const row = (unitId: number) => page.locator('tr', { hasText: `Unit ${unitId}` })
  await row(1).getByText('It says: Plantroom, SIM-120, 1.0.').waitFor()
  await row(2).getByText('Unknown: none of the devices known here fits.').waitFor()
  await row(3).getByText('Could be: Eastron SDM630-Modbus V2 (2 of 2 signs fit).').waitFor()
  await audit(t, 'scan-what')
  await row(3).getByRole('link', { name: 'Set its points' }).click()
  await page.getByText('Eastron SDM630-Modbus').waitFor()
  t.equal(await page.getByLabel('Unit id').inputValue(), '3')
}
