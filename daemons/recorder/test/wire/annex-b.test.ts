import fc from 'fast-check'
import t from 'tap'
import { readUnits, writeUnits } from '../../wire/annex-b.ts'

/** A unit has no two zeros in a row, which emulation prevention sees to, and does not end in one. */
const unit = fc
  .array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 20 })
  .map((bytes) => Uint8Array.from([...bytes.map((byte, at) => (at % 2 === 1 && byte < 4 ? 4 : byte)), 5]))

t.test('units come out as they went in, behind start codes of three bytes too', async () => {
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 6 }), (units) => {
      t.same(
        readUnits(writeUnits(units)).map((one) => [...one]),
        units.map((one) => [...one]),
      )
    }),
  )
  t.same(
    readUnits(Uint8Array.of(9, 0, 0, 1, 7, 8, 0, 0, 0, 1, 6, 0)).map((one) => [...one]),
    [[7, 8], [6]],
  )
  fc.assert(fc.property(fc.uint8Array(), (bytes) => readUnits(bytes).every(({ length }) => length <= bytes.length)))
})
