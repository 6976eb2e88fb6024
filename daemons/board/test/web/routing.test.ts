/** Tests of the matrix as a model: its columns and rows, the state of each decoder, and the sentence above them. */
import t from 'tap'
import type { DecoderState, Peer } from '../../web/api.ts'
import { type FarBoard, peerKey, soundOf, type Told } from '../../web/far-boards.ts'
import {
  columnsOf,
  decoderRows,
  filtered,
  isNeedyRow,
  judgeRouting,
  needyFirst,
  type Row,
  type Seen,
} from '../../web/routing.ts'
import { routeFormFor } from '../../web/routing-grid.ts'
import { fakeDecoder, fakeEncoder, silentChecks } from '../fake-sound.ts'
import { fakePeer } from '../fake-states.ts'

const when = { nowMs: Date.UTC(2031, 2, 9, 14, 0, 0), zone: 'UTC' }

function told(answer: object): Told {
  return { state: 'told', lit: 'ok', text: 'Fine.', sound: soundOf(answer), atMs: 0 }
}

function encoder(name: string, mcast: string, change: Partial<Peer> = {}): [Peer, FarBoard] {
  const { stream } = fakeEncoder()
  const peer = fakePeer(name, { role: 'encoder', url: `http://${name}`, ...change })
  return [peer, told({ encoder: fakeEncoder({ stream: { ...stream, mcast, name: `${name} stream` } }) })]
}

function decoder(name: string, change: Partial<DecoderState> = {}, mcast = '239.1.1.1'): [Peer, FarBoard] {
  const { route } = fakeDecoder()
  const peer = fakePeer(name, { role: 'decoder', url: `http://${name}` })
  return [peer, told({ decoder: fakeDecoder({ route: { ...route, mcast }, sender: null, ...change }) })]
}

function seen(...all: readonly [Peer, FarBoard | undefined][]): Seen {
  const known = all.flatMap(([peer, board]) => (board ? [[peerKey(peer), board] as const] : []))
  return { peers: all.map(([peer]) => peer), boards: new Map(known), own: null, when }
}

function rows(...all: readonly [Peer, FarBoard | undefined][]): Row[] {
  const site = seen(...all)
  return decoderRows(site, columnsOf(site))
}

t.test('encoders are columns in order of name, followed by streams that are played but sent by no board', async (t) => {
  const columns = columnsOf(
    seen(
      encoder('b', '239.1.1.2'),
      encoder('a', '239.1.1.1'),
      decoder('x', {}, '239.9.9.9'),
      decoder('y', {}, '239.9.9.9'),
    ),
  )
  t.same(
    columns.map(({ name, peer }) => [name, peer === null]),
    [
      ['a stream', false],
      ['b stream', false],
      ['Lobby music', true],
    ],
  )
  const silent = fakePeer('c', { role: 'encoder', stream: '239.1.1.3:5006', state: 'unreachable' })
  t.match(columnsOf(seen([silent, undefined])), [
    { name: 'c', mcast: '239.1.1.3', port: 5006, isGone: true, isTold: false },
  ])
})

t.test('of two encoders with one address a decoder plays the one it names, else the one it hears', async (t) => {
  const one = encoder('one', '239.1.1.1', { ip: '10.0.0.1' })
  const two = encoder('two', '239.1.1.1', { ip: '10.0.0.2' })
  const { route } = fakeDecoder()
  const named = decoder('x', { route: { ...route, mcast: '239.1.1.1', source: '10.0.0.2' }, sender: '10.0.0.1' })
  t.equal(rows(one, two, named)[0]?.column, 'http://two')
  t.equal(rows(one, two, decoder('x', { sender: '10.0.0.2' }))[0]?.column, 'http://two')
  t.equal(rows(one, two, decoder('x'))[0]?.column, 'http://one')
  const columns = columnsOf(seen(one, two, encoder('three', '239.1.1.3')))
  const [first, third] = [columns[0], columns[1]]
  if (!first || !third) throw new Error('there are three')
  t.same(routeFormFor(first, columns), { mcast: '239.1.1.1', port: 5004, source: '10.0.0.1', encoding: 'L24' })
  t.same(routeFormFor(third, columns), { mcast: '239.1.1.3', port: 5004, encoding: 'L24' }, 'a single one is not named')
})

t.test('the state of a decoder comes from its chain and from its board', async (t) => {
  const from = encoder('a', '239.1.1.1')
  const check = (name: string, state: string, code: string | null, text: string) =>
    ({ name, state, code, text }) as never
  const judged = (change: Partial<DecoderState>, mcast?: string) => rows(from, decoder('x', change, mcast))[0]
  t.match(judged({}), { lit: 'ok', why: 'a stream', isSilent: false })
  t.match(judged({ playing: false, checks: silentChecks() }), { lit: 'fault', isSilent: true, why: /other|timed by/ })
  t.match(judged({ checks: [check('volume', 'off', 'muted', 'It is muted.')] }), { lit: 'mute', why: 'It is muted.' })
  t.match(judged({ checks: [check('loss', 'warn', 'loss', 'Some are lost.')] }), { lit: 'warn', why: 'Some are lost.' })
  t.match(judged({ checks: [check('volume', 'warn', 'silence', 'Silence for 40 s.')] }), { lit: 'off' })
  t.match(judged({ checks: [check('packets', 'not_judged', null, '')] }), { lit: 'busy' })
  t.match(judged({ counters: { ...fakeDecoder().counters, loss_percent_1min: 0.1 } }), { lit: 'warn' })
  t.match(judged({}, ''), { lit: 'off', why: 'Nothing routed', column: null })
  const [peer, board] = decoder('x')
  t.match(rows(from, [peer, undefined])[0], { lit: 'busy' })
  t.match(rows(from, [peer, { state: 'locked', text: 'It asks.', atMs: 0 }])[0], { lit: 'warn', isLocked: true })
  const gone = { ...peer, state: 'unreachable', last_answer_at: when.nowMs - 1_200_000, last_heard_at: null } as const
  t.match(rows(from, [gone, { state: 'silent', atMs: 0, last: board as Told }])[0], {
    lit: 'gone',
    column: 'http://a',
    why: 'Not reachable since 13:40, 20\u202fmin.',
  })
})

t.test('the verdict first says what is silent and should not be', async (t) => {
  const from = encoder('a', '239.1.1.1')
  const silent = decoder('Bar', { playing: false, checks: silentChecks() })
  const muted = decoder('Corridor', { checks: [{ name: 'volume', state: 'off', code: 'muted', text: '' }] })
  const idle = decoder('Restaurant', {}, '')
  t.match(judgeRouting(rows(from, decoder('x'), idle)), {
    lit: 'ok',
    sentence: '1 of 1 routed decoder plays.',
    why: '',
  })
  t.match(judgeRouting(rows(from, decoder('x'), silent, muted, idle)), {
    lit: 'fault',
    sentence: '1 of 3 routed decoders play. Bar is silent.',
    why: 'Corridor is muted.',
  })
  t.match(judgeRouting(rows(from, idle)), { lit: 'off', sentence: 'No decoder is routed to a stream.' })
  const all = rows(from, decoder('x'), silent, muted)
  t.same(
    needyFirst(all).map(({ name }) => name),
    ['Bar', 'x', 'Corridor'],
  )
  t.same(
    all.filter(isNeedyRow).map(({ name }) => name),
    ['Bar'],
  )
})

t.test('there is no green lamp if no decoder plays', async (t) => {
  const from = encoder('a', '239.1.1.1')
  const check = (name: string, state: string, code: string) => ({
    checks: [{ name, state, code, text: 'So.' } as never],
  })
  const muted = decoder('Corridor', check('volume', 'off', 'muted'))
  const hushed = decoder('Bar', check('volume', 'warn', 'silence'))
  const begins = decoder('Gym', check('packets', 'not_judged', ''))
  const [peer, board] = decoder('Roof')
  const gone: [Peer, FarBoard] = [
    { ...peer, id: 'roof', state: 'absent', last_answer_at: when.nowMs - 60_000 },
    { state: 'silent', atMs: 0, last: board as Told },
  ]
  t.match(judgeRouting(rows(from, muted)), { lit: 'mute', sentence: '0 of 1 routed decoder plays.' })
  t.match(judgeRouting(rows(from, hushed)), { lit: 'off', why: 'Bar gets nothing but silence.' })
  t.match(judgeRouting(rows(from, begins)), { lit: 'busy', sentence: '0 of 1 routed decoder plays.' })
  t.match(judgeRouting(rows(from, gone)), { lit: 'warn', sentence: '0 of 1 routed decoder plays.' })
  t.match(judgeRouting(rows(from, gone, decoder('x'))), {
    lit: 'warn',
    sentence: '1 of 2 routed decoders play.',
    why: 'Roof cannot be reached.',
  })
})

t.test('a board that replaced one that is gone, even at its address, is another board', async (t) => {
  const [peer, board] = encoder('old', '239.1.1.1', { id: 'old', url: 'http://10.0.0.2', ip: '10.0.0.2' })
  const [again, told] = encoder('new', '239.1.1.1', { id: 'new', url: 'http://10.0.0.2', ip: '10.0.0.2' })
  const [down, plays] = decoder('x', { sender: '10.0.0.2' })
  const peers = [{ ...peer, state: 'absent' as const }, again, down]
  const boards = new Map([
    ['old', { state: 'silent', atMs: 0, last: board as Told } as const],
    ['new', told],
    [down.url, plays],
  ])
  const columns = columnsOf({ peers, boards, own: null, when })
  t.same(
    columns.map(({ key, isGone }) => [key, isGone]),
    [
      ['new', false],
      ['old', true],
    ],
  )
  t.equal(decoderRows({ peers, boards, own: null, when }, columns)[0]?.column, 'new')
})

t.test('a filter finds decoders and streams, and hides the others if it finds something', async (t) => {
  const site = seen(encoder('gym', '239.1.1.1'), encoder('hall', '239.1.1.2'), decoder('Bar'), decoder('Gym floor'))
  const columns = columnsOf(site)
  const all = { columns, rows: decoderRows(site, columns) }
  const found = (filter: string) => {
    const { rows: down, columns: across } = filtered(all, filter)
    return [down.map(({ name }) => name), across.map(({ name }) => name)]
  }
  t.same(found(''), [
    ['Bar', 'Gym floor'],
    ['gym stream', 'hall stream'],
  ])
  t.same(found('hall'), [['Bar', 'Gym floor'], ['hall stream']])
  t.same(found('floor'), [['Gym floor'], ['gym stream', 'hall stream']])
  t.same(found('nothing such'), [[], []])
})
