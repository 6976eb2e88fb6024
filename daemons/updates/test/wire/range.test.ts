import fc from 'fast-check'
import t from 'tap'
import { rangeOf } from '../../wire/range.ts'

const ETAG = '"abc"'

t.test('RFC 9110, 14.1.2: the ranges of its examples', async (t) => {
  const rows: [string, ReturnType<typeof rangeOf>][] = [
    ['bytes=0-499', { start: 0, end: 499 }],
    ['bytes=500-999', { start: 500, end: 999 }],
    ['bytes=-500', { start: 9500, end: 9999 }],
    ['bytes=9500-', { start: 9500, end: 9999 }],
    ['bytes=-20000', { start: 0, end: 9999 }],
    ['bytes=0-20000', { start: 0, end: 9999 }],
    ['bytes=10000-', 'outside'],
    ['bytes=-0', 'outside'],
    ['bytes=0-0,-1', undefined],
    ['bytes=5-2', undefined],
    ['bytes=-', undefined],
    ['bytes=a-b', undefined],
    ['items=0-1', undefined],
  ]
  for (const [range, expected] of rows) t.same(rangeOf({ range }, ETAG, 10_000), expected, range)
  t.equal(rangeOf({}, ETAG, 10), undefined)
})

t.test('RFC 9110, 13.1.5: a range of another file is not given', async (t) => {
  const range = 'bytes=1-2'
  t.same(rangeOf({ range, ifRange: ETAG }, ETAG, 10), { start: 1, end: 2 })
  for (const ifRange of ['"abd"', 'W/"abc"', 'Wed, 21 Oct 2015 07:28:00 GMT', ''])
    t.equal(rangeOf({ range, ifRange }, ETAG, 10), undefined, ifRange)
})

t.test('whatever is asked lies within the file', async () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.nat(), fc.nat(1000), (noise, one, other, size) => {
      for (const range of [noise, `bytes=${noise}`, `bytes=${one}-${other}`, `bytes=-${one}`, `bytes=${one}-`]) {
        const found = rangeOf({ range }, ETAG, size)
        if (typeof found === 'object' && !(found.start >= 0 && found.start <= found.end && found.end < size))
          throw new Error(range)
      }
    }),
  )
})
