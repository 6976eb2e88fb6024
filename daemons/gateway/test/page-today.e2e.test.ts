/** Today on the page: empty, a line that is lost, acknowledged, ended, and filtered; at a desk and on a phone. */
import t, { type Test } from 'tap'
import { countIs, goByKeys, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('the day’s record on the page', { skip: noBrowser }, async (t) => {
  const settings = { response_timeout_ms: 400, breaker_failures: 2, local_echo: 'absent' }
  const units = [simulatedUnit({ unitId: 1, input: () => [1, 2] })]
  await play<Stage>(t, await openStage(t, 'day', units, settings), scenes)
})

const scenes: Scene<Stage>[] = [
  ['says since when nothing happened', empty],
  ['shows what is wrong first, and takes an acknowledgement', open],
  ['keeps what ended, and filters by place', over],
]

async function empty(t: Test, { audit, page }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'Today' }).first().waitFor()
  await goByKeys(page, 't')
  await page.getByText(/Nothing happened since \d{4}-\d\d-\d\d \d\d:\d\d/).waitFor()
  await page.getByText('Nothing is wrong now.').waitFor()
  await audit(t, 'today-empty')
}

async function open(t: Test, { ask, audit, bus, busName, page }: Stage): Promise<void> {
  await ask(1)
  await ask(9)
  await ask(9)
  await page.getByText('1 fault now.').waitFor()
  await page.locator('.ledger tr', { hasText: 'unit 9' }).waitFor()
  await bus.unplug()
  await page.locator('.ledger tr', { hasText: /unplugged|not there/ }).waitFor()
  await page
    .locator('.ledger tr', { hasText: `${busName} unit 9` })
    .getByRole('img', { name: 'Fault, over' })
    .waitFor()
  await countIs(page.locator('.ledger tbody tr'), 2)
  await page.getByRole('button', { name: /^Acknowledge: .*unplugged/ }).click()
  await page.locator('.ledger tr', { hasText: 'admin, ' }).waitFor()
  await page.getByText('Somebody has seen all of it.').waitFor()
  await audit(t, 'today-open')
}

async function over(t: Test, { audit, bus, page }: Stage): Promise<void> {
  bus.replug()
  await page.getByText('Nothing is wrong now.').waitFor()
  await page.getByText(/The last one ended/).waitFor()
  await countIs(page.getByRole('img', { name: 'Fault, over' }), 2)
  await audit(t, 'today-over')
  await page.getByLabel('Filter by where it was').fill('unit 9')
  await page.locator('.ledger tbody tr').nth(1).waitFor({ state: 'detached' })
  await countIs(page.locator('.ledger tbody tr'), 1)
  await page.getByLabel('Filter by where it was').fill('nowhere')
  await page.getByText('Nothing matches nowhere').waitFor()
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export' }).click()
  t.match((await saving).suggestedFilename(), /^ledger-.*\.csv$/)
  await page.locator('#main').getByRole('link', { name: 'Journal' }).click()
  await page.getByRole('heading', { name: 'Journal' }).waitFor()
}
