import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { answerData } from '../../../core/data/answer-data.ts'
import { createAnswerRoom, type JsonPieces } from '../../../core/data/turns.ts'
import { elevatedCaller, worldOf } from './data-house.ts'

const PIECE = 'x'.repeat(65_536)

function bytesOf(answer: JsonPieces): number {
  const body = answer.end()
  return 'pieces' in body ? body.pieces.reduce((sum, { length }) => sum + length, 0) : 0
}

t.test('a short answer is a text and takes no room; a long one comes in pieces', async (t) => {
  const room = createAnswerRoom(1)
  const short = room.open(1)
  short.add('[]')
  t.same(short.end(), { text: '[]' })
  const long = createAnswerRoom(200_000).open(1)
  for (const part of [PIECE, PIECE, 'end']) long.add(part)
  t.equal(bytesOf(long), 2 * 65_536 + 3)
})

t.test('if all answers together are too long, the longest of the account with most is dropped', async (t) => {
  const room = createAnswerRoom(5 * 65_536)
  const [long, short, other] = [room.open(1), room.open(1), room.open(2)]
  for (const answer of [long, long, short, other, other]) answer.add(PIECE)
  t.equal(room.bytes, 5 * 65_536, 'filled to the bound')
  t.notOk(long.isGivenUp)
  other.add(PIECE)
  t.same([long.isGivenUp, short.isGivenUp, other.isGivenUp], [true, false, false])
  t.equal(room.bytes, 4 * 65_536, 'its room is given back at once')
  long.add(PIECE)
  t.equal(room.bytes, 4 * 65_536, 'and it takes no more')
  for (const answer of [long, short, other, other]) answer.close()
  t.equal(room.bytes, 0)
})

t.test('rows that are kept for an answer take room too, until it has ended', async (t) => {
  const room = createAnswerRoom(1000)
  const answer = room.open(1)
  answer.keep(600)
  answer.keep(400)
  t.equal(room.bytes, 400)
  const other = room.open(2)
  other.keep(600)
  t.notOk(other.isGivenUp, 'filled to the bound')
  answer.keep(401)
  t.same([answer.isGivenUp, other.isGivenUp], [false, true])
  answer.close()
  t.equal(room.bytes, 0)
})

t.test('answers never hold more than their room', async (t) => {
  const adds = fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.boolean()), { maxLength: 60 })
  holds(
    t,
    fc.property(adds, (given) => {
      const room = createAnswerRoom(4 * 65_536)
      const open = [0, 1, 2, 3, 4, 5].map((at) => room.open(at % 3))
      for (const [at, isOver] of given) {
        if (isOver) open[at]?.close()
        else open[at]?.add(PIECE)
        if (room.bytes > 4 * 65_536) return false
      }
      for (const answer of open) answer.close()
      return room.bytes === 0
    }),
  )
})

t.test('1 Limits a query whose answer finds no room is answered 503, and one that asks for less is not', async (t) => {
  const zones = Array.from({ length: 3000 }, (_, at) => ({ id: at + 1, name: `zone ${at} ${'n'.repeat(100)}` }))
  const world = worldOf({ zone: zones }, { roomBytes: 100_000 })
  const refused = await answerData(world, elevatedCaller, 'zone', '_orderby=id&_limit=3000')
  t.match(refused, { status: 503, reason: 'busy', body: { json: { error: 'busy' } } })
  t.equal(world.room.bytes, 0)
  const answer = await answerData(world, elevatedCaller, 'zone', '_orderby=id&_limit=100')
  t.equal(answer.status, 200)
  t.equal((await answerData(world, elevatedCaller, 'zone', '_count=1')).status, 200)
  t.equal(world.room.bytes, 0)
})

t.test('1 Limits rows of a history that are being sorted take room while they are kept', async (t) => {
  const rows = Array.from({ length: 500 }, (_, at) => ({ id: at + 1, path: `/api/data/${500 - at}` }))
  const world = worldOf({ request_history: rows }, { roomBytes: 100_000 })
  const refused = await answerData(world, elevatedCaller, 'request_history', '_orderby=path&_limit=500')
  t.match(refused, { status: 503, reason: 'busy' })
  t.equal((await answerData(world, elevatedCaller, 'request_history', '_orderby=path&_limit=50')).status, 200)
  t.equal(world.room.bytes, 0)
})
