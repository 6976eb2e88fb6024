/** Tests of the boards of the matrix: the state of each one, their order, and the sentence above them. */
import t from 'tap'
import { isDismissable } from '../../web/boards-table.ts'
import { boardRow, chosenRows, judgeBoards, sortRows, withBoards } from '../../web/matrix.ts'
import { fakePeer } from '../fake-states.ts'

const when = { nowMs: Date.UTC(2031, 2, 9, 14, 0, 0), zone: 'UTC' }
const own = { state: 'ok', text: 'All lines are shared.' } as const
const here = fakePeer('a', { self: true, state: 'here' })
const told = { state: 'told', lit: 'ok', text: 'Fine.', sound: null, atMs: 0 } as const

t.test('a board shows its own state; one that does not answer shows when it was last heard', async (t) => {
  t.match(boardRow(here, undefined, own, when), { lit: 'ok', text: own.text })
  t.match(boardRow(fakePeer('b'), undefined, own, when), { lit: 'busy' })
  t.match(boardRow(fakePeer('b'), told, own, when), { lit: 'ok', text: 'Fine.', isLocked: false })
  t.match(boardRow(fakePeer('b'), { ...told, lit: 'gone"><b>' }, own, when), { lit: 'off' }, 'an unknown state')
  t.match(boardRow(fakePeer('b'), { state: 'locked', text: 'It asks.', atMs: 0 }, own, when), {
    lit: 'warn',
    isLocked: true,
  })
  t.match(
    boardRow(fakePeer('b'), { state: 'silent', atMs: 0 }, own, when).text,
    /answers this board, but not this browser/,
  )
  const gone = { state: 'unreachable', last_answer_at: when.nowMs - 1_200_000, last_heard_at: null } as const
  t.equal(boardRow(fakePeer('b', gone), told, own, when).text, 'It does not answer. Last heard 13:40, 20\u202fmin ago.')
  const never = { ...gone, last_answer_at: null }
  t.equal(boardRow(fakePeer('b', never), undefined, own, when).text, 'It does not answer.')
})

t.test(
  'a board that is gone shows the time of its last answer, an awaited one shows that it is being asked',
  async (t) => {
    const at = { last_answer_at: when.nowMs - 1_200_000, last_heard_at: when.nowMs }
    const gone = boardRow(fakePeer('b', { id: 'b', state: 'absent', ...at }), undefined, own, when)
    t.match(gone, {
      lit: 'gone',
      text: 'Gone since 13:40, 20\u202fmin. It stays listed until it answers or is dismissed.',
    })
    t.match(boardRow(fakePeer('b', { id: 'b', state: 'awaited', ...at }), undefined, own, when), { lit: 'busy' })
    t.same(
      (['here', 'alive', 'awaited', 'unreachable', 'absent'] as const).filter((state) =>
        isDismissable(fakePeer('b', { id: 'b', state })),
      ),
      ['unreachable', 'absent'],
    )
  },
)

t.test('boards that need attention are on top, this board is first among the others', async (t) => {
  const row = (name: string, lit: string, self = false) =>
    boardRow(fakePeer(name, { self }), { ...told, lit }, own, when)
  const rows = [row('c', 'ok'), boardRow(here, undefined, own, when), row('d', 'fault'), row('b', 'warn')]
  t.same(
    sortRows(rows).map(({ peer }) => peer.name),
    ['d', 'b', 'a', 'c'],
  )
})

t.test('a filter finds names, roles and addresses, and can show only those that need attention', async (t) => {
  const rows = [
    boardRow(fakePeer('till', { role: 'usbip', ip: '10.20.4.40' }), told, own, when),
    boardRow(fakePeer('roof'), { state: 'silent', atMs: 0 }, own, when),
  ]
  const found = (filter: string, isNeedyOnly = false): string[] =>
    chosenRows(rows, filter, isNeedyOnly).map(({ peer }) => peer.name)
  t.same(found('USB 4.40'), ['till'])
  t.same(found(''), ['till', 'roof'])
  t.same(found('', true), ['roof'])
  t.same(found('till', true), [])
})

t.test('the verdict names the boards that need attention', async (t) => {
  const self = boardRow(here, undefined, own, when)
  const well = boardRow(fakePeer('b'), told, own, when)
  const silent = boardRow(fakePeer('roof'), { state: 'silent', atMs: 0 }, own, when)
  const broken = boardRow(fakePeer('till'), { ...told, lit: 'fault', text: 'No device.' }, own, when)
  t.match(judgeBoards([self]), { lit: 'off', sentence: 'No other board was heard yet.' })
  t.match(judgeBoards([self, well]), { lit: 'ok', sentence: 'Both boards are well.' })
  t.match(judgeBoards([self, well, silent]), { lit: 'warn', sentence: '2 of 3 boards are well. roof needs a look.' })
  const asked = boardRow(fakePeer('c'), undefined, own, when)
  t.match(judgeBoards([self, asked]), { lit: 'busy', sentence: '1 board of 2 is being asked.' })
  t.match(judgeBoards([self, asked, silent]), { lit: 'warn', sentence: '1 of 3 boards is well. roof needs a look.' })
  t.match(judgeBoards([self, silent, broken]), {
    lit: 'fault',
    sentence: '1 of 3 boards is well. till and roof need a look.',
    why: 'till: No device.',
  })
})

t.test('the verdict on sound names other boards that need attention, and is no greener than they are', async (t) => {
  const sound = { lit: 'ok', sentence: '2 of 2 routed decoders play.', why: 'Bar is muted.' } as const
  const well = boardRow(fakePeer('b'), told, own, when)
  const gone = boardRow(fakePeer('till', { id: 'b', state: 'absent' }), undefined, own, when)
  const broken = boardRow(fakePeer('lift'), { ...told, lit: 'fault' }, own, when)
  t.same(withBoards(sound, [well]), sound)
  t.match(withBoards(sound, [well, gone]), { lit: 'warn', why: 'Bar is muted. till needs a look.' })
  t.match(withBoards(sound, [gone, broken]), { lit: 'fault', why: 'Bar is muted. lift and till need a look.' })
})
