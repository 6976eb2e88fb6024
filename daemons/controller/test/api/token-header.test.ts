import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { handedToken } from '../../api/rest-surface.ts'

t.test('1 Session token: either header gives it, and Bearer wins', async (t) => {
  t.equal(handedToken({ authorization: 'Bearer abc' }), 'abc')
  t.equal(handedToken({ 'svc-api-token': ' abc ' }), 'abc')
  t.equal(handedToken({ authorization: 'bEARER \t abc', 'svc-api-token': 'x' }), 'abc')
  t.equal(handedToken({ authorization: 'Bearer', 'svc-api-token': 'x' }), undefined)
  t.equal(handedToken({ authorization: 'Bearerx', 'svc-api-token': 'x' }), 'x')
  t.equal(handedToken({ authorization: 'Basic abc' }), undefined)
  t.equal(handedToken({}), undefined)
})

t.test('a token that is too long counts as none', async (t) => {
  t.equal(handedToken({ 'svc-api-token': 'x'.repeat(512) })?.length, 512)
  t.equal(handedToken({ 'svc-api-token': 'x'.repeat(513) }), undefined)
  t.equal(handedToken({ authorization: `Bearer ${'x'.repeat(513)}` }), undefined)
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
      const token = handedToken({ authorization, 'svc-api-token': own })
      return token === undefined || (token.length > 0 && token.length <= 512)
    }),
  )
})
