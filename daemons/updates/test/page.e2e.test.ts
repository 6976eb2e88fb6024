/** The panel in a browser: signing in, installations, updates, artifacts, the audit, settings. */
import { request } from 'node:http'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { countIs, focusIs, goByKeys, noBrowser, openRig, play, type Rig, type Scene } from '#kit/test/web/page-rig.ts'
import { archiveOf, newId, openStage as openServer, type Stage as Server, sha256 } from './stage.ts'

interface Stage extends Rig {
  server: Server
  password: string
  /** The key that the panel showed. */
  key?: string
  ids: string[]
}

t.test('the panel of the update server', { skip: noBrowser }, async (t) => {
  await play<Stage>(t, await openStage(t), scenes)
})

async function openStage(t: Test): Promise<Stage> {
  const server = await openServer(t, { sets: ['update_key='] })
  const password = /^admin password: (\S+)$/m.exec(server.output())?.[1] ?? ''
  const rig = await openRig(t, server.url, { pictures: 'updates' })
  return { ...rig, server, password, ids: [newId(), newId(), newId()] }
}

const scenes: Scene<Stage>[] = [
  ['leads from / to /admin, refuses a wrong password in a sentence, and signs in', signIn],
  ['says how an installation is connected while there is none', noInstallations],
  ['shows on top who waits, and enables and disables one and several', waiting],
  ['finds, names and filters installations', namesAndFilters],
  ['makes an update key and shows it once', updateKey],
  ['says how an update is published, and lists what is', releases],
  ['shows who fetched and applied a release, and offers again what was rolled back from', whoMetIt],
  ['holds, shares and withdraws a release, and asks before it deletes one', rollout],
  ['shows images with the boards that they are for, and steers each by itself', images],
  ['uploads several artifacts, says what is wrong with one, and replaces what is asked for', artifacts],
  ['tells who did what', audit],
  ['says that there is no contact, and comes back by itself', lostContact],
  ['changes the password, and asks for it where the session has ended', password],
]

async function signIn(t: Test, { audit, page, password }: Stage): Promise<void> {
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.equal(await page.evaluate('location.pathname'), '/admin')
  await focusIs(page, 'name', 'password')
  await countIs(page.getByLabel('User name'), 0)
  await page.getByText(/install\.sh \| sudo sh/).waitFor()
  await page.getByLabel('Password').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('The password is wrong.').waitFor()
  await audit(t, 'sign-in')
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByText('No installation has registered', { exact: true }).waitFor()
  await page.reload()
  await page.getByText('No installation has registered', { exact: true }).waitFor()
}

async function noInstallations(t: Test, { audit, page, server }: Stage): Promise<void> {
  await page.getByText(`update_url = "${server.url}"`).waitFor()
  await page.getByRole('button', { name: 'Copy the setting' }).waitFor()
  await audit(t, 'installations-none')
}

const rowOf = ({ page }: Stage, id: string) => page.locator('tr', { hasText: id })

async function waiting(t: Test, stage: Stage): Promise<void> {
  const { audit, ids, page, server } = stage
  const check = (id: string, version: string) => server.post('/check_update', { installation_id: id, version })
  const [first = '', second = '', third = ''] = ids
  await check(first, '1.3.0')
  await rowOf(stage, first)
    .getByText(/New, waits to be enabled\. Came just now from 127/)
    .waitFor()
  await page.getByText('A new installation waits to be enabled.').waitFor()
  await rowOf(stage, first).getByRole('button', { name: 'Enable' }).click()
  await page.getByText('1 installation enabled').waitFor()
  await rowOf(stage, first).getByText('Enabled').waitFor()
  t.equal((await check(first, '1.3.0')).status, 200)
  await check(second, '1.3.0')
  await check(third, '1.4.0-beta.1')
  await page.getByText('2 new installations wait to be enabled.').waitFor()
  t.match(await page.locator('tbody tr').last().textContent(), first, 'who waits stands above')
  await audit(t, 'installations-waiting')
  for (const id of [second, third]) await rowOf(stage, id).getByRole('checkbox').check()
  await page.getByText('2 chosen').waitFor()
  await page.getByRole('button', { name: 'Enable those chosen' }).click()
  await page.getByText('3 installations get updates from here.').waitFor()
  await countIs(page.getByText('2 chosen'), 0)
  await page.getByRole('checkbox', { name: 'All' }).check()
  await page.getByText('3 chosen').waitFor()
  await page.getByRole('button', { name: 'Disable those chosen' }).click()
  await page.getByText('3 installations disabled').waitFor()
  await countIs(page.locator('tbody').getByText('Disabled'), 3)
  t.equal((await check(first, '1.3.0')).status, 401)
  await page.getByRole('checkbox', { name: 'All' }).check()
  await page.getByRole('button', { name: 'Enable those chosen' }).click()
  await page.getByText('3 installations enabled').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('3 installations disabled').waitFor()
  await page.getByRole('checkbox', { name: 'All' }).check()
  await page.getByRole('button', { name: 'Enable those chosen' }).click()
  await page.getByText('3 installations get updates from here.').waitFor()
}

async function namesAndFilters(t: Test, stage: Stage): Promise<void> {
  const { audit, ids, page } = stage
  const [first = '', second = '', third = ''] = ids
  await page.getByLabel('Filter installations').fill('beta.1')
  await countIs(page.locator('tbody tr'), 1)
  await rowOf(stage, third).waitFor()
  await page.getByLabel('Filter installations').fill('nowhere')
  await page.getByText('No installation matches').waitFor()
  await page.getByLabel('Filter installations').fill('')
  await countIs(page.locator('tbody tr'), 3)
  await page.getByText('Waiting', { exact: true }).click()
  await page.getByText('No installation matches').waitFor()
  await page.getByText(/^All 3$/).click()
  await rowOf(stage, first).getByRole('link').click()
  await page.getByLabel('Name', { exact: true }).fill(' '.repeat(3) + 'x'.repeat(80))
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'name')
  await page.getByLabel('Name', { exact: true }).fill('Harbour House')
  await page.getByLabel('Channel').selectOption('beta')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Harbour House is saved.').waitFor()
  await rowOf(stage, first).getByText('Harbour House').waitFor()
  await audit(t, 'installation')
  await page.getByRole('link', { name: 'Close installation' }).click()
  await rowOf(stage, second).getByRole('link').click()
  await page.getByText('Gets updates', { exact: true }).click()
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByText('Leave without saving?').waitFor()
  await page.getByRole('button', { name: 'Discard changes' }).click()
  await page.getByRole('heading', { name: 'Update key' }).waitFor()
}

async function updateKey(t: Test, stage: Stage): Promise<void> {
  const { audit, page, server } = stage
  await page.getByText('Nothing can be published: there is no update key.').waitFor()
  await audit(t, 'settings-no-key')
  await page.getByRole('button', { name: 'Make update key' }).click()
  const shown = page.getByLabel('New update key')
  await shown.waitFor()
  const old = await shown.inputValue()
  await audit(t, 'settings-key', 'unpictured')
  await page.getByRole('button', { name: 'I have kept it' }).click()
  await page.getByText(/^One is in use, made/).waitFor()
  await page.getByRole('button', { name: 'Make a new one' }).click()
  await page.getByText('The one in use ends at once').waitFor()
  await page.getByRole('button', { name: 'Make new key' }).click()
  await shown.waitFor()
  stage.key = await shown.inputValue()
  await page.getByRole('button', { name: 'I have kept it' }).click()
  t.equal((await server.publish('1.4.0', archiveOf(1000), { 'x-svc-update-key': old })).status, 401)
  await page.getByText('Updates can be published.').waitFor()
}

async function releases(t: Test, { audit, key = '', page, server, visit }: Stage): Promise<void> {
  await visit('updates')
  await page.getByText(`plantroom publish --server ${server.url} --update-key-file FILE`).waitFor()
  await audit(t, 'updates-none')
  const own = { 'x-svc-update-key': key }
  const archive = archiveOf(70_000)
  const hash = sha256(archive.plain)
  t.equal((await server.publish('1.4.0', archive, { ...own, 'x-svc-bundle-hash': hash })).status, 200)
  const newest = archiveOf(1200)
  t.equal((await server.publish('1.5.0', newest, own)).status, 200)
  t.equal((await server.publishDelta('1.5.0', '1.4.0', archiveOf(100, newest), own)).status, 200)
  t.equal((await server.publishInstaller('1.5.0', new Uint8Array([1, 2, 3]), own)).status, 200)
  const half = request(`${server.url}/push_update`, {
    method: 'POST',
    headers: {
      ...own,
      ...{ 'x-svc-version': '1.6.0', 'x-svc-encryption-key': archive.key, 'content-length': archive.bytes.length },
    },
  }).on('error', () => {})
  half.write(archive.bytes.subarray(0, 40_000))
  await page.getByText('Update 1.6.0').waitFor()
  await page.getByText(/^\d+\skB of 70\skB$/).waitFor()
  await page.getByText('1.5.0 is offered to everybody.').waitFor()
  await page.getByText(`recorded, ${hash.slice(0, 12)}…`).waitFor()
  await page.locator('tr', { hasText: '1.5.0' }).getByText('missing').waitFor()
  await audit(t, 'updates')
  half.destroy()
  await countIs(page.getByText('Being published'), 0)
}

async function whoMetIt(t: Test, { audit, ids, page, server, visit }: Stage): Promise<void> {
  const [first = '', second = ''] = ids
  for (const id of [first, second]) await server.post('/pull_update', { installation_id: id, version: '1.5.0' })
  const check = (id: string, version: string, facts: object) =>
    server.post('/check_update', { installation_id: id, version, facts })
  await check(second, '1.5.0', { applied: '1.5.0' })
  await check(first, '1.3.0', { rolled_back: '1.5.0', failed_step: 'probe', reason: 'the gateway did not answer' })
  await page.getByText('1.5.0 failed at 1 installation.').waitFor()
  await page.locator('tr', { hasText: '1.5.0' }).getByText('fetched by 2, applied by 1, failed at 1').waitFor()
  await page.getByRole('link', { name: '1.5.0' }).click()
  await page.getByText(/1\.5\.0 rolled back just now, at probe: the gateway did not answer/).waitFor()
  await page.getByText('1.5.0 applied just now').waitFor()
  await page.getByRole('region', { name: 'Deltas' }).getByText('From 1.4.0').waitFor()
  await audit(t, 'update')
  await page.getByRole('link', { name: 'Harbour House' }).click()
  await page.getByText('It rolled back from 1.5.0').waitFor()
  t.equal((await check(first, '1.3.0', {})).body.version, '1.4.0', 'it is not sent into it again')
  await page.getByRole('button', { name: 'Offer again' }).click()
  await page.getByText('1.5.0 may be offered to it again.').waitFor()
  t.equal((await check(first, '1.3.0', {})).body.version, '1.5.0')
  await visit('installations')
  await rowOf({ page } as Stage, second)
    .getByText('1.5.0 applied just now')
    .waitFor()
  await audit(t, 'installations')
}

async function rollout(t: Test, { audit, ids, page, server, visit }: Stage): Promise<void> {
  const [, second = ''] = ids
  const offered = async () =>
    (await server.post('/check_update', { installation_id: second, version: '1.3.0' })).body.version as string
  await visit('updates', '1.5.0')
  await page.getByLabel('Share').fill('150')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'percent')
  await page.getByLabel('Share').fill('0')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Offered to nobody', { exact: true }).waitFor()
  t.equal(await offered(), '1.4.0')
  await page.getByLabel('Share').fill('100')
  await page.getByRole('button', { name: 'Save' }).click()
  await countIs(page.getByText('Offered to nobody', { exact: true }), 0)
  await page.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByText('1.5.0 is withdrawn: nobody is offered it').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('It is offered.').waitFor()
  t.equal(await offered(), '1.5.0')
  await page.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByText('Withdrawn: offered to nobody.').waitFor()
  t.equal(await offered(), '1.4.0')
  await audit(t, 'update-withdrawn')
  await page.getByRole('button', { name: 'Offer again' }).click()
  await page.getByText('It is offered.').waitFor()
  await page.getByRole('link', { name: '1.4.0' }).click()
  await page.getByText('Hold everybody here').click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('tr', { hasText: '1.4.0' }).getByText('Held here').waitFor()
  t.equal(await offered(), '1.4.0')
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Delete 1.4.0?').waitFor()
  await audit(t, 'update-delete')
  await page.getByRole('button', { name: 'Keep release' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete release' }).click()
  await page.getByText('1.4.0 is deleted.').waitFor()
  await countIs(page.locator('tbody tr'), 1)
  await visit('updates', '1.4.0')
  await page.getByText('There is no update 1.4.0').waitFor()
}

async function images(t: Test, { audit, ids, key = '', page, server, visit }: Stage): Promise<void> {
  const [, , third = ''] = ids
  const archive = archiveOf(40_000)
  const publish = (version: string, compatible: string) =>
    server.publishImage(version, compatible, archive, { 'x-svc-update-key': key })
  await server.admin('PATCH', `/admin/api/installations/${third}`, { enabled: true })
  await publish('1.5.0', 'panel')
  await publish('2.0.0', 'beamer')
  const board = { installation_id: third, version: '1.4.0', kind: 'image', compatible: 'panel' }
  await server.post('/check_update', board)
  await server.post('/pull_update', { ...board, version: '1.5.0' })
  await server.post('/check_update', {
    ...board,
    facts: { failed: '1.5.0', failed_step: 'install', reason: 'no slot' },
  })
  await visit('updates')
  await page.getByText('1.5.0 for panel failed at 1 installation.').waitFor()
  await countIs(page.locator('tbody tr'), 3)
  await page.locator('tr', { hasText: 'for beamer' }).getByText('Offered').waitFor()
  await page.locator('tr', { hasText: 'for panel' }).getByRole('link').click()
  await page.getByRole('heading', { name: '1.5.0 for panel' }).waitFor()
  await page.getByText(/1\.5\.0 for panel not applied just now, at install: no slot/).waitFor()
  await page.getByText('panel-1.5.0.img.enc').waitFor()
  await audit(t, 'update-image')
  await page.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByText('1.5.0 for panel is withdrawn: nobody is offered it').waitFor()
  await countIs(page.locator('tr', { hasText: '1.5.0' }).getByText('Withdrawn', { exact: true }), 1)
  t.match((await server.post('/check_update', board)).body, { update: false })
  await visit('installations', third)
  await page.getByText('Takes images for').waitFor()
  await audit(t, 'installation-board')
}

const jsonFile = (name: string, value: unknown) => ({
  ...{ name, mimeType: 'application/json' },
  buffer: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
})

async function artifacts(t: Test, { audit, page, server, visit }: Stage): Promise<void> {
  await visit('artifacts')
  await page.getByText('No artifacts', { exact: true }).waitFor()
  await audit(t, 'artifacts-none')
  await page.getByRole('link', { name: 'Upload' }).click()
  await page.getByLabel('Type', { exact: true }).selectOption('web_service')
  await page.getByLabel('Description').fill('What it is outside')
  await page.getByLabel('Tags').fill('climate, roof')
  const weather = { name: 'weather', title: 'Weather of the town' }
  await page
    .getByLabel('Files of JSON')
    .setInputFiles([
      jsonFile('weather.json', weather),
      jsonFile('sun.json', { name: 'sun' }),
      jsonFile('broken.json', '{"name": '),
      jsonFile('notes.txt', 'x'),
    ])
  await page.getByText('notes.txt is no .json file.').waitFor()
  await page.getByText('2 uploaded and 1 refused').waitFor()
  await page.locator('tr', { hasText: 'weather.json' }).getByText('climate, roof').waitFor()
  await audit(t, 'artifact-uploads')
  await page
    .getByLabel('Files of JSON')
    .setInputFiles([jsonFile('weather.json', { ...weather, title: 'Weather here' })])
  await page.getByText('There is one of this name already.').waitFor()
  await page.locator('tr', { hasText: 'Weather of the town' }).waitFor()
  await page.getByRole('button', { name: 'Replace weather.json' }).click()
  await page.locator('tr', { hasText: 'Weather here' }).waitFor()
  await page.getByRole('link', { name: 'Close upload' }).click()
  await page.getByLabel('Filter artifacts').fill('roof sun')
  await countIs(page.locator('tbody tr'), 1)
  await page.getByRole('button', { name: 'Delete sun.json' }).click()
  await page.getByRole('button', { name: 'Delete artifact' }).click()
  await page.getByText('No artifact matches').waitFor()
  await page.getByLabel('Filter artifacts').fill('')
  await page.locator('tr', { hasText: 'Weather here' }).waitFor()
  await audit(t, 'artifacts')
  const { body } = await server.admin('GET', '/admin/api/artifacts')
  t.match(body.artifacts, [{ filename: 'weather.json', name: 'Weather here', tags: ['climate', 'roof'] }])
}

async function audit(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await visit('updates')
  await goByKeys(page, 'j')
  await page.getByRole('heading', { name: 'Audit' }).waitFor()
  await page.getByRole('button', { name: 'release deleted' }).click()
  await page.locator('.facts').getByText('1.4.0').waitFor()
  await page.locator('tr', { hasText: 'update published' }).first().getByText('publisher').waitFor()
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  t.match(saved.suggestedFilename(), /^journal-.*\.ndjson$/)
  await audit(t, 'audit')
}

async function lostContact(t: Test, { audit, offline, page }: Stage): Promise<void> {
  await offline(true)
  await page.getByText('No contact with this update server').waitFor()
  await audit(t, 'no-contact', 'unpictured')
  await offline(false)
}

async function password(t: Test, { audit, page, password, server, visit }: Stage): Promise<void> {
  await visit('settings')
  await page.getByLabel('Password now').fill('not this one')
  await page.getByLabel('New password').fill('a better password')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('The present password is wrong; it was not changed.').waitFor()
  await page.getByLabel('Password now').fill(password)
  await page.getByLabel('New password').fill('short')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'next')
  await page.getByLabel('New password').fill('a better password')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('The password is changed').waitFor()
  await audit(t, 'settings')
  t.equal((await server.admin('GET', '/admin/api/session')).status, 401, 'other sessions have ended')

  await page.context().clearCookies()
  await page.getByText('Sign in again').waitFor()
  await page.getByText('A session ends after 24 hours').last().waitFor()
  await audit(t, 'signed-out')
  await page.getByRole('dialog').getByLabel('Password').fill('a better password')
  await page.keyboard.press('Enter')
  await countIs(page.getByRole('dialog'), 0)
  await page.getByRole('button', { name: 'Sign out' }).last().click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await until('nobody is signed in', async () =>
    page.evaluate<boolean>("fetch('/admin/api/session').then(({ status }) => status === 401)"),
  )
}
