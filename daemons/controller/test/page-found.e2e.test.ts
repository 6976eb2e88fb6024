/** What is found on the network, on the page System in a real browser. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import type { FoundDaemon } from '../core/drivers/found.ts'
import { type FakeHouse, FINGERPRINT } from './fake-house.ts'
import { harbourHouse } from './harbour-house.ts'
import { serveUi } from './ui-server.ts'

interface Stage extends Rig {
  house: FakeHouse
}

const daemon = (name: string, more: Partial<FoundDaemon> = {}): FoundDaemon => ({
  ...{ id: `${name}._plantroom._tcp.local`, name, role: 'decoder', driver: 'board', host: 'lobby.local' },
  ...{ address: '10.20.4.8', port: 80, version: '1.2.3', heardAt: 1000, hasTls: false, device: null },
  ...more,
})

t.test('what is found on the network', { skip: noBrowser }, async (t) => {
  const house = harbourHouse()
  Object.assign(house.people.get('sam') ?? {}, { code: undefined })
  const { url } = await serveUi(t, house, { pages: true })
  const rig = await openRig(t, url, { pictures: 'controller' })
  await rig.page.getByLabel('User name').fill('sam')
  await rig.page.getByLabel('Password').fill('engine room')
  await rig.page.keyboard.press('Enter')
  await rig.page.getByRole('heading', { name: 'Lobby' }).waitFor()
  await play<Stage>(t, { ...rig, house }, [
    ['says that nothing is found, and what to look at', nothing],
    ['lists boards and gateways, and names the devices that they are', listed],
    ['adopts one by keyboard alone, with its name and password', adopts],
    ['shows the fingerprint of a gateway with HTTPS, and adopts it with that', compares],
    ['adopts a recorder with its token, one with HTTPS by the fingerprint in its log', recorders],
    ['shows what a stranger calls himself as text, and nothing else', stranger],
  ])
})

const panel = ({ page }: Stage) => page.getByRole('region', { name: 'Found on the network' })

async function nothing(_t: Test, stage: Stage): Promise<void> {
  await stage.visit('system')
  await panel(stage).getByText('No board, gateway or recorder found').waitFor()
  await panel(stage).getByText('UDP port 5353').waitFor()
}

async function listed(t: Test, stage: Stage): Promise<void> {
  const gateway = { role: 'gateway', driver: 'gateway', host: '', port: 3132 } as const
  stage.house.found = [
    daemon('Bar speakers'),
    daemon('Boiler room', { ...gateway, device: { id: 3, name: 'Plant', isMoved: false, hasRoot: false } }),
    daemon('Roof', { ...gateway, device: { id: 4, name: 'Roof', isMoved: true, hasRoot: false } }),
  ]
  await panel(stage).getByRole('button', { name: 'Look again' }).click()
  await panel(stage).getByText('Decoder, lobby.local (10.20.4.8:80), 1.2.3').waitFor()
  await panel(stage).getByText('device Plant').waitFor()
  await panel(stage).getByText('1 new').waitFor()
  t.equal(await panel(stage).getByRole('button', { name: 'Adopt' }).count(), 1)
  await stage.audit(t, 'found')
  await panel(stage).getByRole('button', { name: 'Take address of Roof' }).click()
  await stage.page.getByText('Roof has another address. It announces itself at 10.20.4.8:3132 now.').waitFor()
  await stage.page.keyboard.press('Escape')
}

async function adopts(t: Test, stage: Stage): Promise<void> {
  const { page, house } = stage
  await panel(stage).getByRole('button', { name: 'Adopt Bar speakers' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Adopt Bar speakers' }).waitFor()
  await until('the focus is on the name', async () => {
    return (await page.evaluate("document.activeElement.getAttribute('name')")) === 'name'
  })
  await stage.audit(t, 'found-adopt', 'unpictured')
  await page.getByLabel('Name').fill('Bar')
  await page.keyboard.press('Tab')
  await page.keyboard.type('sound and vision')
  await page.keyboard.press('Enter')
  await page.getByText('Bar speakers waits for Apply All.').waitFor()
  t.strictSame(house.adopted, [{ id: 'Bar speakers._plantroom._tcp.local', name: 'Bar', secret: 'sound and vision' }])
  await countIs(page.getByRole('dialog'), 0)
}

async function compares(t: Test, stage: Stage): Promise<void> {
  const { page, house } = stage
  const gateway = { role: 'gateway', driver: 'gateway', port: 3132, hasTls: true } as const
  house.found = [
    daemon('Boiler room', gateway),
    daemon('Plant', { ...gateway, device: { id: 3, name: 'Plant', isMoved: false, hasRoot: false } }),
  ]
  house.adopted = []
  await panel(stage).getByRole('button', { name: 'Look again' }).click()
  await panel(stage).getByRole('button', { name: 'Adopt Boiler room' }).click()
  await page.getByText('Compare this fingerprint with that of the gateway').waitFor()
  await page.getByText(FINGERPRINT).waitFor()
  await stage.audit(t, 'found-root')
  await page.getByLabel('Key of the gateway').fill('pr_key')
  await page.keyboard.press('Enter')
  await page.getByText('Boiler room waits for Apply All.').waitFor()
  await panel(stage).getByRole('button', { name: 'Compare root of Plant' }).click()
  await page.getByRole('button', { name: 'Adopt this root' }).click()
  await page.getByText('Plant waits for Apply All.').waitFor()
  const id = (name: string) => `${name}._plantroom._tcp.local`
  t.strictSame(house.adopted, [
    { id: id('Boiler room'), name: 'Boiler room', secret: 'pr_key', fingerprint: FINGERPRINT },
    { id: id('Plant'), fingerprint: FINGERPRINT },
  ])
}

async function recorders(t: Test, stage: Stage): Promise<void> {
  const { page, house } = stage
  const recorder = { role: 'recorder', driver: 'recorder', host: 'yard.local', port: 3133 } as const
  house.found = [daemon('Yard cameras', recorder), daemon('Vault', { ...recorder, hasTls: true })]
  house.adopted = []
  await panel(stage).getByRole('button', { name: 'Look again' }).click()
  await panel(stage).getByText('Recorder, yard.local (10.20.4.8:3133), 1.2.3').first().waitFor()
  await panel(stage).getByRole('button', { name: 'Adopt Yard cameras' }).click()
  await page.getByLabel('Token of the recorder').fill('prc_token')
  await page.getByText('Its cameras become zones').waitFor()
  await stage.audit(t, 'found-recorder')
  await page.keyboard.press('Enter')
  await page.getByText('Yard cameras waits for Apply All.').waitFor()
  await panel(stage).getByRole('button', { name: 'Adopt Vault' }).click()
  await page.getByText('Compare this fingerprint with that of the recorder').waitFor()
  await page.getByText('journalctl -u plantroom-recorder').waitFor()
  await stage.audit(t, 'found-recorder-root')
  await page.getByLabel('Token of the recorder').fill('prc_other')
  await page.keyboard.press('Enter')
  await page.getByText('Vault waits for Apply All.').waitFor()
  const id = (name: string) => `${name}._plantroom._tcp.local`
  t.strictSame(house.adopted, [
    { id: id('Yard cameras'), name: 'Yard cameras', secret: 'prc_token' },
    { id: id('Vault'), name: 'Vault', secret: 'prc_other', fingerprint: FINGERPRINT },
  ])
}

async function stranger(t: Test, stage: Stage): Promise<void> {
  const name = '<img src=x onerror=alert(1)><b>Bar</b>'
  stage.house.found = [daemon(name)]
  await panel(stage).getByRole('button', { name: 'Look again' }).click()
  await panel(stage).getByText(name).waitFor()
  t.equal(await panel(stage).locator('img, b', { hasText: 'Bar' }).count(), 0)
  await stage.audit(t, 'found-stranger', 'unpictured')
}
