import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { isSameJson, type Json } from '../../core/json.ts'

t.test('values with different contents differ', async (t) => {
  t.equal(isSameJson({ a: 1 }, { a: 1 }), true)
  t.equal(isSameJson({ a: 1 }, { a: 2 }), false)
  t.equal(isSameJson({ a: [1, { b: null }] }, { a: [1, { b: null }] }), true)
  t.equal(isSameJson({ a: [1, { b: null }] }, { a: [1, { b: 0 }] }), false)
  t.equal(isSameJson({ a: 1 }, { a: 1, b: 2 }), false)
  t.equal(isSameJson({ a: 1, b: 2 }, { a: 1 }), false)
  t.equal(isSameJson([1], [1, 2]), false)
  t.equal(isSameJson([1, 2], [2, 1]), false)
  t.equal(isSameJson(1, '1'), false)
})

t.test('the order of keys does not count', async (t) => {
  t.equal(isSameJson({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }), true)
})

t.test('a list is not an object with the same entries, and nothing is not null', async (t) => {
  t.equal(isSameJson(['a'], { 0: 'a' }), false)
  t.equal(isSameJson(null, undefined), false)
  t.equal(isSameJson({ a: null }, {}), false)
  t.equal(isSameJson({}, { a: null }), false)
  t.equal(isSameJson(undefined, undefined), true)
})

t.test('inherited members of objects do not count', async (t) => {
  t.equal(isSameJson({ constructor: 1 }, {}), false)
  t.equal(isSameJson(JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}')), true)
  t.equal(isSameJson(JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 2}')), false)
})

t.test('two values are the same if their texts are', async (t) => {
  const law = fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (one, other) => {
    const copy = JSON.parse(JSON.stringify(one)) as Json
    const isText = JSON.stringify(one) === JSON.stringify(other)
    return isSameJson(one as Json, copy) && (!isText || isSameJson(one as Json, other as Json))
  })
  holds(t, law)
})
