/** The outlet over real sockets, to brokers that the test plays byte by byte. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Value } from 'typebox/value'
import { systemClock } from '#kit/clock.ts'
import { openMqttOutlet } from '#kit/net/mqtt/outlet.ts'
import { type MqttConfig, mqttTable } from '#kit/net/mqtt/settings.ts'
import { mqttRows } from '#kit/pure/mqtt-memory.ts'
import { heldBytes, rowOf } from '../../heap.ts'
import { until } from '../../until.ts'

const CONNACK = Buffer.from([0x20, 2, 0, 0])

/** A broker. @param obey its reaction to each packet, by the type in the high half of its first byte */
async function fakeBroker(t: Test, obey: (socket: Socket, type: number, packet: Buffer) => void) {
  const sockets = new Set<Socket>()
  const seen: Buffer[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    socket.on('data', (bytes) => {
      // All packets of these tests are shorter than 128 bytes.
      for (let at = 0; at < bytes.length; ) {
        const end = at + 2 + (bytes[at + 1] ?? 0)
        const packet = bytes.subarray(at, end)
        seen.push(packet)
        obey(socket, (packet[0] ?? 0) >> 4, packet)
        at = end
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `mqtt://127.0.0.1:${port}`, port, sockets, seen }
}

/** The reactions of a broker that takes everything. */
function obeyAll(socket: Socket, type: number, packet: Buffer): void {
  if (type === 1) socket.write(CONNACK)
  if (type !== 3) return
  const id = 4 + (packet[3] ?? 0)
  socket.write(Buffer.from([0x40, 2, packet[id] ?? 0, packet[id + 1] ?? 0]))
}

const silentLog = { error() {}, warning() {}, notice() {}, info() {}, debug() {} } as never

async function open(t: Test, settings: Partial<MqttConfig>, stateFolder = t.testdir({})) {
  const config = Value.Default(mqttTable({}), {
    ...{ topic_prefix: 'p', connect_ms: 2000, retry_first_ms: 600_000, retry_max_ms: 600_000, ...settings },
  }) as MqttConfig
  const raised: string[] = []
  const outlet = await openMqttOutlet({
    clock: systemClock,
    log: silentLog,
    stateFolder,
    config: { mqtt: config },
    conditions: { raise: ({ what }) => void raised.push(what), clear() {}, happened() {} },
    chance: () => 1,
  })
  if (!outlet) throw new Error('no outlet')
  t.teardown(() => outlet.part.stop())
  await outlet.part.start()
  return { outlet, raised, state: () => outlet.view().state, stateFolder }
}

t.test('without an address of a broker there is no outlet', async (t) => {
  const config = { mqtt: Value.Default(mqttTable({}), {}) as MqttConfig }
  const conditions = { raise() {}, clear() {}, happened() {} }
  const parts = { clock: systemClock, log: silentLog, conditions, chance: () => 1, config }
  t.equal(await openMqttOutlet({ ...parts, stateFolder: t.testdir({}) }), undefined)
})

t.test('addresses and prefixes that mean nothing are refused, and never quoted with a password', async (t) => {
  const { properties } = mqttTable({})
  const check = (key: 'url' | 'topic_prefix', value: string) =>
    (properties[key] as unknown as { check(value: unknown): string | undefined }).check(value)
  for (const url of ['', 'mqtt://broker', 'mqtts://10.0.0.1:8884', 'mqtt://[fd00::1]:1883/'])
    t.equal(check('url', url), undefined, url)
  for (const url of ['broker:1883', 'http://broker', 'mqtt://broker:0', 'mqtt://me:sesame@broker', 'mqtt://broker/x'])
    t.match(check('url', url), /no address of a broker.*password_file/, url)
  t.notMatch(check('url', 'mqtt://me:sesame@broker'), /sesame/)
  for (const prefix of ['plantroom/{id}', 'a', 'Haus 2/gateway']) t.equal(check('topic_prefix', prefix), undefined)
  for (const prefix of ['', 'a/', '/a', 'a//b', 'a/+', '#', '$SYS', 'a\n']) t.ok(check('topic_prefix', prefix), prefix)
})

t.test('CONNECT has the last will, and the id is the same at the next start', async (t) => {
  const { seen, url } = await fakeBroker(t, obeyAll)
  const stateFolder = t.testdir({})
  const first = await open(t, { url }, stateFolder)
  await until('it is online', () => first.outlet.view().published === 1)
  await first.outlet.part.stop()
  const [hello] = seen
  t.match(hello?.toString('latin1'), new RegExp(`plantroom-${first.outlet.id}.*p/status.*offline`, 's'))
  t.equal(hello?.[9], 0x2e, 'a clean session, a will that is kept, with QoS 1')
  t.equal((seen.at(-1)?.[0] ?? 0) >> 4, 14, 'DISCONNECT')
  const second = await open(t, { url }, stateFolder)
  t.equal(second.outlet.id, first.outlet.id)
})

t.test('a daemon that stops right after its start leaves no connection behind', async (t) => {
  const { sockets, seen, port, url } = await fakeBroker(t, obeyAll)
  const { outlet } = await open(t, { url })
  await outlet.part.stop()
  // The client is there now, so that an attempt that went on would have been made before this one.
  await import('#kit/net/mqtt/client.ts')
  await new Promise(setImmediate)
  const other = connect(port, '127.0.0.1')
  await once(other, 'connect')
  await until('the other is there', () => sockets.size > 0)
  t.equal(sockets.size, 1)
  t.same(seen, [])
  other.destroy()
})

t.test('topics outlive a run, so that what is gone is removed by the next', async (t) => {
  const { seen, url } = await fakeBroker(t, obeyAll)
  const stateFolder = t.testdir({})
  const first = await open(t, { url }, stateFolder)
  first.outlet.keep('p/a', () => '1')
  await until('it is told', () => first.outlet.view().published === 2)
  await first.outlet.part.stop()
  t.match(JSON.parse(readFileSync(join(stateFolder, 'mqtt.json'), 'utf8')), { topics: ['p/status', 'p/a'] })
  seen.length = 0
  const second = await open(t, { url }, stateFolder)
  await until('it is removed', () => second.outlet.view().published === 2)
  const removal = seen.find((packet) => packet.includes('p/a'))
  t.strictSame([removal?.[0], removal?.length], [0x33, 9], 'an empty message that is kept')
})

t.test('a broker that sends what nobody asked for, too much or nothing is left, with the reason', async (t) => {
  const cases: [string, (socket: Socket, type: number, packet: Buffer) => void, RegExp][] = [
    [
      'a message',
      (socket, type) => type === 1 && socket.write(Buffer.concat([CONNACK, Buffer.from([0x30, 4, 0, 1, 0x74, 0x78])])),
      /sent a message that nobody asked for/,
    ],
    [
      'a packet of 256 MB',
      (socket, type) => type === 1 && socket.write(Buffer.from([0x20, 0xff, 0xff, 0xff, 0x7f, 0])),
      /longer than mqtt\.packet_bytes \(65536\)/,
    ],
    [
      'answers without end',
      (socket, type) => type === 1 && socket.write(Buffer.concat([CONNACK, ...Array(99).fill(Buffer.from([0xd0, 0]))])),
      /sent more answers than it was asked for/,
    ],
    ['no answer', () => {}, /does not speak MQTT within 300 ms/],
    ['another protocol', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'), /longer than|broke/],
    ['its end', (socket) => socket.destroy(), /before it has taken this client.*mqtts:\/\//],
    ['a refusal', (socket) => socket.write(Buffer.from([0x20, 2, 0, 5])), /does not allow this account/],
  ]
  for (const [what, obey, reason] of cases) {
    const { sockets, url } = await fakeBroker(t, obey)
    const { outlet, raised, state } = await open(t, { url, connect_ms: 300 })
    await until(`${what}: it is left`, () => state() === 'waiting')
    t.match(outlet.view().fault?.message, reason, what)
    t.strictSame(new Set(raised), new Set(['broker_away']))
    await until('the connection is closed', () => sockets.size === 0)
  }
})

t.test('a broker that sends without end takes no more memory than the plan says', async (t) => {
  // PUBACKs for messages that were never sent: the only packets that a client without subscriptions has to take.
  const noise = Buffer.concat(Array.from({ length: 16_384 }, (_, at) => Buffer.from([0x40, 2, at >> 8, at & 0xff])))
  let sent = 0
  const { url } = await fakeBroker(t, (socket, type, packet) => {
    obeyAll(socket, type, packet)
    if (type !== 1) return
    const more = () => {
      sent += noise.length
      if (!socket.destroyed && sent < 4_194_304) socket.write(noise, more)
    }
    more()
  })
  const { outlet, state } = await open(t, { url })
  const before = await heldBytes()
  await until('all of it was read, or the broker was left', () => sent >= 4_194_304 || state() === 'waiting')
  const settings = { 'mqtt.packet_bytes': 65_536, 'mqtt.in_flight': 32 }
  const most = rowOf(mqttRows(), 'the connection', settings).allBytes
  await until('nothing of it is kept', async () => (await heldBytes()) - before < most)
  t.ok(outlet.view().published <= 2)
})

t.test('files that cannot be used are said at the start', async (t) => {
  const folder = t.testdir({})
  const missing = join(folder, 'missing')
  await t.rejects(open(t, { url: 'mqtt://127.0.0.1:1', password_file: missing }), { code: 'password_file_unreadable' })
  const empty = join(folder, 'empty.pem')
  writeFileSync(empty, '')
  await t.rejects(open(t, { url: 'mqtts://127.0.0.1:1', ca_file: empty }), { code: 'ca_file_unreadable' })
})
