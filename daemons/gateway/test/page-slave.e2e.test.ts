/** A line that is itself a unit, on the page: it is set up, its registers are set by hand and read by a master. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { countIs, focusIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { sealed } from '../wire/modbus-request.ts'
import { openStage, type Stage } from './page-stage.ts'

interface SlaveStage extends Stage {
  /** Bytes the master at the other end received since it last asked. */
  heard: number[]
}

t.test('a Modbus slave on the page', { skip: noBrowser }, async (t) => {
  const stage = await openStage(t, 'slave', [])
  const heard: number[] = []
  stage.bus.onBytes((bytes) => heard.push(...bytes))
  await play<SlaveStage>(t, { ...stage, heard }, scenes)
})

const scenes: Scene<SlaveStage>[] = [
  ['is set up with the registers it serves; faults in them are shown at the field', setUp],
  ['shows and sets registers, which a master then reads', registers],
  ['says when it only listens', listen],
]

async function setUp(t: Test, { page, visit, bus, audit }: SlaveStage): Promise<void> {
  await visit('port', bus.path, 'settings')
  await page.getByLabel('This line is').selectOption('slave')
  await page.getByLabel('Unit ids').fill('3')
  await page.getByLabel('Registers it serves').fill('holding 0 4 = 7\nholding 2 8')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'settings.slave_blocks')
  await audit(t, 'port-settings-slave', 'unpictured')
  await page.getByLabel('Registers it serves').fill('holding 0 4 = 7\ninput 0 2')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.getByText('Unit 3 waits for a master.').waitFor()
  await page.getByText('it answers its master and sends no requests').waitFor()
}

async function registers(t: Test, { page, bus, heard, audit }: SlaveStage): Promise<void> {
  const panel = page.getByRole('region', { name: 'Registers' })
  await panel.locator('.values b', { hasText: '7' }).nth(3).waitFor()
  await panel.getByLabel('From', { exact: true }).fill('1')
  await panel.getByLabel('Set from there').fill('215, 0x10')
  await panel.getByRole('button', { name: 'Set' }).click()
  await panel.locator('.values b', { hasText: '215' }).waitFor()
  await bus.write(sealed([3, 3, 0, 1, 0, 2]))
  await until('the master is answered', () => heard.length >= 9)
  t.same(heard.slice(0, 7), [3, 3, 4, 0, 215, 0, 16], 'what was set is what is served')
  await page.getByText('Unit 3 answers a master.').waitFor()
  await page.locator('.log li b', { hasText: '215, 16' }).waitFor()
  await panel.getByLabel('From', { exact: true }).fill('9')
  await panel.getByText('Not served').waitFor()
  await panel.getByLabel('From', { exact: true }).fill('0')
  await panel.locator('.values b', { hasText: '215' }).waitFor()
  await audit(t, 'port-slave')
}

async function listen(_t: Test, { page, visit, bus }: SlaveStage): Promise<void> {
  await visit('port', bus.path, 'settings')
  await page.getByLabel('This line is').selectOption('listen')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.getByText('This line only listens').waitFor()
  await bus.write(sealed([5, 3, 0, 0, 0, 1]))
  await bus.write(sealed([5, 3, 2, 0, 42]))
  await page.locator('.log li b', { hasText: /^42$/ }).waitFor()
  await page.locator('.units .id', { hasText: /^5$/ }).waitFor()
  await countIs(page.getByRole('button', { name: 'Send' }), 0)
}
