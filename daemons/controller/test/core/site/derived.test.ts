import t from 'tap'
import { derived, zonesByDevice } from '../../../core/site/book.ts'
import { bookOf } from './book-of.ts'

t.test('a derived value stays until one of its tables changes', async (t) => {
  const book = bookOf({ zone: [], device: [], ui: [] })
  let builds = 0
  const value = derived(book, ['zone', 'device'], () => ++builds)
  t.strictSame([value(), value()], [1, 1])
  book.set('ui', [])
  t.equal(value(), 1)
  book.set('device', [])
  t.strictSame([value(), value()], [2, 2])
})

t.test('zones are found by their device; a zone without a device belongs to none', async (t) => {
  const book = bookOf({
    zone: [
      { id: 1, device_id: 5 },
      { id: 2, device_id: null },
      { id: 3, device_id: 5 },
    ],
  })
  const zonesOf = zonesByDevice(book)
  t.strictSame(
    zonesOf(5).map(({ id }) => id),
    [1, 3],
  )
  t.strictSame(zonesOf(6), [])
})
