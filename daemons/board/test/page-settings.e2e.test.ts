/** Settings and system in a real browser: what a save does, refusals, role, restart, password, reset, a new address. */
import type { Locator } from 'playwright-core'
import t, { type Test } from 'tap'
import { countIs, focusIs, goByKeys, noBrowser, play } from '#kit/test/web/page-rig.ts'
import { fakeSerial } from './fake-states.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('settings and system', { skip: noBrowser }, async (t) => {
  await play<Stage>(t, await openStage(t, { serial: fakeSerial() }), [
    ['says what a save of the settings does, marks changes, and undoes them', settingsChange],
    ['puts every fault at its field and the focus at the first', settingsRefused],
    ['shows a refused save where the eye is, on a phone too', refusedInSight],
    ['asks before edits that are not saved are left, and says it to the browser too', unsaved],
    ['prints its contents, without buttons', printed],
    ['asks for the name before the role is changed', roleChange],
    ['saves, waits for the restart and continues on its own', settingsSaved],
    ['shows the box, and sets and removes the password without a question of the browser', system],
    ['resets only once the name is typed', factoryReset],
    ['says on every page that a new address waits to be reached', unconfirmed],
  ])
})

async function settingsChange(t: Test, { page, audit }: Stage): Promise<void> {
  // The page that is still asking the board for its role has a #main too, and no keys.
  await page.getByRole('link', { name: 'Settings' }).waitFor()
  await goByKeys(page, 's')
  await page.getByText('Nothing is changed.').first().waitFor()
  await countIs(page.getByLabel('Multicast address'), 0, 'a serial server has no fields of sound')
  await page.getByLabel('Address', { exact: true }).fill('10.20.4.12')
  await page.getByText('moves to 10.20.4.12; this page follows.').waitFor()
  await countIs(page.locator('.field[data-changed]'), 1)
  await audit(t, 'settings')
  await page.getByLabel('Address', { exact: true }).press('Escape')
  await page.keyboard.press('Escape')
  await page.getByText('1 change discarded.').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  t.equal(await page.getByLabel('Address', { exact: true }).inputValue(), '10.20.4.12', 'Undo brings it back')
}

async function settingsRefused(t: Test, { page, board, audit }: Stage): Promise<void> {
  const fields = {
    mask: '255.255.0.255 has gaps. A mask is ones and then zeros, such as 255.255.255.0.',
    gw: '10.20.5.1 is not in the board’s network.',
    port: 'Port 80 is taken by this page.',
  }
  board.on('POST /api/config', () => [400, { error: 'bad_fields', message: 'x', fields }])
  await page.getByLabel('Mask').fill('255.255.0.255')
  await page.keyboard.press('Control+s')
  await page.locator('.err', { hasText: 'has gaps' }).waitFor()
  await focusIs(page, 'name', 'mask')
  await page.locator('.refusal', { hasText: 'Port: Port 80 is taken' }).waitFor()
  await audit(t, 'settings-refused')
}

/** Whether nothing covers the middle of a part that is inside the window. */
async function isInSight(part: Locator): Promise<boolean> {
  return part.evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect()
    const at = document.elementFromPoint(left + width / 2, top + height / 2)
    return at !== null && (element.contains(at) || at.contains(element))
  })
}

async function refusedInSight(t: Test, { page }: Stage): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByRole('button', { name: 'Save and restart' }).click()
  const refusal = page.locator('.refusal', { hasText: 'Port: Port 80 is taken' })
  await refusal.waitFor()
  await page.waitForFunction('document.activeElement.name === "mask"')
  t.ok(await isInSight(page.getByLabel('Mask')), 'the first bad field')
  t.ok(await isInSight(refusal), 'and faults that belong to no field of the page')
  await page.setViewportSize({ width: 1280, height: 800 })
  t.ok(await isInSight(refusal), 'on a wide screen as well')
}

async function unsaved(t: Test, { page }: Stage): Promise<void> {
  const mask = page.getByLabel('Mask')
  await page.locator('#main').focus()
  await page.getByRole('link', { name: 'System' }).click()
  const question = page.getByRole('dialog', { name: 'Leave without saving?' })
  await question.getByRole('button', { name: 'Stay here' }).click()
  await question.waitFor({ state: 'detached' })
  t.match(page.url(), /#\/settings$/, 'the address is that of the page in sight')
  t.equal(await mask.inputValue(), '255.255.0.255')
  const asked = page.waitForEvent('dialog')
  page.once('dialog', (dialog) => void dialog.dismiss())
  await page.evaluate('setTimeout(() => location.reload(), 0)')
  t.equal((await asked).type(), 'beforeunload')
  t.equal(await mask.inputValue(), '255.255.0.255')
  await page.goBack()
  await question.getByRole('button', { name: 'Discard changes' }).click()
  await mask.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Settings' }).click()
  await mask.waitFor()
  t.not(await mask.inputValue(), '255.255.0.255')
  await page.getByRole('link', { name: 'System' }).click()
  await page.getByText('has run for').waitFor()
  t.equal(await question.count(), 0, 'there is no question if nothing has changed')
}

async function printed(t: Test, { page }: Stage): Promise<void> {
  await page.emulateMedia({ media: 'print' })
  t.equal(await page.getByRole('navigation').isVisible(), false)
  t.equal(await page.getByRole('button', { name: 'Identify' }).isVisible(), false)
  t.ok(await page.getByText('has run for').isVisible())
  await page.emulateMedia({ media: 'screen' })
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByLabel('Mask').fill('255.255.0.0')
}

async function roleChange(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByLabel('Role').selectOption('usbip')
  await page.getByText('Saves, restarts the machine, and is a USB server then.').waitFor()
  await page.getByRole('button', { name: 'Save and restart' }).click()
  await page.getByRole('heading', { name: 'Turn Lift shaft into a USB server?' }).waitFor()
  t.ok(await page.getByRole('button', { name: 'Turn into USB server' }).isDisabled())
  await page.keyboard.type('ser-lif')
  await audit(t, 'role-change')
  t.ok(await page.getByRole('button', { name: 'Turn into USB server' }).isDisabled())
  await page.keyboard.press('Escape')
  t.notOk(
    board.asked.some(({ form }) => form.role === 'usbip'),
    'nothing was sent',
  )
  await page.getByRole('button', { name: 'Discard' }).click()
}

async function settingsSaved(t: Test, { page, board, audit }: Stage): Promise<void> {
  board.on('POST /api/config', (form) => {
    Object.assign(board.state.status, { name: form.name })
    setTimeout(() => board.restart(1500), 50)
    return [200, { saved: true, changed: ['name'], restarts: true, about_s: 2 }]
  })
  await page.getByLabel('Name', { exact: true }).fill('Lift shaft B')
  await page.getByRole('button', { name: 'Save and restart' }).click()
  await page.locator('.banner', { hasText: 'The board restarts, about' }).waitFor()
  await audit(t, 'restarting', 'unpictured')
  await page.getByText('The board is back after').waitFor()
  // A page that is connected again asks for a ticket for its socket at once.
  const saved = board.asked.findLast(({ path }) => path === '/api/config')
  t.match(saved?.form, { name: 'Lift shaft B', static_ip: '1', sap: '1', channels: '2' }, 'it is sent whole')
  await page.locator('.plate', { hasText: 'Lift shaft B' }).waitFor()
}

async function system(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'System' }).click()
  await page.getByText('Lift shaft B has run for').waitFor()
  await audit(t, 'system')
  await page.getByLabel('New password').fill('ladder and torch')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('The password is set. The user name is admin.').waitFor()
  await page.getByRole('button', { name: 'Identify' }).click()
  await page.getByText('This is the board that blinks.').waitFor()
  t.equal(board.state.password, 'ladder and torch')
  await page.reload()
  await page.getByText('Lift shaft B has run for').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('This is the board that blinks.').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Remove password' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove password' }).click()
  await page.getByText('Everybody on this network can change this board.').first().waitFor()
  await audit(t, 'system-open')
  board.state.status.password_set = true
}

async function factoryReset(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Reset', exact: true }).click()
  await page.getByRole('heading', { name: 'Reset Lift shaft B?' }).waitFor()
  t.ok(await page.getByRole('button', { name: 'Reset board' }).isDisabled())
  await audit(t, 'factory-reset')
  board.on('POST /api/factory_reset', () => [409, { error: 'x', message: 'The helper does not answer.' }])
  await page.keyboard.type('ser-lift')
  await page.keyboard.press('Enter')
  await page.locator('.refusal', { hasText: 'The helper does not answer.' }).waitFor()
  await page.getByRole('button', { name: 'Keep settings' }).click()
  t.match(board.asked.at(-1), { path: '/api/factory_reset', form: { hostname: 'ser-lift' } })
}

async function unconfirmed(t: Test, { page, board, audit }: Stage): Promise<void> {
  board.state.status.network = {
    state: 'unconfirmed',
    confirm_until: Date.now() + 92_000,
    text: 'The board has the new address 10.20.4.12/24 and waits to be reached there. Open http://10.20.4.12/; otherwise it goes back to DHCP.',
  }
  board.tell()
  await page.getByText('1 min 3').waitFor()
  await audit(t, 'unconfirmed')
  board.state.status.network = { state: 'static', confirm_until: null, text: '' }
}
