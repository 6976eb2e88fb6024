/** The encoder's page in a real browser: sending, a tone in place of the input, silence, a lost input, and who plays it. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, play } from '#kit/test/web/page-rig.ts'
import { startFakeBoard } from './fake-board.ts'
import { fakeDecoder, fakeEncoder, fakeHistory, fakePtp } from './fake-sound.ts'
import { fakePeer, fakeStatus } from './fake-states.ts'
import { openStage, type Stage } from './page-stage.ts'

t.test('the encoder', { skip: noBrowser }, async (t) => {
  const verdict = { state: 'ok', text: 'Sending Lobby music to 239.69.10.4:5004.' } as const
  const status = fakeStatus({ role: 'encoder', name: 'Rack A', hostname: 'enc-rack-a', verdict })
  Object.assign(status, { encoder: fakeEncoder(), ptp: fakePtp() })
  const stage = await openStage(t, { status, history: fakeHistory(), hasMeters: true })
  const ceiling = fakeStatus({ role: 'decoder', name: 'Lobby ceiling' })
  Object.assign(ceiling, { decoder: fakeDecoder() })
  const decoder = await startFakeBoard(t, { status: ceiling, allowedOrigins: [stage.board.url] })
  stage.board.state.peers = [
    fakePeer('enc-rack-a', { role: 'encoder', self: true, state: 'here', url: stage.board.url }),
    fakePeer('dec-lobby', { role: 'decoder', name: 'Lobby ceiling', url: decoder.url }),
    fakePeer('dec-gone', { role: 'decoder', name: 'Terrace', url: 'http://127.0.0.1:9', state: 'unreachable' }),
  ]
  await play<Stage>(t, stage, [
    ['shows that it sends: verdict, chain, moving meters, the hour, and who plays it', sending],
    ['copies the SDP, and sends a tone in place of the input', keys],
    ['says for how long it has been silent, and which input is lost', silent],
  ])
})

async function sending(t: Test, { page, audit, strangers }: Stage): Promise<void> {
  await page.getByText('Sending Lobby music to').waitFor()
  await countIs(page.locator('.chain:not(.down) li'), 5)
  await page.getByText('Heard by 1 board').waitFor()
  await page.getByLabel('Heard by').getByText('Lobby ceiling').waitFor()
  await page.getByText('1 decoder did not say what it plays.').waitFor()
  await page.locator('.uplot canvas').nth(1).waitFor()
  const level = () => page.getByRole('meter', { name: 'Right' }).getAttribute('aria-valuenow')
  const before = await level()
  await until('the meter moves', async () => (await level()) !== before)
  await audit(t, 'encoder')
  t.ok(strangers.length > 0, 'the browser asked the decoder itself')
  strangers.length = 0
}

async function keys(t: Test, { page, board, strangers }: Stage): Promise<void> {
  await page.locator('#main').focus()
  await page.keyboard.press('s')
  await page.getByText('The SDP is copied.').waitFor()
  board.on('POST /api/tone', ({ on }) => {
    const until = on === '1' ? Date.now() + 60_000 : null
    Object.assign(board.state.status.encoder ?? {}, { tone_until: until })
    return [200, { tone_until: until }]
  })
  await page.keyboard.press('t')
  await page.getByText('A tone of 997 Hz is sent').waitFor()
  await page.getByRole('button', { name: /Stop the tone/, pressed: true }).click()
  await page.getByText('The input is sent again.').waitFor()
  t.same(
    board.asked.filter(({ path }) => path === '/api/tone').map(({ form }) => form.on),
    ['1', '0'],
  )
  await page.getByRole('button', { name: 'Send a tone' }).waitFor()
  strangers.length = 0
}

async function silent(t: Test, { page, board, audit, strangers }: Stage): Promise<void> {
  const { checks } = fakeEncoder()
  const text = 'hw:1 was unplugged. Silence goes out until it is back.'
  Object.assign(board.state.status, {
    verdict: { state: 'fault', text },
    encoder: fakeEncoder({
      source: { kind: 'alsa', name: 'hw:1, USB Audio CODEC', found: false },
      silence_s: 83,
      meters: { peak_db: [null, null], rms_db: [null, null] },
      checks: checks.map((check, at) =>
        at === 0 ? { ...check, state: 'fault', code: 'no_card', text } : { ...check, state: 'not_judged' },
      ),
    }),
    ptp: fakePtp({
      state: 'listening',
      text: "No grandmaster is heard: sound is sent on this board's own clock.",
      grandmaster: null,
      offset_ns: null,
      path_delay_ns: null,
      rate_ppm: null,
    }),
  })
  board.state.hasMeters = false
  board.tell()
  await page.locator('.chain.down').getByText(text).waitFor()
  await page.getByText('Silent for 1 min 23 s.').waitFor()
  await page.getByText('No grandmaster is heard').waitFor()
  await audit(t, 'encoder-unplugged')
  strangers.length = 0
}
