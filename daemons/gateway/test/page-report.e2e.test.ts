/** The commissioning report of a line: taken as of one moment, and printed without what only a screen needs. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { energyMeter } from '../../../scripts/sim/energy-meter.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('the report of a line on the page', { skip: noBrowser }, async (t) => {
  const stage = await openStage(t, 'meters', [energyMeter(1, systemClock)], { response_timeout_ms: 20_000 })
  const { bus, gateway } = stage
  const register = { unitId: 1, fc: 4, address: 0, type: 'f32', pollMs: 200, unit: 'V', decimals: 1 }
  const points = [{ ...register, name: 'voltage' }]
  await gateway.call('PUT', gateway.portPath(bus.path, '/points'), { points })
  const isRead = async () => (await gateway.call('GET', gateway.portPath(bus.path, '/points'))).body.points[0].value > 0
  await until('it was read', isRead)
  await play<Stage>(t, stage, [
    ['has the line, its units, its values, who took it and when', taken],
    ['names what is not well, once it is taken anew', takenAnew],
    ['is printed without controls', printed],
  ] satisfies Scene<Stage>[])
})

async function taken(t: Test, { audit, bus, page, visit }: Stage): Promise<void> {
  await visit('port', bus.path)
  await page.getByRole('link', { name: 'Commissioning report' }).click()
  await page.getByText('1 unit is well, and 1 point has a fresh value.').waitFor()
  await page.getByRole('region', { name: 'Units' }).getByRole('row', { name: /well/ }).waitFor()
  await page
    .getByRole('region', { name: 'Points' })
    .getByText(/^2\d\d\.\d$/)
    .waitFor()
  await page
    .getByRole('region', { name: 'Line', exact: true })
    .getByText(/19 200 8N1|19.200 8N1/)
    .waitFor()
  await page.getByRole('region', { name: 'Signed' }).getByText('admin').waitFor()
  await audit(t, 'report')
}

async function takenAnew(_t: Test, { bus, gateway, page }: Stage): Promise<void> {
  await gateway.call('POST', gateway.portPath(bus.path, '/close'))
  await page.getByText('1 unit is well, and 1 point has a fresh value.').waitFor()
  // The page hears of it within two seconds, and the report stays what it was.
  await until('it is said', async () => {
    await page.getByRole('button', { name: 'Take anew' }).click()
    return await page.getByText(/is not open: nothing on it could be checked\.$/).isVisible()
  })
  await gateway.call('POST', gateway.portPath(bus.path, '/open'))
}

async function printed(t: Test, { page }: Stage): Promise<void> {
  await page.emulateMedia({ media: 'print' })
  t.equal(await page.getByRole('button', { name: 'Print' }).isVisible(), false)
  t.equal(await page.getByRole('navigation').first().isVisible(), false)
  t.equal(await page.getByRole('region', { name: 'Signed' }).isVisible(), true)
  await page.emulateMedia({ media: null })
}
