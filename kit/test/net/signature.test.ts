/** Tests of net/signature.ts. */
import t from 'tap'
import { isSignedBy, webhookSignature } from '../../net/signature.ts'

t.test('A.webhooks.3 signs the exact bytes with HMAC-SHA-256', async (t) => {
  // RFC 4231, test case 2.
  const body = Buffer.from('what do ya want for nothing?')
  const expected = 'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'
  t.equal(webhookSignature(body, 'Jefe'), expected)
  t.equal(isSignedBy(expected, body, 'Jefe'), true)
  t.equal(isSignedBy(expected.replace('5bdc', '5BDC'), body, 'Jefe'), true)
})

t.test('rejects a signature of another body, another secret or another form', async (t) => {
  const body = Buffer.from('body')
  const good = webhookSignature(body, 'secret')
  t.equal(isSignedBy(good, Buffer.from('Body'), 'secret'), false)
  t.equal(isSignedBy(good, body, 'Secret'), false)
  for (const bad of ['', good.slice(7), `${good}0`, good.slice(0, -1), `sha1=${good.slice(7)}`, '\u00e9'.repeat(71)])
    t.equal(isSignedBy(bad, body, 'secret'), false)
})
