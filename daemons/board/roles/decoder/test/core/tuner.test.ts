import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { GRANDMASTER, ptpView } from '../../../../test/core/ptp/fake-ptp.ts'
import { decoderRig, heardStream, OTHER_GRANDMASTER } from './decoder-rig.ts'

async function started(change: Parameters<typeof decoderRig>[0] = {}) {
  const rig = decoderRig(change)
  await rig.decoder.start()
  return rig
}

t.test('B.route an empty mcast stops: nothing is heard, and the receiver is closed after its fade', async (t) => {
  const rig = await started()
  await rig.play()
  await rig.hear()
  await rig.route({ mcast: '' })
  t.equal(rig.output.listensTo, 0)
  t.equal(rig.receiver().isClosed, false, 'it fades')
  await rig.clock.run(100)
  t.equal(rig.receiver().isClosed, true)
  await rig.clock.run(60_000)
  t.equal(rig.receivers.length, 1)
})

t.test('another route opens another receiver, and the old one fades', async (t) => {
  const rig = await started()
  await rig.play()
  await rig.route({ mcast: '239.69.10.5', port: '5004' })
  t.match(rig.receivers, [{ isClosed: false }, { tuning: { paths: [{ group: '239.69.10.5' }] } }])
  t.equal(rig.output.listensTo, 2)
  await rig.clock.run(100)
  t.match(rig.receivers, [{ isClosed: true }, { isClosed: false }])
})

t.test('another link offset does not need another receiver', async (t) => {
  const rig = await started()
  await rig.play()
  await rig.route({ mcast: '239.69.10.4', port: '5004', link_ms: '33' })
  t.equal(rig.receivers.length, 1)
  t.equal(rig.receiver().linkMs, 33)
})

t.test('the link offset grows when the sender heard is outside this network', async (t) => {
  const rig = await started()
  await rig.play()
  t.equal(rig.receiver().linkMs, 10)
  await rig.hear('10.99.9.9')
  t.equal(rig.receivers.length, 1)
  t.equal(rig.receiver().linkMs, 30)
})

t.test('an announcement of what is already known changes nothing', async (t) => {
  const rig = await started()
  await rig.play()
  await rig.hear('10.20.4.12')
  rig.streams.push(heardStream({ refclk: { kind: 'localmac', mac: '00-00-00-00-00-01' } }))
  await rig.hear('10.20.4.12')
  t.equal(rig.receivers.length, 1)
  t.equal(rig.decoder.tuner.plan?.announcement?.name, 'Lobby music')
})

t.test('a change of the announcement is followed if the route leaves the choice to it', async (t) => {
  const rig = await started()
  rig.streams.push(heardStream())
  await rig.play()
  await rig.hear()
  rig.streams[0] = heardStream({ encoding: 'L16', channels: 4, mclk_offset: 9 })
  rig.decoder.retune()
  t.match(rig.receiver().tuning, { encoding: 'L16', channels: 4, mediaOffset: 9 })
  t.equal(rig.output.listensTo, 2)
})

t.test('B.rules.1 the announced sender is played even if another one was heard first', async (t) => {
  const rig = await started()
  await rig.play()
  await rig.hear('10.20.4.31')
  rig.streams.push(heardStream())
  await rig.clock.run(250)
  t.match(rig.receiver().tuning, { paths: [{ source: '10.20.4.12' }] })
})

t.test(
  'B.rules.1 the current sender stays while two announce its group; once it is silent, the first one heard follows',
  async (t) => {
    const rig = await started()
    rig.streams.push(heardStream())
    await rig.play()
    await rig.hear()
    rig.streams.push(heardStream({ source: '10.20.4.31' }))
    await rig.hear()
    t.equal(rig.receivers.length, 1)
    await rig.clock.run(2500)
    t.match(rig.receiver().tuning, { paths: [{ source: null }] })
  },
)

t.test('a board that was never locked receives and is silent; once locked it plays', async (t) => {
  const unlocked = decoderRig()
  unlocked.ptp.is = ptpView({ state: 'listening', text: 'No clock is heard.' })
  await unlocked.decoder.start()
  unlocked.streams.push(heardStream())
  await unlocked.play()
  await unlocked.hear()
  t.equal(unlocked.output.listensTo, 0)
  t.same(unlocked.trouble(), ['clock fault no_ptp_lock'])
  unlocked.ptp.is = ptpView()
  for (const listener of unlocked.ptp.listeners) listener()
  t.equal(unlocked.output.listensTo, 1)
})

t.test('the sound survives an election: sender and board can name different clocks for a while', async (t) => {
  const rig = await started()
  rig.streams.push(heardStream())
  await rig.play()
  await rig.hear()
  rig.ptp.is = ptpView({ state: 'holdover', text: 'The clock is not heard.' })
  await rig.hear()
  rig.streams[0] = heardStream({ refclk: { kind: 'ptp', grandmaster: OTHER_GRANDMASTER, domain: 0 } })
  for (let second = 0; second < 15; second++) await rig.hear()
  t.equal(rig.receivers.length, 1)
  t.equal(rig.output.listensTo, 1)
  t.same(rig.trouble(), ['clock warn holdover', 'grandmaster warn other_grandmaster'])
  for (let second = 0; second < 6; second++) await rig.hear()
  t.equal(rig.output.listensTo, 0)
  t.same(rig.trouble(), ['clock warn holdover', 'grandmaster fault other_grandmaster'])
  rig.ptp.ref = { kind: 'ptp', grandmaster: OTHER_GRANDMASTER, domain: 0 }
  rig.ptp.is = ptpView()
  for (const listener of rig.ptp.listeners) listener()
  t.equal(rig.output.listensTo, 1)
})

t.test('a stream of another grandmaster is silent from the start', async (t) => {
  const rig = await started()
  rig.streams.push(heardStream({ refclk: { kind: 'ptp', grandmaster: OTHER_GRANDMASTER, domain: 0 } }))
  await rig.play()
  await rig.hear()
  t.equal(rig.output.listensTo, 0)
  t.same(rig.trouble(), ['grandmaster fault other_grandmaster'])
})

t.test('an unannounced stream whose timestamps match the board’s clock is played by it', async (t) => {
  const rig = await started()
  await rig.play()
  t.equal(rig.receiver().tuning.sync, 'arrival')
  rig.receiver().stats = { ...rig.receiver().stats, transitMs: 1.2 }
  await rig.hear()
  t.equal(rig.receiver().tuning.sync, 'clock')
  await rig.hear()
  t.equal(rig.receivers.length, 2)
})

t.test('a silent group is joined again from time to time', async (t) => {
  const rig = await started()
  await rig.play()
  await rig.clock.run(9900)
  t.equal(rig.receivers.length, 1)
  await rig.clock.run(11_000)
  t.equal(rig.receivers.length, 3)
  t.match(
    rig.receivers.map(({ isClosed }) => isClosed),
    [true, true, false],
  )
})

t.test('a receiver that cannot be opened is reported, and tried again', async (t) => {
  const rig = await started()
  rig.receiving.refuses = new Fault('receiver_failed', 'eth9 is not there: the stream is not received.')
  await rig.play()
  await rig.clock.run(5000)
  t.same(rig.trouble(), ['packets fault receiver_failed'])
  rig.receiving.refuses = undefined
  await rig.clock.run(6000)
  t.equal(rig.receivers.length, 1)
  await rig.hear()
  t.same(rig.trouble(), [])
})

t.test('counts continue across receivers', async (t) => {
  const rig = await started()
  rig.streams.push(heardStream({ refclk: { kind: 'ptp', grandmaster: GRANDMASTER, domain: 0 } }))
  await rig.play()
  await rig.hear()
  await rig.route({ mcast: '239.69.10.4', port: '5004', mclk_offset: '5' })
  await rig.hear()
  t.equal(rig.receivers.length, 2)
  t.equal(rig.decoder.tuner.reception.totals.packets, 2000)
})

t.test('a board that stops closes every receiver, even those that fade', async (t) => {
  const rig = await started()
  await rig.play()
  await rig.route({ mcast: '239.69.10.5', port: '5004' })
  await rig.decoder.stop()
  t.same(
    rig.receivers.map(({ isClosed }) => isClosed),
    [true, true],
  )
  t.equal(rig.output.closed, 1)
  t.equal(rig.clock.pending(), 0)
})

t.test('B.rules.2 the sound continues when the announcement is lost: the packets are unchanged', async (t) => {
  const rig = await started()
  rig.streams.push(heardStream({ encoding: 'L16', mclk_offset: 9 }))
  await rig.play()
  rig.receiver().stats = { ...rig.receiver().stats, transitMs: 1 }
  await rig.hear()
  rig.streams.pop()
  rig.decoder.retune()
  await rig.hear()
  t.equal(rig.receivers.length, 1)
  t.equal(rig.output.listensTo, 1)
  t.match(rig.receiver().tuning, { encoding: 'L16', channels: 2, mediaOffset: 9, sync: 'clock' })
  t.equal(rig.decoder.tuner.plan?.announcement, null)
  await rig.clock.run(2500)
  t.match(rig.receiver().tuning, { encoding: 'L24', channels: 0, mediaOffset: 0 }, 'until it is silent')
})

t.test(
  'B.rules.1 the current sender stays even if its receiver was just reopened, and has heard nobody yet',
  async (t) => {
    const rig = await started()
    rig.streams.push(heardStream())
    await rig.play()
    await rig.hear()
    rig.streams.push(heardStream({ id: '10.20.4.31/1', source: '10.20.4.31' }))
    await rig.hear()
    rig.streams[0] = heardStream({ mclk_offset: 9 })
    rig.decoder.retune()
    rig.decoder.retune()
    t.equal(rig.receivers.length, 2)
    t.match(rig.receiver().tuning, { mediaOffset: 9, paths: [{ source: '10.20.4.12' }] })
  },
)

t.test(
  'the time without packets counts from the choice of the stream, also if nothing was played before',
  async (t) => {
    const rig = await started()
    await rig.play()
    await rig.hear()
    await rig.route({ mcast: '' })
    await rig.clock.run(3_600_000)
    await rig.route({ mcast: '239.69.10.5', port: '5004' })
    t.same(rig.trouble(), [])
    await rig.clock.run(5000)
    t.match(
      rig.decoder.checks().find(({ name }) => name === 'packets'),
      { text: /^No packet comes to 239\.69\.10\.5:5004, for 5 s now/ },
    )
  },
)

t.test('a board that has stopped opens no receiver for a later announcement', async (t) => {
  const rig = await started()
  await rig.play()
  await rig.decoder.stop()
  rig.streams.push(heardStream())
  rig.decoder.retune()
  t.same(
    rig.receivers.map(({ isClosed }) => isClosed),
    [true],
  )
})
