/** Tests of what is accepted about another board's sound: whatever it answers, only short texts and finite numbers. */
import fc from 'fast-check'
import t from 'tap'
import { soundOf, volumeOf } from '../../web/far-boards.ts'
import { fakeDecoder, fakeEncoder } from '../fake-sound.ts'

t.test('the route, loudness, chain and counts of a decoder are taken', async (t) => {
  t.match(soundOf({ decoder: fakeDecoder() }), {
    kind: 'decoder',
    route: { mcast: '239.69.10.4', port: 5004, source: null, name: 'Lobby music' },
    playing: true,
    volume: { volume: 63, volumeDb: -12, mute: false },
    lossPercent: 0,
    rmsDb: -18.4,
  })
})

t.test('the stream and the level of an encoder are taken', async (t) => {
  t.same(soundOf({ encoder: fakeEncoder() }), {
    kind: 'encoder',
    stream: { mcast: '239.69.10.4', port: 5004, name: 'Lobby music', encoding: 'L24', channels: 2 },
    rmsDb: -18.4,
  })
  t.equal(soundOf({ serial: {} }), null)
})

t.test('an answer of any shape and size is cut down', async (t) => {
  const huge = soundOf({
    decoder: {
      route: { mcast: 'x'.repeat(5000), port: Number.POSITIVE_INFINITY },
      checks: Array.from({ length: 5000 }, () => ({ name: {}, state: [], text: 'y'.repeat(5000) })),
      meters: { rms_db: Array(5000).fill('loud') },
      volume: { volume: '1' },
    },
  })
  t.match(huge, { route: { port: 0 }, volume: null, rmsDb: null, playing: false })
  if (huge?.kind !== 'decoder') throw new Error('it is one')
  t.equal(huge.route.mcast.length, 200)
  t.equal(huge.checks.length, 16)
  t.match(huge.checks[0], { name: '', state: 'not_judged', code: null })
  t.equal(volumeOf(null), null)
  fc.assert(
    fc.property(fc.anything(), (value) => {
      soundOf(value)
      soundOf({ decoder: value })
      soundOf({ decoder: { route: value, meters: value, checks: value, volume: value, counters: value } })
      soundOf({ encoder: { stream: value, meters: value } })
    }),
  )
})
