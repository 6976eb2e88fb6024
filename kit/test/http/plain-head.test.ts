/** Tests of http/admission.ts. */
import t from 'tap'
import { checkLoneHeaders, originForm } from '../../http/admission.ts'

const heads = (...rawHeaders: string[]) => checkLoneHeaders({ rawHeaders } as never)

t.test('a header that decides about access must not be repeated', async (t) => {
  heads('Host', 'a', 'Accept', 'x', 'accept', 'y', 'Origin', 'http://a', 'Authorization', 'Basic x')
  for (const name of ['host', 'ORIGIN', 'Referer', 'authorization'])
    t.throws(() => heads('Accept', 'x', name, 'a', name.toLowerCase(), 'a'), { code: 'bad_http' }, name)
})

t.test('an address in the first line is the host that counts', async (t) => {
  const plain = (url: string) => {
    const request = { url, headers: { host: 'said.example' } }
    return [originForm(request), request.headers.host]
  }
  t.same(plain('/api/status?x=http://b'), ['/api/status?x=http://b', 'said.example'])
  t.same(plain('http://evil.example/api/status?x'), ['/api/status?x', 'evil.example'])
  t.same(plain('HTTPS://Box:81/a'), ['/a', 'Box:81'])
  t.same(plain('http://box'), ['/', 'box'])
  t.same(plain('http://box?x'), ['/?x', 'box'])
  t.same(plain('http:///a'), ['/a', ''])
  t.same(plain('http://user@box/a'), ['/a', 'user@box'], 'which is not a host that anybody uses')
  t.same(plain('*'), ['*', 'said.example'])
})
