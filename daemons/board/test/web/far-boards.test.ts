/** Tests of asking other boards: what is accepted from an untrusted answer. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import type { Peer } from '../../web/api.ts'
import {
  askBoard,
  askBoards,
  type FarSound,
  farBoards,
  farPageUrl,
  lastOf,
  rememberBoards,
  takeSound,
  typePassword,
  verdictOf,
  webAddress,
} from '../../web/far-boards.ts'
import { fakeDecoder } from '../fake-sound.ts'
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
  t.equal(farPageUrl(fakePeer('b', { url: 'http://10.0.0.1:81', path: '/board/' })), 'http://10.0.0.1:81/board/')
  for (const path of ['//evil.example/', 'http://evil.example', 'javascript:0', '\\\\evil.example'])
    t.equal(farPageUrl(fakePeer('b', { url: 'http://10.0.0.1', path })), 'http://10.0.0.1/', path)
  t.equal(farPageUrl(fakePeer('b', { url: 'javascript:0' })), null)
})

t.test('only a short text and a state are taken from an answer', async (t) => {
  t.same(verdictOf({ verdict: { state: 'ok', text: 'Fine.' } }), { lit: 'ok', text: 'Fine.' })
  t.equal(verdictOf({ verdict: { state: 'ok', text: 'x'.repeat(5000) } }).text.length, 300)
  for (const odd of [null, 7, 'x', [], {}, { verdict: null }, { verdict: { state: {}, text: [] } }])
    t.same(verdictOf(odd), { lit: 'off', text: 'It answers, but does not say how it is.' }, JSON.stringify(odd))
})

t.test('signs in with the credentials that the reader used here', async (t) => {
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

t.test('an answer that is too long, not JSON, a redirect, or missing counts as silence', async (t) => {
  const endless = await board(t, (_request, response) => {
    const timer = setInterval(() => response.write('x'.repeat(65_536)), 1)
    response.on('close', () => clearInterval(timer))
  })
  const odd = await board(t, (_request, response) => response.end('<html>'))
  const away = await board(t, (_request, response) => response.writeHead(302, { location: odd }).end())
  for (const url of [endless, odd, away, 'http://127.0.0.1:1', 'javascript:0'])
    t.equal((await askBoard(fakePeer('b', { url }), null)).state, 'silent', url)
})

t.test('a typed password is sent only to its board', async (t) => {
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
  t.equal(farBoards.value.size, 2, 'neither the board itself nor one known to be gone is asked')
  t.equal(farBoards.value.get(peers[1]?.url ?? '')?.state, 'locked')
})

/** A decoder that answers when the test allows it, with its state at the time of the request. */
async function slowDecoder(t: Test): Promise<{ peer: Peer; asked(count: number): Promise<void>; answer(): void }> {
  const waiting: (() => void)[] = []
  const url = await board(t, (_request, response) => {
    const text = JSON.stringify({ decoder: fakeDecoder({ playing: false }) })
    waiting.push(() => response.end(text))
  })
  return {
    peer: fakePeer('slow', { url }),
    asked: (count) => until(`asked ${count} times`, () => waiting.length === count),
    answer: () => waiting.shift()?.(),
  }
}

t.test(
  'a board that misses one request is asked again before it counts as silent, and then once a round',
  async (t) => {
    let requests = 0
    let isWell = true
    const url = await board(t, (request, response) => {
      requests += 1
      if (requests > 1 && isWell) response.end('{}')
      else request.socket.destroy()
    })
    const peers = [fakePeer('tired', { url })]
    const state = () => farBoards.value.get(url)?.state
    await askBoards(peers, null)
    t.same([requests, state()], [2, 'told'])
    isWell = false
    await askBoards(peers, null)
    t.same([requests, state()], [4, 'silent'])
    await askBoards(peers, null)
    t.same([requests, state()], [5, 'silent'])
  },
)

t.test('an answer from before a change by the user does not replace newer ones', async (t) => {
  const { peer, asked, answer } = await slowDecoder(t)
  const shown = () => lastOf(farBoards.value.get(peer.url))?.sound
  const first = askBoards([peer], null)
  await asked(1)
  answer()
  await first
  t.match(shown(), { playing: false })
  const round = askBoards([peer], null)
  await asked(1)
  const askedMs = Date.now()
  await until('the hand is later than the question', () => Date.now() > askedMs)
  takeSound(peer, (sound) => ({ ...sound, playing: true }) as FarSound)
  answer()
  await round
  t.match(shown(), { playing: true }, 'the round that was under way did not know of it')
  const next = askBoards([peer], null)
  await asked(1)
  answer()
  await next
  t.match(shown(), { playing: false }, 'the next one does')
})

t.test('a round that is overtaken by a later one is ignored', async (t) => {
  const { peer, asked, answer } = await slowDecoder(t)
  let isOpen = false
  let refusals = 0
  const url = await board(t, (_request, response) => {
    if (!isOpen) refusals++
    response.writeHead(isOpen ? 200 : 401).end('{}')
  })
  const lock = fakePeer('lock', { url })
  const early = askBoards([lock, peer], null)
  await asked(1)
  await until('it refused', () => refusals === 1)
  isOpen = true
  const askedMs = Date.now()
  await until('the second round is later', () => Date.now() > askedMs)
  const late = askBoards([lock], null)
  await late
  t.equal(farBoards.value.get(url)?.state, 'told')
  answer()
  await early
  t.equal(farBoards.value.get(url)?.state, 'told')
})

t.test('a board that did not answer for a while still answers a user', async (t) => {
  const url = await board(t, (_request, response) => response.end(JSON.stringify({ decoder: fakeDecoder() })))
  const peer = fakePeer('back', { url })
  await askBoards([peer], null)
  await askBoards([{ ...peer, state: 'unreachable' }], null)
  t.equal(farBoards.value.get(url)?.state, 'silent')
  takeSound(peer, (sound) => ({ ...sound, playing: false }) as FarSound)
  t.match(farBoards.value.get(url), { state: 'told', sound: { playing: false } })
})

t.test(
  'what a board plays is remembered across a reload of the page, and shown only if the board is gone',
  async (t) => {
    const kept = new Map<string, string>()
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, text: string) => kept.set(key, text),
    }
    t.intercept(globalThis, 'localStorage', { value: storage })
    const url = await board(t, (_request, response) => response.end(JSON.stringify({ decoder: fakeDecoder() })))
    const peer = fakePeer('roof', { id: 'board-roof', url })
    await askBoards([peer], null)
    rememberBoards()
    farBoards.value = new Map()
    await askBoards([{ ...peer, state: 'absent' }], null)
    const { route } = fakeDecoder()
    t.match(farBoards.value.get('board-roof'), {
      state: 'silent',
      last: { sound: { kind: 'decoder', route: { mcast: route.mcast, port: route.port }, checks: [], volume: null } },
    })
    t.equal(kept.size, 1)
    t.notMatch([...kept.values()][0], /Basic|password/)
  },
)
