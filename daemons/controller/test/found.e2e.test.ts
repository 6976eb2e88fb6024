/** A gateway on the network is found, adopted on the page, and driven after Apply All. */
import t from 'tap'
import { ask, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { openRestSite } from './rest-site.ts'

t.test('from the network to a device that is online', async (t) => {
  const [gateway, site] = await Promise.all([
    startDaemon(t, 'gateway', { sets: ['ports.allow=["/dev/pts/*"]'] }),
    openRestSite(t, { sets: ['mdns.enabled=true', 'found.query_ms=1000'] }),
  ])
  const port = Number(new URL(gateway.url).port)
  const json = { 'content-type': 'application/json' }
  const admin = JSON.stringify({ username: 'admin', password: 'correct horse battery' })
  const { body: signedIn } = await ask(`${gateway.url}/api/setup`, { method: 'POST', headers: json, body: admin })
  const headers = { ...json, authorization: `Bearer ${signedIn.token}` }
  const wish = JSON.stringify({ name: 'controller', role: 'admin' })
  const { body: made } = await ask(`${gateway.url}/api/keys`, { method: 'POST', headers, body: wish })

  const page = await site.pageOf('ada')
  // Other gateways of this machine may be heard too.
  const ours = async () => {
    const { body } = await page('GET', '/ui/found')
    return body.found.find((one: { port: number }) => one.port === port)
  }
  await until('it is found', async () => (await ours()) !== undefined)
  const found = await ours()
  t.match(found, { role: 'gateway', driver: 'gateway', address: '127.0.0.1', version: /^\d/, device: null })

  t.equal((await page('POST', '/ui/found/adopt', { id: 'nobody' })).status, 404)
  t.equal((await page('POST', '/ui/found/adopt', { id: found.id, name: 'Plant room', secret: made.key })).status, 200)
  t.match((await page('POST', '/ui/found/adopt', { id: found.id, name: 'Twice' })).body, { error: 'found_known' })
  const { body: pending } = await page('GET', '/ui/pending')
  t.match(pending.changes, [{ kind: 'add', table: 'device', name: 'Plant room' }])
  t.notOk(JSON.stringify(pending).includes(made.key), 'the key is not shown')
  t.equal((await site.applyAll()).status, 200)

  const token = await site.tokenOf('ada')
  const device = async () => (await site.get('/api/data/device?name=Plant%20room&_instance=true', token)).body[0]
  await until('it is online', async () => (await device()).state === 'online')
  t.match(await device(), {
    driver: 'gateway',
    transport: { host: '127.0.0.1', port },
    api_key: null,
    model: 'gateway',
  })
  t.match(await ours(), { device: { name: 'Plant room', moved: false } })
  t.match((await page('POST', '/ui/found/adopt', { id: found.id })).body, { error: 'found_known' })
  await gateway.stop()
  await until('it is gone', async () => (await device()).state === 'offline')
})
