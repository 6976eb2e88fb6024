import t from 'tap'
import { dropGreediest } from '../../pure/pace.ts'

function left(most: number, ...entries: [string, string][]): string {
  const store = new Map(entries)
  dropGreediest(store, most, (holder) => holder)
  return [...store.keys()].join()
}

t.test('the first entry of whoever holds most is dropped, however many others hold one each', async (t) => {
  t.equal(left(4, ['1', 'ann'], ['2', 'bob'], ['3', 'bob'], ['4', 'cem']), '1,3,4')
  t.equal(left(2, ['1', 'ann'], ['2', 'bob']), '2', 'if all hold as many, the first of all')
})

t.test('as many are dropped as make room for one more, and none if there is room', async (t) => {
  t.equal(left(2, ['1', 'ann'], ['2', 'bob'], ['3', 'bob'], ['4', 'bob']), '4')
  t.equal(left(3, ['1', 'ann'], ['2', 'ann']), '1,2')
})

t.test('an empty store has none to drop', async (t) => {
  t.equal(left(0), '')
})
