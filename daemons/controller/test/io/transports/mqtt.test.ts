/** Connections to brokers that the test plays byte by byte: shared, bounded, and never waited for without end. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { HeardBudget, KeptBytes } from '../../../io/transports/bounds.ts'
import { Brokers } from '../../../io/transports/mqtt.ts'

const CONNACK = Buffer.from([0x20, 2, 0, 0])

/** A broker. @param obey its reaction to each packet, by the type in the high half of its first byte */
async function fakeBroker(t: Test, obey: (socket: Socket, type: number, packet: Buffer) => void = obeyAll) {
  const sockets = new Set<Socket>()
  const seen: number[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    socket.on('data', (bytes) => {
      // All packets of these tests are shorter than 128 bytes.
      for (let at = 0; at < bytes.length; ) {
        const end = at + 2 + (bytes[at + 1] ?? 0)
        const packet = bytes.subarray(at, end)
        seen.push((packet[0] ?? 0) >> 4)
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
  return { place: { host: '127.0.0.1', port, username: null, password: null }, sockets, seen }
}

function obeyAll(socket: Socket, type: number, packet: Buffer): void {
  if (type === 1) socket.write(CONNACK)
  if (type === 8) socket.write(Buffer.from([0x90, 3, packet[2] ?? 0, packet[3] ?? 0, 1]))
  if (type === 3) {
    const id = 4 + (packet[3] ?? 0)
    socket.write(Buffer.from([0x40, 2, packet[id] ?? 0, packet[id + 1] ?? 0]))
  }
}

/** PUBLISH of QoS 0 to the topic `t`. */
function message(payload: string): Buffer {
  const body = Buffer.concat([Buffer.from([0, 1]), Buffer.from(`t${payload}`)])
  const length: number[] = []
  for (let rest = body.length; ; rest >>= 7) {
    length.push(rest > 127 ? (rest & 0x7f) | 0x80 : rest)
    if (rest <= 127) break
  }
  return Buffer.concat([Buffer.from([0x30, ...length]), body])
}

const LIMITS = {
  connectMs: 150,
  mqttBytes: 1024,
  mqttTopics: 2,
  mqttTopicsInAll: 6,
  heardBytes: 65_536,
  heardInAll: 1_048_576,
}

function brokersOf(limits: Partial<typeof LIMITS> = {}) {
  const all = { ...LIMITS, ...limits }
  const kept = new KeptBytes(65_536)
  const brokers = new Brokers({ clock: systemClock, limits: all, kept, budget: new HeardBudget(systemClock, all) })
  const heard: string[] = []
  const lost: string[] = []
  const use = {
    topics: ['t'],
    hear: (_topic: string, payload: Uint8Array) => void heard.push(new TextDecoder().decode(payload)),
    lost: (reason: string) => void lost.push(reason),
  }
  return { brokers, use, heard, lost, kept, never: new AbortController().signal }
}

const MESSAGE = { topic: 't', payload: new TextEncoder().encode('x'), isRetained: false }

t.test('devices of one broker and account share a connection, which ends with the last of them', async (t) => {
  const { place, sockets, seen } = await fakeBroker(t)
  const { brokers, use, heard, never } = brokersOf()
  const [one, other] = await Promise.all([brokers.join(place, use, never), brokers.join(place, use, never)])
  t.equal(sockets.size, 1)
  const stranger = await brokers.join({ ...place, username: 'x' }, use, never)
  t.equal(sockets.size, 2, 'another account has its own')
  await one.publish(MESSAGE, never)
  for (const socket of sockets) socket.write(message('a'))
  await until('all three have heard it', () => heard.length === 3)
  one.leave()
  stranger.leave()
  await until('the other connection is closed', () => sockets.size === 1)
  for (const socket of sockets) socket.write(message('b'))
  await until('the one that is left has heard it', () => heard.length === 4)
  t.notOk(seen.includes(10), 'a topic that somebody hears is not given up')
  other.leave()
  await until('nothing is open', () => sockets.size === 0)
})

t.test('when the connection ends each device is told once, and the next opens another', async (t) => {
  const { place, sockets } = await fakeBroker(t)
  const { brokers, use, lost, never } = brokersOf()
  await brokers.join(place, use, never)
  await brokers.join(place, use, never)
  for (const socket of sockets) socket.destroy()
  await until('both are told', () => lost.length === 2)
  t.match(lost[0], /closed the connection|broke/)
  const again = await brokers.join(place, use, never)
  again.leave()
  t.equal(lost.length, 2, 'who leaves is not lost')
})

t.test('a broker that does not answer is given up: a connection, a subscription, a message', async (t) => {
  const silent = async (type: number) => {
    const { place } = await fakeBroker(t, (socket, seen, packet) => seen !== type && obeyAll(socket, seen, packet))
    return { ...brokersOf(), place }
  }
  const [dumb, deaf, lazy] = [await silent(1), await silent(8), await silent(3)]
  await t.rejects(dumb.brokers.join(dumb.place, dumb.use, dumb.never), {
    code: 'device_unreachable',
    message: /does not speak MQTT within 150 ms/,
  })
  await t.rejects(deaf.brokers.join(deaf.place, deaf.use, deaf.never), {
    code: 'device_cut_off',
    message: /did not answer within 150 ms/,
  })
  t.strictSame(deaf.lost, [], 'who is not in yet is told by its own failure')
  const member = await lazy.brokers.join(lazy.place, lazy.use, lazy.never)
  await t.rejects(member.publish(MESSAGE, lazy.never), {
    code: 'device_cut_off',
    message: /did not answer within 150 ms/,
  })
  t.match(lazy.lost, [/did not answer within 150 ms/])
})

t.test('a command that is given up ends nobody else: the broker still has its time to answer', async (t) => {
  const { place, sockets } = await fakeBroker(t, (socket, type, packet) => type !== 3 && obeyAll(socket, type, packet))
  const { brokers, use, lost, never } = brokersOf({ connectMs: 60_000 })
  const member = await brokers.join(place, use, never)
  const stopper = new AbortController()
  const publishing = member.publish(MESSAGE, stopper.signal)
  stopper.abort(new Error('given up'))
  await t.rejects(publishing, { message: 'given up' })
  t.strictSame([sockets.size, lost], [1, []])
  member.leave()
})

t.test('a broker that refuses is quoted', async (t) => {
  const refusing = await fakeBroker(t, (socket, type) => type === 1 && socket.write(Buffer.from([0x20, 2, 0, 4])))
  const one = brokersOf()
  await t.rejects(one.brokers.join(refusing.place, one.use, one.never), {
    code: 'broker_refused',
    message: /does not take username and password/,
  })
  const strict = await fakeBroker(t, (socket, type, packet) => {
    if (type !== 8) obeyAll(socket, type, packet)
    else socket.write(Buffer.from([0x90, 3, packet[2] ?? 0, packet[3] ?? 0, 128]))
  })
  await t.rejects(one.brokers.join(strict.place, one.use, one.never), {
    code: 'broker_refused',
    message: /hear the topic t/,
  })
  await t.rejects(one.brokers.join(strict.place, { ...one.use, topics: ['a', 'b', 'c'] }, one.never), {
    code: 'device_busy',
  })
})

t.test('a message longer than the limit is not gathered, nor what is no MQTT', async (t) => {
  const { place, sockets } = await fakeBroker(t)
  const { brokers, use, heard, lost, never, kept } = brokersOf()
  const say = async (bytes: Uint8Array) => {
    await brokers.join(place, use, never)
    const before = lost.length
    for (const socket of sockets) socket.write(bytes)
    await until('it is cut off', () => lost.length > before)
    return lost.at(-1)
  }
  // 256 MB are announced, and one byte is sent.
  t.match(await say(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 0])), /longer than drivers\.mqtt_bytes \(1024\)/)
  t.match(await say(message('x'.repeat(1100))), /longer than/)
  t.match(await say(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')), /longer than|broke/)
  t.match(await say(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80, 0x80])), /broke|closed/)
  t.strictSame(heard, [])
  t.equal(kept.total, 0, 'nothing is kept of them')
})

t.test('a flood is slowed down, and every message of it arrives', async (t) => {
  const { place, sockets } = await fakeBroker(t)
  const { brokers, use, heard, never } = brokersOf({ heardBytes: 65_536 })
  const member = await brokers.join(place, use, never)
  const flood = Buffer.concat(Array.from({ length: 1500 }, () => message('x')))
  const startedMs = systemClock.monotonicMs()
  for (const socket of sockets) socket.write(flood)
  // The first may come in one piece: what comes behind it waits.
  await until('the first have arrived', () => heard.length === 1500, 10_000)
  for (const socket of sockets) socket.write(message('x'))
  await until('all have arrived', () => heard.length === 1501, 10_000)
  t.ok(systemClock.monotonicMs() - startedMs > 300, 'messages count 64 bytes each')
  member.leave()
})

t.test('topics are counted for each device and for all, and given back once', async (t) => {
  const { place, sockets } = await fakeBroker(t)
  const { brokers, use, never } = brokersOf({ mqttTopicsInAll: 2 })
  const one = await brokers.join(place, use, never)
  const other = await brokers.join(place, use, never)
  await t.rejects(brokers.join(place, use, never), { code: 'device_busy', message: /drivers\.mqtt_topics_in_all/ })
  one.leave()
  one.leave()
  const third = await brokers.join(place, use, never)
  await t.rejects(brokers.join(place, use, never), { code: 'device_busy' })
  other.leave()
  third.leave()
  await until('nothing is open', () => sockets.size === 0)
  ;(await brokers.join(place, use, never)).leave()
})

t.test('a broker that sends messages with QoS 2 is left: each would be kept until it released it', async (t) => {
  const { place, sockets } = await fakeBroker(t)
  const { brokers, use, heard, lost, never } = brokersOf()
  await brokers.join(place, use, never)
  const kept = (id: number) => Buffer.from([0x34, 6, 0, 1, 0x74, id >> 8, id & 0xff, 0x78])
  for (const socket of sockets) socket.write(Buffer.concat([message('a'), kept(1), kept(2)]))
  await until('it is lost', () => lost.length === 1)
  t.match(lost[0], /sent a message with QoS 2, where 1 was asked for/)
  t.notOk(heard.includes('x'))
})

t.test('a device that leaves before its broker is dialled leaves no connection behind', async (t) => {
  const { place, seen, sockets } = await fakeBroker(t)
  const { brokers, use, never } = brokersOf()
  const stopper = new AbortController()
  const joining = brokers.join(place, use, stopper.signal)
  stopper.abort(new Error('the device was removed'))
  await t.rejects(joining, { message: 'the device was removed' })
  // Made after the one that should not be, and taken after it.
  const member = await brokers.join(place, use, never)
  t.equal(sockets.size, 1)
  t.equal(seen.filter((type) => type === 1).length, 1)
  member.leave()
})
