/** The USB server's page in a real browser: attached, detached, unplugged, and a kernel that cannot. */
import t, { type Test } from 'tap'
import { noBrowser, play } from '#kit/test/web/page-rig.ts'
import { fakeStatus, fakeUsbip } from './fake-states.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('the USB server', { skip: noBrowser }, async (t) => {
  const usbip = fakeUsbip()
  const verdict = { state: 'ok', text: '10.20.4.40 has used S250 Digital Postal Scale for 3 d 4 h.' } as const
  const status = fakeStatus({ role: 'usbip', name: 'Till 2', hostname: 'usb-till-2', verdict })
  await play<Stage>(t, await openStage(t, { usbip, status }), [
    ['shows device, line and host, and copies the commands', usbAttached],
    ['detaches the host, and asks first', usbDetach],
    ['keeps the name of a device that was unplugged', usbGone],
    ['says in one sentence that this kernel cannot, and serves the rest', usbUnsupported],
  ])
})

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
  const error = {
    at: Date.now() - 60_000,
    code: 'device_gone',
    message: 'S250 Digital Postal Scale was unplugged while 10.20.4.40 had it.',
  }
  board.state.usbip = fakeUsbip({ attached: null, traffic: null, device: null, devices: [], last_error: error })
  board.state.status.verdict = {
    state: 'warn',
    text: '0922:8003:00000012345 is not plugged in.',
  }
  board.tell()
  await page.getByText('0922:8003:00000012345 is not plugged in.').first().waitFor()
  await page.getByText('was unplugged while').waitFor()
  await page.locator('.usb-link', { hasText: 'S250 Digital Postal Scale' }).waitFor()
  await page.getByLabel('Device', { exact: true }).getByText('not plugged in').waitFor({ state: 'attached' })
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
