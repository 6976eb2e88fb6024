/** Why it is silent: each reason, in words. */
import t from 'tap'
import { ptpView } from '../../../../test/core/ptp/fake-ptp.ts'
import { decoderVerdict } from '../../core/decoder-view.ts'
import { type DecoderRig, decoderRig, heardStream, pathCounts } from './decoder-rig.ts'

async function playing(change: Parameters<typeof heardStream>[0] = {}): Promise<DecoderRig> {
  const rig = decoderRig()
  await rig.decoder.start()
  rig.streams.push(heardStream(change))
  await rig.play()
  await rig.hear()
  return rig
}
const check = (rig: DecoderRig, name: string) => rig.decoder.checks().find((one) => one.name === name)
const verdict = (rig: DecoderRig) => decoderVerdict(rig.decoder)

t.test('the chain is in its order, and all of it is well while a stream plays', async (t) => {
  const rig = await playing()
  t.same(
    rig.decoder.checks().map(({ name, state }) => `${name} ${state}`),
    [
      ...['stream ok', 'packets ok', 'sender ok', 'format ok', 'clock ok', 'grandmaster ok'],
      ...['loss ok', 'volume ok', 'output ok'],
    ],
  )
  t.ok(rig.decoder.checks().every(({ text }) => text.endsWith('.')))
  t.match(check(rig, 'packets'), { text: '1000 packets a second arrive.' })
  t.match(check(rig, 'format'), { text: 'L24 with 2 channels, 1 ms a packet.' })
  t.same(verdict(rig), { state: 'ok', text: 'Playing Lobby music from 10.20.4.12.' })
})

t.test('the first broken link is the reason, and no later one is judged', async (t) => {
  const rig = await playing()
  await rig.route({ mcast: '' })
  const [stream, ...behind] = rig.decoder.checks()
  t.same(stream, { name: 'stream', state: 'off', code: 'stopped', text: 'No stream is chosen.' })
  t.equal(behind.length, 8)
  t.ok(behind.every(({ state, text }) => state === 'not_judged' && text === ''))
  t.same(verdict(rig), { state: 'off', text: 'No stream is chosen.' })
})

t.test('no_packets: for how long, and the possible cause', async (t) => {
  const rig = decoderRig()
  await rig.decoder.start()
  await rig.play()
  t.match(verdict(rig), { state: 'busy', text: 'The first packet of 239.69.10.4:5004 is awaited.' })
  await rig.clock.run(12_000)
  t.match(check(rig, 'packets'), {
    state: 'fault',
    code: 'no_packets',
    text: /No packet comes to 239.69.10.4:5004, for 12 s/,
  })
  const gone = await playing()
  await gone.clock.run(5000)
  t.match(check(gone, 'packets'), { code: 'no_packets', text: /for 5 s: the sender has stopped/ })
  t.match(verdict(gone), { state: 'fault', text: /^Lobby music is silent\. No packet/ })
})

t.test('wrong_source: names the sender heard and the one wanted, and says that two use the group', async (t) => {
  const rig = decoderRig()
  await rig.decoder.start()
  rig.streams.push(heardStream(), heardStream({ source: '10.20.4.31' }))
  await rig.route({ mcast: '239.69.10.4', port: '5004', source: '10.20.4.12' })
  await rig.clock.run(2000)
  t.match(rig.receivers, [{ tuning: { paths: [{ source: '10.20.4.12' }] } }, { tuning: { paths: [{ source: null }] } }])
  t.equal(rig.output.listensTo, 1, 'the wanted sender is not heard')
  rig.receiver().stats = { ...rig.receiver().stats, paths: [pathCounts({ sender: '10.20.4.31', packets: 9 })] }
  await rig.clock.run(250)
  const text = 'Packets arrive from 10.20.4.31; this route wants 10.20.4.12. Two encoders use 239.69.10.4.'
  t.match(check(rig, 'sender'), { state: 'fault', code: 'wrong_source', text })
  t.equal(check(rig, 'packets')?.state, 'ok')
  t.equal(check(rig, 'format')?.state, 'not_judged')
  await rig.route({ mcast: '' })
  await rig.clock.run(250)
  t.equal(rig.receiver().isClosed, true)
})

t.test('two_senders: the right one plays, and the other one is named', async (t) => {
  const rig = await playing()
  let wrongSource = 0
  for (let second = 0; second < 2; second++) {
    wrongSource += 100
    await rig.hear('10.20.4.12', [{ wrongSource, wrongSourceAddress: '10.20.4.31' }])
  }
  t.same(rig.trouble(), ['sender warn two_senders'])
  t.match(verdict(rig), { state: 'warn', text: /10.20.4.12 is played; 10.20.4.31 sends to 239.69.10.4 as well/ })
})

t.test(
  'two_senders: a sender of two streams to the group is named, and not an earlier one that has stopped',
  async (t) => {
    const rig = await playing()
    await rig.hear('10.20.4.12', [{ wrongSource: 100, wrongSourceAddress: '10.20.4.31' }])
    for (let second = 0; second < 3; second++) await rig.hear('10.20.4.12')
    t.same(rig.trouble(), [])
    await rig.hear('10.20.4.12', [{ otherSsrc: 100 }])
    t.same(rig.trouble(), ['sender warn two_senders'])
    t.match(check(rig, 'sender')?.text, /^10\.20\.4\.12 sends more than one stream to 239\.69\.10\.4/)
    t.equal(rig.decoder.tuner.reception.totals.wrong_source, 200)
  },
)

t.test('wrong_encoding: the route is compared with the announcement, and with the packets', async (t) => {
  const rig = await playing()
  await rig.route({ mcast: '239.69.10.4', port: '5004', encoding: 'L16' })
  await rig.hear()
  t.match(check(rig, 'format'), { code: 'wrong_encoding', text: 'This route plays L16; 10.20.4.12 announces L24.' })
  t.equal(rig.output.listensTo, 0, 'noise is not played')

  const other = await playing()
  for (let look = 1; look < 12; look++) {
    const paths = [{ ...pathCounts({ sender: '10.20.4.12' }), packets: 1000, wrongFormat: 250 * look }]
    other.receiver().stats = { ...other.receiver().stats, paths, frameBytes: 4 }
    await other.clock.run(250)
  }
  t.match(check(other, 'format'), { code: 'wrong_encoding', text: /carry 4 bytes .* L24 with 2 channels has 6/ })
  const fast = await playing({ sample_rate: 96_000, not_playable: 'It runs at 96000 Hz. A board plays 48000 Hz.' })
  t.match(check(fast, 'format'), { code: 'wrong_encoding', text: /96000 Hz/ })
})

t.test('no_ptp_lock and other_grandmaster name the clocks', async (t) => {
  const rig = decoderRig()
  rig.ptp.is = ptpView({ state: 'listening', text: 'No clock is heard in domain 0.' })
  await rig.decoder.start()
  rig.streams.push(heardStream())
  await rig.play()
  await rig.hear()
  t.match(check(rig, 'clock'), {
    code: 'no_ptp_lock',
    text: /needs the clock of 00-1D-C1-.*No clock is heard in domain 0/,
  })
  const other = await playing({ refclk: { kind: 'ptp', grandmaster: '00-1D-C1-FF-FE-AA-AA-AA', domain: 1 } })
  t.match(check(other, 'grandmaster'), {
    state: 'fault',
    code: 'other_grandmaster',
    text: /follows 00-1D-C1-FF-FE-AA-AA-AA in domain 1; this board follows 00-1D-C1-FF-FE-12-34-56/,
  })
})

t.test('loss: how much of the last minute was missing, and whether another link offset would help', async (t) => {
  const rig = await playing()
  rig.receiver().stats = { ...rig.receiver().stats, lost: 50 }
  await rig.hear()
  t.match(check(rig, 'loss'), { state: 'warn', code: 'loss', text: '2.44 % was missing in the last minute.' })
  rig.receiver().stats = { ...rig.receiver().stats, late: 30 }
  await rig.hear()
  t.match(check(rig, 'loss'), { code: 'late', text: /30 packets came later than the link offset of 10 ms allows/ })
  for (let second = 0; second < 61; second++) await rig.hear()
  t.match(check(rig, 'loss'), { state: 'ok', text: 'Nothing was lost in the last minute.' })
  rig.receiver().stats = { ...rig.receiver().stats, lost: 200_000 }
  await rig.hear()
  t.match(check(rig, 'loss'), { state: 'fault' })
})

t.test('muted and volume 0 are reported as intended', async (t) => {
  const rig = await playing()
  rig.decoder.volume.change('mute', { mute: '1' })
  t.same(rig.trouble(), ['volume off muted'])
  t.match(verdict(rig), { state: 'off', text: 'Lobby music is not heard. It is muted.' })
  rig.decoder.volume.change('volume', { volume: '0', mute: '0' })
  t.same(rig.trouble(), ['volume off volume_zero'])
})

t.test('a stream that carries silence is reported', async (t) => {
  const rig = await playing()
  rig.output.events.level([-20, -20], [-30, -30])
  for (let second = 0; second < 16; second++) {
    rig.output.events.level([Number.NEGATIVE_INFINITY, -120], [-120, -120])
    await rig.hear()
  }
  t.match(check(rig, 'volume'), { state: 'warn', code: 'silence', text: /silence for 16 s/ })
})

t.test('an output that has gone is named', async (t) => {
  const rig = await playing()
  rig.output.refuses = 'The sound card hw:1 is not plugged in.'
  rig.output.events.died('The sound card hw:1 is gone.')
  t.match(check(rig, 'output'), { state: 'fault', code: 'output_failed', text: 'The sound card hw:1 is gone.' })
  rig.output.refuses = ''
  await rig.clock.run(600)
  await rig.hear()
  t.equal(check(rig, 'output')?.text, 'The sound card hw:1 plays.')
  rig.output.underruns = 3
  await rig.hear()
  t.match(check(rig, 'output'), {
    state: 'warn',
    code: 'underruns',
    text: 'The sound card hw:1 ran empty 3 times in the last minute.',
  })
  rig.output.skippedMs = 412
  await rig.hear()
  t.match(check(rig, 'output'), {
    state: 'warn',
    code: 'held_up',
    text: 'This board stood still: 412 ms of sound were left out in the last minute.',
  })
  await rig.clock.run(61_000)
  await rig.hear()
  t.equal(check(rig, 'output')?.text, 'The sound card hw:1 plays.')
})

t.test('the announcing sender is named, also if nobody or another one announces', async (t) => {
  const rig = await playing()
  t.match(check(rig, 'stream'), { code: null, text: 'Lobby music is announced by 10.20.4.12.' })
  rig.streams.push(heardStream({ source: '10.20.4.31', id: 'x' }))
  await rig.route({ mcast: '239.69.10.4', port: '5004', source: '10.20.4.99' })
  t.match(check(rig, 'stream'), { code: 'announced_twice' })
  rig.streams.pop()
  t.match(check(rig, 'stream'), {
    state: 'ok',
    code: 'other_announced',
    text: /10.20.4.12 announces .* plays another sender/,
  })
  rig.streams.pop()
  t.match(check(rig, 'stream'), { state: 'ok', code: 'not_announced' })
})

t.test('pages are notified when a link of the chain breaks, and not at each check', async (t) => {
  const rig = await playing()
  const { changes } = rig.count
  await rig.hear()
  t.equal(rig.count.changes, changes)
  await rig.clock.run(3000)
  t.equal(rig.count.changes, changes + 1)
})

t.test('other_time: how far the timestamps are off', async (t) => {
  const rig = await playing()
  for (let look = 1; look < 12; look++) {
    const { stats } = rig.receiver()
    const paths = [pathCounts({ sender: '10.20.4.12', packets: 1000 + 250 * look })]
    rig.receiver().stats = { ...stats, paths, wild: 250 * look, transitMs: 37_000.4 }
    await rig.clock.run(250)
  }
  t.match(check(rig, 'clock'), {
    state: 'fault',
    code: 'other_time',
    text: 'Timestamps are 37.000 s behind the clock of this board.',
  })
})

t.test('a packet counted as lost that still arrives is not missing', async (t) => {
  const rig = await playing()
  rig.receiver().stats = { ...rig.receiver().stats, lost: 5 }
  await rig.hear()
  rig.receiver().stats = { ...rig.receiver().stats, lost: 0 }
  await rig.hear()
  t.match(check(rig, 'loss'), { state: 'ok' })
})
