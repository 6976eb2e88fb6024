import t from 'tap'
import { firstOfGreediest } from '../greediest.ts'

const of = (...entries: [string, string][]) => firstOfGreediest(new Map(entries), (holder) => holder)

t.test('of whoever holds most the first goes, however many others hold one each', async (t) => {
  t.equal(of(['1', 'ann'], ['2', 'bob'], ['3', 'bob'], ['4', 'cem']), '2')
  t.equal(of(['1', 'ann'], ['2', 'bob']), '1', 'where all hold as many, the first of all')
})

t.test('a store without entries has none to give', async (t) => {
  t.equal(of(), undefined)
})
