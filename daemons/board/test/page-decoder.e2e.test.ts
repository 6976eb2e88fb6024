/** The decoder's page in a real browser: playing, silent with its reason, turned up and down, routed, and with nothing to hear. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, play } from '#kit/test/web/page-rig.ts'
import { fakeDecoder, fakeHistory, fakePtp, fakeStreams, silentChecks } from './fake-sound.ts'
import { fakeStatus } from './fake-states.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('the decoder', { skip: noBrowser }, async (t) => {
  const verdict = { state: 'ok', text: 'Playing Lobby music from Rack A.' } as const
  const status = fakeStatus({ role: 'decoder', name: 'Lobby ceiling', hostname: 'dec-lobby', verdict })
  Object.assign(status, { decoder: fakeDecoder(), ptp: fakePtp() })
  const stage = await openStage(t, { status, streams: fakeStreams(), history: fakeHistory(), hasMeters: true })
  await play<Stage>(t, stage, [
    ['shows that it plays: verdict, chain, moving meters, the hour', playing],
    ['draws meters thirty times a second at most, and four if less motion is wanted', frames],
    ['turns up and down by keys, buttons and fader, and mutes', volume],
    ['plays another stream by a touch, and takes it back', route],
    ['says why it is silent: the chain is expanded and stops at the broken link', silent],
    ['plays by address, and says what was refused', byAddress],
    ['says what to check if no stream is heard', nothing],
  ])
})

async function playing(t: Test, { page, audit }: Stage): Promise<void> {
  await page.getByText('Playing Lobby music from Rack A.').waitFor()
  await countIs(page.locator('.chain:not(.down) li'), 9)
  await page.locator('.uplot canvas').nth(1).waitFor()
  await page.getByText('00-1D-C1-FF-FE-8A-04-F2').first().waitFor()
  const level = () => page.getByRole('meter', { name: 'Left' }).getAttribute('aria-valuenow')
  const before = await level()
  await until('the meter moves', async () => (await level()) !== before)
  await audit(t, 'decoder')
  await page.locator('.u-over').first().hover()
  await page.locator('.read-out').getByText('middle').waitFor()
}

async function frames(t: Test, { page }: Stage): Promise<void> {
  const drawn = () =>
    page.evaluate(async () => {
      const bar = document.querySelector('.meter')
      let changes = 0
      const watch = new MutationObserver(() => changes++)
      if (bar) watch.observe(bar, { attributes: true, attributeFilter: ['style'] })
      await new Promise((resolve) => setTimeout(resolve, 1000))
      watch.disconnect()
      return changes
    })
  const calm = await drawn()
  t.ok(calm >= 1 && calm <= 5, `${calm} a second if less motion is wanted`)
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  const moving = await drawn()
  await page.emulateMedia({ reducedMotion: 'reduce' })
  t.ok(moving > calm && moving <= 32, `${moving} a second`)
}

async function volume(t: Test, { page, board }: Stage): Promise<void> {
  const sent = () => board.asked.filter(({ path }) => path.startsWith('/api/volume') || path === '/api/mute')
  await page.locator('#main').focus()
  await page.keyboard.press('ArrowUp')
  await page.locator('.fader').getByText('−11.0').waitFor()
  await page.getByRole('button', { name: '1 dB down' }).click()
  await page.getByRole('button', { name: '1 dB down' }).click()
  await page.locator('.fader').getByText('−13.0').waitFor()
  t.same(sent().at(-1), { path: '/api/volume_db', form: { volume_db: '-13' } })
  await page.getByLabel('Volume').fill('0')
  await page.locator('.fader').getByText('silent').waitFor()
  await page.getByLabel('Volume').fill('80')
  await page.locator('.fader').getByText('80').waitFor()
  await page.locator('#main').focus()
  await page.keyboard.press('m')
  await page.getByRole('button', { name: 'Muted', pressed: true }).waitFor()
  t.same(sent().at(-1), { path: '/api/mute', form: { mute: '1' } })
  await page.keyboard.press('m')
  await page.getByRole('button', { name: 'Mute', pressed: false }).waitFor()
}

async function route(t: Test, { page, board }: Stage): Promise<void> {
  t.equal(
    await page.getByRole('button', { name: 'Play Chapel' }).count(),
    0,
    'a stream that cannot be played has no button',
  )
  await page.getByText('It runs at 44100 Hz.').waitFor()
  await page.getByRole('button', { name: 'Play Stage mix' }).click()
  await page.getByText('Now plays Stage mix.').waitFor()
  t.same(board.asked.at(-1), { path: '/api/route', form: { mcast: '239.69.20.1', port: '5004' } })
  await page.getByRole('button', { name: 'Stop Stage mix' }).waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('It plays what it played before.').waitFor()
  t.same(board.asked.at(-1), { path: '/api/route', form: { mcast: '239.69.10.4', port: '5004' } })
  await page.locator('#main').focus()
  await page.keyboard.press('.')
  await page.getByText('Nothing is played now.').waitFor()
  await page.getByRole('button', { name: 'Play Lobby music' }).waitFor()
  await page.keyboard.press('p')
  await page.keyboard.press('Enter')
  await page.getByText('Now plays Gym music.').waitFor()
}

async function silent(t: Test, { page, board, audit }: Stage): Promise<void> {
  Object.assign(board.state.status, {
    verdict: { state: 'fault', text: 'Silent: Lobby music is timed by another grandmaster.' },
    decoder: fakeDecoder({
      playing: false,
      checks: silentChecks(),
      meters: { peak_db: [null, null], rms_db: [null, null] },
    }),
  })
  board.state.hasMeters = false
  board.tell()
  await page.locator('.chain.down').getByText('Put both into one PTP domain.').waitFor()
  await countIs(page.locator('.chain.down li[data-s="fault"]'), 1)
  await countIs(page.getByText('not judged'), 3)
  await page.locator('.meters output', { hasText: '–' }).first().waitFor()
  await audit(t, 'decoder-silent')
}

async function byAddress(t: Test, { page, board }: Stage): Promise<void> {
  const message = '10.1.2.3 is not a multicast group. Groups begin with 224 to 239.'
  board.on('POST /api/route', () => [
    422,
    { error: 'bad_fields', message: 'It was refused.', fields: [{ field: 'mcast', message }] },
  ])
  await page.getByText('Play by address').click()
  await page.getByLabel('Group').fill('10.1.2.3')
  await page.locator('.by-address').getByRole('button', { name: 'Play' }).click()
  await page.locator('.err', { hasText: message }).waitFor()
  t.same(board.asked.at(-1)?.form, { mcast: '10.1.2.3', port: '5004', source: '', encoding: '' })
}

async function nothing(t: Test, { page, board, audit }: Stage): Promise<void> {
  board.state.streams = []
  board.state.history = null
  await page.getByText('No streams heard in').waitFor()
  await audit(t, 'decoder-no-streams', 'unpictured')
}
