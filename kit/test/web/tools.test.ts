/** Tests of filters over tables. */
import t from 'tap'
import { matches } from '#kit/web/tools.ts'

t.test('finds rows that contain every word, in any case', async (t) => {
  t.ok(matches('Eastron SDM120 energy meter', 'sdm meter'))
  t.ok(matches('anything', ''))
  t.ok(matches('anything', '  '))
  t.notOk(matches('Eastron SDM120', 'sdm630'))
})
