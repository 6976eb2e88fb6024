import t from 'tap'
import { makeArgs } from '../../../core/macros/values.ts'

t.test('args that are too large are refused with the limit, wherever it is reached', (t) => {
  const refusal = { code: 'macro_value_size', message: /more than 20 characters/ }
  t.throws(() => makeArgs([['a', 'x'.repeat(30)]], 20), refusal)
  t.throws(() => makeArgs(Object.entries({ a: 'xxxxxxxx', b: 'xxxxxxxx' }), 20), refusal)
  t.throws(() => makeArgs([['n'.repeat(30), 1]], 20), refusal)
  t.equal(makeArgs([['a', 'x']], 20).values.get('a'), 'x')
  t.end()
})
