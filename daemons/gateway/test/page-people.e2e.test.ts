/** Permissions on the page: users, API keys, the journal, and the view of a viewer. */
import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { countIs, focusIs, goByKeys, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { openStage, type Stage } from './page-stage.ts'
import { password } from './running-gateway.ts'

const VIEWER_PASSWORD = 'only looking around'
const NEW_PASSWORD = 'staples and wire'
/** More than a page of the journal. */
const ENTRIES = 120

t.test('people and keys on the page', { skip: noBrowser }, async (t) => {
  await play<Stage>(t, await openStage(t, 'office', []), scenes)
})

const scenes: Scene<Stage>[] = [
  ['says why the last administrator stays, and adds a viewer', users],
  ['makes an API key, shows it once, and removes it after asking', keys],
  ['searches the journal, pages back through it, and exports it', journal],
  ['changes the own password and stays signed in', ownPassword],
  ['lists the licences of what is shipped, and shows a text', licences],
  ['lets a viewer read, and says why nothing can be changed', viewer],
]

async function users(t: Test, { page, gateway, audit }: Stage): Promise<void> {
  // The page for signing in has a #main too, and no keys.
  await page.getByRole('link', { name: 'Users' }).first().waitFor()
  await goByKeys(page, 'u')
  await page.getByText('admin is the only one who may change things.').waitFor()
  await page.getByText('you, cannot be removed: the last administrator').waitFor()
  await page.locator('#main').focus()
  await page.keyboard.press('n')
  await page.getByLabel('User name').fill('night shift')
  await page.getByLabel('Password', { exact: true }).fill('short')
  await page.getByRole('button', { name: 'Add user' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'password')
  await page.getByLabel('Password', { exact: true }).fill(VIEWER_PASSWORD)
  await page.getByRole('button', { name: 'Add user' }).click()
  await page.locator('tr', { hasText: 'night shift' }).waitFor()
  const { body } = await gateway.call('GET', '/api/users')
  t.match(body, [{ role: 'admin' }, { username: 'night shift', role: 'viewer' }])
  await page.getByRole('link', { name: 'admin', exact: true }).click()
  await page.getByText('neither removed nor made a viewer').waitFor()
  await countIs(page.getByRole('form', { name: 'User admin' }).getByRole('button'), 0, 'nothing to save')
  await audit(t, 'users')
  await page.getByRole('link', { name: 'Close form' }).click()
}

async function keys(t: Test, { page, gateway, busName, audit }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('BMS')
  await page.getByLabel('Expires').selectOption('90')
  await page.getByText('Every line', { exact: true }).click()
  await page.getByText(busName, { exact: true }).last().click()
  await page.getByRole('button', { name: 'Make key' }).click()
  const shown = page.getByLabel('Key', { exact: true })
  await shown.waitFor()
  const key = await shown.inputValue()
  t.equal((await gateway.call('GET', '/api/ports', undefined, key)).status, 200, 'the key is good')
  await audit(t, 'users-key-made')
  await page.getByRole('button', { name: 'Copy key' }).click()
  await page.getByText('The key of BMS is copied.').waitFor()
  await page.getByRole('link', { name: 'I have kept it' }).click()
  await page.locator('tr', { hasText: '89 d left'.replace(' ', '\u202f') }).waitFor()
  t.notOk((await page.content()).includes(key), 'a key is shown once')
  await page.getByRole('link', { name: 'BMS' }).click()
  await page.getByRole('button', { name: 'Remove key' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Keep key' }).click()
  t.equal((await gateway.call('GET', '/api/ports', undefined, key)).status, 200)
  await page.getByRole('button', { name: 'Remove key' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove key' }).click()
  await page.getByText('is refused from now on').waitFor()
  t.equal((await gateway.call('GET', '/api/ports', undefined, key)).status, 401)
}

async function journal(t: Test, { page, gateway, audit, visit }: Stage): Promise<void> {
  for (let entry = 0; entry < ENTRIES; entry++) await gateway.call('PATCH', '/api/system', { name: `Office ${entry}` })
  await visit('journal')
  await page.locator('.journal td', { hasText: 'Office 119' }).waitFor()
  await countIs(page.locator('.journal tbody tr'), 100)
  await page.getByRole('button', { name: 'Older' }).click()
  await page.locator('.journal td', { hasText: 'administrator made' }).waitFor()
  await page.getByText(/ entries, all there are$/).waitFor()
  await page.getByLabel('Filter by what was done').fill('user')
  await page.locator('.journal tbody tr', { hasText: 'night shift' }).waitFor()
  await page.locator('.journal td', { hasText: 'Office' }).first().waitFor({ state: 'detached' })
  await page.locator('.journal .link').first().click()
  await page.locator('.facts dd', { hasText: '127.0.0.1' }).waitFor()
  await page.getByLabel('Filter by what was done').fill('port set up')
  await page.locator('.journal .link').getByText('port set up').click()
  await page.locator('.facts dd', { hasText: '19200' }).waitFor()
  await audit(t, 'journal')
  await page.getByLabel('Filter by what was done').fill('nothing of the kind')
  await page.getByText('Nothing matches nothing of the kind').waitFor()
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export' }).click()
  const saved = await saving
  t.match(saved.suggestedFilename(), /^journal-.*\.ndjson$/)
  const lines = (await readFile(await saved.path(), 'utf8')).trim().split('\n')
  t.ok(lines.length > ENTRIES)
  t.equal(JSON.parse(lines[0] ?? '').what, 'administrator made')
}

async function ownPassword(t: Test, { page, gateway, visit }: Stage): Promise<void> {
  await visit('users', 'password')
  await page.getByLabel('Password now').fill('not this one')
  await page.getByLabel('New password').fill(NEW_PASSWORD)
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.locator('.err, .refusal').first().waitFor()
  await page.getByLabel('Password now').fill(password)
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Your password is changed.').waitFor()
  await visit('system')
  await page.getByLabel('Name on the plate').fill('Office')
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.locator('.plate', { hasText: 'Office' }).waitFor()
  await countIs(page.getByRole('heading', { name: 'Sign in again' }), 0, 'this tab stays signed in')
  const login = { username: 'admin', password: NEW_PASSWORD }
  t.equal((await gateway.call('POST', '/api/login', login, null)).status, 200)
}

async function licences(t: Test, { page, audit, visit }: Stage): Promise<void> {
  await visit('system')
  const panel = page.getByRole('region', { name: 'Licences' })
  await panel.getByRole('button', { name: 'Show' }).click()
  await panel.getByRole('button', { name: 'MIT, the licence of fastify', exact: true }).click()
  await panel.getByText('Permission is hereby granted').waitFor()
  await audit(t, 'licence')
  await panel.getByRole('button', { name: 'Back to the list' }).click()
  t.ok((await panel.getByRole('row').count()) > 50)
}

async function viewer(t: Test, { page, bus, visit, audit }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('User name').fill('night shift')
  await page.getByLabel('Password').fill(VIEWER_PASSWORD)
  await page.keyboard.press('Enter')
  await visit('port', bus.path)
  await page.getByText('Administrators can send to the line from here.').waitFor()
  for (const name of ['Settings', 'Close port', 'Remove port', 'Send'])
    await countIs(page.getByRole('button', { name }).or(page.getByRole('link', { name })), 0, name)
  await audit(t, 'port-viewer')
  await visit('port', bus.path, 'points')
  await page.getByText('An administrator adds them.').waitFor()
  await visit('port', bus.path, 'settings')
  await page.getByText('Only an administrator changes settings').waitFor()
  await visit('users')
  await page.getByText('night shift may read everything and change nothing.').waitFor()
  await audit(t, 'users-viewer', 'unpictured')
  await visit('journal')
  await page.getByText('Only administrators see the journal').waitFor()
  await visit('webhooks')
  await page.getByText('Only administrators see webhooks').waitFor()
}
