import t from 'tap'
import { Type } from 'typebox'
import { createCheck } from '../../http/check.ts'

const entry = Type.Object({ name: Type.String(), marks: Type.Array(Type.Integer(), { default: [], maxItems: 2 }) })
const check = createCheck(
  Type.Object({ list: Type.Array(entry, { maxItems: 300 }), on: Type.Boolean() }),
  'json',
  'body.',
)
const many = (count: number, what: unknown) => Array.from({ length: count }, () => what)

t.test('a list far longer than allowed is one fault, and its items are not checked', async (t) => {
  let looked = 0
  const entry = {
    get name() {
      looked += 1
      return 'a'
    },
  }
  const { faults } = check({ list: many(200_000, entry), on: 'yes' })
  t.same(faults, [
    { field: 'body.list', message: 'is a list with 200000 entries, expected a list of at most 300 entries' },
  ])
  t.equal(looked, 0)
})

t.test('a list within a list is found by its path', async (t) => {
  const { faults } = check({ list: [{ name: 'a' }, { name: 'b', marks: many(1000, 1) }], on: true })
  t.same(
    faults.map(({ field }) => field),
    ['body.list[1].marks'],
  )
})

t.test('a list that is slightly too long has all its faults reported at once', async (t) => {
  const { faults } = check({ list: [{ marks: [1, 2, 3] }], on: 'yes' })
  t.same(faults.map(({ field }) => field).sort(), ['body.list[0].marks', 'body.list[0].name', 'body.on'])
})

t.test('a list as long as allowed is accepted', async (t) => {
  t.same(check({ list: many(300, { name: 'a' }), on: true }).faults, [])
})
