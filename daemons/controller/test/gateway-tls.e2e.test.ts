/** A gateway that speaks HTTPS: its root is compared and adopted, then it is driven; a stranger in its place is not. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { simulateModbusLine } from '../../../scripts/sim/modbus-device.ts'
import { simulatedUnit } from '../../../scripts/sim/modbus-unit.ts'
import { openRestSite } from './rest-site.ts'

const SECRET = 'a secret of both'

async function startGateway(listen = '127.0.0.1:0') {
  const sets = ['http.tls=true', 'ports.allow=["/dev/pts/*"]', 'ports.retry_first_ms=10000']
  const gateway = await startDaemon(t, 'gateway', { sets, listen })
  const root: string = JSON.parse(readFileSync(join(gateway.stateFolder, 'tls.json'), 'utf8')).root.certificate
  let token = ''
  /** Checked against the root, as a client of the gateway does. */
  async function call(method: string, path: string, body?: object) {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const asked = request(`${gateway.url}${path}`, { method, headers, ca: root }, async (answer) => {
      let text = ''
      for await (const part of answer) text += part
      if ((answer.statusCode ?? 500) < 300) resolve(text)
      else reject(new Error(`${method} ${path}: ${answer.statusCode} ${text}`))
    })
    asked.on('error', reject).end(body && JSON.stringify(body))
    return JSON.parse(await promise)
  }
  token = (await call('POST', '/api/setup', { username: 'admin', password: 'correct horse battery' })).token
  const { fingerprint256: fingerprint } = new X509Certificate(root)
  return { gateway, call, root, fingerprint, port: Number(new URL(gateway.url).port) }
}

t.test('from a gateway that was switched to HTTPS to one that is driven over it', async (t) => {
  const pty = openPty()
  t.teardown(() => pty.close())
  const coils = [0, 1]
  const wrote: unknown[] = []
  const told = (...what: unknown[]) => void wrote.push(what)
  const unit = simulatedUnit({ unitId: 5, coils, holding: [], wrote: told })
  t.teardown(simulateModbusLine({ duplex: pty, clock: systemClock, units: [unit] }))
  const { gateway, call, root, fingerprint, port } = await startGateway()
  const { key } = await call('POST', '/api/keys', { name: 'controller', role: 'admin' })
  const path = `/api/ports/${encodeURIComponent(pty.path)}`
  await call('PUT', path, { protocol: 'modbus-rtu', line: { baud: 115_200 }, settings: {} })
  const pointOf = (name: string, address: number) => ({ name, unitId: 5, fc: 1, address, pollMs: 100, type: 'bit' })
  await call('PUT', `${path}/points`, { points: [pointOf('run', 0), pointOf('lamp', 1)] })

  const transport = { kind: 'gateway', host: '127.0.0.1', port }
  const byHand = { ...transport, host: 'https://localhost' }
  const config = { feed: 'webhook', webhook_secret: SECRET, root_ca: root }
  const zone = (id: number, point: string, device: number) => {
    return { id, name: `Zone ${id}`, type: 'relay', device_id: device, address: `${pty.path}#${point}` }
  }
  const site = await openRestSite(t, {
    sets: ['mdns.enabled=true', 'found.query_ms=1000', 'drivers.retry_max_ms=1000'],
    rows: {
      device: [
        { id: 20, name: 'Plant room', driver: 'gateway', transport, api_key: key },
        { id: 21, name: 'By hand', driver: 'gateway', transport: byHand, api_key: key, config },
      ],
      zone: [zone(30, 'run', 20), zone(31, 'lamp', 21)],
      ...{ command: [], macro: [], macro_step: [], ui: [{ name: 'Ground' }, { name: 'Whole' }] },
      ...{ ui_zone: [], ui_zone_group_ui: [], attribute: [] },
    },
  })
  const token = await site.tokenOf('ada')
  const page = await site.pageOf('ada')
  const row = async (table: string, id: number) =>
    (await site.get(`/api/data/${table}?id=${id}&_instance=true`, token)).body[0]
  const ours = async () => {
    const { body } = await page('GET', '/ui/found')
    return body.found.find((one: { port: number }) => one.port === port)
  }

  await t.test('a device of plain HTTP says that the gateway speaks HTTPS, and what to do', async (t) => {
    await until('it is lost', async () => (await row('device', 20)).state === 'offline')
    t.match((await row('device', 20)).error, /speaks HTTPS, and its root CA was not adopted yet: on the page System/)
    await until('it is found', async () => (await ours()) !== undefined)
    t.match(await ours(), { tls: true, device: { id: 20, moved: false, has_root: false } })
    t.notMatch(gateway.output(), /credentials_unencrypted/, 'its key was not shown')
  })

  await t.test('its root is compared, and adopted by its fingerprint', async (t) => {
    const { id } = await ours()
    const seen = (await page('POST', '/ui/found/root', { id })).body
    t.match(seen, { fingerprint, adopted: null })
    const other = fingerprint.replaceAll(/[0-9A-F]/g, '0')
    t.match((await page('POST', '/ui/found/adopt', { id, fingerprint: other })).body, { error: 'found_root' })
    t.equal((await page('POST', '/ui/found/adopt', { id, fingerprint })).status, 200)
    t.equal((await site.applyAll()).status, 200)
    await until('it is driven', async () => (await row('zone', 30)).state === 'off')
    t.match(await ours(), { device: { id: 20, has_root: true } })
    t.match((await page('POST', '/ui/found/root', { id })).body, { adopted: fingerprint })
  })

  await t.test('a coil is written, a value on the bus is told, and a signed webhook brings one', async (t) => {
    t.match((await site.post('/api/control/command', { zone_id: 30, on: true }, token)).body, { success: true })
    t.strictSame(wrote.splice(0), [['coils', 0, [1]]])
    await until('it is told by the feed', async () => (await row('zone', 30)).on === true)
    const url = `${site.url()}/webhooks/device/21`
    await call('POST', `${path}/webhooks`, { url, events: ['value'], secret: SECRET })
    await until('the first value is read', async () => (await row('zone', 31)).on === true)
    coils[1] = 0
    await until('it is told by the webhook', async () => (await row('zone', 31)).on === false)
  })

  await t.test('another gateway in its place is not driven, until its root is adopted again', async (t) => {
    await gateway.stop('SIGKILL')
    const stranger = await startGateway(`127.0.0.1:${port}`)
    const why = new RegExp(`not issued by the root CA with the fingerprint ${fingerprint}; if it was set up again`)
    await until('it says why', async () => why.test((await row('device', 20)).error ?? ''))
    t.match(await row('zone', 30), { state: 'unknown' })
    await until('it is found', async () => {
      const found = await ours()
      return (
        found !== undefined &&
        (await page('POST', '/ui/found/root', { id: found.id })).body.fingerprint === stranger.fingerprint
      )
    })
    const { id } = await ours()
    t.match((await page('POST', '/ui/found/root', { id })).body, { adopted: fingerprint })
    await page('POST', '/ui/found/adopt', { id, fingerprint: stranger.fingerprint })
    t.equal((await site.applyAll()).status, 200)
    await until('it is trusted, and does not know the key', async () =>
      /takes no key/.test((await row('device', 20)).error ?? ''),
    )
  })
})
