/** Tests of the texts on the pages of encoder and decoder, and of what they send. */
import t from 'tap'
import type { Peer } from '../../web/api.ts'
import { sortStreams, tuneFormFor } from '../../web/decoder-page.ts'
import { type FarBoard, soundOf } from '../../web/far-boards.ts'
import { hearersOf } from '../../web/heard-by.ts'
import { formOf, stepped } from '../../web/own-sound.ts'
import { arrivalFacts, clockFacts, spacingFacts } from '../../web/sound-plots.ts'
import { isBroken, isRouted, linksOf, ptpLit, refClockWords, signed, volumeText } from '../../web/sound-words.ts'
import { fakeDecoder, fakeHistory, fakeStreams, silentChecks } from '../fake-sound.ts'
import { fakePeer } from '../fake-states.ts'

t.test(
  'the chain is collapsed while all is well or stopped, and expanded when something is broken or muted',
  async (t) => {
    const { checks } = fakeDecoder()
    const off = (code: string) => [{ name: 'volume', state: 'off', code, text: '' } as const]
    t.equal(isBroken(checks), false)
    t.equal(isBroken(silentChecks()), true)
    t.equal(isBroken(off('muted')), true)
    t.equal(isBroken(off('stopped')), false)
    const links = linksOf(silentChecks())
    t.same(
      links.map(({ lit }) => lit),
      ['ok', 'ok', 'ok', 'ok', 'ok', 'fault', 'off', 'off', 'off'],
    )
    t.match(links.at(-1), { head: 'Output', text: 'not judged' })
    t.equal(linksOf(off('muted'))[0]?.lit, 'mute')
  },
)

t.test('a route plays a stream if group, port and, if known, the sender agree', async (t) => {
  const stream = { mcast: '239.1.1.1', port: 5004, source: '10.0.0.1' }
  const route = { mcast: '239.1.1.1', port: 5004, source: null }
  t.ok(isRouted(stream, route))
  t.ok(isRouted(stream, route, '10.0.0.1'))
  t.notOk(isRouted(stream, route, '10.0.0.2'))
  t.notOk(isRouted(stream, { ...route, source: '10.0.0.2' }, '10.0.0.1'), 'the wanted sender counts, not the one heard')
  t.notOk(isRouted(stream, { ...route, port: 5006 }))
  t.notOk(isRouted({ ...stream, mcast: '' }, { ...route, mcast: '' }), 'nothing is not a stream')
})

t.test(
  'streams: the one that plays is first, unplayable ones last; a sender is named only if two share an address',
  async (t) => {
    const streams = fakeStreams()
    t.same(
      sortStreams(streams, fakeDecoder()).map(({ name }) => name),
      ['Lobby music', 'Gym music', 'Paging', 'Stage mix', 'Chapel'],
    )
    const [stage] = streams
    if (!stage) throw new Error('there is one')
    t.same(tuneFormFor(stage, streams), { mcast: '239.69.20.1', port: 5004 })
    const twice = [...streams, { ...stage, id: 'other', source: '10.20.4.99' }]
    t.same(tuneFormFor(stage, twice), { mcast: '239.69.20.1', port: 5004, source: '10.20.4.31' })
  },
)

t.test('undo restores the route as it was given, and nothing more', async (t) => {
  const { route } = fakeDecoder()
  t.same(formOf(route), { mcast: '239.69.10.4', port: 5004 })
  t.same(formOf({ ...route, source: '10.0.0.1', given: { link_ms: 20, mclk_offset: 0, encoding: null } }), {
    mcast: '239.69.10.4',
    port: 5004,
    source: '10.0.0.1',
    link_ms: 20,
    mclk_offset: 0,
  })
  t.same(formOf({ ...route, mcast: '' }), { mcast: '' })
})

t.test('steps of the volume are whole decibels within their limits', async (t) => {
  t.equal(stepped(-12, 1), -11)
  t.equal(stepped(-12.4, -1), -13)
  t.equal(stepped(12, 1), 12)
  t.equal(stepped(-80, -1), -80)
  t.equal(volumeText({ volume: 0, volume_db: -80 }), 'silent')
})

t.test('numbers carry a sign unless they are zero, and clocks their names', async (t) => {
  t.same(
    [signed(38, 0), signed(-1.234, 2), signed(0, 0), signed(0.001, 1), signed(null, 0)],
    ['+38', '−1.23', '0', '0.0', '–'],
  )
  t.equal(refClockWords(null), 'it names no clock')
  t.equal(refClockWords({ kind: 'localmac', mac: '00-1D-C1-12-34-56' }), 'its own clock, 00-1D-C1-12-34-56')
  t.equal(refClockWords({ kind: 'ptp', grandmaster: 'X', domain: 3 }), 'PTP X, domain 3')
  t.same(
    (['locked', 'master', 'holdover', 'locking', 'off', 'fault', 'absent'] as const).map((state) => ptpLit({ state })),
    ['ok', 'ok', 'warn', 'busy', 'off', 'fault', 'warn'],
  )
})

t.test('plots draw arrivals as time since sending, and nothing without measurements', async (t) => {
  const history = fakeHistory()
  const facts = arrivalFacts(history, 5)
  t.match(facts?.label, /between 1\.\d\d and 4\.\d\d ms after sending; the limit is 5 ms/)
  t.match(facts?.limit, { name: 'link offset 5 ms', value: 5 })
  t.equal(facts?.traces[0]?.points.length, 3600)
  t.match(
    spacingFacts(history)?.traces.map(({ name }) => name),
    ['middle', '99 %', 'worst'],
  )
  t.match(clockFacts(history)?.traces[0]?.points[0], null)
  const empty = { ...history, series: { latest_us: [null, null], earliest_us: [null, null] } }
  t.same([arrivalFacts(empty, 5), spacingFacts(empty), clockFacts(empty)], [null, null, null])
})

t.test('a past arrival stays where it was when the link offset is changed', async (t) => {
  const series = { latest_us: [3000, 43_000], earliest_us: [4000, 44_000], link_us: [5000, 45_000] }
  const facts = arrivalFacts({ ...fakeHistory(), series }, 45)
  t.same(
    facts?.traces.map(({ points }) => points),
    [
      [2, 2],
      [1, 1],
    ],
  )
})

t.test('an encoder counts the decoders that say they play it, and says how many did not answer', async (t) => {
  const decoder = (sender: string | null) => soundOf({ decoder: { ...fakeDecoder(), sender } })
  const board = (sound: ReturnType<typeof soundOf>): FarBoard => ({
    state: 'told',
    lit: 'ok',
    text: '',
    sound,
    atMs: 0,
  })
  const peer = (name: string, change: Partial<Peer> = {}) =>
    fakePeer(name, { role: 'decoder', url: `http://${name}`, ...change })
  const peers = [
    peer('self', { role: 'encoder', self: true, ip: '10.20.4.12' }),
    ...['mine', 'other', 'gone', 'old'].map((name) => peer(name)),
  ]
  const boards = new Map<string, FarBoard>([
    ['http://mine', board(decoder('10.20.4.12'))],
    ['http://other', board(decoder('10.20.4.99'))],
    [
      'http://old',
      { state: 'silent', atMs: 0, last: board(decoder('10.20.4.12')) as Extract<FarBoard, { state: 'told' }> },
    ],
  ])
  const { hearers, unknown } = hearersOf(peers, boards, { mcast: '239.69.10.4', port: 5004 })
  t.same(
    hearers.map(({ peer: { name }, isPlaying }) => [name, isPlaying]),
    [['mine', true]],
  )
  t.equal(unknown, 2, 'answers from before it fell silent do not count')
})
