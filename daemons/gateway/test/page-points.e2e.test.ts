/** Points on the page: picking a device, values that change, points by hand, and undo. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { focusIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { energyMeter } from '../../../scripts/sim/energy-meter.ts'
import { type UnitFaults, withFaults } from '../../../scripts/sim/unit-faults.ts'
import { openStage, type Stage } from './page-stage.ts'

interface PointStage extends Stage {
  meter: UnitFaults
  /** Names of the points, in the order of the table. */
  names(): Promise<string[]>
}

t.test('points on the page', { skip: noBrowser }, async (t) => {
  const clock = systemClock
  const meter: UnitFaults = {}
  const unit = withFaults({ unit: energyMeter(1, clock), faults: meter, clock, seed: 1 })
  const stage = await openStage(t, 'meters', [unit], { response_timeout_ms: 250, breaker_retry_ms: 1000 })
  const { gateway, bus } = stage
  const names = async () =>
    (await gateway.call('GET', gateway.portPath(bus.path, '/points'))).body.points.map(
      ({ name }: { name: string }) => name,
    )
  await play<PointStage>(t, { ...stage, meter, names }, scenes)
})

const scenes: Scene<PointStage>[] = [
  ['leads from no points to a device that is known by heart', pickDevice],
  ['shows values as they change, and finds them', values],
  ['adds a point by hand; a refused one says why at the field', byHand],
  ['keeps what was typed if somebody else was quicker, and says so', changedMeanwhile],
  ['changes a point, removes it, and takes that back', changeAndRemove],
  ['says which points have no fresh value, and why', deadUnit],
]

async function pickDevice(t: Test, { page, visit, bus, names, audit }: PointStage): Promise<void> {
  await visit('port', bus.path, 'points')
  await page.getByText('This line has no points.').waitFor()
  await audit(t, 'points-empty')
  await page.getByRole('link', { name: 'Pick a device' }).click()
  await page.getByLabel('Search devices').fill('no such thing')
  await page.getByText('No device matches no such thing').waitFor()
  await page.getByLabel('Search devices').fill('sdm120')
  await audit(t, 'points-devices', 'unpictured')
  await page.locator('.devices button', { hasText: 'SDM120' }).first().click()
  await page.getByText('It leaves the maker with 2400').waitFor()
  await page.getByLabel('Unit id').fill('300')
  await page.getByLabel('Read every').fill('500')
  await page.getByRole('button', { name: /^Add \d+ points$/ }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'unitId')
  await page.getByLabel('Unit id').fill('1')
  await page.getByText(/^\d+ points$/).click()
  await audit(t, 'points-device')
  await page.getByRole('button', { name: /^Add \d+ points$/ }).click()
  await page.locator('.point-rows tr', { hasText: 'voltage' }).waitFor()
  t.ok((await names()).includes('voltage'))
}

async function values(t: Test, { page, audit }: PointStage): Promise<void> {
  const voltage = page.locator('.point-rows tr', { hasText: 'voltage' })
  await voltage.locator('.value', { hasText: /^2[23]\d\.\d\s*V$/ }).waitFor()
  await page.getByText(/^All \d+ points are read\.$/).waitFor()
  await page.locator('.point-rows .fresh').first().waitFor()
  await audit(t, 'points')
  await page.locator('#main').focus()
  await page.keyboard.press('/')
  await page.keyboard.type('voltage')
  await until('one point is left', async () => (await page.locator('.point-rows tbody tr').count()) === 1)
  await page.keyboard.press('Control+A')
  await page.keyboard.type('unit 9')
  await page.getByText('No point matches unit 9').waitFor()
  await page.keyboard.press('Escape')
  await voltage.waitFor()
}

async function byHand(t: Test, { page, names, audit }: PointStage): Promise<void> {
  await page.getByRole('link', { name: 'Add point' }).click()
  await page.getByLabel('Name').fill('Meter code')
  await page.getByLabel('Address').fill('70000')
  await page.getByRole('button', { name: 'Add point' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'address')
  await page.getByLabel('Address').fill('24')
  await page.getByLabel('Kind').selectOption('4')
  await page.getByLabel('Read as').selectOption('f32')
  await audit(t, 'points-new', 'unpictured')
  await page.getByRole('button', { name: 'Add point' }).click()
  await page.locator('.point-rows tr', { hasText: 'Meter code' }).waitFor()
  t.equal((await names()).at(-1), 'Meter code')
}

async function changedMeanwhile(t: Test, { page, gateway, bus, audit }: PointStage): Promise<void> {
  await page.getByRole('link', { name: 'current', exact: true }).click()
  await page.getByLabel('Unit of measure').fill('mA')
  const path = gateway.portPath(bus.path, '/points/current')
  t.equal((await gateway.call('PATCH', path, { deadband: 2 })).status, 200)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.refusal', { hasText: 'Somebody else has changed this since you opened it.' }).waitFor()
  t.match(await page.evaluate('document.activeElement.className'), /refusal/, 'the focus is on it')
  t.equal(await page.getByLabel('Unit of measure').inputValue(), 'mA', 'what was typed is still there')
  await audit(t, 'points-meanwhile', 'unpictured')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('current is changed.').waitFor()
  const { points } = (await gateway.call('GET', gateway.portPath(bus.path, '/points'))).body
  t.match(
    points.find(({ name }: { name: string }) => name === 'current'),
    { unit: 'mA', deadband: 0.05 },
  )
}

async function changeAndRemove(t: Test, { page, names }: PointStage): Promise<void> {
  const before = await names()
  await page.getByRole('link', { name: 'current', exact: true }).click()
  await page.getByLabel('Name').fill('Current L1')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.point-rows tr', { hasText: 'Current L1' }).waitFor()
  const changed = before.map((name) => (name === 'current' ? 'Current L1' : name))
  t.same(await names(), changed)
  await page.getByRole('link', { name: 'Current L1' }).click()
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByText('Current L1 is removed.').waitFor()
  t.notOk((await names()).includes('Current L1'))
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Current L1 is back.').waitFor()
  t.same(await names(), changed, 'at the place where it stood')
}

async function deadUnit(t: Test, { page, meter, bus, visit, audit, calm }: PointStage): Promise<void> {
  await calm()
  meter.isDead = true
  await page.getByText(/have no fresh value\.$/).waitFor()
  await page
    .locator('.under[data-s=warn]', { hasText: /^unit 1 (is silent|did not answer)$/ })
    .first()
    .waitFor()
  await audit(t, 'points-old')
  await visit('port', bus.path)
  await page.getByText('Unit 1 does not answer.').waitFor()
  const part = page.getByRole('region', { name: 'Points' })
  await part.locator('tr.stale').first().waitFor()
  t.equal(await part.locator('tbody tr').count(), 8)
  await part.getByRole('link', { name: 'All' }).click()
  await page.getByRole('heading', { name: 'Points of' }).waitFor()
}
