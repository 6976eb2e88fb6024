import fc from 'fast-check'
import t from 'tap'
import { idOfUnit, unitOfId } from '../../wire/meter-number.ts'

t.test('a meter has one number on the line, and its digits come back from it', async (t) => {
  t.equal(unitOfId('12345678'), 12_345_678)
  t.equal(unitOfId('00000005'), 100_000_005)
  t.equal(unitOfId('0500023E'), 1_000_000_000 + 0x0500023e)
  const digit = fc.constantFrom(...'0123456789ABCDEF')
  const id = fc.array(digit, { minLength: 8, maxLength: 8 }).map((all) => all.join(''))
  fc.assert(fc.property(id, (one) => idOfUnit(unitOfId(one)) === one && unitOfId(one) >= 1000))
})
