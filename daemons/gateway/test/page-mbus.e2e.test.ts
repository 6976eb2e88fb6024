/** Meters on the page: the line is set up, a meter is read, its values become points, and others are searched for. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { heatMeter, waterMeter } from '../../../scripts/sim/heat-meter.ts'
import { simulateMbusLine } from '../../../scripts/sim/mbus-meters.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('meters on the page', { skip: noBrowser }, async (t) => {
  const stage = await openStage(t, 'flats', [])
  const clock = systemClock
  const meters = [heatMeter({ address: 1, id: '21314159', clock }), waterMeter({ address: 0, id: '40271828', clock })]
  t.teardown(simulateMbusLine({ duplex: stage.bus, clock, meters }))
  await play<Stage>(t, stage, scenes)
})

const scenes: Scene<Stage>[] = [
  ['a line of meters is set up', setUp],
  ['a meter is read, and its values become points', read],
  ['a point of a record is changed', change],
  ['meters are searched for by number', scan],
]

async function setUp(_t: Test, { page, visit, bus }: Stage): Promise<void> {
  await visit('port', bus.path, 'settings')
  await page.getByText('M-Bus', { exact: true }).click()
  await page.getByLabel('Rate').fill('115200')
  await page.getByText('Limits and timing').click()
  await page.getByLabel('Telegrams of one reading').fill('8')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.getByRole('form', { name: 'Ask the bus' }).waitFor()
}

async function read(_t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByLabel('Meter', { exact: true }).fill('99')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page
    .getByText(/Unit 99 did not answer/)
    .first()
    .waitFor()
  await page.getByLabel('Meter', { exact: true }).fill('1')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('KAM 21314159, heat').waitFor()
  await audit(_t, 'port-mbus', 'unpictured')
  await page.getByRole('button', { name: 'Add 5 points' }).click()
  await page.getByRole('link', { name: '21314159 flow temperature' }).waitFor()
  await page.getByText('5 points are read.').or(page.getByText('All 5 points are read.')).first().waitFor()
}

async function change(_t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByRole('link', { name: '21314159 energy' }).click()
  await page.getByLabel('Times').fill('0.001')
  await page.getByLabel('Unit of measure').fill('kWh')
  await audit(_t, 'points-mbus', 'unpictured')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('21314159 energy is changed.').waitFor()
}

async function scan(t: Test, { page, visit, bus, audit }: Stage): Promise<void> {
  await visit('port', bus.path, 'scan')
  await page.getByLabel('Search by').selectOption('secondary')
  await page.getByLabel('Number').fill('4FFFFFFF')
  await page.getByRole('button', { name: 'Start scan' }).click()
  await page.getByText('1 meter answered.').waitFor()
  await page.getByText('ACW 40271828').waitFor()
  await audit(t, 'scan-mbus', 'unpictured')
}
