/** The hunt on the page: it is started from the settings, stopped, run to its end, and what it found is taken. */
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { replyFrame } from '../wire/modbus-reply.ts'
import { sealed } from '../wire/modbus-request.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('a hunt on the page', { skip: noBrowser }, async (t) => {
  const stage = await openStage(t, 'unknown', [])
  await play<Stage>(t, stage, scenes)
})

const scenes: Scene<Stage>[] = [
  ['a hunt is started from the settings, and stopped', stop],
  ['what is heard is found with its evidence', find],
  ['what was found is taken, and saved by hand', take],
]

async function start({ page }: Stage): Promise<void> {
  await page.getByRole('button', { name: /^(Start hunt|Hunt again)$/ }).click()
  await page
    .getByRole('dialog', { name: /^Close .* for a hunt\?$/ })
    .getByRole('button', { name: 'Start hunt' })
    .click()
}

async function stop(t: Test, stage: Stage): Promise<void> {
  const { audit, bus, page, visit } = stage
  await visit('port', bus.path, 'settings')
  await page.getByRole('link', { name: 'Unknown line? Find its settings' }).click()
  await page.getByText('No hunt has run yet.').waitFor()
  await page.getByText('Ask units if nobody talks').click()
  await page.getByLabel('From unit').fill('9')
  await page.getByLabel('To unit').fill('3')
  await page.getByRole('button', { name: 'Start hunt' }).click()
  await page.getByText('is 9, above to, which is 3').waitFor()
  await audit(t, 'hunt-start')
  await page.getByLabel('From unit').fill('1')
  await start(stage)
  await page.getByText(/^Listening at \d+ 8[NEO]1\.$/).waitFor()
  await audit(t, 'hunt-runs')
  await page.getByRole('button', { name: 'Stop hunt' }).click()
  await page.getByText(/^It was ended after .*Nothing was heard in/).waitFor()
}

async function find(t: Test, stage: Stage): Promise<void> {
  const { audit, bus, page } = stage
  const request = { unitId: 3, fc: 3, address: 0, quantity: 1 }
  const both = Buffer.concat([sealed([3, 3, 0, 0, 0, 1]), replyFrame(request, [7])])
  const talking = systemClock.every(50, () => void bus.write(both).catch(() => {}))
  t.teardown(() => talking.cancel())
  await start(stage)
  await page
    .getByText(/^9600 8N1: \d+ Modbus frames heard with the right checksum, unit 3\./)
    .first()
    .waitFor()
  await page.getByRole('link', { name: 'Take 9600 8N1' }).waitFor()
  await audit(t, 'hunt')
}

async function take(t: Test, { audit, bus, gateway, page }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'Take 9600 8N2' }).click()
  await page.getByRole('heading', { name: /^Settings of/ }).waitFor()
  t.equal(await page.getByLabel('Rate').inputValue(), '9600')
  await audit(t, 'hunt-taken', 'unpictured')
  await page.getByRole('button', { name: 'Save and reopen' }).click()
  await page.getByRole('heading', { name: 'Traffic' }).waitFor()
  const { body } = await gateway.call('GET', gateway.portPath(bus.path))
  t.match(body, { protocol: 'modbus-rtu', line: { baud: 9600, stop_bits: 2 }, settings: { mode: 'listen' } })
}
