/** Tests of http/browser-rule.ts, through the server that holds browsers to it. */
import { request } from 'node:http'
import t from 'tap'
import { WebSocket } from 'ws'
import type { Route } from '../../http/route.ts'
import { isHostAmong } from '../../net/address.ts'
import { serve } from './server-here.ts'

const FRIEND = 'http://10.0.0.7:8080'
const look: Route = { method: 'GET', path: '/api/look', who: 'admin', summary: 'Test', handle: () => ({ is: 'seen' }) }
const act: Route = { method: 'POST', path: '/api/act', who: 'admin', summary: 'Test', handle: () => ({ is: 'done' }) }
const open: Route = { ...act, path: '/api/open', who: 'anyone' }
const own: Route = { ...look, path: '/api/own', sameOriginOnly: true }

async function held(t: Parameters<typeof serve>[0]) {
  const browsers = {
    takesHost: (host: string | undefined) => isHostAmong(host, () => ['box', 'box.local']),
    takesOrigin: (origin: string) => origin === FRIEND,
  }
  const sockets = [{ path: '/ws', who: 'anyone' as const, summary: 'Test', open: () => {} }]
  const here = await serve(t, { routes: [look, act, open, own], browsers, sockets })
  /** As a program would send it: every header as given, Host too. */
  function send(method: string, path: string, headers: Record<string, string | string[]> = {}) {
    return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; code: string | undefined }>(
      (resolve, reject) => {
        const given = { host: 'box', authorization: 'Bearer admin', ...headers }
        const client = request({ port: here.port, host: '127.0.0.1', method, path, headers: given, setHost: false })
        client.on('error', reject).on('response', async (reply) => {
          const body = Buffer.concat(await reply.toArray()).toString()
          const isJson = body.startsWith('{')
          resolve({
            status: reply.statusCode ?? 0,
            headers: reply.headers,
            code: isJson ? JSON.parse(body).error : undefined,
          })
        })
        client.end()
      },
    )
  }
  return { ...here, send }
}

t.test('B.auth.2 a program, which names no page, is allowed everything', async (t) => {
  const { send } = await held(t)
  t.equal((await send('POST', '/api/act')).status, 200)
  t.equal((await send('GET', '/api/look')).status, 200)
})

t.test('B.auth.2 a page of this same server is allowed, under whatever name it was opened', async (t) => {
  const { send, port } = await held(t)
  const names = ['box', 'BOX', 'box.local', 'box.', '127.0.0.1', `127.0.0.1:${port}`, '[fd00::1]:80', 'localhost:8080']
  for (const host of names) {
    const origin = new URL(`http://${host}`).origin
    t.equal((await send('POST', '/api/act', { host, origin })).status, 200, host)
    t.equal(
      (await send('POST', '/api/act', { host, referer: `${origin}/matrix?x` })).status,
      200,
      `${host}, by Referer`,
    )
  }
})

t.test('B.auth.2 a page of a found board is allowed, and its origin is named to the browser', async (t) => {
  const { send } = await held(t)
  for (const [method, path] of [
    ['POST', '/api/act'],
    ['GET', '/api/look'],
  ] as const) {
    const { status, headers } = await send(method, path, { origin: FRIEND })
    t.equal(status, 200)
    t.equal(headers['access-control-allow-origin'], FRIEND)
    t.equal(headers.vary, 'origin')
    t.equal(headers['access-control-allow-credentials'], undefined)
  }
  const refused = await send('GET', '/api/look', { origin: FRIEND, authorization: 'Bearer no' })
  t.match(refused, { status: 401, headers: { 'access-control-allow-origin': FRIEND } }, 'the page can read why')
})

const FOREIGN = [
  'http://evil.example',
  'http://box:81',
  'http://box.evil.example',
  'http://10.0.0.7',
  'http://10.0.0.7:8081',
  'https://10.0.0.7:8080',
  'http://10.0.0.7:8080.evil.example',
  'http://10.0.0.7:8080/',
  'http://u@10.0.0.7:8080',
  'null',
  '',
  '*',
  'file://',
  'ws://box',
  'http://box, http://evil.example',
]

t.test('B.auth.2 a POST of any other page is refused before its body and its password are checked', async (t) => {
  const { send } = await held(t)
  for (const origin of FOREIGN) {
    const { status, code, headers } = await send('POST', '/api/act', { origin, authorization: 'Bearer no' })
    t.same([status, code], [403, 'foreign_origin'], origin)
    t.equal(headers['access-control-allow-origin'], undefined, origin)
    t.same((await send('POST', '/api/open', { origin })).status, 403, `${origin}, on a route for anyone`)
  }
  for (const referer of ['http://evil.example/', 'http://evil.example/box', '', 'about:blank', 'http://evil@box/'])
    t.equal((await send('POST', '/api/act', { referer })).code, 'foreign_origin', referer)
})

t.test('B.auth.2 Origin takes precedence over Referer', async (t) => {
  const { send } = await held(t)
  const at = (origin: string, referer: string) => send('POST', '/api/act', { origin, referer })
  t.equal((await at('null', 'http://box/')).status, 403)
  t.equal((await at('http://evil.example', 'http://box/')).status, 403)
  t.equal((await at('http://box', 'http://evil.example/')).status, 200)
})

t.test('B.auth.2 a browser that sends neither, and says that it is another site, is believed', async (t) => {
  const { send } = await held(t)
  for (const site of ['cross-site', 'same-site'])
    t.equal((await send('POST', '/api/act', { 'sec-fetch-site': site })).code, 'foreign_origin', site)
  for (const site of ['same-origin', 'none'])
    t.equal((await send('POST', '/api/act', { 'sec-fetch-site': site })).status, 200, site)
})

t.test('every method that is not known to be safe is treated like POST', async (t) => {
  const { send } = await held(t)
  for (const method of ['PUT', 'PATCH', 'DELETE', 'POST'])
    for (const path of ['/api/act', '/api/none', '/'])
      t.equal((await send(method, path, { origin: 'http://evil.example' })).code, 'foreign_origin', `${method} ${path}`)
})

t.test('a link from anywhere leads here, and the linking page cannot read the result', async (t) => {
  const { send } = await held(t)
  const links: Record<string, string>[] = [
    { referer: 'http://evil.example/' },
    { origin: 'http://evil.example' },
    { origin: 'null' },
  ]
  for (const headers of links) {
    const reply = await send('GET', '/api/look', headers)
    t.equal(reply.status, 200)
    t.equal(reply.headers['access-control-allow-origin'], undefined)
  }
})

t.test('other headers, or the body, change nothing', async (t) => {
  const { send } = await held(t)
  const tricks: Record<string, string>[] = [
    { 'x-forwarded-host': 'evil.example' },
    { 'x-forwarded-for': '10.0.0.7' },
    { forwarded: 'host=evil.example' },
    { 'x-http-method-override': 'GET' },
    { 'content-type': 'text/plain' },
  ]
  for (const trick of tricks)
    t.equal((await send('POST', '/api/act', { origin: 'http://evil.example', ...trick })).status, 403)
  t.equal((await send('POST', '/api/act?_method=GET', { origin: 'http://evil.example' })).status, 403)
})

t.test('the preflight of a found board is answered without a password', async (t) => {
  const { send } = await held(t)
  const ask = { origin: FRIEND, 'access-control-request-method': 'POST', authorization: 'Bearer no' }
  const { status, headers } = await send('OPTIONS', '/api/act', ask)
  t.equal(status, 204)
  t.match(headers, {
    'access-control-allow-origin': FRIEND,
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': 'authorization, content-type',
    vary: 'origin',
  })
})

t.test('the preflight of nobody else is answered, and OPTIONS without a page is not a preflight', async (t) => {
  const { send } = await held(t)
  for (const origin of FOREIGN) {
    const { status, headers } = await send('OPTIONS', '/api/act', { origin, 'access-control-request-method': 'POST' })
    t.equal(status, 403, origin)
    for (const name of Object.keys(headers)) t.notMatch(name, /^access-control/, origin)
  }
})

t.test('a route with credentials answers only pages of this server, not those of a found board', async (t) => {
  const { send } = await held(t)
  t.equal((await send('GET', '/api/own')).status, 200)
  t.equal((await send('GET', '/api/own', { origin: 'http://box' })).status, 200)
  t.equal((await send('GET', '/api/own', { 'sec-fetch-site': 'none' })).status, 200, 'typed into the address bar')
  const others: Record<string, string>[] = [
    { origin: FRIEND },
    { referer: `${FRIEND}/matrix` },
    { origin: 'http://evil.example' },
    { referer: 'http://evil.example/' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'http://box' },
  ]
  for (const headers of others)
    for (const method of ['GET', 'HEAD'])
      t.equal((await send(method, '/api/own', headers)).status, 403, `${method} ${JSON.stringify(headers)}`)
  const preflight = await send('OPTIONS', '/api/own', { origin: FRIEND, 'access-control-request-method': 'GET' })
  t.equal(preflight.status, 403)
  t.equal(preflight.headers['access-control-allow-origin'], undefined)
})

t.test('a name that was rebound to this address is refused, whatever else the request says', async (t) => {
  const { send, port } = await held(t)
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    'box.evil.example',
    'box@evil.example',
    '',
    'box,evil.example',
  ])
    for (const path of ['/api/look', '/', '/api/own'])
      t.equal((await send('GET', path, { host, origin: `http://${host}` })).code, 'foreign_host', `${host} ${path}`)
  t.equal(
    (await send('GET', 'http://evil.example/api/look')).code,
    'foreign_host',
    'the whole address in the first line',
  )
  t.equal((await send('GET', 'http://box/api/look', { host: 'evil.example' })).status, 200)
  t.equal(
    (await send('POST', 'http://box/api/act', { host: 'evil.example', origin: 'http://evil.example' })).status,
    403,
  )
})

t.test('duplicate headers are refused', async (t) => {
  const { send } = await held(t)
  t.equal((await send('POST', '/api/act', { origin: ['http://box', 'http://evil.example'] })).code, 'bad_http')
  t.equal((await send('POST', '/api/act', { referer: ['http://box/', 'http://evil.example/'] })).code, 'bad_http')
})

t.test('B.auth.2 a WebSocket is opened for the same pages', async (t) => {
  const { port } = await held(t)
  const status = (headers: Record<string, string>) =>
    new Promise((resolve) => {
      const client = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers: { host: 'box', ...headers } })
      client.on('error', () => {})
      client.on('open', () => {
        client.terminate()
        resolve(101)
      })
      client.on('unexpected-response', (asked, reply) => {
        asked.destroy()
        resolve(reply.statusCode)
      })
    })
  t.equal(await status({}), 101)
  for (const origin of ['http://box', FRIEND]) t.equal(await status({ origin }), 101, origin)
  for (const origin of FOREIGN.filter((text) => text !== '')) t.equal(await status({ origin }), 403, origin)
  t.equal(await status({ host: 'evil.example', origin: 'http://evil.example' }), 403)
})
