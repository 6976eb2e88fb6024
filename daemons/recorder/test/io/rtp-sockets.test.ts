import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { openRtpPair, type UdpLimits } from '../../io/rtp-sockets.ts'

const limits: UdpLimits = { firstPort: 61_801, ports: 64, bufferBytes: 65_536 }

async function opened(t: Test, more: Partial<UdpLimits> = {}) {
  const clock = fakeClock()
  const heard: number[] = []
  const told: number[] = []
  const pair = await openRtpPair({
    ...{ clock, limits: { ...limits, ...more }, from: '127.0.0.1', ticksPerS: 90_000 },
    onPacket: (bytes) => heard.push(bytes.length),
    onReport: ({ timestamp }) => told.push(timestamp),
  })
  t.teardown(() => pair.close())
  return { clock, heard, pair, told }
}

/** A camera at an address, on two ports. */
async function camera(t: Test, address = '127.0.0.1') {
  const sockets: Socket[] = [createSocket('udp4'), createSocket('udp4')]
  for (const socket of sockets) {
    socket.bind(0, address)
    await once(socket, 'listening')
    t.teardown(() => socket.close())
  }
  const [media, reports] = sockets as [Socket, Socket]
  return { media, reports, reportPort: reports.address().port }
}

const packetOf = (sequence: number, length = 20): Uint8Array => {
  const bytes = new Uint8Array(length)
  bytes.set([0x80, 96, sequence >> 8, sequence & 0xff, 0, 0, 0, 1, 0, 0, 0, 7])
  return bytes
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}

t.test('packets and reports of the camera are heard, and of nobody else', async (t) => {
  const { heard, pair, told } = await opened(t)
  t.equal(pair.port % 2, 0)
  const stranger = await camera(t, '127.0.0.2')
  const own = await camera(t)
  stranger.media.send(packetOf(1, 99), pair.port, '127.0.0.1')
  own.media.send(packetOf(1), pair.port, '127.0.0.1')
  const report = Uint8Array.of(0x80, 200, 0, 6, 0, 0, 0, 7, ...new Uint8Array(8), 0, 0, 0, 55, ...new Uint8Array(8))
  own.reports.send(Uint8Array.of(1, 2, 3), pair.port + 1, '127.0.0.1')
  own.reports.send(report, pair.port + 1, '127.0.0.1')
  await until(() => heard.length > 0 && told.length > 0)
  t.same([heard, told], [[20], [55]])
})

t.test('the camera is told what came', async (t) => {
  const { clock, heard, pair } = await opened(t)
  const own = await camera(t)
  const told = once(own.reports, 'message')
  for (const sequence of [1, 2, 4]) own.media.send(packetOf(sequence), pair.port, '127.0.0.1')
  await until(() => heard.length === 3)
  await clock.run(5000)
  pair.reportTo(own.reportPort)
  await clock.run(5000)
  const [bytes] = (await told) as [Buffer]
  t.equal(bytes.length, 32 + 12, 'a report and a name')
  t.equal(bytes.readUInt32BE(8), 7, 'of this sender')
  t.equal(bytes.readUInt32BE(12) & 0xff_ffff, 1, 'one is missing')
  t.equal(bytes.readUInt32BE(16), 4, 'the highest number')
})

t.test('ports are bounded, and free again once a pair is closed', async (t) => {
  const few = { firstPort: 61_951, ports: 4 }
  const pairs = [await opened(t, few), await opened(t, few)]
  await t.rejects(opened(t, few), { code: 'no_udp_port', message: /cameras\.udp_ports/ })
  t.same(pairs.map(({ pair }) => pair.port).toSorted(), [61_952, 61_954])
})
