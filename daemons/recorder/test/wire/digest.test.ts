import { createHash } from 'node:crypto'
import t from 'tap'
import { authorizationOf, type Challenge, readChallenge } from '../../wire/digest.ts'

const hash = (algorithm: string, text: string) => createHash(algorithm).update(text).digest('hex')
const mufasa = { username: 'Mufasa', password: 'Circle of Life', method: 'GET', uri: '/dir/index.html', count: 1 }
const cnonce = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ'

function challengeOf(...headers: string[]): Challenge {
  const challenge = readChallenge(headers)
  if (!challenge) throw new TypeError('none')
  return challenge
}

t.test('answers the examples of RFC 7616, 3.9.1', async (t) => {
  const said = (algorithm: string) =>
    `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${algorithm}, ` +
    'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
  const answerOf = (algorithm: string) =>
    authorizationOf(challengeOf(said(algorithm)), { ...mufasa, password: 'Circle of Life', cnonce }, hash)
  t.match(answerOf('MD5'), 'response="8ca523f5e9506fed4657c9700eebdbec"')
  t.match(answerOf('SHA-256'), 'response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"')
})

t.test('answers a camera that knows no qop, as RFC 2069 has it', async (t) => {
  const text = authorizationOf(challengeOf('Digest realm="cam", nonce="abc"'), { ...mufasa, cnonce }, hash)
  const expected = hash('md5', `${hash('md5', 'Mufasa:cam:Circle of Life')}:abc:${hash('md5', 'GET:/dir/index.html')}`)
  t.match(text, `response="${expected}"`)
  t.notMatch(text, /qop|cnonce|algorithm/)
})

t.test('takes the safest of several challenges, and none that it does not know', async (t) => {
  const basic = 'Basic realm="cam"'
  const md5 = 'Digest realm="cam", nonce="a", stale=TRUE'
  const sha = 'Digest realm="cam", nonce="a", algorithm=SHA-256'
  t.match(readChallenge([basic, md5, sha]), { algorithm: 'sha256' })
  t.match(readChallenge([basic, md5]), { algorithm: 'md5', isStale: true })
  t.match(readChallenge([basic]), { scheme: 'basic' })
  for (const none of [
    'Digest realm="cam"',
    'Digest realm="c", nonce="n", algorithm=TOKEN',
    'Negotiate',
    '',
    'Digest realm="c", nonce="n", qop="auth-int"',
  ])
    t.equal(readChallenge([none]), undefined, none)
  t.equal(authorizationOf({ scheme: 'basic' }, { ...mufasa, cnonce }, hash), 'Basic TXVmYXNhOkNpcmNsZSBvZiBMaWZl')
})

t.test('sends no quote that would end a value early', async (t) => {
  const challenge = challengeOf('Digest realm="a\\"b", nonce="n"')
  t.throws(() => authorizationOf(challenge, { ...mufasa, cnonce }, hash), { code: 'rtsp_broken' })
})

t.test('sends no line break of a user name, behind which a message of its own could begin', async (t) => {
  const challenge = challengeOf('Digest realm="a", nonce="n"')
  for (const username of ['a\r\nTEARDOWN rtsp://x RTSP/1.0', 'a\n', 'a\r'])
    t.throws(() => authorizationOf(challenge, { ...mufasa, username, cnonce }, hash), { code: 'rtsp_broken' })
})
