import t from 'tap'
import { createStorageBook, type StorageRecord } from '../../../core/storage/storage-book.ts'

const none: StorageRecord = {
  ...{ folders: null, known: [], keepDays: null, keepBytes: null, freeBytes: null, keepDaysOf: {}, preserved: [] },
}

function opened(record = none) {
  const saved: StorageRecord[] = []
  let next = 0
  const book = createStorageBook({
    ...{ record, mostPreserved: 2, mostOfAccount: 1, newId: () => `id${next++}` },
    save: async (one) => void saved.push(one),
    settings: { folders: [{ folder: '/own', isOwn: true }], keepDays: 30, keepBytes: 1000, freeBytes: 10 },
  })
  return { book, saved }
}

t.test('what was said counts more than the settings, until it is taken back', async (t) => {
  const { book, saved } = opened()
  await book.know('/own', 'aaa')
  t.same(book.folders(), [{ folder: '/own', isOwn: true, id: 'aaa' }])
  await book.setFolders([
    { folder: '/own', isNew: false },
    { folder: '/mnt/two', isNew: false },
  ])
  t.same(book.folders(), [
    { folder: '/own', isOwn: true, id: 'aaa' },
    { folder: '/mnt/two', isOwn: false, id: undefined },
  ])
  await book.setFolders([{ folder: '/own', isNew: true }])
  t.same(book.folders(), [{ folder: '/own', isOwn: true, id: undefined }], 'begun anew')
  await book.know('/own', 'aaa')
  await book.know('/mnt/two', 'aaa')
  t.same(book.folders(), [{ folder: '/own', isOwn: true, id: undefined }], 'a disk is known where it was seen last')
  t.equal(book.isFromSettings(), false)
  await book.setFolders(null)
  t.equal(book.isFromSettings(), true)

  await book.setKept({ keepDays: 7, cameras: { a: 3, b: 4 } })
  await book.setKept({ cameras: { b: null } })
  t.same(book.kept(), { keepDays: 7, keepBytes: 1000, freeBytes: 10, keepDaysOf: { a: 3 } })
  await book.setKept({ keepDays: null })
  t.equal(book.kept().keepDays, 30)
  t.equal(saved.length, 9)
})

t.test('a stretch is preserved until it is released, of one camera, and not more than may be', async (t) => {
  const { book } = opened()
  const wish = { camera: 'a', note: null, by: 'ada', at: 0 }
  const late = await book.preserve({ ...wish, from: 500, to: 600 }, true)
  await book.preserve({ ...wish, from: 100, to: 200 }, true)
  t.same(
    book.preserved('a').map(({ from }) => from),
    [100, 500],
  )
  t.same(
    [book.isPreserved('a', 550, 700), book.isPreserved('a', 200, 500), book.isPreserved('b', 500, 600)],
    [true, false, false],
  )
  await t.rejects(book.preserve({ ...wish, from: 1, to: 2 }, true), { code: 'too_many_preserved' })
  await t.rejects(book.release('b', late.id), { code: 'unknown_stretch' })
  t.equal((await book.release('a', late.id)).from, 500)
  t.equal(book.isPreserved('a', 550, 700), false)
})

t.test(
  'an account that is no administrator preserves its own share at most, and leaves room to the others',
  async (t) => {
    const { book } = opened()
    const wish = { camera: 'a', note: null, by: 'guard', at: 0 }
    await book.preserve({ ...wish, from: 100, to: 200 }, false)
    await t.rejects(book.preserve({ ...wish, from: 300, to: 400 }, false), {
      code: 'too_many_preserved',
      message: /guard preserves 1 stretch; storage\.preserved_of_account allows 1/,
    })
    await book.preserve({ ...wish, by: 'ada', from: 300, to: 400 }, false)
    t.equal(book.preserved().length, 2)
  },
)

t.test('what cannot be saved does not take effect', async (t) => {
  const book = createStorageBook({
    ...{ record: none, mostPreserved: 2, mostOfAccount: 1, newId: () => 'x' },
    save: async () => Promise.reject(new Error('disk')),
    settings: { folders: [], keepDays: 30, keepBytes: 1000, freeBytes: 10 },
  })
  await t.rejects(book.setKept({ keepDays: 1 }), { message: 'disk' })
  t.equal(book.kept().keepDays, 30)
})
