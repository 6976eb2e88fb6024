/** Device definitions and live traffic of the built controller in a real browser, with a projector that asks for a password. */
import type { Locator } from 'playwright-core'
import t, { type Test } from 'tap'
import { openProjector, type Projector } from '#kit/test/device/projector.ts'
import { definitionFile } from '#kit/test/device/shipped-sets.ts'
import { until } from '#kit/test/until.ts'
import { countIs, goByKeys, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { openRestSite, type RestSite } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

interface Stage extends Rig {
  site: RestSite
  projector: Projector
}

const SECRET = 'JBMIAProjectorLink'
const NASTY = '<img src=x onerror=alert(1)>'

t.test('definitions and traffic on the page', { skip: noBrowser }, async (t) => {
  const projector = await openProjector(t, SECRET)
  const transport = { kind: 'tcp', host: '127.0.0.1', port: projector.port }
  const device = {
    id: 1,
    name: 'Beamer',
    command_set: 'pjlink-class-1',
    transport,
    password: SECRET,
    poll_ms: 86_400_000,
  }
  const site = await openRestSite(t, {
    rows: {
      device: [device],
      zone: [{ id: 1, name: 'Hall', device_id: 1 }],
      ...{ command: [], ui_zone: [], av_zone: [], macro_step: [], attribute: [] },
    },
  })
  const rig = await openRig(t, site.url(), { pictures: 'controller', wanted: /422|409/ })
  await rig.page.getByLabel('User name').fill('ada')
  await rig.page.getByLabel('Password').fill(PASSWORD)
  await rig.page.keyboard.press('Enter')
  await rig.page.getByText('Signed in as').waitFor()
  await play<Stage>(t, { ...rig, site, projector }, [
    ['a device opens by keyboard, and its traffic comes as it happens, without its password', traffic],
    ['what a device says is shown as text, cut where it is long', hostile],
    ['a definition of the package opens, and its wire tests hold', opens],
    ['what is wrong is told by line, and a press goes there', faults],
    ['a definition of ones own is kept, and drives its devices at once', kept],
    ['the console sends a command to the device, and shows what goes out and comes back', consoled],
  ])
})

const lines = ({ page }: Stage) => page.locator('.wire li')

async function traffic(t: Test, stage: Stage): Promise<void> {
  const { page, site, projector, audit } = stage
  await goByKeys(page, 'd')
  await page.getByRole('link', { name: 'Beamer' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('Nothing to or from it yet').waitFor()
  // A new connection begins with a sign-in.
  for (const socket of projector.sockets) socket.destroy()
  const token = await site.tokenOf('ada')
  const power = () =>
    site.post('/api/control/command', { zone: 'Hall', command: 'power', args: { power: true } }, token)
  await until('the projector takes it', async () => (await power()).body.success === true)
  await lines(stage).filter({ hasText: '%1POWR 1\\r' }).first().waitFor()
  await lines(stage).filter({ hasText: '%1POWR=OK\\r' }).first().waitFor()
  await page
    .getByText(/sign-in, .* not shown/)
    .first()
    .waitFor()
  const said = (await page.locator('.wire').textContent()) ?? ''
  t.notOk(said.includes(SECRET))
  t.notMatch(said, /[0-9a-f]{32}/, 'no digest to guess by')
  await audit(t, 'device-traffic')
  await page.getByRole('button', { name: 'Pause' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Go on' }).waitFor()
}

async function hostile(t: Test, stage: Stage): Promise<void> {
  const { page, projector } = stage
  const before = await lines(stage).count()
  for (const socket of projector.sockets) socket.write(`${NASTY}\u0007\u202e\r${'A'.repeat(1_000_000)}\r`)
  t.equal(await lines(stage).count(), before, 'it is paused')
  await page.getByRole('button', { name: 'Go on' }).click()
  const line = lines(stage).filter({ hasText: NASTY }).first()
  await line.waitFor()
  t.match(await line.textContent(), /\\u0007\\u202e/)
  await countIs(page.locator('.wire img'), 0)
  await page.locator('.wire i', { hasText: 'in all' }).first().waitFor()
  await page.getByRole('button', { name: 'Bytes' }).click()
  await lines(stage).filter({ hasText: '3C 69 6D 67' }).first().waitFor()
}

async function opens(t: Test, { page, audit }: Stage): Promise<void> {
  await goByKeys(page, 'c')
  await page.getByText('All 14 definitions hold, with their wire tests.').waitFor()
  await audit(t, 'definitions')
  await page.getByRole('link', { name: 'PJLink class 1' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText(/Its \d+ wire tests hold\./).waitFor()
}

/** Puts a text of many lines there at once: `fill` types them one by one, each with a layout of all lines before it. */
async function paste(area: Locator, text: string): Promise<void> {
  await area.evaluate((element: HTMLTextAreaElement, pasted) => {
    element.value = pasted
    element.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertFromPaste' }))
  }, text)
}

async function faults(t: Test, { page, audit }: Stage): Promise<void> {
  const text = page.getByLabel('Definition, as JSON')
  const whole = await text.inputValue()
  await paste(text, whole.replace('"send": "%1POWR {power}', '"send": "%1POWR {powr}'))
  await page.locator('.verdict', { hasText: /wrong with it/ }).waitFor()
  const fault = page.locator('.line-faults button', { hasText: 'there is no value powr, the nearest is power' })
  await fault.waitFor()
  t.equal(await page.getByRole('button', { name: 'Keep and use' }).isDisabled(), true)
  await audit(t, 'definition-faults')
  await fault.focus()
  await page.keyboard.press('Enter')
  const selected = await page.evaluate(() => {
    const area = document.activeElement as HTMLTextAreaElement
    return area.value.slice(area.selectionStart, area.selectionEnd)
  })
  t.match(selected, /\{powr\}/)
  await paste(text, whole.slice(0, 200))
  await page.locator('.line-faults', { hasText: 'is not JSON' }).waitFor()
  await paste(text, whole)
  await page.getByText(/Its \d+ wire tests hold\./).waitFor()
}

async function kept(t: Test, { page, site }: Stage): Promise<void> {
  const own = { ...definitionFile('pjlink-class-1'), title: 'Our beamer' }
  await paste(page.getByLabel('Definition, as JSON'), JSON.stringify(own, null, 2))
  await page.getByRole('button', { name: 'Keep and use' }).click()
  await page.getByText('Kept. It drives 1 device from now on.').waitFor()
  await page.getByRole('button', { name: 'Remove', exact: true }).waitFor()
  const ada = await site.pageOf('ada')
  t.match((await ada('GET', '/ui/definitions/open?name=pjlink-class-1')).body, {
    own: true,
    devices: [{ name: 'Beamer' }],
  })
  const late = { text: JSON.stringify(own), revision: 'another' }
  t.match(await ada('POST', '/ui/definitions/save', late), { status: 409, body: { error: 'definition_changed' } })
  const olga = await site.pageOf('olga')
  t.equal((await olga('GET', '/ui/definitions')).status, 403)
  t.equal((await olga('GET', '/ui/devices/traffic?device=1')).status, 403)
  t.match((await olga('GET', '/ui/definitions/schema')).body, { title: 'Device definition' })
}

async function consoled(t: Test, stage: Stage): Promise<void> {
  const { page, projector, audit } = stage
  const panel = page.getByRole('form', { name: 'Console' })
  await panel.getByLabel('Command').selectOption('input')
  await panel.getByLabel('input', { exact: true }).selectOption('digital2')
  await until('it is done', async () => {
    await panel.getByRole('button', { name: 'Send' }).click()
    return projector.state.INPT === '32'
  })
  await panel.getByText(/Answered \{"input":"digital2"\}\./).waitFor()
  await lines(stage).filter({ hasText: '%1INPT 32\\r' }).first().waitFor()
  await audit(t, 'definition-console')
}
