import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import type { Meters } from '../../../../core/role.ts'
import { OutputCare } from '../../core/output.ts'
import { fakeOutput } from './decoder-rig.ts'

function careHere() {
  const clock = fakeClock()
  const { output, opener } = fakeOutput()
  const states: string[] = []
  const care = new OutputCare({
    ...{ clock, log: silentLog, opener, retry: { firstMs: 500, maxMs: 5000 }, stallLooks: 20 },
    own: (promise) => void promise.catch((error) => t.fail('a promise nobody awaits failed', error)),
    onChange: () => void states.push(care.state),
  })
  return { care, clock, output, states }
}

t.test('every output that is opened is given the stream and the volume', async (t) => {
  const { care, clock, output } = careHere()
  care.setGain(0.5)
  care.listen(7)
  await care.start()
  t.match(output, { listensTo: 7, gain: 0.5, opened: 1 })
  output.events.died('The sound card hw:1 is gone.')
  care.listen(8)
  care.setGain(0.25)
  t.match(care, { state: 'waiting', fault: { code: 'output_failed', message: 'The sound card hw:1 is gone.' } })
  await clock.run(500)
  t.match(output, { listensTo: 8, gain: 0.25, opened: 2, closed: 1 })
  t.match(care, { state: 'playing', fault: null, restarts: 1 })
})

t.test('an output that cannot be opened is tried again, with waits that double up to a limit', async (t) => {
  const { care, clock, output } = careHere()
  output.refuses = 'no such card'
  await care.start()
  const opened: number[] = []
  for (let ms = 0; ms < 21_000; ms += 100) {
    const before = output.opened
    await clock.run(100)
    if (output.opened > before) opened.push(clock.monotonicMs())
  }
  t.same(opened, [500, 1500, 3500, 7500, 12_500, 17_500])
  output.refuses = ''
  await clock.run(5000)
  t.equal(care.state, 'playing')
})

t.test('an output that worked for long begins with short waits again', async (t) => {
  const { care, clock, output } = careHere()
  await care.start()
  for (let round = 0; round < 3; round++) {
    output.events.died('gone')
    await clock.run(500 * 2 ** round - 1)
    t.equal(output.opened, round + 1)
    await clock.run(1)
    t.equal(output.opened, round + 2)
  }
  await clock.run(6000)
  output.events.died('gone')
  await clock.run(500)
  t.equal(output.opened, 5)
})

t.test('an output that died while it was opened is not shown as playing', async (t) => {
  const { care, clock, output } = careHere()
  output.diesAtOnce = 'The sound card hw:1 is busy.'
  await care.start()
  t.match(care, { state: 'waiting', restarts: 1, fault: { message: 'The sound card hw:1 is busy.' } })
  output.diesAtOnce = ''
  await clock.run(500)
  t.match(care, { state: 'playing', fault: null, restarts: 1 })
  t.equal(output.closed, 1)
})

t.test('an end counts once, however often it is reported', async (t) => {
  const { care, clock, output } = careHere()
  await care.start()
  output.events.died('one')
  output.events.died('again')
  t.equal(care.restarts, 1, 'an end counts once')
  await clock.run(500)
  t.equal(care.state, 'playing')
})

t.test('a stop ends the retries', async (t) => {
  const { care, clock, output, states } = careHere()
  await care.start()
  output.events.died('gone')
  await care.close()
  await clock.run(60_000)
  t.equal(output.opened, 1)
  t.same(states, ['playing', 'waiting', 'closed'])
  t.equal(clock.pending(), 0)
})

t.test('levels go to the listeners; silence is null, which JSON can express', async (t) => {
  const { care, clock, output } = careHere()
  await care.start()
  const heard: Meters[] = []
  const end = care.onMeters((meters) => void heard.push(meters))
  output.events.level([-3, Number.NEGATIVE_INFINITY], [-12, Number.NEGATIVE_INFINITY])
  end()
  output.events.level([-1], [-2])
  t.same(heard, [{ peak_db: [-3, null], rms_db: [-12, null] }])
  t.same(care.meters, { peak_db: [-1], rms_db: [-2] })
  await clock.run(4000)
  output.events.level([-120], [-120])
  t.equal(care.silenceMs, 4000)
  output.events.level([-1], [-2])
  t.equal(care.silenceMs, 0)
})

t.test('an output that stalls without an error is opened again', async (t) => {
  const { care, clock, output } = careHere()
  await care.start()
  for (let look = 0; look < 30; look++) {
    care.look()
    if (look === 15) output.events.level([-20], [-30])
  }
  t.match(care, { state: 'playing', restarts: 0 }, 'an output that still moves now and then is left alone')
  for (let look = 0; look < 6; look++) care.look()
  t.match(care, { state: 'waiting', fault: { message: /hw:1 has not moved/ } })
  await clock.run(500)
  t.match(care, { state: 'playing', restarts: 1 })
})

t.test('an output that takes long to open does not block, and plays once it is open', async (t) => {
  const { care, clock, output } = careHere()
  const hang = Promise.withResolvers<void>()
  output.opensAfter = hang.promise
  care.listen(7)
  const started = care.start()
  await clock.run(2000)
  await started
  t.match(care, { state: 'starting', fault: null })
  hang.resolve()
  await clock.run(1)
  t.match(care, { state: 'playing' })
  t.equal(output.listensTo, 7)
})

t.test('silence counts for the current stream only: not from an earlier one, nor from the volume', async (t) => {
  const { care, clock, output } = careHere()
  await care.start()
  output.events.level([-350], [-350])
  await clock.run(3_600_000)
  care.listen(7)
  t.equal(care.silenceMs, null, 'an hour without a stream is not an hour of this stream')
  output.events.level([-350], [-350])
  await clock.run(16_000)
  t.equal(care.silenceMs, 16_000)
  care.setGain(0)
  await clock.run(60_000)
  care.setGain(10 ** (-79 / 20))
  t.equal(care.silenceMs, null, 'nor is a minute in which it was muted')
  output.events.level([-99], [-105])
  await clock.run(16_000)
  output.events.level([-99], [-105])
  t.equal(care.silenceMs, 0, '20 dB below full scale, played at -79 dB')
  await clock.run(16_000)
  output.events.level([-176], [-180])
  t.equal(care.silenceMs, 16_000)
})
