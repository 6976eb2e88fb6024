import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { askFromMany, holdHalfOpen } from '#kit/test/http/half-open.ts'
import { password, type RunningGateway, startGateway } from './running-gateway.ts'

/** Sends bytes as they are, without a client that would correct them. @returns status and code of the first answer */
async function raw(gateway: RunningGateway, head: string[], body = ''): Promise<string> {
  const { hostname, port, host } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  const [first, ...rest] = head
  socket.write([first, `Host: ${host}`, 'Connection: close', ...rest, '', body].join('\r\n'))
  const answer = await text(socket)
  return `${/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]} ${/"error":"(\w+)"/.exec(answer)?.[1] ?? 'none'}`
}

t.test('A.authentication no second spelling of a request gets past the check', async (t) => {
  const gateway = await startGateway(t)
  const admin = `Authorization: Bearer ${await gateway.setUp()}`
  const me = 'GET /api/me HTTP/1.1'
  await t.test('a request with two credentials is refused, and no other header is a credential', async (t) => {
    t.equal(await raw(gateway, [me, admin]), '200 none')
    for (const two of [
      ['Authorization: Bearer x', admin],
      [admin, 'Authorization: Bearer x'],
    ])
      t.match(await raw(gateway, [me, ...two]), /^400/)
    const others = ['X-Authorization', 'Proxy-Authorization', 'Cookie', 'Authorization2'].map((name) =>
      admin.replace('Authorization', name),
    )
    for (const header of [...others, admin.replace(' Bearer ', ' Basic '), admin.replace(' Bearer ', ' ')])
      t.equal(await raw(gateway, [me, header]), '401 unauthorized', header.slice(0, 24))
  })
  await t.test('the method and the path are those of the first line', async (t) => {
    const overrides = ['X-HTTP-Method-Override: DELETE', 'X-Original-URL: /api/status', 'X-Rewrite-URL: /api/status']
    t.equal(await raw(gateway, ['GET /api/users HTTP/1.1', ...overrides]), '401 unauthorized')
    for (const path of ['//api/users', '/API/users', '/api/users;x', '/api//users', '/api%2fusers', '/x/../api/users'])
      t.equal(await raw(gateway, [`GET ${path} HTTP/1.1`]), '404 not_found', path)
    for (const path of ['/%61pi/users', '/api/user%73', '/api/users?x=/api/status', '/api/users#/api/status'])
      t.equal(await raw(gateway, [`GET ${path} HTTP/1.1`]), '401 unauthorized', path)
  })
  await t.test('a body with two lengths is not a request', async (t) => {
    const login = JSON.stringify({ username: 'admin', password })
    const post = ['POST /api/login HTTP/1.1', 'Content-Type: application/json']
    const both = [...post, `Content-Length: ${login.length}`, 'Transfer-Encoding: chunked']
    t.match(await raw(gateway, both, login), /^400/)
    t.match(await raw(gateway, [...post, 'Content-Length: 5', `Content-Length: ${login.length}`], login), /^400/)
  })
  await t.test('300 half-open requests of one address keep nobody else out', async (t) => {
    await holdHalfOpen(t, gateway.url, { times: 300, from: '127.0.0.9' })
    t.equal(await askFromMany(`${gateway.url}/api/status`, 294), 294)
  })
  await t.test('a client cannot choose the address it is counted by', async (t) => {
    const login = JSON.stringify({ password: 'guess' })
    const post = ['POST /api/login HTTP/1.1', 'Content-Type: application/json', `Content-Length: ${login.length}`]
    const outcomes = []
    for (let times = 0; times < 5; times++)
      outcomes.push(
        await raw(
          gateway,
          [...post, `X-Forwarded-For: 203.0.113.${times}`, `Forwarded: for=203.0.113.${times}`],
          login,
        ),
      )
    t.same(outcomes, new Array(5).fill('401 wrong_login'))
    const beganMs = performance.now()
    t.equal(await raw(gateway, [...post, 'X-Forwarded-For: 203.0.113.9'], login), '401 wrong_login')
    t.ok(performance.now() - beganMs > 400, 'the sixth waits for 500 ms')
    const entries = (await gateway.call('GET', '/api/journal')).body
    t.match(entries[0], { what: 'sign-in refused', from: '127.0.0.1' })
  })
})
