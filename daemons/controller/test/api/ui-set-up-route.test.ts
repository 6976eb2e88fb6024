/** Tests of api/ui-session-routes.ts. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import t from 'tap'
import { SESSION_COOKIE } from '../../api/ui-gate.ts'
import { fakeHouse } from '../fake-house.ts'
import { serveUi } from '../ui-server.ts'

const form = { username: 'ada', password: 'a long enough one', site: ' Mill ', time_zone: 'Europe/Oslo' }

/** The status of a set-up request under this host name. */
async function statusUnder(url: string, host: string, json: unknown): Promise<number | undefined> {
  const headers = { host, origin: `http://${host}`, 'content-type': 'application/json' }
  const asking = request(`${url}/ui/setup`, { method: 'POST', headers })
  asking.end(JSON.stringify(json))
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}

t.test('creates the first account of a controller without any, and signs it in', async (t) => {
  const house = fakeHouse()
  const { visitor } = await serveUi(t, house)
  const browser = visitor()
  t.equal((await browser.call('GET', '/ui/site')).body.setup, true)
  const { status, body } = await browser.call('POST', '/ui/setup', form)
  t.match({ status, body }, { status: 200, body: { signed_in: true, username: 'ada' } })
  t.ok(browser.cookies.has(SESSION_COOKIE))
  t.same(house.made, [{ username: 'ada', password: 'a long enough one', siteName: 'Mill', timeZone: 'Europe/Oslo' }])
  t.equal((await browser.call('GET', '/ui/me')).status, 200)
  t.match(house.records[1], { path: '/ui/setup', username: 'ada', granted: true, reason: null })
  t.equal((await visitor().call('GET', '/ui/site')).body.setup, undefined)
})

t.test('works once: a later caller is told to sign in, and the call is recorded', async (t) => {
  const house = fakeHouse()
  const { visitor } = await serveUi(t, house)
  await visitor().call('POST', '/ui/setup', form)
  const late = visitor()
  const answer = await late.call('POST', '/ui/setup', { ...form, username: 'eve' })
  t.match(answer, { status: 409, body: { error: 'already_set_up' } })
  t.equal(late.cookies.size, 0)
  t.equal(house.made.length, 1)
  t.match(house.records[0], { path: '/ui/setup', status: 409, granted: false, reason: 'unauthorized' })
})

t.test('names every field that does not fit, and creates nothing', async (t) => {
  const house = fakeHouse()
  const { visitor } = await serveUi(t, house)
  const { status, body } = await visitor().call('POST', '/ui/setup', {
    username: ' x',
    password: 'short',
    time_zone: '<',
  })
  t.equal(status, 400)
  t.match(body, { error: 'bad_fields' })
  t.same((body.fields as { field: string }[]).map(({ field }) => field).sort(), ['password', 'time_zone', 'username'])
  t.same(house.made, [])
  t.match(await visitor().call('POST', '/ui/setup', { username: 'ada', password: form.password }), { status: 200 })
  t.match(house.made, [{ siteName: 'Building', timeZone: null }])
})

t.test('works only inside the building, for pages of this box, under one of its own names', async (t) => {
  const house = fakeHouse()
  const { url, visitor } = await serveUi(t, house)
  const foreign = { origin: 'https://evil.example' }
  t.match(await visitor().call('POST', '/ui/setup', form, foreign), { status: 403, body: { error: 'foreign_origin' } })
  // A name that somebody else's server has rebound to this address: the browser treats the page as this machine's own.
  t.equal(await statusUnder(url, 'evil.example', form), 403)
  house.parts.originOf = ({ remoteAddress }) => ({ clientIp: remoteAddress, isRemote: true, isLocal: false })
  t.match(await (await serveUi(t, house)).visitor().call('POST', '/ui/setup', form), {
    status: 403,
    body: { error: 'setup_remote' },
  })
  t.match(house.records[0], { path: '/ui/setup', reason: 'remote_denied', granted: false })
  t.same(house.made, [])
})

t.test('a caller that is not provably in the building is refused', async (t) => {
  const house = fakeHouse()
  house.parts.originOf = ({ remoteAddress }) => ({ clientIp: remoteAddress, isRemote: false, isLocal: false })
  const { visitor } = await serveUi(t, house)
  t.match(await visitor().call('POST', '/ui/setup', form), { status: 403, body: { error: 'setup_remote' } })
  t.same(house.made, [])
})
