/** Tests of asking other boards: what is believed of an answer that nobody vouches for. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Peer } from '../../web/api.ts'
import { askBoard, askBoards, farBoards, pageOf, typePassword, verdictOf, webAddress } from '../../web/far-boards.ts'
import { fakePeer } from '../fake-states.ts'

async function board(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('only addresses of pages are opened', async (t) => {
  t.equal(webAddress('http://10.20.4.12:8080/x?y#z'), 'http://10.20.4.12:8080')
  t.equal(webAddress('https://[fe80::1]/'), 'https://[fe80::1]')
  for (const url of [
    '',
    'javascript:alert(1)//',
    'data:text/html,x',
    'file:///etc/passwd',
    'http://',
    'http://admin:x@10.0.0.1/',
  ])
    t.equal(webAddress(url), null, url)
})

t.test("a page is on the board's own site, whatever path it names", async (t) => {
  t.equal(pageOf(fakePeer('b', { url: 'http://10.0.0.1:81', path: '/board/' })), 'http://10.0.0.1:81/board/')
  for (const path of ['//evil.example/', 'http://evil.example', 'javascript:0', '\\\\evil.example'])
    t.equal(pageOf(fakePeer('b', { url: 'http://10.0.0.1', path })), 'http://10.0.0.1/', path)
  t.equal(pageOf(fakePeer('b', { url: 'javascript:0' })), null)
})

t.test('of an answer only a short text and a state are taken', async (t) => {
  t.same(verdictOf({ verdict: { state: 'ok', text: 'Fine.' } }), { lit: 'ok', text: 'Fine.' })
  t.equal(verdictOf({ verdict: { state: 'ok', text: 'x'.repeat(5000) } }).text.length, 300)
  for (const odd of [null, 7, 'x', [], {}, { verdict: null }, { verdict: { state: {}, text: [] } }])
    t.same(verdictOf(odd), { lit: 'off', text: 'It answers, but says nothing of how it is.' }, JSON.stringify(odd))
})

t.test('signs in with what the reader signed in with here', async (t) => {
  let seen: string | undefined
  const url = await board(t, (request, response) => {
    seen = request.headers.authorization
    response.end('{"verdict":{"state":"warn","text":"Line 2 is absent."}}')
  })
  t.match(await askBoard(fakePeer('b', { url }), 'Basic eDp5'), {
    state: 'told',
    lit: 'warn',
    text: 'Line 2 is absent.',
  })
  t.equal(seen, 'Basic eDp5')
  await askBoard(fakePeer('b', { url }), null)
  t.equal(seen, undefined)
})

t.test('an answer that is too long, no JSON, a detour, or none at all is silence', async (t) => {
  const endless = await board(t, (_request, response) => {
    const timer = setInterval(() => response.write('x'.repeat(65_536)), 1)
    response.on('close', () => clearInterval(timer))
  })
  const odd = await board(t, (_request, response) => response.end('<html>'))
  const away = await board(t, (_request, response) => response.writeHead(302, { location: odd }).end())
  for (const url of [endless, odd, away, 'http://127.0.0.1:1', 'javascript:0'])
    t.equal((await askBoard(fakePeer('b', { url }), null)).state, 'silent', url)
})

t.test('a typed password goes to its board alone', async (t) => {
  const seen: string[] = []
  const listener =
    (name: string): RequestListener =>
    (request, response) => {
      seen.push(`${name} ${request.headers.authorization}`)
      response.writeHead(request.headers.authorization === 'Basic YWRtaW46w6Q=' ? 200 : 401).end('{}')
    }
  const peers = [
    fakePeer('one', { url: await board(t, listener('one')) }),
    fakePeer('two', { url: await board(t, listener('two')) }),
    fakePeer('gone', { url: 'http://127.0.0.1:1', state: 'unreachable' }),
    fakePeer('self', { self: true }),
  ]
  typePassword(peers[0] as Peer, 'ä')
  await askBoards(peers, 'Basic eDp5')
  t.same(seen.sort(), ['one Basic YWRtaW46w6Q=', 'two Basic eDp5'])
  t.equal(farBoards.value.size, 2, 'neither itself nor what is known to be gone is asked')
  t.equal(farBoards.value.get(peers[1]?.url ?? '')?.state, 'locked')
})
