import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { boundedCopy, isSameJson, type Json } from '../../core/json.ts'

t.test('a value that fits is copied as it is', async (t) => {
  const law = fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
    const copy = boundedCopy(value, 1_000_000)
    return JSON.stringify(copy) === JSON.stringify(value) && isSameJson(copy, value as Json)
  })
  holds(t, law)
})

t.test('it never throws, whatever the value, and the copy is bounded', async (t) => {
  const law = fc.property(fc.anything({ maxDepth: 12, withBigInt: true, withDate: true }), (value) => {
    const copy = boundedCopy(value, 100)
    return copy === undefined || JSON.stringify(copy).length < 1000
  })
  holds(t, law)
})

t.test('copying a value that contains itself ends', async (t) => {
  const round: unknown[] = []
  round.push(round)
  t.equal(boundedCopy(round, 1000), undefined)
})

t.test('lists and objects can be equally deep', async (t) => {
  const ways: ((inner: unknown) => unknown)[] = [(inner) => [inner], (inner) => ({ a: inner })]
  for (const around of ways) {
    let value: unknown = 1
    for (let level = 0; level < 8; level++) value = around(value)
    t.equal(JSON.stringify(boundedCopy(value, 1000)), JSON.stringify(value))
    t.equal(boundedCopy(around(value), 1000), undefined)
  }
})
