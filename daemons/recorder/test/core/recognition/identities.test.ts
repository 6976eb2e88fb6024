import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { createIdentityBook, type RecognitionRecord } from '../../../core/recognition/identities.ts'
import { sightRows } from '../../../core/sight/memory.ts'

function open(most = 10) {
  let saved: RecognitionRecord = { enabled: false, identities: [] }
  const changes: string[] = []
  let made = 0
  const book = createIdentityBook({
    ...{ record: saved, most, newId: () => `id${++made}`, nowAt: () => 5 },
    async save(next) {
      saved = next
    },
    async onChange(changed) {
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
