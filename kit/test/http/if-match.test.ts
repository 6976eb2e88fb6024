import t from 'tap'
import { ifMatch, withRevision } from '../../http/route.ts'

/** The outcome of a change with this `If-Match` if the present revision is that one. */
function told(given: string | undefined, revision: string | undefined): string | undefined {
  try {
    ifMatch({ headers: given === undefined ? {} : { 'if-match': given } })(revision)
    return undefined
  } catch (error) {
    return (error as Error & { code: string }).code
  }
}

t.test('RFC 9110 13.1.1: one of the given tags must match the present one', async (t) => {
  for (const given of [undefined, '"a"', 'a', '*', '"x", "a"', ' "a" '])
    t.equal(told(given, 'a'), undefined, `${given}`)
  for (const given of ['"b"', 'W/"a"', '', '"a', '"A"']) t.equal(told(given, 'a'), 'changed_meanwhile', given)
})

t.test('a removed resource matches nothing, not even *', async (t) => {
  for (const given of ['"a"', '*']) t.equal(told(given, undefined), 'changed_meanwhile', given)
  t.equal(told(undefined, undefined), undefined)
  t.throws(() => ifMatch({ headers: { 'if-match': '*' } })(undefined), { message: /^Nothing is there any more/ })
})

t.test('an answer names its revision, an answer without a resource has none', async (t) => {
  t.match(withRevision({ a: 1 }, 'r'), { status: 200, body: { a: 1 }, headers: { etag: '"r"' } })
  t.same(withRevision({}, null, 201), { status: 201, body: {}, headers: {} })
})
