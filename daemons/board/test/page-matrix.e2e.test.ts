/** The matrix in a real browser: boards that are well, locked, silent, gone, and one with hostile texts. */
import t, { type Test } from 'tap'
import { countIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { type FakeBoard, startFakeBoard } from './fake-board.ts'
import { fakePeer, fakeSerial, fakeStatus } from './fake-states.ts'

/** Markup that would run if it were treated as markup. */
const HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
const PASSWORD = 'ladder and torch'

interface Stage extends Rig {
  board: FakeBoard
  usb: FakeBoard
  locked: FakeBoard
}

t.test('the matrix', { skip: noBrowser }, async (t) => {
  await play<Stage>(t, await build(t), [
    ['asks for the others with the password of this board, and is at /matrix', everyBoard],
    ['B.peers shows what a hostile board says as text and nothing else', hostile],
    ['finds boards by the text typed, and those that need attention', find],
    ['asks for a missing password at its board', unlock],
    ['keeps the last known state when a board is gone', gone],
    ['says what to do if there is no other board', alone],
  ])
})

async function build(t: Test): Promise<Stage> {
  const verdict = { state: 'ok', text: 'All 3 lines are shared.' } as const
  const board = await startFakeBoard(t, { password: PASSWORD, serial: fakeSerial(), status: fakeStatus({ verdict }) })
  const allowedOrigins = [board.url]
  const usbVerdict = { state: 'ok', text: '10.20.4.40 has used S250 Digital Postal Scale for 3 d 4 h.' } as const
  const status = fakeStatus({ role: 'usbip', name: 'Till 2', hostname: 'usb-till-2', verdict: usbVerdict })
  const usb = await startFakeBoard(t, { password: PASSWORD, allowedOrigins, status })
  const locked = await startFakeBoard(t, {
    password: 'another one',
    allowedOrigins,
    status: fakeStatus({ name: 'Roof' }),
  })
  const nasty = { state: HOSTILE, text: HOSTILE } as never
  const hostileBoard = await startFakeBoard(t, {
    allowedOrigins,
    status: fakeStatus({ verdict: nasty, name: HOSTILE }),
  })
  board.state.peers = [
    fakePeer('ser-lift', { name: 'Lift shaft', self: true, state: 'here', url: board.url, ip: '10.20.4.11' }),
    fakePeer('usb-till-2', { name: 'Till 2', role: 'usbip', url: usb.url }),
    fakePeer('ser-roof', { name: 'Roof', url: locked.url, ip: '10.20.4.13' }),
    fakePeer('x', {
      hostname: HOSTILE,
      name: HOSTILE,
      role: HOSTILE,
      version: HOSTILE,
      ip: HOSTILE,
      url: hostileBoard.url,
    }),
    fakePeer('js', { name: 'Script', role: 'encoder', url: 'javascript:window.pwned=1//' }),
    fakePeer('ser-boiler', {
      name: 'Boiler',
      state: 'unreachable',
      url: 'http://127.0.0.1:9',
      last_answer_at: Date.now() - 8_000_000,
      last_heard_at: Date.now() - 8_100_000,
      ip: '10.20.4.15',
    }),
  ]
  const basic = { username: 'admin', password: PASSWORD }
  const rig = await openRig(t, `${board.url}/matrix`, { basic, pictures: 'board' })
  return { ...rig, board, usb, locked }
}

async function everyBoard(t: Test, { page, usb, audit, strangers }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'Till 2' }).waitFor()
  await page.getByText('10.20.4.40 has used S250').waitFor()
  t.equal(await page.getByRole('link', { name: 'Till 2' }).getAttribute('href'), `${usb.url}/`)
  await page.getByText('It has another password than this board.').first().waitFor()
  await page.locator('tr.stale', { hasText: 'Boiler' }).waitFor()
  await page.getByText(/3 of 6 boards are well\./).waitFor()
  await audit(t, 'matrix-hostile', 'unpictured')
  t.ok(strangers.length > 0, 'the browser asked the other boards itself')
  strangers.length = 0
}

async function hostile(t: Test, { page, board, audit, strangers }: Stage): Promise<void> {
  await page.locator('td.how', { hasText: HOSTILE }).waitFor()
  t.equal(await page.evaluate('window.pwned'), undefined, 'nothing of it ran')
  await countIs(page.locator('.boards img, .boards script'), 0)
  await countIs(page.locator('a[href^="javascript"]'), 0, 'an address that is not that of a page is not a link')
  t.equal((await page.getByText(HOSTILE).count()) > 2, true, 'it is shown as plain text')
  board.state.peers = board.state.peers.filter(({ hostname }) => hostname !== HOSTILE && hostname !== 'js')
  await page.locator('td.how', { hasText: HOSTILE }).waitFor({ state: 'detached' })
  await page.getByText('It has another password than this board.').first().waitFor()
  await audit(t, 'matrix')
  strangers.length = 0
}

async function find(_t: Test, { page, strangers }: Stage): Promise<void> {
  await page.locator('#main').focus()
  await page.keyboard.press('/')
  await page.keyboard.type('usb till')
  await countIs(page.locator('.boards tbody tr'), 1)
  await page.keyboard.press('Escape')
  await page.getByLabel('Find a board').fill('')
  await page.getByText('Need a look 2').click()
  await countIs(page.locator('.boards tbody tr'), 2)
  await page.getByText('All', { exact: true }).click()
  strangers.length = 0
}

async function unlock(t: Test, { page, strangers, locked }: Stage): Promise<void> {
  await page.getByLabel('Password of Roof').fill('another one')
  await page.getByRole('button', { name: 'Ask again' }).click()
  await page.getByLabel('Password of Roof').waitFor({ state: 'detached' })
  await page.locator('tr', { hasText: 'Roof' }).getByText(locked.state.status.verdict.text).waitFor()
  t.notOk((await page.content()).includes('another one'))
  strangers.length = 0
}

async function gone(t: Test, { page, board, audit, strangers }: Stage): Promise<void> {
  const till = board.state.peers.find(({ name }) => name === 'Till 2')
  if (till) Object.assign(till, { state: 'unreachable', last_answer_at: Date.now() - 15_000 })
  await page.locator('tr.stale', { hasText: 'Till 2' }).waitFor()
  t.match(await page.locator('tr.stale', { hasText: 'Till 2' }).textContent(), /Last heard \d\d:\d\d/)
  if (till) Object.assign(till, { id: 'board-till', state: 'absent' })
  await page.getByText(/Gone since \d\d:\d\d.*It stays listed until it answers or is dismissed\./).waitFor()
  await page
    .getByText(/Till 2.*needs? a look|need a look.*Till 2/)
    .first()
    .waitFor()
  await audit(t, 'matrix-gone', 'unpictured')
  await page.getByRole('button', { name: 'Dismiss Till 2' }).click()
  await page.getByText(/Till 2 is dismissed\./).waitFor()
  await page.locator('tr', { hasText: 'Till 2' }).waitFor({ state: 'detached' })
  strangers.length = 0
}

async function alone(t: Test, { page, board, audit, strangers }: Stage): Promise<void> {
  board.state.peers = board.state.peers.slice(0, 1)
  await page.getByText('Only this board so far').waitFor()
  await audit(t, 'matrix-alone')
  strangers.length = 0
}
