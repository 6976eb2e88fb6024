import t from 'tap'
import { isTouched } from '../../../core/modbus/points.ts'
import { writtenPlace } from '../../../wire/modbus-request.ts'
import { point } from './points.ts'

t.test('A.points a write is mapped to the place it changes, with the function that reads it', async (t) => {
  const place = (fc: number, keys: object = {}) => writtenPlace({ unitId: 7, fc, address: 10, quantity: 1, ...keys })
  t.same(place(5), { unitId: 7, fc: 1, address: 10, quantity: 1 })
  t.same(place(15, { quantity: 9 }), { unitId: 7, fc: 1, address: 10, quantity: 9 })
  t.same(place(6), { unitId: 7, fc: 3, address: 10, quantity: 1 })
  t.same(place(16, { quantity: 3 }), { unitId: 7, fc: 3, address: 10, quantity: 3 })
  t.same(place(22), { unitId: 7, fc: 3, address: 10, quantity: 1 })
  t.same(
    place(23, { quantity: 5, writeAddress: 40, values: [1, 2] }),
    { unitId: 7, fc: 3, address: 40, quantity: 2 },
    'where it writes, not where it reads',
  )
  for (const fc of [1, 2, 3, 4, 43]) t.equal(place(fc), undefined)
})

t.test('a point is touched where a part of its value is written, and nowhere else', async (t) => {
  const written = { unitId: 1, fc: 3, address: 10, quantity: 2 } as const
  const touched = (keys: Parameters<typeof point>[1]) => isTouched(point('a', keys), written)
  t.same(
    [8, 9, 10, 11, 12].map((address) => touched({ address, type: 'u32' })),
    [false, true, true, true, false],
  )
  t.equal(touched({ address: 10, fc: 4 }), false)
  t.equal(touched({ address: 10, unitId: 2 }), false)
  t.equal(isTouched(point('a', { address: 10, unitId: 2 }), { ...written, unitId: 0 }), true, 'a broadcast')
})
