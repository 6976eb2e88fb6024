import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { ptpView } from '../../../../test/core/ptp/fake-ptp.ts'
import { LOBBY_MUSIC } from '../../../../test/fake-sound.ts'
import { encoderVerdict, encoderView, type StreamSettings } from '../../core/encoder-view.ts'
import { encoderRig, sentFacts, settled } from './encoder-rig.ts'

const stream: StreamSettings = { ...LOBBY_MUSIC, dup: null }

t.test('sends, and says so in one sentence', async (t) => {
  const { encoder, known, seconds } = encoderRig()
  t.match(encoderVerdict(encoder, stream), { state: 'busy', text: 'hw:1 is being opened.' })
  await encoder.start()
  known.events?.level([-9.2, -11.6], [-18.4, -20.1])
  await seconds(2)
  t.same(encoderVerdict(encoder, stream), { state: 'ok', text: 'Sends Lobby music to 239.69.10.4:5004.' })
  t.same(
    encoder.checks().map(({ name, state }) => `${name} ${state}`),
    ['input ok', 'level ok', 'clock ok', 'sending ok', 'announced ok'],
  )
  t.match(encoderView(encoder, stream), {
    state: 'sending',
    source: { kind: 'alsa', name: 'hw:1', found: true },
    meters: { peak_db: [-9.2, -11.6], rms_db: [-18.4, -20.1] },
    silence_s: 2,
    sent: { packets: 2000, errors: 0, spacing_us: { p99: 1020 } },
    announced: { sap: true, rtsp: true, sdp: 'v=0\r\n' },
    capture_ms: 5.3,
    tone_until: null,
    realtime: { granted: true },
  })
})

t.test('a missing source is a fault with its name, tried again with growing waits', async (t) => {
  const { clock, encoder, known, lost, seen } = encoderRig()
  known.failure = lost
  await encoder.start()
  t.same(encoderVerdict(encoder, stream), { state: 'fault', text: 'The sound card hw:1 is not there.' })
  t.same(
    encoder.checks().map(({ state }) => state),
    ['fault', 'not_judged', 'not_judged', 'not_judged', 'not_judged'],
  )
  t.match(encoderView(encoder, stream), { state: 'waiting', source: { found: false }, restarts: 1 })
  for (const waitMs of [500, 1000, 2000, 4000, 5000, 5000]) {
    const before = seen.filter((each) => each === 'open alsa').length
    clock.advance(waitMs - 1)
    await settled()
    t.equal(seen.filter((each) => each === 'open alsa').length, before)
    clock.advance(1)
    await settled()
    t.equal(seen.filter((each) => each === 'open alsa').length, before + 1)
  }
  known.failure = undefined
  clock.advance(5000)
  await settled()
  t.equal(encoder.care.state, 'sending')
  t.equal(encoder.care.fault, null)
})

t.test('an unplugged source is released and opened again', async (t) => {
  const { clock, encoder, known, seconds, seen } = encoderRig()
  await encoder.start()
  known.events?.level([-3], [-6])
  await seconds(2)
  known.events?.died(new Fault('input_failed', 'hw:1: Error recording from audio device.'))
  await settled()
  t.match(encoderVerdict(encoder, stream), { state: 'fault', text: 'hw:1: Error recording from audio device.' })
  t.equal(encoderView(encoder, stream).meters, null, 'no level is shown of a missing source')
  clock.advance(500)
  await settled()
  t.same(
    seen.filter((each) => each !== 'announce'),
    ['open alsa', 'close alsa', 'open alsa'],
  )
  t.equal(encoder.care.state, 'sending')
})

t.test('a source that is soon unplugged again is retried later, one that had worked for long is not', async (t) => {
  const { clock, encoder, known, seen } = encoderRig()
  const opened = () => seen.filter((each) => each === 'open alsa').length
  await encoder.start()
  for (const [heldMs, waitMs] of [
    [0, 500],
    [5000, 1000],
    [5001, 500],
  ] as const) {
    clock.advance(heldMs)
    const before = opened()
    known.events?.died(new Fault('input_failed', 'gone'))
    await settled()
    clock.advance(waitMs - 1)
    await settled()
    t.equal(opened(), before)
    clock.advance(1)
    await settled()
    t.equal(opened(), before + 1)
  }
})

t.test('levels go to the listeners, until they unsubscribe', async (t) => {
  const { encoder, known } = encoderRig()
  await encoder.start()
  const heard: unknown[] = []
  const end = encoder.loudness.onMeters((meters) => void heard.push(meters))
  known.events?.level([-3, -9], [-6, -12])
  end()
  known.events?.level([-1, -1], [-2, -2])
  t.same(heard, [{ peak_db: [-3, -9], rms_db: [-6, -12] }])
})

t.test('a minute of silence gives a warning, and sound ends it', async (t) => {
  const { check, encoder, known, seconds } = encoderRig()
  await encoder.start()
  for (let second = 0; second < 59; second++) {
    known.events?.level([-80, Number.NEGATIVE_INFINITY], [-90, -350])
    await seconds(1)
  }
  t.equal(check('level')?.state, 'ok')
  await seconds(1)
  t.match(check('level'), { state: 'warn', code: 'silence', text: /silent for 60 s/ })
  t.same(encoderView(encoder, stream).meters, { peak_db: [-80, null], rms_db: [-90, null] })
  t.equal(encoderVerdict(encoder, stream).state, 'warn')
  known.events?.level([-20, -20], [-23, -23])
  t.match(check('level'), { state: 'ok', text: 'Peak -20.0 dBFS.' })
})

t.test('says by whose clock it sends', async (t) => {
  const { check, encoder, known, seconds } = encoderRig()
  await encoder.start()
  await seconds(1)
  known.ptp = ptpView({ state: 'listening', text: 'No clock is heard.' })
  t.match(check('clock'), { state: 'warn', code: 'no_ptp_lock', text: /^The board sends on its own clock\. No clock/ })
  known.ptp = ptpView({ state: 'holdover', text: 'Its clock is gone.' })
  t.match(check('clock'), { state: 'warn', code: 'holdover' })
  known.ptp = ptpView({ enabled: false, state: 'off', text: 'PTP is off.' })
  t.match(check('clock'), { state: 'ok', code: 'own_clock', text: /clock of this machine alone/ })
})

t.test('says what the network does not accept', async (t) => {
  const { check, encoder, known, seconds } = encoderRig()
  await encoder.start()
  await seconds(1)
  const error = 'Network is unreachable'
  known.sent = sentFacts({ packets: 1000, errors: 3, error })
  await seconds(1, 997)
  t.match(check('sending'), { state: 'warn', code: 'some_not_sent', text: /3 packets .*: Network is unreachable\./ })
  known.sent = sentFacts({ packets: 1997, errors: 1003, error })
  await seconds(1, 0)
  t.match(check('sending'), { state: 'fault', code: 'not_sent' })
  known.sent = sentFacts({ packets: 1997, errors: 2003, error })
  await seconds(1, 1000)
  t.match(check('sending'), { state: 'warn', code: 'some_not_sent' }, 'one of two networks is missing')
  known.sent = sentFacts({ packets: 2997, errors: 2003, idleMs: 1500 })
  await seconds(1, 0)
  t.match(check('sending'), { state: 'fault', code: 'nothing_sent' })
  known.sent = sentFacts({ packets: 3997, errors: 2003, lateUs: { p50: 10, p99: 1800, max: 4000 } })
  await seconds(1)
  t.match(check('sending'), { state: 'warn', code: 'late', text: /1\.8 ms late/ })
})

t.test('says how it is announced', async (t) => {
  const { check, encoder, known, seconds } = encoderRig()
  await encoder.start()
  await seconds(1)
  t.match(check('announced'), { state: 'ok', text: 'By SAP and RTSP.' })
  known.announced = { sap: true, last_at: null, rtsp: false }
  t.match(check('announced'), { state: 'warn' })
  known.announced = { sap: false, last_at: 1, rtsp: true }
  t.match(check('announced'), {
    state: 'warn',
    code: 'not_announced',
    text: /over SAP: the network takes none\. .* RTSP\.$/,
  })
  known.announced = { sap: false, last_at: null, rtsp: false }
  t.match(check('announced'), { state: 'warn', code: 'not_announced', text: /the network takes none\.$/ })
  const off = encoderRig(undefined, false)
  await off.encoder.start()
  await off.seconds(1)
  off.known.announced = { sap: false, last_at: null, rtsp: false }
  t.match(off.check('announced'), { state: 'ok', code: 'not_announced', text: /SAP is off/ })
  off.known.announced = { sap: false, last_at: null, rtsp: true }
  t.match(off.check('announced'), { state: 'ok', code: null, text: 'By RTSP.' })
})

t.test('a tone replaces the source for a while', async (t) => {
  const { check, clock, encoder, known, seen } = encoderRig()
  await encoder.start()
  await encoder.tone(true)
  t.equal(encoder.toneUntil, clock.epochMs() + 600_000)
  t.match(check('input'), { state: 'ok', code: 'tone', text: 'A tone of 997 Hz in 2 channels, in place of a source.' })
  await encoder.tone(true)
  t.same(seen, ['open alsa', 'close alsa', 'open tone'], 'asked for again it lasts longer without a break')
  clock.advance(600_000)
  await settled()
  t.same(
    seen.slice(3).filter((each) => each !== 'announce'),
    ['close tone', 'open alsa'],
  )
  t.equal(encoder.toneUntil, null)
  await encoder.tone(true)
  await encoder.tone(false)
  t.equal(encoder.care.source.kind, 'alsa')
  // A missing source is not a fault while a tone is sent.
  known.failure = new Fault('no_card', 'gone')
  known.events?.died(known.failure)
  await settled()
  known.failure = undefined
  await encoder.tone(true)
  t.equal(encoder.care.fault, null)
  t.equal(encoder.care.state, 'sending')
})

t.test('another clock and another address are announced, and packets are sent from that address', async (t) => {
  const { encoder, known, seconds, seen } = encoderRig()
  await encoder.start()
  known.ptpListener?.()
  t.same(seen, ['open alsa', 'announce'])
  known.hasMoved = true
  await seconds(1)
  known.hasMoved = false
  t.same(seen.slice(2), ['announce', 'close alsa', 'open alsa'])
  await encoder.stop()
  t.same(seen.slice(5), ['close alsa', 'end'])
  t.equal(known.isOver, true)
})

t.test('a change of address does not shorten the waits for a missing source', async (t) => {
  const { encoder, known, lost, seconds, seen } = encoderRig()
  await encoder.start()
  known.failure = lost
  known.events?.died(lost)
  known.hasMoved = true
  await seconds(10)
  const opened = () => seen.filter((what) => what === 'open alsa').length
  t.ok(opened() < 8, `${opened()} times in ten seconds`)
  t.equal(encoder.care.fault, lost)
  known.failure = undefined
  await seconds(10)
  t.ok(seen.includes('announce'))
  t.equal(encoder.care.state, 'sending')
})

t.test('keeps an hour of history, with counts per second', async (t) => {
  const { encoder, known, seconds } = encoderRig()
  await encoder.start()
  known.events?.level([-9.5, -30], [-20, -40])
  await seconds(3)
  const { series } = encoder.history.view()
  t.same(series.packets, [1000, 1000, 1000])
  t.same(series.spacing_p99_us, [1020, 1020, 1020])
  t.same(series.ptp_offset_ns, [38, 38, 38])
  t.same(series.peak_db, [-9.5, null, null])
})

t.test('a board that stops while a source is being opened releases it', async (t) => {
  const early = encoderRig()
  const begun = early.encoder.start()
  await early.encoder.stop()
  await begun
  t.same(early.seen, ['end'], 'it was never opened')
  const { encoder, seen } = encoderRig()
  const started = encoder.start()
  for (let turn = 0; turn < 5 && seen.length === 0; turn++) await Promise.resolve()
  await encoder.stop()
  await started
  t.same(seen, ['open alsa', 'close alsa', 'end'])
  t.equal(encoder.care.state, 'closed')
})

t.test('a source that takes long to open does not block, and is sent once it is open', async (t) => {
  const { clock, encoder, known } = encoderRig()
  const hang = Promise.withResolvers<void>()
  known.opensAfter = hang.promise
  const started = encoder.start()
  await clock.run(2000)
  await started
  t.match(encoderVerdict(encoder, stream), { state: 'busy', text: 'hw:1 is being opened.' })
  hang.resolve()
  await settled()
  t.equal(encoder.care.state, 'sending')
})
