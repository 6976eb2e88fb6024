/** The history of a point on the page: drawn with its outages, for an hour, a day and a week, and as a table. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { energyMeter } from '../../../scripts/sim/energy-meter.ts'
import { openStage, type Stage } from './page-stage.ts'

const register = { unitId: 1, fc: 4, type: 'f32', pollMs: 200, unit: 'V', decimals: 1 }

t.test('the history of a point on the page', { skip: noBrowser }, async (t) => {
  const stage = await openStage(t, 'feeder', [energyMeter(1, systemClock)])
  const { bus, gateway } = stage
  const points = [
    { ...register, name: 'voltage', address: 0 },
    { ...register, name: 'not there', address: 9000, pollMs: 60_000 },
  ]
  await gateway.call('PUT', gateway.portPath(bus.path, '/points'), { points })
  const isRead = async () => (await gateway.call('GET', gateway.portPath(bus.path, '/points'))).body.points[0].value > 0
  await until('it was read', isRead)
  await play<Stage>(t, stage, [
    ['leads from a point to its history, with the newest value and what was not recorded', draws],
    ['shows the hour, the day and the week, and saves a table', spans],
    ['says of a point without a value that it had none', noValue],
  ] satisfies Scene<Stage>[])
})

async function draws(t: Test, { audit, bus, page, visit }: Stage): Promise<void> {
  await visit('port', bus.path, 'points', 'point', 'voltage')
  await page.getByRole('link', { name: 'History', exact: true }).click()
  await page.getByRole('heading', { name: 'voltage' }).first().waitFor()
  await page
    .getByText(/^The gateway did not record for/)
    .first()
    .waitFor()
  await page.getByRole('img', { name: /^voltage between 2\d\d\.\d and 2\d\d\.\d V$/ }).waitFor()
  await page.locator('b.now', { hasText: /^2\d\d\.\d$/ }).waitFor()
  t.equal(await page.getByRole('radio', { name: 'Day' }).isChecked(), true)
  await audit(t, 'history-day')
}

async function spans(t: Test, { audit, page }: Stage): Promise<void> {
  await page.getByText('Hour', { exact: true }).click()
  await page.getByRole('region', { name: 'voltage' }).getByText('last hour').waitFor({ state: 'attached' })
  await page.getByRole('img', { name: /^voltage between/ }).waitFor()
  await audit(t, 'history-hour', 'unpictured')
  await page.locator('#main').focus()
  await page.keyboard.press('w')
  await page.getByRole('region', { name: 'voltage' }).getByText('last week').waitFor({ state: 'attached' })
  await audit(t, 'history-week')
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as CSV' }).click(),
  ])
  t.match(file.suggestedFilename(), /^feeder-\d+-history\.csv$/)
}

async function noValue(t: Test, { audit, bus, page, visit }: Stage): Promise<void> {
  await visit('port', bus.path, 'points', 'history', 'not there')
  await page.getByText('not there had no good value in the last day.').waitFor()
  await audit(t, 'history-none')
  await visit('port', bus.path, 'points', 'history', 'no such point')
  await page.getByText('The history could not be read.').waitFor()
}
