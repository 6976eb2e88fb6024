/** Which sender, which announcement, which time, and how far away: rules without memory. */
import t from 'tap'
import { GRANDMASTER } from '../../../../test/core/ptp/fake-ptp.ts'
import {
  announcementOf,
  chooseSource,
  chooseSync,
  isInLocalSegment,
  type OwnClock,
  planTuning,
  streamSender,
} from '../../core/tuning-plan.ts'
import { heardStream, OTHER_GRANDMASTER } from './decoder-rig.ts'

const AT = { mcast: '239.69.10.4', port: 5004 }
const nobody = { named: null, announced: [], playing: null, held: null }

t.test('B.rules.1 source in the route is the sender that is played', async (t) => {
  t.equal(chooseSource({ ...nobody, named: '10.1.1.1', announced: ['10.2.2.2'], playing: '10.2.2.2' }), '10.1.1.1')
})

t.test('B.rules.1 without it the announced sender is played, if only one announces that address', async (t) => {
  t.equal(chooseSource({ ...nobody, announced: ['10.2.2.2', '10.2.2.2'] }), '10.2.2.2')
  t.equal(chooseSource({ ...nobody, announced: ['10.2.2.2'], playing: '10.3.3.3' }), '10.2.2.2')
})

t.test('B.rules.1 otherwise the first sender heard is played', async (t) => {
  t.equal(chooseSource(nobody), null)
  t.equal(chooseSource({ ...nobody, announced: ['10.2.2.2', '10.3.3.3'] }), null)
  t.equal(chooseSource({ ...nobody, playing: '10.3.3.3' }), null)
})

t.test(
  'B.rules.1 the current sender stays when another one begins to announce its group, until it falls silent',
  async (t) => {
    const two = ['10.2.2.2', '10.3.3.3']
    t.equal(chooseSource({ ...nobody, announced: two, held: '10.2.2.2', playing: '10.2.2.2' }), '10.2.2.2')
    t.equal(chooseSource({ ...nobody, announced: two, held: '10.2.2.2' }), null)
    t.equal(chooseSource({ ...nobody, held: '10.2.2.2', playing: '10.2.2.2' }), '10.2.2.2', 'not announced any more')
  },
)

t.test('the announcement of a sender is its own, the newest if it has several', async (t) => {
  const mine = heardStream({ last_heard_at: 5 })
  const older = heardStream({ last_heard_at: 2, encoding: 'L16' })
  const other = heardStream({ source: '10.20.4.31', last_heard_at: 9 })
  t.equal(announcementOf([older, mine, other], AT, '10.20.4.12'), mine)
  t.equal(announcementOf([other], AT, null), other, 'the only announcement, while nobody is heard')
  t.equal(announcementOf([mine, other], AT, null), null)
  t.equal(announcementOf([mine], AT, '10.20.4.99'), null)
})

t.test('an announcement by somebody else does not count if the sender announces itself', async (t) => {
  const mine = heardStream({ last_heard_at: 5 })
  const forged = heardStream({ id: 'x by 10.20.4.66', from: '10.20.4.66', encoding: 'L16', last_heard_at: 9 })
  t.equal(announcementOf([forged, mine], AT, '10.20.4.12'), mine)
  t.equal(
    announcementOf([forged], AT, '10.20.4.12'),
    forged,
    'a directory announces streams that do not announce themselves',
  )
})

t.test('each of two paths has its own sender', async (t) => {
  const both = heardStream({ dup: { mcast: '239.70.10.4', port: 5004, source: '10.21.4.12' } })
  t.equal(streamSender(both, '239.69.10.4', 5004), '10.20.4.12')
  t.equal(streamSender(both, '239.70.10.4', 5004), '10.21.4.12')
})

const locked: OwnClock = {
  view: { enabled: true, state: 'locked' },
  refClock: { kind: 'ptp', grandmaster: GRANDMASTER, domain: 0 },
  isLocked: true,
  wasLocked: true,
}
const byMachine: OwnClock = {
  view: { enabled: false, state: 'off' },
  refClock: { kind: 'localmac', mac: '00-1d-c1-00-00-01' },
  isLocked: false,
  wasLocked: false,
}
const sync = (refclk: ReturnType<typeof heardStream>['refclk'], own: OwnClock, transitMs: number | null = null) =>
  chooseSync({ announcement: { refclk }, own, transitMs })
const byPtp = (grandmaster: string, domain = 0) => ({ kind: 'ptp', grandmaster, domain }) as const

t.test('a stream on the grandmaster that this board follows is played by that clock', async (t) => {
  t.same(sync(byPtp(GRANDMASTER), locked), { sync: 'clock', broken: null })
})

t.test(
  'a stream on a grandmaster is silent before the first lock, and while this board follows another grandmaster',
  async (t) => {
    const listening = { ...locked, view: { enabled: true, state: 'listening' as const }, isLocked: false }
    t.same(sync(byPtp(GRANDMASTER), { ...listening, wasLocked: false }), { sync: 'clock', broken: 'no_ptp_lock' })
    t.same(sync(byPtp(GRANDMASTER), listening), { sync: 'clock', broken: null }, 'once locked it keeps playing')
    t.same(sync(byPtp(OTHER_GRANDMASTER), locked), { sync: 'clock', broken: 'other_grandmaster' })
    t.same(sync(byPtp(GRANDMASTER, 3), locked), { sync: 'clock', broken: 'other_grandmaster' }, 'in another domain')
  },
)

t.test('without PTP here, and for a sender on its own clock, packets are played by their arrival', async (t) => {
  t.same(sync(byPtp(GRANDMASTER), byMachine), { sync: 'arrival', broken: null })
  const none = { ...locked, view: { enabled: true, state: 'absent' as const }, isLocked: false, wasLocked: false }
  t.same(sync(byPtp(GRANDMASTER), none), { sync: 'arrival', broken: null })
  t.same(sync({ kind: 'localmac', mac: '00-1D-C1-00-00-02' }, byMachine), { sync: 'arrival', broken: null })
  t.same(sync({ kind: 'localmac', mac: '00-1D-C1-00-00-01' }, byMachine), { sync: 'clock', broken: null }, 'our own')
})

t.test('a stream that names no clock uses that of the board if its timestamps match', async (t) => {
  const other = { kind: 'other', text: 'gps' } as const
  for (const refclk of [null, other]) {
    t.equal(sync(refclk, locked).sync, 'arrival', 'not known yet')
    t.equal(sync(refclk, locked, 3).sync, 'clock')
    t.equal(sync(refclk, locked, -31_000).sync, 'arrival')
    t.equal(sync(refclk, byMachine, 3).sync, 'arrival', 'the board has no clock that others could share')
  }
})

t.test('a sender is outside this network if no own address is in its network', async (t) => {
  const own = [
    { address: '10.20.4.20', prefix: 24 },
    { address: 'fe80::1', prefix: 64 },
    { address: '192.168.7.1', prefix: 30 },
  ]
  const near = ['10.20.4.12', '192.168.7.2', '127.0.0.1', '169.254.9.9', null]
  for (const sender of near) t.equal(isInLocalSegment(sender, own), true, `${sender}`)
  for (const sender of ['10.20.5.12', '192.168.7.9', '8.8.8.8']) t.equal(isInLocalSegment(sender, own), false, sender)
  t.equal(isInLocalSegment('10.20.4.12', []), false)
})

const plan = (route: object, streams = [heardStream()], heard = {}) =>
  planTuning({
    route: { ...AT, source: null, link_ms: null, mclk_offset: null, encoding: null, ...route },
    settings: { link_ms: 10, ext_link_ms: 20 },
    earlyMs: 500,
    streams,
    clock: locked,
    networks: [{ address: '10.20.4.20', prefix: 24 }],
    former: null,
    heard: { sender: null, held: null, transitMs: null, ...heard },
  })

t.test('B.rules.2 mclk_offset and encoding default to the announcement, else 0 and L24', async (t) => {
  const announced = heardStream({ mclk_offset: 4711, encoding: 'L16', channels: 8, payload_type: 101 })
  t.match(plan({}, [announced]).tuning, { mediaOffset: 4711, encoding: 'L16', channels: 8, payloadType: 101 })
  t.match(plan({}, []).tuning, { mediaOffset: 0, encoding: 'L24', channels: 0, payloadType: null })
  t.match(plan({}, [heardStream({ mclk_offset: null })]).tuning, { mediaOffset: 0 })
  const claimed = heardStream({ channels: 999, not_playable: 'It has 999 channels.' })
  t.match(
    plan({}, [claimed]),
    { tuning: { channels: 0 }, broken: 'wrong_encoding' },
    'an encoding that no board plays is left out',
  )
  t.match(plan({ mclk_offset: 7, encoding: 'L24' }, [announced]), { tuning: { mediaOffset: 7, encoding: 'L24' } })
})

t.test('a route with another encoding than announced is not played: it would be noise', async (t) => {
  t.equal(plan({ encoding: 'L16' }).broken, 'wrong_encoding')
  t.equal(
    plan({}, [heardStream({ not_playable: 'It runs at 96000 Hz. A board plays 48000 Hz.' })]).broken,
    'wrong_encoding',
  )
  t.equal(plan({ encoding: 'L24' }).broken, null)
})

t.test('ext_link_ms is added if the sender is outside the local segment', async (t) => {
  t.match(plan({}), { linkMs: 10, extLinkMs: 0, tuning: { linkMs: 10 } })
  t.match(plan({ link_ms: 5, source: '10.99.1.1' }, []), { linkMs: 5, extLinkMs: 20, tuning: { linkMs: 25 } })
  t.match(plan({}, [], { sender: '10.99.1.1' }), { tuning: { linkMs: 30 } })
})

t.test('ST 2022-7 a stream of two paths is received by both, whichever was routed', async (t) => {
  const both = heardStream({ dup: { mcast: '239.70.10.4', port: 5006, source: '10.21.4.12' } })
  const paths = [
    { group: '239.69.10.4', port: 5004, source: '10.20.4.12' },
    { group: '239.70.10.4', port: 5006, source: '10.21.4.12' },
  ]
  t.same(plan({}, [both]).tuning.paths, paths)
  t.same(plan({ mcast: '239.70.10.4', port: 5006 }, [both]).tuning.paths, paths)
})
