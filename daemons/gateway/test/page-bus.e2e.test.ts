/** A Modbus line on the page: the state of its units, and what to do about the worst. */
import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { countIs, focusIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { energyMeter } from '../../../scripts/sim/energy-meter.ts'
import { relayBoard } from '../../../scripts/sim/relay-board.ts'
import { type UnitFaults, withFaults } from '../../../scripts/sim/unit-faults.ts'
import { openStage, type Stage } from './page-stage.ts'

/** Long enough for a unit simulated on a busy machine. */
const WAIT_MS = 600
/** Longer than the line waits, shorter than its quarantine. */
const LATE_MS = 850
const settings = { response_timeout_ms: WAIT_MS, quarantine_ms: 1200, noisy_least: 2 }

interface BusStage extends Stage {
  kitchen: UnitFaults
  office: UnitFaults
}

t.test('a Modbus line on the page', { skip: noBrowser }, async (t) => {
  const kitchen: UnitFaults = { late: { afterMs: LATE_MS, chance: 1 } }
  const clock = systemClock
  const late = withFaults({ unit: energyMeter(17, clock), faults: kitchen, clock, seed: 17 })
  const office: UnitFaults = {}
  const meter = withFaults({ unit: energyMeter(1, clock), faults: office, clock, seed: 1 })
  const stage = await openStage(t, 'bus', [meter, relayBoard(2), late], settings)
  await play<BusStage>(t, { ...stage, kitchen, office }, scenes)
})

const scenes: Scene<BusStage>[] = [
  ['says that a unit answers too late, and what is known of it', lateUnit],
  ['has the remedy beside the verdict, and takes it back', remedy],
  ['scans for units, leads from one to its device, and can be stopped', scan],
  ['captures what the line says into a file that Wireshark opens', capture],
  ['names a unit that is silent, here and on the page of all lines', silentUnit],
  ['forgets a unit that does not answer', forgottenUnit],
  ['says how many answers of a noisy unit were damaged, here and on the page of all lines', noisyUnit],
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
  await page.locator('.bars div', { hasText: 'to 1000' }).waitFor()
  await audit(t, 'port-units')
  await page.getByRole('button', { name: /^Unit 17/ }).click()
}

async function remedy(t: Test, { page, gateway, bus }: BusStage): Promise<void> {
  const waitMs = async () => (await gateway.call('GET', gateway.portPath(bus.path))).body.settings.response_timeout_ms
  const button = page.getByRole('button', { name: /^Wait \d+/ })
  const offeredMs = Number(/\d+/.exec((await button.textContent()) ?? '')?.[0])
  // A busy machine sees the reply later than it was sent, so the remedy may be longer; never shorter.
  t.ok(offeredMs >= LATE_MS && offeredMs % 100 === 0, `${offeredMs} ms is longer than what was seen`)
  await button.click()
  await until('the line waits longer', async () => (await waitMs()) === offeredMs)
  await page.locator('.toast', { hasText: `waits ${offeredMs}` }).waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await until('the line waits as before', async () => (await waitMs()) === WAIT_MS)
  await countIs(page.locator('.toast'), 0)
}

async function scan(t: Test, { page, visit, bus, audit }: BusStage): Promise<void> {
  await page.getByRole('link', { name: 'Scan', exact: true }).click()
  await page.getByText('No scan was run yet.').waitFor()
  await page.getByLabel('To unit').fill('300')
  await page.getByRole('button', { name: 'Start scan' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'to')
  await page.getByLabel('To unit').fill('4')
  await page.getByRole('button', { name: 'Start scan' }).click()
  await page.getByText('2 units answered.').waitFor()
  await page.locator('tr', { hasText: 'Unit 2' }).waitFor()
  await page.getByLabel('To unit').fill('247')
  await page.getByRole('button', { name: 'Scan again' }).click()
  await page.getByText(/^Asking unit \d+\. 2 units answered so far\.$/).waitFor()
  await audit(t, 'scan')
  await page.getByRole('button', { name: 'Stop scan' }).click()
  await page.getByText(/^Stopped after \d+ of 247\. 2 units answered\.$/).waitFor()
  await page.locator('tr', { hasText: 'Unit 1' }).getByRole('link', { name: 'Add points' }).click()
  await page.getByRole('heading', { name: 'What is unit 1?' }).waitFor()
  await visit('port', bus.path)
}

async function capture(t: Test, { page, ask, audit }: BusStage): Promise<void> {
  await page.getByRole('button', { name: 'Capture', exact: true }).click()
  await page.getByText(/^Capturing for .* no frame yet$/).waitFor()
  t.equal(await ask(1), 200)
  await page.getByText(/^Capturing for .*\d\s[kM]?B$/).waitFor()
  await page.getByText('Live in Wireshark').click()
  await audit(t, 'port-capture')
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save capture' }).click()
  const saved = await saving
  t.match(saved.suggestedFilename(), /^shm-bus-.*\.pcap$/)
  const file = await readFile(await saved.path())
  const magic = [0xa1b2c3d4, 0xa1b23c4d]
  t.ok(magic.includes(file.readUInt32LE(0)) || magic.includes(file.readUInt32BE(0)), 'it is a capture')
  t.ok(file.includes(Buffer.from([1, 4, 0, 0, 0, 2])), 'the question is in it')
  t.equal(await page.getByRole('button', { name: 'Capture', exact: true }).isDisabled(), false)
}

async function silentUnit(t: Test, { page, visit, ask, audit, bus, kitchen, busName }: BusStage): Promise<void> {
  kitchen.isDead = true
  await ask(1)
  for (let asked = 0; asked < 3; asked++) t.equal(await ask(17), 504)
  await page.getByText('Unit 17 does not answer. The other 2 are well.').waitFor()
  await page.locator('.units .how', { hasText: 'silent, asked at' }).waitFor()
  await page.getByRole('button', { name: /^Unit 17, silent/ }).click()
  await page.locator('.facts p', { hasText: /^Asked \d+ times?: / }).waitFor()
  await page.locator('.facts ol li').first().waitFor()
  await audit(t, 'port-silent')
  await page.getByRole('button', { name: /^Unit 17, silent/ }).click()
  await visit('ports')
  await page.getByText(`${busName} runs. ${busName}: 1 unit is silent.`).waitFor()
  await page.locator('.lines tr', { hasText: '2 of 3' }).waitFor()
  await visit('port', bus.path)
}

async function forgottenUnit(t: Test, { page, ask, gateway, bus, audit }: BusStage): Promise<void> {
  t.equal(await ask(99), 504)
  await page.getByRole('button', { name: 'Unit 99, no answer yet' }).click()
  await audit(t, 'port-unit-forget')
  await page.getByRole('button', { name: 'Forget unit 99' }).click()
  await page.locator('.toast', { hasText: 'Unit 99 is forgotten.' }).waitFor()
  await page.getByRole('button', { name: /^Unit 99/ }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: /^Unit 17, silent/ }).click()
  await page.getByRole('button', { name: 'Forget unit 17' }).click()
  await page.getByRole('button', { name: /^Unit 17/ }).waitFor({ state: 'detached' })
  const { body: units } = await gateway.call('GET', gateway.portPath(bus.path, '/units'))
  t.strictSame(
    units.map(({ unitId }: { unitId: number }) => unitId),
    [1, 2],
  )
}

async function noisyUnit(t: Test, { page, visit, ask, bus, office, busName, audit }: BusStage): Promise<void> {
  office.damageChance = 1
  for (let asked = 0; asked < 2; asked++) t.equal(await ask(1), 502)
  office.damageChance = 0
  t.equal(await ask(1), 200)
  await page.getByText(/^Unit 1 is noisy: 2 of its last \d+ answers were damaged\. The other one is well\.$/).waitFor()
  await page.getByText(/^Look at the cable, the termination, .* The last one was \d+\ss ago\./).waitFor()
  await page.getByRole('button', { name: /^Unit 1, 2 of \d+ damaged/ }).click()
  await page
    .locator('.facts div', { hasText: /^Of the last/ })
    .locator('dd', { hasText: '2 damaged' })
    .waitFor()
  await audit(t, 'port-unit-noisy')
  await visit('ports')
  await page.getByText(`${busName} runs. ${busName}: 1 unit is noisy.`).waitFor()
  await page.locator('.lines .state', { hasText: 'open, 1 noisy' }).waitFor()
  await visit('port', bus.path)
  await page.getByRole('button', { name: /^Unit 1, 2 of/ }).click()
  await page.getByRole('button', { name: 'Count unit 1 from zero' }).click()
  await page.locator('.toast', { hasText: 'Unit 1 is counted from zero.' }).waitFor()
  await page.getByText('Unit 2 answers.').waitFor()
}
