/** A Modbus line on the page: how its units do, and what to do about the worst. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { energyMeter } from '../../../scripts/sim/energy-meter.ts'
import { relayBoard } from '../../../scripts/sim/relay-board.ts'
import { type UnitFaults, withFaults } from '../../../scripts/sim/unit-faults.ts'
import { noBrowser } from './page-rig.ts'
import { openStage, play, type Scene, type Stage } from './page-stage.ts'
import { until } from './until.ts'

/** Later than the line waits, sooner than its quarantine ends. */
const LATE_MS = 410

interface BusStage extends Stage {
  kitchen: UnitFaults
}

t.test('a Modbus line on the page', { skip: noBrowser, timeout: 120_000 }, async (t) => {
  const kitchen: UnitFaults = { late: { afterMs: LATE_MS, chance: 1 } }
  const clock = systemClock
  const late = withFaults({ unit: energyMeter(17, clock), faults: kitchen, clock, seed: 17 })
  const stage = await openStage(t, 'bus', [energyMeter(1, clock), relayBoard(2), late])
  await play<BusStage>(t, { ...stage, kitchen }, scenes)
})

const scenes: Scene<BusStage>[] = [
  ['says that a unit answers too late, and what is known of it', lateUnit],
  ['has the remedy beside the verdict, and takes it back', remedy],
  ['names a unit that is silent, here and on the page of all lines', silentUnit],
]

async function lateUnit(t: Test, { page, visit, ask, bus, audit }: BusStage): Promise<void> {
  await visit('port', bus.path)
  await page.getByText('No unit was asked in the last minute.').waitFor()
  for (let asked = 0; asked < 3; asked++) t.equal(await ask(1), 200)
  t.equal(await ask(2, { fc: 1 }), 200)
  t.equal(await ask(17), 504)
  await page.getByText('Unit 17 answers too late. The other 2 are well.').waitFor()
  await page.getByRole('button', { name: /^Unit 17, too late/ }).click()
  await page.locator('.facts div', { hasText: 'Late replies' }).locator('dd', { hasText: '1' }).waitFor()
  await page.locator('.bars div', { hasText: 'to 500' }).waitFor()
  await audit(t, 'port-units')
  await page.getByRole('button', { name: /^Unit 17/ }).click()
}

async function remedy(t: Test, { page, gateway, bus }: BusStage): Promise<void> {
  const waitMs = async () => (await gateway.call('GET', gateway.portPath(bus.path))).body.settings.response_timeout_ms
  await page.getByRole('button', { name: 'Wait 500' }).click()
  await until('the line waits longer', async () => (await waitMs()) === 500)
  await page.locator('.toast', { hasText: 'waits 500' }).waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await until('the line waits as before', async () => (await waitMs()) === 300)
  t.equal(await page.locator('.toast').count(), 0)
}

async function silentUnit(t: Test, { page, visit, ask, bus, kitchen, busName }: BusStage): Promise<void> {
  kitchen.isDead = true
  await ask(1)
  for (let asked = 0; asked < 3; asked++) t.equal(await ask(17), 504)
  await page.getByText('Unit 17 does not answer. The other one is well.').waitFor()
  await page.locator('.units .how', { hasText: 'silent, asked at' }).waitFor()
  await visit('ports')
  await page.getByText(`${busName} runs. ${busName}: 1 unit is silent.`).waitFor()
  await page.locator('.lines tr', { hasText: '1 of 2' }).waitFor()
  await visit('port', bus.path)
}
