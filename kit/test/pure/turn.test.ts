import t from 'tap'
import { createSerialTurn } from '../../pure/pace.ts'

t.test('changes run one after another, also after one that failed', async (t) => {
  const inTurn = createSerialTurn()
  const seen: string[] = []
  const change = (name: string) => async () => {
    seen.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    seen.push(`${name} ends`)
    if (name === 'b') throw new Error('b')
    return name
  }
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => inTurn(change(name))))
  t.match(results, [{ value: 'a' }, { reason: { message: 'b' } }, { value: 'c' }])
  t.same(seen, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})
