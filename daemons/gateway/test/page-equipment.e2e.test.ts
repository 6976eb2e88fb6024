/** A device by definition on the page: its line is set up, and its console is a form made from the definition. */
import t, { type Test } from 'tap'
import { focusIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { openStage, type Stage } from './page-stage.ts'

interface DisplayStage extends Stage {
  /** Values of the display by the number of their command. */
  state: Map<number, number>
}

t.test('a device by definition on the page', { skip: noBrowser }, async (t) => {
  const stage = await openStage(t, 'display', [])
  const state = new Map([
    [0x11, 1],
    [0x12, 10],
    [0x13, 0],
    [0x14, 0x21],
  ])
  stage.bus.onBytes((bytes) => {
    const [, command = 0, id = 0, length = 0, value = 0] = bytes
    if (length === 1) state.set(command, value)
    const reply = [0xaa, 0xff, id, 3, 0x41, command, state.get(command) ?? 0]
    const sum = reply.slice(1).reduce((all, byte) => all + byte, 0)
    void stage.bus.write(Buffer.from([...reply, sum & 0xff]))
  })
  await play<DisplayStage>(t, { ...stage, state }, scenes)
})

const scenes: Scene<DisplayStage>[] = [
  ['is set up; a definition that is missing is shown at the field', setUp],
  ['is commanded by the form of its definition, and says what is wrong', command],
  ['shows its values, and leads from each number to its history', history],
]

async function setUp(t: Test, { page, visit, bus, audit }: DisplayStage): Promise<void> {
  await visit('port', bus.path, 'settings')
  await page.getByText('Equipment', { exact: true }).click()
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'settings.definition')
  await audit(t, 'port-settings-equipment', 'unpictured')
  await page.getByLabel('Device definition').fill('samsung-mdc')
  await page.getByLabel('Settings of the device').fill('id=3')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.getByLabel('Command', { exact: true }).waitFor()
}

async function command(t: Test, { page, state, audit }: DisplayStage): Promise<void> {
  await page.getByLabel('Command', { exact: true }).selectOption('volume')
  await page.getByLabel('volume', { exact: true }).fill('400')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('volume is another number, expected a whole number from 0 to 100').waitFor()
  await page.getByLabel('volume', { exact: true }).fill('40')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('volume: done').waitFor()
  t.equal(state.get(0x12), 40)
  await page.getByLabel('Command', { exact: true }).selectOption('input')
  await page.getByLabel('input', { exact: true }).selectOption('hdmi2')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('input: done').waitFor()
  t.equal(state.get(0x14), 0x23)
  await page.getByRole('region', { name: 'Values' }).getByText('40 %').waitFor()
  await audit(t, 'port-equipment')
}

async function history(t: Test, { audit, bus, page, visit }: DisplayStage): Promise<void> {
  await visit('port', bus.path)
  const values = page.getByRole('region', { name: 'Values' })
  t.equal(await values.getByRole('link', { name: 'History' }).count(), 3, 'an input is no number')
  await values
    .getByRole('row', { name: /volume/ })
    .getByRole('link', { name: 'History' })
    .click()
  await page.getByRole('heading', { name: 'volume' }).first().waitFor()
  await page.locator('b.now', { hasText: /^40\.00$/ }).waitFor()
  await audit(t, 'history-equipment', 'unpictured')
  await page.getByRole('link', { name: 'Back to' }).click()
  await values.waitFor()
}
