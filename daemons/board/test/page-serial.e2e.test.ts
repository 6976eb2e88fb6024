/** The serial server's page in a real browser: who is on each line, editing, dropping, and the loss of contact. */
import t, { type Test } from 'tap'
import { countIs, focusIs, noBrowser, play } from '#kit/test/web/page-rig.ts'
import { fakeSerial } from './fake-states.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('the serial server', { skip: noBrowser }, async (t) => {
  await play<Stage>(t, await openStage(t, { serial: fakeSerial() }), [
    ['shows who is on each line, and what to check if there are errors', serialCards],
    ['edits a line; a refused save says why at the field', serialEdit],
    ['drops a client, and asks first', serialDrop],
    ['asks for the password again over the page and keeps what was typed', signedOut],
    ['says when contact is lost, and comes back on its own', contactLost],
  ])
})

async function serialCards(t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByText('BMS has framing errors.').waitFor()
  await page.getByText('14 framing errors. The other end does not send at').waitFor()
  await page.getByText('/dev/ttyUSB2 is not there.').waitFor()
  await countIs(page.locator('.port-card'), 3, 'a port without a device has no card')
  await audit(t, 'serial')
  await page.locator('#main').focus()
  await page.keyboard.press('2')
  await focusIs(page, 'data-port', '2')
}

async function serialEdit(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.keyboard.press('e')
  await page.getByLabel('TCP port').fill('80')
  board.on('POST /api/serial', () => [
    400,
    {
      error: 'bad_fields',
      message: 'x',
      fields: [{ field: 'tcp_port', message: 'Port 80 is taken by this page. Use 1024 to 65535.' }],
    },
  ])
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('.err', { hasText: 'Port 80 is taken' }).waitFor()
  await focusIs(page, 'name', 'tcp_port')
  await audit(t, 'serial-edit')
  board.on('POST /api/serial', (form) => {
    const port = board.state.serial?.ports[1]
    if (!port) return [404, {}]
    Object.assign(port, { tcp_port: Number(form.tcp_port) })
    return [200, port]
  })
  await page.getByLabel('TCP port').fill('4502')
  await page.keyboard.press('Enter')
  await page.getByText('BMS is saved.').waitFor()
  await page.getByText('4502 RFC 2217').waitFor()
  t.match(board.asked.at(-1)?.form, {
    port: '2',
    tcp_port: '4502',
    parity: 'even',
    enabled: '1',
    allow: '10.20.4.0/24',
  })
}

async function serialDrop(t: Test, { page, board, audit, calm }: Stage): Promise<void> {
  await calm()
  board.on('POST /api/serial/drop', () => {
    board.state.serial?.ports[0]?.clients.shift()
    return [200, {}]
  })
  await page.getByRole('button', { name: 'Drop 10.20.4.40' }).click()
  await page.getByRole('heading', { name: 'Drop 10.20.4.40?' }).waitFor()
  await audit(t, 'serial-drop', 'unpictured')
  await page.getByRole('button', { name: 'Drop client' }).click()
  await page.getByText('10.20.4.40 was dropped from Lift.').waitFor()
  await page.getByRole('button', { name: 'Drop 10.20.4.40' }).waitFor({ state: 'detached' })
  t.match(board.asked.at(-1), { path: '/api/serial/drop', form: { port: '1', client: '1' } })
}

async function signedOut(t: Test, { page, board, audit, visit }: Stage): Promise<void> {
  await visit('live', 'edit', '1')
  await page.getByLabel('Label', { exact: true }).fill('Lift B')
  board.state.password = 'changed elsewhere'
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.waitFor()
  await audit(t, 'signed-out')
  await dialog.getByLabel('Password').fill('wrong')
  await page.keyboard.press('Enter')
  await dialog.getByText('The board does not take this password.').waitFor()
  await dialog.getByLabel('Password').fill('changed elsewhere')
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  t.equal(await page.getByLabel('Label', { exact: true }).inputValue(), 'Lift B', 'what was typed is still there')
  board.state.password = null
  await visit('live')
  await page.getByRole('button', { name: 'Discard changes' }).click()
}

async function contactLost(t: Test, { page, offline, audit }: Stage): Promise<void> {
  await page.getByText('14 framing errors').waitFor()
  await offline(true)
  await page.getByText('No contact with this board').waitFor()
  t.ok(await page.getByRole('button', { name: 'Drop 10.20.4.41' }).isDisabled(), 'controls wait')
  await audit(t, 'contact-lost')
  await page.getByRole('button', { name: 'Try now' }).click()
  await offline(false)
}
