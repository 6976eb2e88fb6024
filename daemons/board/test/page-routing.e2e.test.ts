/** The crosspoints of the matrix in a real browser: routed, taken back, asked why, refused, locked, by keyboard and by thumb. */
import t, { type Test } from 'tap'
import { AWAY, countIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { idOf, plays, type Site, sends, startSite } from './fake-site.ts'
import { fakeDecoder, silentChecks } from './fake-sound.ts'

interface Stage extends Rig {
  site: Site
}

const PASSWORD = 'ladder and torch'
const TERRACE = idOf('Terrace')

t.test('the crosspoints', { skip: noBrowser }, async (t) => {
  const site = await startSite(t, [
    { ...plays('Lobby ceiling', 0), change: { password: PASSWORD } },
    ...['Lobby music', 'Paging', 'Gym music', 'Pool', 'Stage mix'].map((name, at) => ({
      ...sends(name, at, name === 'Paging' ? { meters: { peak_db: [null, null], rms_db: [null, null] } } : {}),
      change: { password: PASSWORD },
    })),
    { ...plays('Bar speakers', 4, { playing: false, checks: silentChecks() }), change: { password: PASSWORD } },
    { ...plays('Pool deck', 3, losing()), change: { password: PASSWORD } },
    { ...plays('Restaurant', null, stopped()), change: { password: PASSWORD } },
    { ...plays('Roof', 2), change: { password: 'another one' } },
    { ...plays('Terrace', 0), change: { password: PASSWORD } },
  ])
  const basic = { username: 'admin', password: PASSWORD }
  const rig = await openRig(t, `${site.here.url}/matrix`, { basic, pictures: 'board', wanted: AWAY })
  await play<Stage>(t, { ...rig, site }, [
    ['shows who hears what, and what is silent and should not be', overview],
    ['routes with one touch, to the decoder itself, and takes it back', route],
    ['asks why it is silent, with the chain, and stops it', why],
    ['says at the crosspoint why a route was refused', refused],
    ['asks the password of a board at its crosspoint', locked],
    ['is worked by keyboard: walk, route, mute, volume, stop, jump', keyboard],
    ['keeps row and crosspoint of a board that is gone, dashed, over a reload too', gone],
    ['lets go of it on every board when it is dismissed', dismissed],
    ['is a list on a phone, silent ones on top, and a grid on demand', phone],
  ])
})

function losing() {
  const [stream] = silentChecks()
  if (!stream) throw new Error('there are checks')
  const loss = {
    name: 'loss',
    state: 'warn',
    code: 'loss',
    text: '0.4 % of its packets were lost in the last minute.',
  } as const
  return { checks: [stream, loss], counters: { ...fakeDecoder().counters, loss_percent_1min: 0.4 } }
}

function stopped() {
  return { checks: [{ name: 'stream', state: 'off', code: 'stopped', text: 'Nothing is routed.' } as const] }
}

function cell(page: Stage['page'], stream: string, decoder: string) {
  return page.getByRole('button', { name: new RegExp(`^${stream} to ${decoder}(:|$)`) })
}

async function overview(t: Test, { page, audit, strangers }: Stage): Promise<void> {
  await page.getByText('3 of 4 routed decoders play. Bar speakers is silent.').waitFor()
  await page.getByText(/Roof asks for another password\. Pool deck needs a look\./).waitFor()
  await page.locator('tr[data-s="fault"]', { hasText: 'Bar speakers' }).waitFor()
  t.equal(await cell(page, 'Lobby music', 'Lobby ceiling').getAttribute('data-s'), 'ok')
  t.equal(await cell(page, 'Stage mix', 'Bar speakers').getAttribute('data-s'), 'fault')
  t.equal(
    await page.locator('.ring.losing').evaluate((ring) => (ring as HTMLElement).style.getPropertyValue('--loss')),
    '40',
  )
  t.equal(await cell(page, 'Paging', 'Restaurant').getAttribute('data-s'), null)
  await audit(t, 'routing')
  t.ok(strangers.length > 0, 'the browser asked the boards itself')
  strangers.length = 0
}

async function route(t: Test, { page, site, strangers }: Stage): Promise<void> {
  const restaurant = site.boards.get('Restaurant')
  await cell(page, 'Paging', 'Restaurant').click()
  await page.getByText('Restaurant now plays Paging.').waitFor()
  t.same(restaurant?.asked.at(-1), {
    path: '/api/route',
    form: { mcast: '239.69.20.2', port: '5004', encoding: 'L24' },
  })
  t.ok(await cell(page, 'Paging', 'Restaurant').getAttribute('data-s'))
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Restaurant plays what it played before.').waitFor()
  t.same(restaurant?.asked.at(-1)?.form, { mcast: '' })
  t.equal(site.here.asked.filter(({ path }) => path === '/api/route').length, 0)
  strangers.length = 0
}

async function why(t: Test, { page, site, audit, calm, strangers }: Stage): Promise<void> {
  await calm()
  await cell(page, 'Stage mix', 'Bar speakers').click()
  const pop = page.getByRole('dialog', { name: 'Bar speakers is silent' })
  await pop.getByText('Stage mix sends').waitFor()
  t.equal(await pop.locator('.chain li').count(), 9)
  t.equal(await pop.locator('li[data-check="grandmaster"]').getAttribute('data-s'), 'fault')
  t.equal(
    await pop.getByRole('link', { name: 'Open Bar speakers' }).getAttribute('href'),
    `${site.boards.get('Bar speakers')?.url}/`,
  )
  await audit(t, 'routing-why')
  await page.keyboard.press('Escape')
  await pop.waitFor({ state: 'detached' })
  // The focus is where it was once the dialog has closed.
  await cell(page, 'Stage mix', 'Bar speakers').and(page.locator(':focus')).waitFor()
  await page.keyboard.press('w')
  await pop.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Bar speakers is stopped.').waitFor()
  t.same(site.boards.get('Bar speakers')?.asked.at(-1)?.form, { mcast: '' })
  strangers.length = 0
}

async function refused(t: Test, { page, site, strangers }: Stage): Promise<void> {
  const deck = site.boards.get('Pool deck')
  const message = '239.69.20.1 was refused: this board is being updated.'
  deck?.on('POST /api/route', () => [409, { error: 'busy', message }])
  await cell(page, 'Lobby music', 'Pool deck').click()
  await page.getByRole('alert').getByText(message).waitFor()
  t.equal(await cell(page, 'Lobby music', 'Pool deck').getAttribute('data-s'), null, 'it went back')
  t.ok(await cell(page, 'Pool', 'Pool deck').getAttribute('data-s'))
  await page.getByRole('button', { name: 'Close' }).click()
  strangers.length = 0
}

async function locked(t: Test, { page, site, strangers }: Stage): Promise<void> {
  await cell(page, 'Paging', 'Roof').click()
  const pop = page.getByRole('dialog')
  await pop.getByLabel('Password of Roof').fill('another one')
  await pop.getByRole('button', { name: 'Use it' }).click()
  await page.locator('tr[data-s="ok"]', { hasText: 'Roof' }).waitFor()
  await cell(page, 'Paging', 'Roof').click()
  await page.getByText('Roof now plays Paging.').waitFor()
  t.same(site.boards.get('Roof')?.asked.at(-1)?.form.mcast, '239.69.20.2')
  t.notOk((await page.content()).includes('another one'))
  strangers.length = 0
}

async function keyboard(t: Test, { page, site, strangers }: Stage): Promise<void> {
  const restaurant = site.boards.get('Restaurant')
  const focused = () => page.evaluate('document.activeElement.getAttribute("aria-label")')
  await page.locator('#main').focus()
  await page.keyboard.press('ArrowDown')
  t.equal(await focused(), 'Gym music to Bar speakers')
  await page.keyboard.type('Rest')
  t.equal(await focused(), 'Gym music to Restaurant')
  await page.keyboard.press('ArrowRight')
  t.match(await focused(), /^Lobby music to Restaurant/)
  await page.keyboard.press('Enter')
  await page.getByText('Restaurant now plays Lobby music.').waitFor()
  await page.waitForTimeout(1300)
  await page.keyboard.press('+')
  await page.locator('tr', { hasText: 'Restaurant' }).getByText('−11.0').waitFor()
  await page.keyboard.press('m')
  await page.getByRole('button', { name: 'Mute Restaurant', pressed: true }).waitFor()
  await page.keyboard.press('Delete')
  await page.getByText('Restaurant is stopped.').waitFor()
  t.same(
    restaurant?.asked.slice(-4).map(({ path }) => path),
    ['/api/route', '/api/volume_db', '/api/mute', '/api/route'],
  )
  await countIs(page.locator('.matrix tbody button[tabindex="0"]'), 1, 'one of them is in the order of Tab')
  strangers.length = 0
}

async function gone(t: Test, { page, site, audit, strangers }: Stage): Promise<void> {
  const terrace = site.here.state.peers.find(({ name }) => name === 'Terrace')
  if (terrace)
    Object.assign(terrace, {
      id: TERRACE,
      state: 'absent',
      last_answer_at: Date.now() - 1_200_000,
      last_heard_at: null,
    })
  await page.locator('tr.far[data-s="gone"]', { hasText: 'Terrace' }).waitFor()
  t.equal(await cell(page, 'Lobby music', 'Terrace').getAttribute('data-s'), 'gone', 'what it played is still known')
  t.ok(await page.getByRole('button', { name: 'Mute Terrace' }).isDisabled())
  await page.getByText(/Terrace cannot be reached\./).waitFor()
  await page.reload()
  await page.locator('tr.far[data-s="gone"]', { hasText: 'Terrace' }).waitFor()
  t.equal(await cell(page, 'Lobby music', 'Terrace').getAttribute('data-s'), 'gone', 'a new page knows it too')
  await audit(t, 'routing-gone')
  strangers.length = 0
}

async function dismissed(t: Test, { page, site, strangers, calm }: Stage): Promise<void> {
  const bar = site.boards.get('Bar speakers')
  bar?.state.peers.push(...site.here.state.peers.filter(({ id }) => id === TERRACE))
  await calm()
  await cell(page, 'Lobby music', 'Terrace').click()
  await page.getByRole('dialog', { name: 'Terrace is not reachable' }).getByRole('button', { name: 'Dismiss' }).click()
  await page.getByText(/Terrace is dismissed\. .* 1 board could not be told/).waitFor()
  await page.locator('tr', { hasText: 'Terrace' }).first().waitFor({ state: 'detached' })
  t.same(bar?.asked.at(-1), { path: '/api/peers/dismiss', form: { id: TERRACE } }, 'the others release it too')
  t.same([bar?.state.peers.length, site.here.state.peers.some(({ id }) => id === TERRACE)], [0, false])
  strangers.length = 0
}

async function phone(t: Test, { page, site, audit, strangers, calm }: Stage): Promise<void> {
  await calm()
  const bar = site.boards.get('Bar speakers')
  Object.assign(
    bar?.state.status.decoder ?? {},
    plays('Bar speakers', 4, { playing: false, checks: silentChecks() }).decoder,
  )
  await page.setViewportSize({ width: 390, height: 844 })
  const names = page.locator('.matrix .row-name')
  // It can already be on top for a moment while its stream is still being asked for.
  await names
    .first()
    .filter({ hasText: /^Bar speakers.*Stage mix, The stream is timed by/ })
    .waitFor()
  await page.getByText('Find a board').or(page.getByLabel('Find a board')).first().waitFor()
  await page.locator('.matrix .row-name', { hasText: 'Restaurant' }).click()
  const sheet = page.getByRole('dialog')
  await sheet.getByRole('button', { name: 'Gym music' }).click()
  await page.getByText('Restaurant now plays Gym music.').waitFor()
  await audit(t, 'routing-list')
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByText('Grid', { exact: true }).click()
  await cell(page, 'Lobby music', 'Restaurant').click()
  await page.getByText('Restaurant now plays Lobby music.').waitFor()
  strangers.length = 0
}
