/** The driver of gateways behind the host, against a gateway that a test plays over HTTP and WebSocket. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { createGatewayDriver } from '../../../../core/drivers/gateway/gateway.ts'
import type { Json } from '../../../../core/json.ts'
import { toyStage } from '../toy-stage.ts'
import { fakeGateway, KEY, pointOf } from './fake-gateway.ts'

const LINE = '/dev/ttyUSB0'

interface Form {
  points?: Readonly<Record<string, readonly object[]>>
  zone?: Readonly<Record<string, Json>>
  device?: Readonly<Record<string, Json>>
}

async function stageOf(t: Test, { points, zone, device }: Form = {}) {
  const gateway = await fakeGateway(t, points ?? { [LINE]: [pointOf('relay 1')] })
  const stage = toyStage(t, {
    driver: createGatewayDriver(),
    transport: { kind: 'gateway', host: '127.0.0.1', port: gateway.port },
    device: { api_key: KEY, ...device },
    zone: { address: `${LINE}#relay 1`, type: 'relay', ...zone },
    limits: { httpBytes: 65_536, messageBytes: 4096 },
  })
  await until('it is online or lost', () => stage.live.device(1).state !== 'unknown')
  return { gateway, ...stage }
}

t.test('the first values are read, and later ones arrive by themselves', async (t) => {
  const { gateway, reading } = await stageOf(t)
  t.match(reading(), { state: 'off', on: false, value: false, quality: 'good', error: null })
  t.strictSame(gateway.wishes, [{ type: 'subscribe', events: ['value'], port: LINE }])
  gateway.event(LINE, { ...pointOf('relay 1'), value: true, previous: false })
  await until('it is told', () => reading().on === true)
  t.match(reading(), { state: 'on', value: true })
  t.equal(gateway.asked(), 2, 'nothing else was asked for')
})

t.test('a point that has no value of now makes its zone unknown, with the reason', async (t) => {
  const { gateway, reading } = await stageOf(t)
  gateway.event(LINE, { ...pointOf('relay 1'), value: true, quality: 'stale', previous: false })
  await until('it is told', () => reading().state === 'unknown')
  t.match(reading(), { on: null, value: null, quality: 'stale', error: 'point "relay 1" has an old value' })
})

const writes: [
  title: string,
  point: Record<string, unknown>,
  zone: Record<string, Json>,
  verb: string,
  args: Json,
  body: object,
][] = [
  ['a coil is switched on', {}, {}, 'on', {}, { unitId: 1, fc: 5, address: 0, values: [1] }],
  ['a coil is switched by its value now', { value: true }, {}, 'toggle', {}, { fc: 5, values: [0] }],
  ['a register takes a level', { fc: 3, type: 'u16' }, {}, 'level', { level: 40 }, { fc: 6, values: [40] }],
  ['a register that is on is at its maximum', { fc: 3, type: 'u16' }, { max: 80 }, 'on', {}, { fc: 6, values: [80] }],
  [
    'a register takes a setpoint by its scale',
    { fc: 3, type: 's16', scale: 0.1, address: 7 },
    { type: 'thermostat' },
    'setpoint',
    { setpoint: 21.3 },
    { fc: 6, address: 7, values: [213] },
  ],
  [
    'two registers take a number with the lower one first',
    { fc: 3, type: 'f32', wordOrder: 'little' },
    {},
    'value',
    { value: 1.5 },
    { fc: 16, quantity: 2, values: [0, 0x3fc0] },
  ],
  [
    'a bit of a register leaves the others alone',
    { fc: 3, bit: 3 },
    {},
    'off',
    {},
    { fc: 22, and_mask: 0xfff7, or_mask: 0 },
  ],
]
for (const [title, point, zone, verb, args, body] of writes)
  t.test(title, async (t) => {
    const { gateway, command } = await stageOf(t, { points: { [LINE]: [pointOf('relay 1', point)] }, zone })
    t.strictSame(await command(verb, args as Record<string, Json>), {})
    t.match(gateway.posts, [{ path: `/api/ports/${LINE}/rest/request`, body }])
  })

t.test('a zone of several points has each as its field, and a verb writes its own', async (t) => {
  const { gateway, reading, command } = await stageOf(t, {
    points: {
      [LINE]: [
        pointOf('run', { value: true }),
        pointOf('speed', { fc: 3, type: 'u16', address: 9, value: 30 }),
        pointOf('room; a=b', { fc: 4, type: 's16', value: 21.5 }),
      ],
    },
    zone: { address: `${LINE}#on=run;level=speed;temperature=room%3B a=b`, type: 'fan' },
  })
  t.match(reading(), { state: 'on', on: true, level: 30, temperature: 21.5 })
  await command('level', { level: 55 })
  await command('off')
  t.match(gateway.posts, [{ body: { fc: 6, address: 9, values: [55] } }, { body: { fc: 5, values: [0] } }])
  await t.rejects(command('temperature', { temperature: 20 }), { message: /"room; a=b" is an input/ })
  await t.rejects(command('dance'), { message: /no point of zone 1 takes "dance": on, off, toggle, on, level/ })
})

t.test('what is locked is not unlocked by the name of locking', async (t) => {
  const { gateway, command } = await stageOf(t, { zone: { type: 'lock' } })
  for (const name of ['lock', 'LOCK', 'value'])
    await t.rejects(command('lock', { [name]: false }), { message: /lock and unlock take no false/ })
  t.strictSame(gateway.posts, [])
})

t.test('the bounds of a zone hold for its one point under any name', async (t) => {
  const points = { [LINE]: [pointOf('relay 1', { fc: 3, type: 'u16' })] }
  const zone = { address: `${LINE}#heat=relay 1`, max: 30 }
  const { gateway, command } = await stageOf(t, { points, zone })
  await t.rejects(command('heat', { heat: 200 }), { message: /heat 200 is above 30, the most of zone 1/ })
  const unnamed = await stageOf(t, { points, zone: { type: 'thermostat', max: 30 } })
  await t.rejects(unnamed.command('temperature', { temperature: 200 }), { message: /no point of zone 1 takes/ })
  t.strictSame([...gateway.posts, ...unnamed.gateway.posts], [])
})

t.test('a value that the register cannot hold is refused with the range, and nothing is sent', async (t) => {
  const { gateway, command } = await stageOf(t, {
    points: { [LINE]: [pointOf('relay 1', { fc: 3, type: 's16', scale: 0.1 })] },
  })
  await t.rejects(command('level', { level: 4000 }), { message: /"relay 1" takes -3276.8 to 3276.7/ })
  t.strictSame(gateway.posts, [])
})

t.test('a unit that does not answer is a failure with the words of the gateway', async (t) => {
  const { gateway, command, live } = await stageOf(t)
  gateway.answers(() => [504, { error: 'modbus_timeout', message: 'Unit 1 did not answer.' }])
  await t.rejects(command('on'), { code: 'driver_failed', message: /the gateway says: Unit 1 did not answer\./ })
  t.equal(live.device(1).state, 'online')
})

t.test('a request and raw bytes go out as they are, and the answer comes back', async (t) => {
  const { gateway, command } = await stageOf(t)
  gateway.answers((path) => [200, path.endsWith('tx') ? { sent: 2 } : { values: [7, 8] }])
  const asked = { unitId: 5, fc: 3, address: 100, quantity: 2 }
  t.strictSame(JSON.stringify(await command('request', asked)), '{"answer":{"values":[7,8]}}')
  await command('tx', { port: '/dev/ttyS1', hex: '53 0D', other: 1 })
  t.strictSame(gateway.posts, [
    { path: `/api/ports/${LINE}/rest/request`, body: asked },
    { path: '/api/ports//dev/ttyS1/rest/tx', body: { hex: '53 0D' } },
  ])
})

t.test('messages that were left out are made up for by reading all points', async (t) => {
  const { gateway, reading } = await stageOf(t)
  gateway.tables.set(LINE, [pointOf('relay 1', { value: true })])
  gateway.say('{"type":"summary","dropped":3}')
  await until('it is read', () => reading().on === true)
  t.equal(gateway.asked(), 3)
})

t.test('a point that was moved to another register is written there', async (t) => {
  const { gateway, command } = await stageOf(t)
  gateway.tables.set(LINE, [pointOf('relay 1', { address: 5, value: true })])
  gateway.event(LINE, { ...pointOf('relay 1'), value: true, previous: null })
  await until('it is written there', async () => {
    await command('on')
    return (gateway.posts.at(-1)?.body as { address?: number } | undefined)?.address === 5
  })
})

t.test('a gateway that is away is offline with a sentence, and is there again when it is back', async (t) => {
  const { gateway, live, reading } = await stageOf(t)
  const states: (string | null)[] = []
  live.onChange((kind) => void (kind === 'device' && states.push(live.device(1).error)))
  for (const ws of gateway.sockets) ws.terminate()
  await until('it is lost', () => states.length > 0)
  t.strictSame(states, [`127.0.0.1:${gateway.port} closed the connection`])
  await until('it is back', () => live.device(1).state === 'online')
  t.equal(reading().state, 'off')
  await gateway.stop()
  await until('it is gone', () => /refuses connections/.test(live.device(1).error ?? ''))
  t.match(live.device(1), { state: 'offline' })
  t.strictSame(reading().state, 'unknown')
})

t.test('a key that the gateway does not take is said so', async (t) => {
  const { live } = await stageOf(t, { device: { api_key: 'another' } })
  t.match(live.device(1), { state: 'offline', error: /takes no key from here/ })
  const without = await stageOf(t, { device: { api_key: null } })
  t.match(without.live.device(1), { state: 'offline', error: /it has no api_key/ })
})

t.test('zones without a point are unknown with the reason, and harm no other', async (t) => {
  const none = await stageOf(t, { zone: { address: 'relay 1' } })
  t.match(none.reading(), { state: 'unknown', error: /names no port and point/ }, 'the device names no line either')
  t.equal(none.live.device(1).state, 'online')
  const other = await stageOf(t, { zone: { address: `${LINE}#relay 2` } })
  t.match(other.reading(), { state: 'unknown', error: 'the gateway has no point "relay 2" there' })
  const line = await stageOf(t, { zone: { address: '/dev/ttyS9#relay 1' } })
  t.match(line.reading(), { state: 'unknown', error: /no point "relay 1"/ })
  t.strictSame(line.said, ['port /dev/ttyS9: the gateway says: This port is not set up.'])
})

t.test('without the feed a webhook brings the value, and one that is sent again is left out', async (t) => {
  const { gateway, host, reading } = await stageOf(t, {
    device: { config: { feed: 'webhook', webhook_secret: 'a secret shared by both' } },
  })
  t.equal(gateway.sockets.size, 0)
  const webhook = host.webhookOf(1)
  t.equal(webhook?.secret, 'a secret shared by both')
  const tell = (timestamp: number, value: boolean) => {
    const payload = { ...pointOf('relay 1'), value, previous: !value }
    return webhook?.tell(Buffer.from(JSON.stringify({ port: LINE, event: 'value', timestamp, payload })))
  }
  t.equal(tell(1000, true), true)
  t.equal(reading().on, true)
  tell(2000, false)
  tell(1000, true)
  t.equal(reading().on, false)
  tell(3000, true)
  const flood = () => {
    for (let n = 0; n < 10; n++) tell(4000 + n, true)
  }
  t.throws(flood, { code: 'webhook_flood' }, 'four a second are taken here')
})

t.test('a secret that is short enough to be guessed is a flaw of its row, and takes no webhook', (t) => {
  const { flaw, webhookSecret } = createGatewayDriver()
  const row = (secret: string) => ({
    ...{ id: 1, created_at: 0, updated_at: 0, transport: { host: '10.0.0.9', port: 3132 } },
    config: { feed: 'webhook', webhook_secret: secret },
  })
  t.match(flaw?.(row('x'.repeat(15))), /webhook_secret has to have 16 characters/)
  t.equal(webhookSecret?.(row('x'.repeat(15))), undefined)
  t.equal(flaw?.(row('x'.repeat(16))), undefined)
  t.end()
})

const lies: [what: string, payload: Record<string, unknown>, expected: object][] = [
  ['control characters', { value: 'a\u0000\u001b[31mb\u202e' }, { value: 'a [31mb' }],
  ['a text without an end', { value: 'x'.repeat(2000) }, { value: 'x'.repeat(256) }],
  ['a value that is a list', { value: [1, 2] }, { value: null }],
  ['a quality that there is not', { quality: 'perfect', value: true }, { value: false }],
]
for (const [what, payload, expected] of lies)
  t.test(`a gateway that says ${what} does no harm`, async (t) => {
    const { gateway, reading, live } = await stageOf(t)
    gateway.event(LINE, { ...pointOf('relay 1'), previous: false, ...payload })
    gateway.event(LINE, { ...pointOf('relay 2'), previous: false })
    await until(`it is ${JSON.stringify(expected)}`, () =>
      Object.entries(expected).every(([key, value]) => reading()[key] === value),
    )
    t.match(live.device(1), { state: 'online', error: null })
  })

t.test('a gateway whose answer does not end is lost with the setting that bounds it', async (t) => {
  const many = Array.from({ length: 500 }, (_, at) => pointOf(`point ${at}`))
  const { live } = await stageOf(t, { points: { [LINE]: many } })
  t.match(live.device(1), { state: 'offline', error: /answers more than drivers\.http_bytes \(65536\) bytes/ })
})

t.test('a message over the bound costs the gateway its connection, not the daemon its memory', async (t) => {
  const { gateway, live } = await stageOf(t)
  const states: (string | null)[] = []
  live.onChange((kind) => void (kind === 'device' && states.push(live.device(1).error)))
  gateway.say('x'.repeat(1_048_576))
  await until('it is lost', () => states.length > 0)
  t.match(states[0], /sent a message longer than drivers\.message_bytes \(4096\)/)
})

const WEBHOOKED = { config: { feed: 'webhook', webhook_secret: 'a secret shared by both' } }

function webhookOf(timestamp: number, more: Readonly<Record<string, unknown>>): Uint8Array {
  const payload = { ...pointOf('relay 1'), previous: null, ...more }
  return Buffer.from(JSON.stringify({ port: LINE, event: 'value', timestamp, payload }))
}

t.test('a webhook that is sent again after the gateway was away changes nothing', async (t) => {
  const points = { [LINE]: [pointOf('relay 1', { readAt: 1000 })] }
  const { gateway, host, reading, reopen } = await stageOf(t, { points, device: WEBHOOKED })
  const overheard = webhookOf(2000, { value: true })
  t.equal(host.webhookOf(1)?.tell(overheard), true)
  t.equal(reading().on, true)
  gateway.tables.set(LINE, [pointOf('relay 1', { readAt: 5000, ageMs: 300 })])
  reopen()
  await until('it is open again', () => reading().on === false)
  host.webhookOf(1)?.tell(overheard)
  host.webhookOf(1)?.tell(webhookOf(5200, { value: true }))
  t.equal(reading().on, false, 'older than the answer, even where it is newer than the last reading')
  host.webhookOf(1)?.tell(webhookOf(5300, { value: true }))
  t.equal(reading().on, true)
})

t.test('while the time at the gateway is not known, a webhook makes the points be read', async (t) => {
  const unread = pointOf('relay 1', { readAt: null, ageMs: null, value: null, quality: 'unknown' })
  const { gateway, host, reading } = await stageOf(t, { points: { [LINE]: [unread] }, device: WEBHOOKED })
  host.webhookOf(1)?.tell(webhookOf(9000, { value: true }))
  await until('they are read', () => gateway.asked() === 3)
  t.equal(reading().state, 'unknown', 'what the webhook said is not believed')
})
