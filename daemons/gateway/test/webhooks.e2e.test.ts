import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { sharedGateway } from './shared-gateway.ts'
import { targetOf } from './webhook-target.ts'

/** @param sets of the gateway */
async function rawPort(t: Test, sets: string[] = []) {
  const gateway = await sharedGateway(sets)
  const device = openPty()
  t.teardown(() => device.close())
  const settings = { framing: 'delimiter', delimiter_hex: '0A' }
  await gateway.openPort(t, device.path, { protocol: 'raw', settings })
  const hooks = gateway.portPath(device.path, '/webhooks')
  return { gateway, device, hooks, add: async (body: object) => (await gateway.call('POST', hooks, body)).body }
}

t.test(
  'A.webhooks.2 A.webhooks.3 a delivery has the headers of the document, and openssl agrees with its signature',
  async (t) => {
    const { gateway, add, device } = await rawPort(t)
    const signed = await targetOf(t)
    const plain = await targetOf(t)
    await add({ url: signed.url, secret: 'sésame', events: ['frame'], headers: { authorization: 'Basic YTpi' } })
    await add({ url: plain.url, events: ['frame'] })
    await device.write(Buffer.from('hello\n'))
    await until('both were told', () => signed.got.length === 1 && plain.got.length === 1)
    const [delivery] = signed.got
    t.match(delivery?.headers, {
      'content-type': 'application/json',
      'x-svc-port': device.path,
      'x-svc-event': 'frame',
      authorization: 'Basic YTpi',
    })
    const body = JSON.parse(String(delivery?.body))
    t.same(Object.keys(body), ['port', 'event', 'timestamp', 'payload'])
    t.match(body, { port: device.path, event: 'frame', timestamp: Number, payload: { hex: '68 65 6C 6C 6F 0A' } })
    const file = join(gateway.stateFolder, 'body')
    writeFileSync(file, delivery?.body ?? '')
    const openssl = execFileSync('openssl', ['dgst', '-sha256', '-hmac', 'sésame', file], { encoding: 'utf8' })
    t.equal(delivery?.headers['x-svc-signature'], `sha256=${openssl.trim().split(' ').at(-1)}`)
    t.notHas(plain.got[0]?.headers, { 'x-svc-signature': String })
  },
)

t.test('A.webhooks.5 a target that hangs, refuses or is down does not delay the bus or another target', async (t) => {
  // Without pauses each failing target is tried for each event.
  const sets = ['webhooks.timeout_ms=300', 'webhooks.pause_after=1000']
  const { gateway, add, device, hooks } = await rawPort(t, sets)
  const good = await targetOf(t)
  const hanging = await targetOf(t, () => {})
  const refusing = await targetOf(t, (response) => response.writeHead(500).end())
  const redirecting = await targetOf(t, (response) => response.writeHead(302, { location: good.url }).end())
  for (const url of [hanging.url, refusing.url, redirecting.url, 'http://127.0.0.1:1/'])
    await add({ url, events: ['frame'] })
  await add({ url: good.url, events: ['frame'] })
  for (let line = 0; line < 20; line++) await device.write(Buffer.from(`line ${line}\n`))
  await until('the good target has all', () => good.got.length === 20)
  t.same(
    good.got.map(({ body }) => Buffer.from(JSON.parse(String(body)).payload.hex.replaceAll(' ', ''), 'hex').toString()),
    Array.from({ length: 20 }, (_, line) => `line ${line}\n`),
    'in order',
  )
  await until('the refusing target was asked twice for each', () => refusing.got.length === 40)
  await until('the failures are reported', async () => {
    const { body } = await gateway.call('GET', hooks)
    return body.slice(1, 4).every((hook: { counters: { failed: number } }) => hook.counters.failed === 20)
  })
  const { body: list } = await gateway.call('GET', hooks)
  t.match(list[1], { counters: { failed: 20, retried: 20 }, lastError: { status: 500 } })
  t.match(list[2], { lastError: { status: 302 } })
  t.match(list[3], { lastError: { status: null, message: /ECONNREFUSED/ } })
  t.match(list[4], { counters: { delivered: 20, failed: 0, dropped: 0 }, lastError: null })
  await until('the hanging target was given up', async () => {
    const hook = (await gateway.call('GET', hooks)).body[0]
    return hook.counters.failed >= 1 && hook.lastError.status === null
  })
})

t.test(
  'A.webhooks.config an update is partial, the secret is never shown, a dead target is paused, deleting ends it',
  async (t) => {
    const { gateway, add, device, hooks } = await rawPort(t)
    const target = await targetOf(t)
    const hook = await add({ url: target.url, secret: 'open sesame', events: ['port'] })
    t.match(hook, { url: target.url, events: ['port'], enabled: true, headers: {}, hasSecret: true })
    t.notMatch(JSON.stringify((await gateway.call('GET', hooks)).body), /open sesame/)
    t.match((await gateway.call('PUT', `${hooks}/${hook.id}`, { events: [] })).body, { events: [], hasSecret: true })
    t.match((await gateway.call('PUT', `${hooks}/${hook.id}`, { secret: null })).body, { hasSecret: false })
    t.equal((await gateway.call('PUT', `${hooks}/${hook.id}`, { headers: { 'X-Svc-Port': 'x' } })).status, 400)
    t.equal((await gateway.call('PUT', `${hooks}/${hook.id}`, { url: 'http://169.254.169.254/' })).status, 400)
    t.match(await gateway.call('POST', `${hooks}/${hook.id}/test`), {
      status: 200,
      body: { delivered: true, status: 204 },
    })
    const dead = await add({ url: 'http://127.0.0.1:1/', events: ['frame'] })
    for (let line = 0; line < 20; line++) await device.write(Buffer.from(`line ${line}\n`))
    const stateOf = async ({ id }: { id: string }) =>
      (await gateway.call('GET', hooks)).body.find((one: { id: string }) => one.id === id)
    await until('the dead target is paused', async () => (await stateOf(dead)).pausedUntil !== null)
    await until('the good one has all', async () => target.got.length === 21)
    t.match(await stateOf(dead), { counters: { failed: 3, retried: 3, queued: 17 }, pausedUntil: Number })
    t.match(await stateOf(hook), { counters: { delivered: 20, failed: 0 }, pausedUntil: null })
    t.equal((await gateway.call('DELETE', `${hooks}/${dead.id}`)).status, 204)
    await gateway.call('PUT', `${hooks}/${hook.id}`, { enabled: false })
    await device.write(Buffer.from('x\n'))
    t.equal((await gateway.call('DELETE', `${hooks}/${hook.id}`)).status, 204)
    t.equal((await gateway.call('DELETE', `${hooks}/${hook.id}`)).status, 404)
    t.same((await gateway.call('GET', hooks)).body, [])
    t.equal(target.got.length, 21, 'the sample and what came while it was enabled')
  },
)
