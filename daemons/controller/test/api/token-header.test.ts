import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { tokenOf } from '../../api/rest-surface.ts'

t.test('1 Session token: either header gives it, and Bearer wins', async (t) => {
  t.equal(tokenOf({ authorization: 'Bearer abc' }), 'abc')
  t.equal(tokenOf({ 'svc-api-token': ' abc ' }), 'abc')
  t.equal(tokenOf({ authorization: 'bEARER \t abc', 'svc-api-token': 'x' }), 'abc')
  t.equal(tokenOf({ authorization: 'Bearer', 'svc-api-token': 'x' }), undefined)
  t.equal(tokenOf({ authorization: 'Bearerx', 'svc-api-token': 'x' }), 'x')
  t.equal(tokenOf({ authorization: 'Basic abc' }), undefined)
  t.equal(tokenOf({}), undefined)
})

t.test('a token longer than any is none', async (t) => {
  t.equal(tokenOf({ 'svc-api-token': 'x'.repeat(512) })?.length, 512)
  t.equal(tokenOf({ 'svc-api-token': 'x'.repeat(513) }), undefined)
  t.equal(tokenOf({ authorization: `Bearer ${'x'.repeat(513)}` }), undefined)
})

t.test('holds for any headers: a text of 1 to 512 characters, or none', async (t) => {
  const header = fc.option(
    fc.oneof(
      fc.string(),
      fc.string().map((text) => `Bearer ${text}`),
    ),
    { nil: undefined },
  )
  holds(
    t,
    fc.property(header, header, (authorization, own) => {
      const token = tokenOf({ authorization, 'svc-api-token': own })
      return token === undefined || (token.length > 0 && token.length <= 512)
    }),
  )
})
