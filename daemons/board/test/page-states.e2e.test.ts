/** The board's pages in a real browser against a pretended board: every state an installer can meet, with its pictures. */
import t, { type Test } from 'tap'
import { noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { type FakeBoard, type FakeState, startFakeBoard } from './fake-board.ts'
import { fakeOta, fakeSerial, fakeStatus, fakeUsbip } from './fake-states.ts'

interface Stage extends Rig {
  board: FakeBoard
}

/** What the browser says of a board that restarts. */
const AWAY = /net::ERR_(EMPTY_RESPONSE|CONNECTION_(REFUSED|RESET))/

async function stage(t: Test, change: Partial<FakeState>): Promise<Stage> {
  const board = await startFakeBoard(t, change)
  return { ...(await openRig(t, board.url, { pictures: 'board', wanted: AWAY })), board }
}

t.test('the serial server', { skip: noBrowser, timeout: 120_000 }, async (t) => {
  await play<Stage>(t, await stage(t, { serial: fakeSerial() }), [
    ['shows who is on each line, and what to look at where there are errors', serialCards],
    ['edits a line; a refused save says why at the field', serialEdit],
    ['drops a client, and asks first', serialDrop],
    ['says what a save of the settings does, marks what was changed, and takes it back', settingsChange],
    ['puts every fault at its field and the focus at the first', settingsRefused],
    ['asks for the name before the role is changed', roleChange],
    ['saves, waits for the restart and goes on by itself', settingsSaved],
    ['shows the box, and sets and removes the password without a question of the browser', system],
    ['resets only once the name is typed', factoryReset],
    ['says on every page that a new address waits to be reached', unconfirmed],
    ['says when contact is lost, and comes back by itself', contactLost],
  ])
})

t.test('the USB server', { skip: noBrowser, timeout: 60_000 }, async (t) => {
  const usbip = fakeUsbip()
  const verdict = { state: 'ok', text: '10.20.4.40 has used S250 Digital Postal Scale for 3 d 4 h.' } as const
  const status = fakeStatus({ role: 'usbip', name: 'Till 2', hostname: 'usb-till-2', verdict })
  await play<Stage>(t, await stage(t, { usbip, status }), [
    ['shows device, line and host, and copies the commands', usbAttached],
    ['detaches the host, and asks first', usbDetach],
    ['keeps the name of a device that was unplugged', usbGone],
    ['says in one sentence that this kernel cannot, and serves the rest', usbUnsupported],
  ])
})

t.test('firmware', { skip: noBrowser, timeout: 60_000 }, async (t) => {
  await play<Stage>(t, await stage(t, { serial: fakeSerial() }), [
    ['says that the running version is untouched when an image is refused', firmwareRefused],
    ['goes through all four steps', firmwareInstalled],
  ])
})

t.test('the first run', { skip: noBrowser, timeout: 60_000 }, async (t) => {
  const status = fakeStatus({ set_up: false, password_set: false, name: 'ser-lift' })
  await play<Stage>(t, await stage(t, { serial: fakeSerial(), status }), [
    ['sets the board up in four steps and keeps nothing before the last', firstRun],
  ])
})

async function serialCards(t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByText('BMS has framing errors.').waitFor()
  await page.getByText('14 framing errors. The other end does not send at').waitFor()
  await page.getByText('/dev/ttyUSB2 is not there.').waitFor()
  t.equal(await page.locator('.port-card').count(), 3, 'a port without a device has no card')
  await audit(t, 'serial')
  await page.locator('#main').focus()
  await page.keyboard.press('2')
  t.equal(await page.evaluate('document.activeElement.dataset.port'), '2')
}

async function serialEdit(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.keyboard.press('e')
  await page.getByLabel('TCP port').fill('80')
  board.on('POST /api/serial', () => [
    400,
    { error: 'bad_fields', message: 'x', fields: { tcp_port: 'Port 80 is taken by this page. Use 1024 to 65535.' } },
  ])
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('.err', { hasText: 'Port 80 is taken' }).waitFor()
  t.equal(await page.evaluate('document.activeElement.name'), 'tcp_port')
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

async function settingsChange(t: Test, { page, audit }: Stage): Promise<void> {
  await page.locator('#main').focus()
  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.getByText('Nothing is changed.').first().waitFor()
  t.equal(await page.getByLabel('Multicast address').count(), 0, 'a serial server has no fields of sound')
  await page.getByLabel('Address', { exact: true }).fill('10.20.4.12')
  await page.getByText('moves to 10.20.4.12; this page follows.').waitFor()
  t.equal(await page.locator('.field[data-changed]').count(), 1)
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
  t.equal(await page.evaluate('document.activeElement.name'), 'mask')
  await page.locator('.refusal', { hasText: 'Port: Port 80 is taken' }).waitFor()
  await audit(t, 'settings-refused')
}

async function roleChange(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByLabel('Role').selectOption('usbip')
  await page.getByText('Saves, restarts, and is a USB server then.').waitFor()
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
  t.match(
    board.asked.at(-1)?.form,
    { name: 'Lift shaft B', static_ip: '1', sap: '1', channels: '2' },
    'it is sent whole',
  )
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

async function contactLost(t: Test, { page, offline, audit, visit }: Stage): Promise<void> {
  await visit('live')
  await page.getByText('14 framing errors').waitFor()
  await offline(true)
  await page.getByText('No contact with this board').waitFor()
  t.ok(await page.getByRole('button', { name: 'Drop 10.20.4.41' }).isDisabled(), 'controls wait')
  await audit(t, 'contact-lost')
  await page.getByRole('button', { name: 'Try now' }).click()
  await offline(false)
}

async function usbAttached(t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByText('10.20.4.40 has used S250').waitFor()
  await page.getByText('in 1.2').waitFor()
  await audit(t, 'usbip')
  await page.locator('#main').focus()
  await page.keyboard.press('c')
  await page.getByText('The command for Linux is copied.').waitFor()
}

async function usbDetach(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.locator('#main').focus()
  await page.keyboard.press('d')
  await page.getByRole('heading', { name: 'Take S250 Digital Postal Scale from 10.20.4.40?' }).waitFor()
  await audit(t, 'usbip-detach', 'unpictured')
  board.on('POST /api/usbip', () => {
    board.state.usbip = fakeUsbip({ attached: null, traffic: null, hold_until: Date.now() + 30_000 })
    return [200, board.state.usbip]
  })
  await page.getByRole('button', { name: 'Detach' }).last().click()
  await page.getByText('held off for').waitFor()
  t.match(board.asked.at(-1), { path: '/api/usbip', form: { detach: '1' } })
}

async function usbGone(t: Test, { page, board, audit }: Stage): Promise<void> {
  const state = fakeUsbip({ attached: null, traffic: null })
  const device = state.device ? { ...state.device, state: 'absent', busid: null } : null
  const error = {
    at: Date.now() - 60_000,
    code: 'device_gone',
    message: 'S250 Digital Postal Scale was unplugged while 10.20.4.40 had it.',
  }
  board.state.usbip = { ...state, device, devices: [], last_error: error }
  board.state.status.verdict = {
    state: 'warn',
    text: 'S250 Digital Postal Scale is unplugged. It is shared again once it is back.',
  }
  board.tell()
  await page.getByText('It is shared again once it is back.').waitFor()
  await page.getByText('was unplugged while').waitFor()
  await audit(t, 'usbip-unplugged')
}

async function usbUnsupported(t: Test, { page, board, audit }: Stage): Promise<void> {
  const text = 'This kernel has no usbip-host, so this board cannot share USB.'
  board.state.usbip = fakeUsbip({
    supported: false,
    device: null,
    devices: [],
    attached: null,
    traffic: null,
    enabled: false,
    text,
  })
  board.state.status.verdict = { state: 'off', text }
  board.tell()
  await page.getByText(text).first().waitFor()
  await page.getByText('At the computer that is to have it').waitFor({ state: 'detached' })
  await audit(t, 'usbip-unsupported')
}

async function firmwareRefused(t: Test, { page, board, audit, visit }: Stage): Promise<void> {
  await visit('firmware')
  await page.getByText('Version 0.2.0 runs.').waitFor()
  await audit(t, 'firmware')
  board.on('POST /api/ota', () => [
    400,
    { error: 'image_signature', message: 'The signature of the image is not that of the maker.' },
  ])
  const image = { name: 'board-0.3.0.img', mimeType: 'application/octet-stream', buffer: Buffer.alloc(100_000) }
  await page.getByLabel('Firmware image').setInputFiles(image)
  await page.getByText('board-0.3.0.img was not installed.').waitFor()
  await page.getByText('The running version is untouched.').waitFor()
  await audit(t, 'firmware-refused')
}

async function firmwareInstalled(t: Test, { page, board, audit }: Stage): Promise<void> {
  let answer: (value: [number, unknown]) => void = () => {}
  board.on('POST /api/ota', () => new Promise((resolve) => (answer = resolve)))
  const image = { name: 'board-0.3.0.img', mimeType: 'application/octet-stream', buffer: Buffer.alloc(100_000) }
  await page.getByLabel('Firmware image').setInputFiles(image)
  await page.getByText('Checking board-0.3.0.img.').waitFor()
  board.state.status.ota = fakeOta('verifying')
  await audit(t, 'firmware-checking')
  board.state.status.ota = fakeOta('installing')
  board.tell()
  await page.locator('.steps [aria-current]', { hasText: 'Installed' }).waitFor()
  answer([200, { installed: true, version: '0.3.0', reboots: true }])
  await page.locator('.steps [aria-current]', { hasText: 'Restarted' }).waitFor()
  board.state.status.version = '0.3.0'
  board.state.status.ota = fakeOta('idle')
  board.restart(1000)
  await page.getByText('Version 0.3.0 runs since the restart.').waitFor()
  t.equal(await page.locator('.steps [data-s=ok]').count(), 4)
}

async function firstRun(t: Test, { page, board, audit }: Stage): Promise<void> {
  await page.getByRole('heading', { name: 'Who may change this board?' }).waitFor()
  await audit(t, 'first-run')
  await page.getByLabel('Password', { exact: true }).fill('ladder and torch')
  await page.keyboard.press('Enter')
  await page.getByLabel('Name', { exact: true }).fill('Till 2')
  await audit(t, 'first-run-name')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'What is this board for?' }).waitFor()
  await page.getByText('Shares a USB device').click()
  await audit(t, 'first-run-role')
  t.same(
    board.asked.filter(({ path }) => path !== '/api/ticket'),
    [],
    'nothing was sent so far',
  )
  board.on('POST /api/config', () => {
    setTimeout(() => board.restart(1500), 50)
    return [200, { saved: true, changed: ['name', 'role'], restarts: true, about_s: 2 }]
  })
  await page.getByRole('button', { name: 'Use as USB server' }).click()
  await page.getByRole('heading', { name: 'It restarts' }).waitFor()
  await audit(t, 'first-run-restarts', 'unpictured')
  await page.getByRole('heading', { name: 'Done' }).waitFor()
  await audit(t, 'first-run-done')
  t.equal(board.state.password, 'ladder and torch')
  t.match(board.asked.findLast(({ path }) => path === '/api/config')?.form, {
    name: 'Till 2',
    role: 'usbip',
    hostname: 'ser-lift',
  })
  await page.getByRole('button', { name: 'To the board' }).click()
  await page.locator('.rail').waitFor()
}
