/** Tests of core/json.ts. */
import fc from 'fast-check'
import t from 'tap'
import { heapBytesOf } from '#kit/test/heap.ts'
import { holds } from '#kit/test/holds.ts'
import { objectOf } from '../../core/json.ts'

t.test('an object of entries serialises like the result of Object.fromEntries, whatever the keys', async (t) => {
  const key = fc.oneof(
    fc.string(),
    fc.nat().map(String),
    fc.constantFrom('__proto__', 'constructor', '007', '4294967295'),
  )
  const law = fc.property(fc.array(fc.tuple(key, fc.jsonValue({ maxDepth: 1 }))), (entries) => {
    const object = objectOf(entries as Parameters<typeof objectOf>[0])
    for (const name of Object.keys(object)) object[name] = object[name] ?? null
    return JSON.stringify(object) === JSON.stringify(Object.fromEntries(entries))
  })
  holds(t, law)
})

t.test('a number as a key takes no more memory than another key', async (t) => {
  const bytes = await heapBytesOf(() => Array.from({ length: 1000 }, (_, at) => objectOf([[String(at), at]])))
  t.ok(bytes < 1000 * 300, `${bytes / 1000} bytes an object`)
})
