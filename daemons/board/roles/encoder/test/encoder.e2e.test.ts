/** A board in the role encoder, as a program: its stream is heard on loopback, and described as it is. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { type RunningBoard, setUp, startBoard } from '../../../test/running-board.ts'
import { startReceiver } from '../../../test/sound/rtp-receiver.ts'
import { channelOf, fitTone } from '../../../test/sound/tone.ts'
import { readSdp } from '../../../wire/streams/sdp.ts'

const skip = gstMissing()

const SETS = [
  'board.role=encoder',
  'mdns.enabled=false',
  'streams.ravenna=false',
  'streams.sap_ttl=1',
  'ptp.enabled=false',
  'audio.source=tone',
  'audio.interface=lo',
  'audio.tone_db=0',
  'audio.ttl=1',
  // A machine that is busy with other tests, and gives no real-time priority, can be later than packets are allowed to be.
  'audio.late_ms=500',
]

/** The encoder's part of the status, once it sends: in time, or saying that this machine is too busy for that. */
async function sending(board: RunningBoard) {
  let body: Awaited<ReturnType<RunningBoard['get']>>['body']
  await until('the board sends', async () => {
    ;({ body } = await board.get('/api/status'))
    const { checks, meters } = body.encoder
    const isWell = checks.every(({ state, code }: Record<string, string>) => state === 'ok' || code === 'late')
    return isWell && ['ok', 'warn'].includes(body.verdict.state) && meters !== null
  })
  return body
}

async function heard(
  t: Test,
  { mcast: group, port, encoding }: { mcast: string; port: number; encoding: 'L16' | 'L24' },
) {
  return await startReceiver(t, { group, port, encoding })
}

t.test('B.encoder a board sends the stream that its stream.sdp describes', { skip }, async (t) => {
  const board = await startBoard(t, { sets: SETS })
  let { encoder, ptp, verdict } = await sending(board)

  t.test('the status has the stream, its source, its levels and its packets', async (t) => {
    const { stream } = encoder
    t.ok(verdict.text.startsWith(`Sends ${stream.name} to ${stream.mcast}:${stream.port}.`), verdict.text)
    t.match(encoder, {
      state: 'sending',
      stream: { encoding: 'L24', channels: 2, packet_ms: 1, payload_type: 97, dscp: 34, ttl: 1, dup: null },
      source: { kind: 'tone', name: 'A tone of 997 Hz', found: true },
      sent: { errors: 0, spacing_us: { p50: Number, p99: Number, max: Number } },
      realtime: { granted: Boolean, text: String },
      tone_until: null,
    })
    t.equal(ptp.state, 'off')
    t.equal(stream.refclk.kind, 'localmac')
    t.ok(Math.abs(encoder.meters.peak_db[1]) < 0.1, `${encoder.meters.peak_db}`)
    t.same(
      encoder.checks.map(({ name, state, code }: Record<string, string>) =>
        code === 'late' ? `${name} ok` : `${name} ${state}`,
      ),
      ['input ok', 'level ok', 'clock ok', 'sending ok', 'announced ok'],
    )
  })

  t.test('B.auth.1 GET /stream.sdp describes it to anyone, password or not', async (t) => {
    await board.post('/api/password', { password: 'a tone and a half' })
    t.equal((await board.get('/api/status')).status, 401)
    const { body, headers, status } = await board.get('/stream.sdp')
    await board.post('/api/password', { password: '' }, 'a tone and a half')
    t.same([status, headers.get('content-type')], [200, 'application/sdp'])
    t.equal(body, encoder.announced.sdp)
    const description = readSdp(body)
    const { mcast, name, port } = encoder.stream
    t.match(description, { name, origin: '127.0.0.1', encoding: 'L24', channels: 2, sampleRate: 48_000, packetMs: 1 })
    t.match(description, { payloadType: 97, mediaOffset: 0, refClock: { kind: 'localmac' } })
    t.match(description.paths, [{ group: mcast, port, ttl: 1, source: null }])
  })

  t.test('RFC 3190 a pure tone of 997 Hz is heard, packet by packet', async (t) => {
    const receiver = await heard(t, encoder.stream)
    await receiver.heard(1000)
    t.same(receiver.malformed, [])
    const [first] = receiver.packets
    t.equal(first?.payloadType, 97)
    t.ok(receiver.packets.every(({ timestamp }, at) => timestamp === ((first?.timestamp ?? 0) + 48 * at) % 2 ** 32))
    const samples = receiver.samples(2)
    for (const channel of [0, 1]) {
      const { level, thdNoiseDb } = fitTone(channelOf(samples, 2, channel), 24, 997)
      t.ok(thdNoiseDb < -130, `channel ${channel}: ${thdNoiseDb.toFixed(1)} dB`)
      t.ok(level > 0.99)
    }
  })

  t.test('its history grows every second, and Prometheus has its counts', async (t) => {
    const { series, step_s } = (await board.get('/api/history')).body
    t.equal(step_s, 1)
    t.ok(series.packets.some((count: number | null) => (count ?? 0) > 900))
    t.match((await board.get('/metrics')).body, /encoder_packets_total [1-9]/)
  })

  t.test('a missing source is named, and a tone can be sent anyway', async (t) => {
    await setUp(board, { audio_device: 'hw:29', channels: '1', encoding: 'L16', packet_ms: '4' })
    await until('the card is missed', async () => {
      const { body } = await board.get('/api/status')
      return body.verdict.state === 'fault' && /hw:29/.test(body.verdict.text)
    })
    t.same((await board.get('/api/status')).body.encoder.source, { kind: 'alsa', name: 'hw:29', found: false })
    const { body } = await board.post('/api/tone', { on: '1' })
    t.ok(body.tone_until > Date.now() + 500_000)
    ;({ encoder, verdict } = await sending(board))
    t.equal(encoder.tone_until, body.tone_until)
    const receiver = await heard(t, encoder.stream)
    await receiver.heard(100)
    t.same(receiver.malformed, [])
    t.ok(receiver.packets.every(({ samples }) => samples.length === 192))
    const { thdNoiseDb } = fitTone(channelOf(receiver.samples(1), 1, 0), 16, 997)
    t.ok(thdNoiseDb < -95, `L16: ${thdNoiseDb.toFixed(1)} dB`)
    t.match(readSdp((await board.get('/stream.sdp')).body), { encoding: 'L16', channels: 1, packetMs: 4 })
    await board.post('/api/tone', { on: '0' })
    const before = receiver.packets.length
    await sleep(100)
    const after = receiver.packets.length
    await sleep(100)
    t.ok(after - before < 30 && receiver.packets.length === after, 'nothing is sent of a missing source')
  })

  // A part that takes too long to stop ends the daemon with another code.
  await t.test('SIGTERM stops the board', async (t) => t.equal(await board.stop(), 0))
})
