import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { createIdentityBook, type RecognitionRecord } from '../../../core/recognition/identities.ts'
import { sightRows } from '../../../core/sight/memory.ts'

const NOBODY: RecognitionRecord = { enabled: false, identities: [] }

/** What was recorded, in memory: whose each reading is, and by which book it is matched. */
function playedReadings(matched?: RecognitionRecord['identities']) {
  let by = matched && JSON.stringify(matched)
  const of = new Map<string, string>()
  return {
    of,
    held: async () => [...new Set(of.values())],
    readingsOf: async (id: string) => [...of].filter(([, one]) => one === id).map(([text]) => text),
    isMatchedBy: async (book: object) => by === JSON.stringify(book),
    async setMatched(book: object | undefined) {
      by = book && JSON.stringify(book)
    },
  }
}

function open(most = 10, { readings = playedReadings([]), record = NOBODY, isCut = (): boolean => false } = {}) {
  let saved = record
  const changes: string[] = []
  let made = 0
  const book = createIdentityBook({
    ...{ record, most, newId: () => `id${++made}`, nowAt: () => 5, readings },
    async save(next) {
      saved = next
    },
    async onChange(changed) {
      if (isCut()) throw new Error('the disk is full')
      changes.push(
        changed.map(({ id, merged, plates }) => `${id} ${plates.join('+')}${merged ? ` of ${merged}` : ''}`).join(', '),
      )
    },
  })
  return { book, changes, saved: () => saved }
}

t.test('A.events a plate is known, unsure where one sign is wrong or it was hardly legible, or unknown', async (t) => {
  const { book } = open()
  await book.add({ name: 'Baker', plates: ['B-XY 1234', 'M 5'] })
  t.same(book.match('bxy1234', 0.9), { identityId: 'id1', state: 'known' })
  t.same(book.match('8XYI2E4', 0.9), { identityId: 'id1', state: 'unsure' })
  t.same(book.match('8XYI234', 0.9), { identityId: 'id1', state: 'known' }, 'lookalikes')
  t.same(book.match('BXY1234', 0.6), { identityId: 'id1', state: 'unsure' })
  t.same(book.match('BXY123', 0.9), { identityId: 'id1', state: 'unsure' })
  t.same(book.match('M 6', 0.9), { identityId: null, state: 'unknown' }, 'of a short one each sign has to be right')
  t.same(book.match('CC 999', 0.9), { identityId: null, state: 'unknown' })
  await book.add({ name: 'Butcher', plates: ['B-XY 1235'] })
  t.same(book.match('BXY1236', 0.9), { identityId: null, state: 'unknown' }, 'of two it may be it is neither')
})

t.test('names are given, changed, merged and forgotten, and what was recorded is judged anew each time', async (t) => {
  const { book, changes, saved } = open(2)
  await book.turn(true)
  const baker = await book.add({ name: 'Baker', plates: ['b-xy 1', 'BXY 1', 'BXYI'] })
  t.same(baker, { id: 'id1', name: 'Baker', plates: ['BXYI'], createdAt: 5 }, 'one plate is kept once')
  await t.rejects(book.add({ name: 'Other', plates: ['8XY1'] }), { code: 'plate_taken', message: /belongs to Baker/ })
  await t.rejects(book.add({ name: 'Other', plates: ['---'] }), { code: 'bad_plate' })
  await book.add({ name: 'Van', plates: ['VAN 1'] })
  await t.rejects(book.add({ name: 'Third', plates: [] }), { code: 'too_many_identities' })
  await book.change('id2', { name: 'Blue van' })
  await book.change('id2', { plates: ['VAN 1', 'VAN 2'] })
  await t.rejects(book.change('id2', { plates: ['BXY1'] }), { code: 'plate_taken' })
  const many = { code: 'bad_plate', message: /has 30 letters and digits; a plate has 16 at most/ }
  await t.rejects(
    book.change('id2', { plates: ['\ufdfa\ufdfa'] }),
    many,
    'two signs that stand for fifteen letters each',
  )
  await t.rejects(book.merge('id1', 'id1'), { code: 'unknown_identity' })
  t.match(await book.merge('id1', 'id2'), { name: 'Blue van', plates: ['VAN1', 'VAN2', 'BXYI'] })
  t.match(saved(), { enabled: true, identities: [{ id: 'id2' }] })
  await t.rejects(book.change('id1', {}), { code: 'unknown_identity' })
  await book.forget('id2')
  await t.rejects(book.forget('id2'), { code: 'unknown_identity' })
  t.same(saved(), { enabled: true, identities: [] })
  t.same(changes, ['id1 BXYI', 'id2 VAN1', '', 'id2 VAN1+VAN2', 'id2 VAN1+VAN2+BXYI of id1', 'id2 '])
})

t.test(
  'what a kill or a full disk kept from being matched is matched at the next start, or by the next change',
  async (t) => {
    const readings = playedReadings([])
    let isCut = false
    const first = open(10, { readings, isCut: () => isCut })
    await first.book.catchUp()
    t.same(first.changes, [], 'nothing is done at a start after which nothing is missing')
    await first.book.add({ name: 'Baker', plates: ['AB 123'] })
    await first.book.add({ name: 'Van', plates: ['VAN 1'] })
    await first.book.add({ name: 'Old', plates: ['XY 789'] })
    for (const [text, id] of [
      ['A8124', 'id1'],
      ['VAN1', 'id2'],
      ['XY789', 'id3'],
    ] as const)
      readings.of.set(text, id)
    isCut = true
    await t.rejects(first.book.merge('id1', 'id2'), /disk is full/)
    await t.rejects(first.book.forget('id3'), /disk is full/)
    isCut = false
    const again = open(10, { readings, record: first.saved() })
    await again.book.catchUp()
    t.same(
      again.changes,
      ['id2 VAN1+AB123 of id1, id3 , id2 VAN1+AB123'],
      'what was merged is of who has its plates now',
    )
    await again.book.catchUp()
    await open(10, { readings, record: again.saved() }).book.catchUp()
    t.equal(again.changes.length, 1, 'once')
    isCut = true
    const third = open(10, { readings, record: again.saved(), isCut: () => isCut })
    await third.book.catchUp()
    await t.rejects(third.book.change('id2', { plates: ['VAN 2'] }), /disk is full/)
    isCut = false
    await third.book.add({ name: 'New', plates: ['NEW 1'] })
    t.match(third.changes, [/id2 VAN2, id1 NEW1$/], 'the next change makes it good too')
  },
)

t.test('the book takes no more memory than the plan says', async (t) => {
  const MANY = 100
  const bytes = await heapBytesOf(async () => {
    const { book } = open(MANY)
    for (let at = 0; at < MANY; at++) {
      const plates = Array.from({ length: 16 }, (_, one) => `K${at}X${one}`)
      await book.add({ name: `${at} ${'n'.repeat(75)}`, plates })
    }
    return book
  })
  const row = rowOf(sightRows(), 'the book of identities', { 'recognition.identities': MANY })
  t.ok(bytes <= row.allBytes, `${bytes} bytes of ${row.allBytes}`)
})
