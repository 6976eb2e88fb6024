/** The built controller against insiders and strangers: what they must not reach, and must not block. */
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { mostResidentMb, residentMb } from '#kit/test/process-memory.ts'
import { until } from '#kit/test/until.ts'
import { memorySum } from '../../../scripts/memory-facts.ts'
import { hashPassword } from '../io/people.ts'
import { openRestSite, type RestSite } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

const HERE = '10.64.99.1'
const AWAY = '203.0.113.7'

/** Signs in on the page. @returns the cookie as a browser sends it */
async function cookieOf(site: RestSite, username: string): Promise<string> {
  const headers = { 'content-type': 'application/json', origin: site.url() }
  const told = await site.call('POST', '/ui/sign-in', { body: { username, password: PASSWORD }, headers, from: HERE })
  return told.headers.getSetCookie().at(-1)?.split(';')[0] ?? ''
}

t.test('what ends a session ends it on every surface', async (t) => {
  const site = await openRestSite(t)

  await t.test(
    '1 Authentication 5: a user limited to the building reads nothing from outside, on any surface',
    async (t) => {
      const proxy = { from: AWAY, headers: {}, paths: ['/metrics', '/openapi.json', '/api/me'] }
      const tunnel = { from: HERE, headers: { 'svc-cloud-tunnel': '1' }, paths: ['/metrics'] }
      for (const { paths, ...way } of [{ ...proxy, headers: {} }, tunnel]) {
        for (const path of paths) {
          const token = await site.tokenOf('lena')
          t.equal((await site.call('GET', path, { token, from: HERE })).status, 200, path)
          t.equal((await site.call('GET', path, { token, ...way })).status, 401, path)
          t.equal((await site.call('GET', path, { token, from: HERE })).status, 401, `${path}, and the token is lost`)
        }
        const cookie = await cookieOf(site, 'lena')
        t.equal((await site.call('GET', '/ui/me', { headers: { cookie }, from: HERE })).status, 200)
        const headers = { ...way.headers, cookie }
        t.equal((await site.call('GET', '/ui/me', { headers, from: way.from })).status, 401)
      }
    },
  )

  await t.test('a new password, once it is applied, ends tokens, page sessions and nonces', async (t) => {
    const token = await site.tokenOf('olga')
    const cookie = await cookieOf(site, 'olga')
    const { nonce } = (await site.post('/api/session_handoff', {}, await site.tokenOf('omar'))).body
    const me = async () => [
      (await site.get('/api/me', token)).status,
      (await site.call('GET', '/ui/me', { headers: { cookie } })).status,
    ]
    const kept = await hashPassword('close sesame')
    await site.stage({ auth_user: ['olga', 'omar'].map((username) => ({ username, ...kept })) })
    t.same(await me(), [200, 200], 'not before it is applied')
    t.match((await site.applyAll()).body, { applied: 2 })
    t.same(await me(), [401, 401])
    const headers = { cookie: `svc_handoff=${nonce}`, 'content-type': 'application/json', origin: site.url() }
    t.equal((await site.call('POST', '/ui/handoff', { headers, body: {} })).status, 401)
    t.match((await site.post('/api/token', { username: 'olga', password: 'close sesame' })).body, { token: String })
  })
})

t.test('1 Limits: long queries delay neither short ones nor health checks', async (t) => {
  const attribute = Array.from({ length: 400 }, (_, at) => ({
    ...{ id: at + 1, name: 'note', value: `${'ab'.repeat(50)}${at}`, secure: false },
    ...{ system_target: 'zone', target_id: 4 },
  }))
  const slow = { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } }
  const site = await openRestSite(t, { rows: { attribute, command: [{ id: 1, name: 'slow', args_schema: slow }] } })
  const [token, other] = [await site.tokenOf('olga'), await site.tokenOf('omar')]
  const patterns = Array.from({ length: 60 }, (_, at) => `_or[${at}][_contains][value]=${'ab'.repeat(40)}x${at}`)
  let ended = 0
  const heavy = Array.from({ length: 4 }, async () => {
    const { status, body } = await site.get(`/api/data/attribute?name=note&${patterns.join('&')}`, token)
    ended += 1
    t.same([status, body], [200, []])
  })
  for (let round = 0; round < 3; round++) {
    t.match((await site.get('/api/health')).body, { ok: true })
    t.match((await site.get('/api/data/zone?id=4', other)).body, [{ id: 4 }])
  }
  t.equal(ended, 0, 'six calls are answered before the first of four long queries')
  await Promise.all(heavy)
  // Nor does a pattern in a site file that takes forever.
  const args = { x: `${'a'.repeat(60)}!` }
  t.match(await site.post('/api/control/command', { zone_id: 4, command: 'slow', args }, token), { status: 400 })
  t.match((await site.get('/api/health')).body, { ok: true })
})

t.test(
  '1 Limits: answers that nobody reads are held within a limit, and a client that reads nothing is disconnected',
  async (t) => {
    const attribute = Array.from({ length: 2500 }, (_, at) => ({
      ...{ id: at + 1, name: 'note', value: 'x'.repeat(5000), secure: false },
      ...{ system_target: 'zone', target_id: 4 },
    }))
    const bound = 4_194_304
    const sets = [`http.unsent_bytes_per_address=${bound}`, 'http.stalled_ms=3000']
    const site = await openRestSite(t, { rows: { attribute }, sets })
    const token = await site.tokenOf('olga')
    const { port } = new URL(site.url())
    const head = `GET /api/data/attribute?_orderby=id=desc&_limit=2500 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
    const beforeMb = residentMb(site.pid())
    let mostMb = 0
    for (let at = 0; at < 40; at++) {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
      t.teardown(() => socket.destroy())
      socket.pause().write(head)
    }
    // Incomplete bodies from strangers at other addresses.
    const posting = `POST /api/token HTTP/1.1\r\nHost: x\r\nContent-Length: 262144\r\n\r\n${'x'.repeat(262_143)}`
    for (let at = 0; at < 200; at++) {
      const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: `127.1.0.${at % 4}` })
      t.teardown(() => socket.destroy())
      socket.on('error', () => {}).write(posting)
    }
    t.equal(await healthFrom('127.2.0.1', site.url()), 200, 'another address is answered')
    await until('the client that reads nothing is disconnected', () => {
      mostMb = Math.max(mostMb, residentMb(site.pid()))
      return site.output().includes('unread_answers_ended')
    })
    t.ok(mostMb - beforeMb < 400, `${mostMb - beforeMb} MB for forty answers of 13 MB`)
    const rows = '/api/data/attribute?_orderby=id=desc&_limit=2500'
    const { memoryMaxMib } = await memorySum(join(import.meta.dirname, '../../..'), 'controller')
    const allowedMb = (memoryMaxMib * 1_048_576) / 1e6
    const most = mostResidentMb(site.pid())
    t.ok(most < allowedMb, `${most} MB, where its unit allows ${allowedMb}`)
    await until('it answers again', async () => (await site.get(rows, token)).body.length === 2500)
  },
)

function healthFrom(localAddress: string, url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/api/health`, { localAddress, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    asked.on('error', reject).end()
  })
}
