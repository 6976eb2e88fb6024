/** Tests of pure/text.ts. */
import t from 'tap'
import { nearestName } from '../../pure/text.ts'

t.test('finds the name that was probably meant, whatever its case', async (t) => {
  const known = ['unitId', 'quantity', 'address']
  t.equal(nearestName('unitid', known), 'unitId')
  t.equal(nearestName('quantiy', known), 'quantity')
  t.equal(nearestName('adress', known), 'address')
})

t.test('finds none if none is near, or if comparing would cost too much', async (t) => {
  t.equal(nearestName('password', ['unitId', 'fc']), undefined)
  t.equal(nearestName('x'.repeat(65), ['x'.repeat(64)]), undefined)
  t.equal(nearestName('', []), undefined)
})
