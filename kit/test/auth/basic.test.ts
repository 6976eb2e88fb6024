/** Tests of auth/credentials.ts. */
import fc from 'fast-check'
import t from 'tap'
import { readBasic } from '../../auth/credentials.ts'

const header = (text: string | Buffer, scheme = 'Basic') => `${scheme} ${Buffer.from(text).toString('base64')}`

t.test('reads the examples of the standard', async (t) => {
  t.same(readBasic('Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=='), { username: 'Aladdin', password: 'open sesame' })
  t.same(readBasic('Basic dGVzdDoxMjPCow=='), { username: 'test', password: '123£' })
})

t.test('the scheme can be in any case, the first colon ends the user', async (t) => {
  t.same(readBasic(header('admin:a:b:', 'bAsIc')), { username: 'admin', password: 'a:b:' })
  t.same(readBasic(header('admin:')), { username: 'admin', password: '' })
  t.same(readBasic(header(':x')), { username: '', password: 'x' })
})

t.test('a header that is not Basic gives nobody', async (t) => {
  const wrong = [
    undefined,
    '',
    'Basic',
    'Basic ',
    'Basic !!!',
    'Bearer YTpi',
    'Basic YTpi YTpi',
    'Basic YTpi,',
    'BasicYTpi',
    'Basic YTp',
    'Basic YTp=i',
    'Basic YQ==YTpi',
    header('admin'),
    header('admin:a\nb'),
    header('ad\0min:a'),
    header('admin:\u0085'),
    header(Buffer.from([0x61, 0x3a, 0xff])),
    header(`admin:${'x'.repeat(5000)}`),
  ]
  for (const text of wrong) t.equal(readBasic(text), undefined, String(text))
})

t.test('reads back what was written', async (t) => {
  const plain = fc.string({ unit: 'grapheme' }).filter((text) => !/\p{Cc}/u.test(text) && text.isWellFormed())
  fc.assert(
    fc.property(
      plain.filter((text) => !text.includes(':')),
      plain,
      (username, password) => {
        t.same(readBasic(header(`${username}:${password}`)), { username, password })
      },
    ),
  )
  fc.assert(fc.property(fc.string(), (text) => void readBasic(`Basic ${text}`)))
})
