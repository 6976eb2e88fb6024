/** What the router sends where, byte by byte, as the clauses of the standard have it. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { MstpRouter } from '../../../core/mstp/router.ts'
import type { MstpFrame } from '../../../wire/mstp/frame.ts'

const client = { host: '192.0.2.5', port: 47_808 }
const other = { host: '198.51.100.9', port: 50_000 }
const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** Ring 7 with this node at 3, and BACnet/IP network 1. */
function stage({ queue = 16, foreignDevices = 2, foreignPerAddress = 2, broadcastsPerS = 10_000 } = {}) {
  const clock = fakeClock()
  const said: string[] = []
  const frames: MstpFrame[] = []
  const answers: PromiseWithResolvers<unknown>[] = []
  const router = new MstpRouter({
    ...{ clock, mac: 3, ringNetwork: 7, ipNetwork: 1, queue, foreignDevices, foreignPerAddress, broadcastsPerS },
    sendFrame(frame) {
      frames.push(frame)
      const answer = Promise.withResolvers<unknown>()
      answers.push(answer)
      return answer.promise
    },
    sendTo: ({ host, port }, bytes) => void said.push(`${host}:${port} ${hexOf(bytes)}`),
    sendToAll: (bytes) => void said.push(`all ${hexOf(bytes)}`),
  })
  /** A message in its envelope. */
  const ask = (kind: string, npdu: string, peer = client) => {
    const length = (4 + bytesOf(npdu).length).toString(16).padStart(4, '0')
    router.datagram(bytesOf(`81 ${kind} ${length} ${npdu}`), peer)
  }
  const ring = (data: string, source = 9, destination = 3) =>
    router.frame({ frameType: 6, source, destination, data: bytesOf(data) })
  const sent = () => frames.map(({ data, destination, frameType }) => `${frameType} to ${destination} ${hexOf(data)}`)
  return { answers, ask, clock, ring, router, said, sent }
}

t.test('6.4.1 who asks for the router to the ring, or to any network, is told on both sides', async (t) => {
  const { ask, ring, router, said, sent } = stage()
  router.begin()
  t.same(said.splice(0), ['all 810b0009' + '0180' + '01' + '0007'])
  ask('0b', '01 80 00 00 07')
  ask('0a', '01 80 00')
  t.same(said.splice(0), Array(2).fill('all 810b0009' + '0180' + '01' + '0007'))
  ask('0b', '01 80 00 00 63')
  t.same(said, [], 'nobody knows network 99')
  ring('01 80 00 00 01', 9, 255)
  t.same(sent(), ['6 to 255 0180010001'])
})

t.test('6.4.20 the numbers of both networks are told', async (t) => {
  const { ask, ring, said, sent } = stage()
  ask('0b', '01 80 12')
  t.same(said, ['all 810b000a' + '0180' + '13' + '0001' + '01'])
  ring('01 80 12', 9, 255)
  t.same(sent(), ['6 to 255 0180130007' + '01'])
})

t.test(
  '6.5.3 a request goes to a node with the address of who asks, and its answer back to that address',
  async (t) => {
    const { answers, ask, ring, router, said, sent } = stage()
    ask('0a', '01 24 0007 01 09 ff 02 44 07 0c 0c 00000000 19 55')
    t.same(sent(), ['5 to 9 010c' + '0001' + '06' + 'c0000205bac0' + '0244070c0c000000001955'], 'expecting a reply')
    ring('01 20 0001 06 c0000205bac0 ff 30 07 0c 0c 00000000 19 55 3e 44 41ac0000 3f')
    t.same(said, [
      '192.0.2.5:47808 810a001b' + '0108' + '0007' + '01' + '09' + '30070c0c000000001955' + '3e4441ac00003f',
    ])
    answers[0]?.resolve(undefined)
    await new Promise(setImmediate)
    t.match(router.counts, { routedToRing: 1, routedToIp: 1, routerDrops: 0 })
  },
)

t.test('6.3.2 broadcasts: to the ring, to all networks, from the ring; each passes one router fewer', async (t) => {
  const { ask, ring, router, said, sent } = stage()
  ask('0b', '01 20 0007 00 05 10 08')
  ask('0b', '01 20 ffff 00 05 10 08')
  t.same(sent(), [
    '6 to 255 0108' + '0001' + '06' + 'c0000205bac0' + '1008',
    '6 to 255 0128' + 'ffff' + '00' + '0001' + '06' + 'c0000205bac0' + '04' + '1008',
  ])
  ring('01 20 ffff 00 ff 10 00', 9, 255)
  ring('01 20 0001 00 ff 10 00', 9, 255)
  t.same(said, [
    'all 810b0010' + '0128' + 'ffff' + '00' + '0007' + '01' + '09' + 'fe' + '1000',
    'all 810b000c' + '0108' + '0007' + '01' + '09' + '1000',
  ])
  ask('0b', '01 20 ffff 00 01 10 08')
  ring('01 20 ffff 00 01 10 00', 9, 255)
  t.equal(router.counts.routerDrops, 2, 'their way ends here')
})

t.test('its own broadcasts, which its socket hears, and what claims to come from the ring go nowhere', async (t) => {
  const { ask, said, sent } = stage()
  ask('0b', '01 28 ffff 00 0007 01 09 fe 10 00')
  ask('0b', '01 80 01 00 07')
  t.same([...said, ...sent()], [])
})

t.test('6.4.4 a network that is not known is rejected to who asked, on either side', async (t) => {
  const { ask, ring, said, sent } = stage()
  ask('0a', '01 24 0063 01 09 ff 02 44 07 0c')
  t.same(said, ['192.0.2.5:47808 810a000a' + '0180' + '03' + '01' + '0063'])
  ring('01 24 0063 01 09 ff 02 44 07 0c')
  t.same(sent(), ['6 to 9 018003010063'])
  ask('0b', '01 24 0063 01 09 ff 02 44 07 0c')
  t.equal(said.length, 1, 'a broadcast is not')
})

t.test('networks behind routers of the IP side are learned, and bounded', async (t) => {
  const { ask, ring, said } = stage()
  ask('0b', '01 80 01 0063 0064', other)
  ring('01 20 0063 01 0a ff 10 08')
  t.same(said, [`198.51.100.9:50000 810a0011` + '0128' + '0063' + '01' + '0a' + '0007' + '01' + '09' + 'fe' + '1008'])
  for (let network = 1000; network < 3000; network++) {
    ask('0b', `01 80 01 ${network.toString(16).padStart(4, '0')}`, other)
  }
  said.length = 0
  ring('01 20 0063 01 0a ff 10 08', 9, 255)
  t.same(said, [], 'the oldest are forgotten')
})

t.test('Annex J.5 a foreign device registers, hears broadcasts, sends some, and is forgotten in time', async (t) => {
  const { ask, clock, ring, router, said, sent } = stage()
  ask('09', '01 20 ffff 00 ff 10 08', other)
  t.same(said.splice(0), ['198.51.100.9:50000 810000060060'], 'not before it has registered')
  ask('05', '003c', other)
  t.same(said.splice(0), ['198.51.100.9:50000 810000060000'])
  ring('01 20 ffff 00 ff 10 00', 9, 255)
  t.equal(said.splice(0).length, 2, 'the network and the foreign device')
  ask('09', '01 20 ffff 00 ff 10 08', other)
  t.same(said.splice(0), ['all 81040012' + 'c6336409c350' + '0120ffff00ff1008'], 'from its own address')
  t.same(sent(), ['6 to 255 0128' + 'ffff' + '00' + '0001' + '06' + 'c6336409c350' + 'fe' + '1008'])
  ask('0b', '01 20 ffff 00 ff 10 08')
  t.same(said.splice(0), ['198.51.100.9:50000 81040012' + 'c0000205bac0' + '0120ffff00ff1008'])
  ask('05', '003c', client)
  ask('05', '003c', { host: '203.0.113.1', port: 1 })
  t.same(said.splice(0), ['192.0.2.5:47808 810000060000', '203.0.113.1:1 810000060030'], 'the table is full')
  t.equal(router.foreignDevices(), 2)
  clock.advance(91_000)
  t.equal(router.foreignDevices(), 0, 'a minute, and thirty seconds of grace')
})

t.test('Annex J.2 the table of foreign devices can be read, and an entry deleted', async (t) => {
  const { ask, clock, router, said } = stage()
  ask('06', '')
  t.same(said.splice(0), ['192.0.2.5:47808 81070004'], 'nobody has registered')
  ask('05', '003c', other)
  ask('05', 'ffff', client)
  clock.advance(10_000)
  said.length = 0
  ask('06', '')
  t.same(said.splice(0), [
    // An address, for how long it asked, and how long it has: thirty seconds more, as far as two octets go.
    `192.0.2.5:47808 81070018${'c6336409c350'}003c0050${'c0000205bac0'}ffffffff`,
  ])
  ask('08', 'c6336409c350')
  ask('08', 'c6336409c350')
  ask('08', 'c63364')
  t.same(said.splice(0), [
    '192.0.2.5:47808 810000060000',
    '192.0.2.5:47808 810000060050',
    '192.0.2.5:47808 810000060050',
  ])
  t.equal(router.foreignDevices(), 1)
})

t.test('Annex J.2.1 it has no table of other routers, and says so to who would read or write one', async (t) => {
  const { ask, said } = stage()
  ask('02', '')
  ask('01', 'c0000209bac0 ffffffff')
  t.same(said, ['192.0.2.5:47808 810000060020', '192.0.2.5:47808 810000060010'])
})

t.test('who reads the table of foreign devices again and again is answered only so often', async (t) => {
  const { ask, router, said } = stage({ broadcastsPerS: 40 })
  for (let at = 0; at < 100; at++) ask('06', '')
  t.equal(said.length, 10)
  t.equal(router.counts.routerDrops, 90)
})

t.test(
  'a flood from one client is dropped beyond its part of the queue, and what the ring does not answer is counted',
  async (t) => {
    const { answers, ask, router, sent } = stage({ queue: 11 })
    for (let at = 0; at < 100; at++) ask('0a', '01 20 0007 01 09 ff 10 08')
    t.equal(sent().length, 4)
    t.equal(router.counts.routerDrops, 96)
    for (const answer of answers) answer.reject(new Error('no token'))
    await new Promise(setImmediate)
    t.equal(router.counts.routerDrops, 100)
    ask('0a', '01 20 0007 01 09 ff 10 08')
    t.equal(sent().length, 5)
  },
)

t.test('nothing is sent to this node itself, nor to addresses that no ring has', async (t) => {
  const { ask, router, sent } = stage()
  ask('0a', '01 20 0007 01 03 ff 10 08')
  ask('0a', '01 20 0007 02 03 04 ff 10 08')
  t.same(sent(), [])
  t.equal(router.counts.routerDrops, 2)
})

t.test('hostile bytes: each cut, and a hundred thousand of chance, are counted and nothing else', async (t) => {
  const { ask, ring, router } = stage()
  const whole = '01 2c 0007 01 09 0001 06 c0000205bac0 ff 02 44 07 0c 0c 00000000 19 55'
  const { length } = bytesOf(whole)
  for (let to = 0; to < length; to++) {
    const part = hexOf(bytesOf(whole).subarray(0, to))
    ask('0a', part)
    ring(part)
  }
  let seed = 1
  const chance = () => (seed = (seed * 48_271) % 0x7fffffff)
  for (let at = 0; at < 100_000; at++) {
    const npdu = Uint8Array.from({ length: chance() % 40 }, () => chance() & 0xff)
    npdu[0] = 1
    const bytes = Uint8Array.from([0x81, chance() % 14, 0, 4 + npdu.length, ...npdu])
    if (at % 7 === 0) bytes[chance() % bytes.length] = chance() & 0xff
    router.datagram(bytes, client)
    router.frame({ frameType: 6, source: chance() % 128, destination: 3, data: npdu })
  }
  t.ok(router.counts.routerDamaged > 10_000)
  t.ok(router.foreignDevices() <= 2)
})

t.test('two routers between one ring and one IP network do not send a message round', async (t) => {
  const onIp: { by: number; bytes: Uint8Array }[] = []
  const onRing: { by: number; frame: MstpFrame }[] = []
  const routers = [3, 4].map(
    (mac, by) =>
      new MstpRouter({
        ...{ clock: fakeClock(), mac, ringNetwork: 7, ipNetwork: 1, queue: 64, foreignDevices: 2 },
        ...{ foreignPerAddress: 2, broadcastsPerS: 10_000 },
        sendFrame: async (frame) => void onRing.push({ by, frame }),
        sendTo: () => {},
        sendToAll: (bytes) => void onIp.push({ by, bytes }),
      }),
  )
  const everybody = (bytes: Uint8Array, peer: { host: string; port: number }) => {
    for (const router of routers) router.datagram(bytes, peer)
  }
  let passed = 0
  async function settle(): Promise<void> {
    for (; passed < 100 && onIp.length + onRing.length > 0; passed++) {
      const datagram = onIp.shift()
      if (datagram) everybody(datagram.bytes, { host: `192.0.2.1${datagram.by}`, port: 47_808 })
      const sent = onRing.shift()
      if (sent) for (const [at, router] of routers.entries()) if (at !== sent.by) router.frame(sent.frame)
      await new Promise(setImmediate)
    }
  }
  everybody(bytesOf('81 0b 000c 01 20 ffff 00 ff 10 08'), client)
  await settle()
  t.equal(passed, 2, 'each puts it on the ring')
  for (const router of routers)
    router.frame({ frameType: 6, source: 9, destination: 255, data: bytesOf('01 20 ffff 00 ff 10 00') })
  await settle()
  t.equal(passed, 4, 'each puts it on the IP network')
})

t.test('one address takes only its part of the places of foreign devices', async (t) => {
  const { ask, router, said } = stage({ foreignDevices: 8, foreignPerAddress: 3 })
  for (let port = 1; port <= 100; port++) ask('05', 'ffff', { host: '198.51.100.9', port })
  t.equal(router.foreignDevices(), 3)
  said.length = 0
  ask('05', 'ffff', { host: '198.51.100.9', port: 3 })
  ask('05', '003c', client)
  t.same(
    said,
    ['198.51.100.9:3 810000060000', '192.0.2.5:47808 810000060000'],
    'it may come again, and others have room',
  )
})

t.test('a flood for everybody is cut, of one address sooner, and counted', async (t) => {
  const { ask, clock, router, said } = stage({ broadcastsPerS: 40, queue: 256 })
  const from = (last: number) => ({ host: `192.0.2.${last}`, port: 47_808 })
  for (let at = 0; at < 100; at++) ask('0b', '01 80 00', from(1))
  t.equal(said.length, 10, 'each is answered to all')
  for (let at = 0; at < 100; at++) ask('0a', '01 80 00', from(2))
  t.equal(said.length, 20, 'whoever is asked')
  for (let at = 0; at < 200; at++) ask('0b', '01 80 00', from(at))
  t.equal(said.length, 40)
  t.equal(router.counts.routerDrops, 360)
  clock.advance(1000)
  ask('0b', '01 80 00', from(1))
  t.equal(said.length, 41)
})

t.test(
  'one address has only its part of the ring, whomever it names as the sender, and others get through',
  async (t) => {
    const { answers, ask, router, sent } = stage({ queue: 16 })
    const from = (last: number) => ({ host: `192.0.2.${last}`, port: 47_808 })
    const request = '01 24 0007 01 09 ff 02 44 07 0c'
    for (let at = 0; at < 100; at++) ask('0a', request, from(1))
    t.equal(sent().length, 6, 'three eighths of the queue')
    for (let at = 0; at < 100; at++)
      ask('04', `c00002${at.toString(16).padStart(2, '0')}bac0 01 20 0007 00 ff 10 08`, from(1))
    t.equal(sent().length, 6, 'it may forward what it likes')
    ask('0a', request, from(2))
    t.equal(sent().length, 7)
    for (let at = 0; at < 100; at++) ask('0a', request, from(at))
    t.equal(sent().length, 12, 'of all of them three quarters: the rest is for who asks here')
    t.equal(router.counts.routerDrops, 94 + 100 + 95)
    for (const answer of answers.slice(0, 6)) answer.resolve(undefined)
    await new Promise(setImmediate)
    ask('0a', request, from(1))
    t.equal(sent().length, 13, 'what was answered makes room')
  },
)

t.test('who claims to lead to every network does not displace other routers', async (t) => {
  const { ask, ring, said } = stage()
  ask('0b', '01 80 01 0063', other)
  for (let network = 1000; network < 3000; network++)
    ask('0b', `01 80 01 ${network.toString(16).padStart(4, '0')}`, client)
  ring('01 20 0063 01 0a ff 10 08')
  t.match(said.at(-1), /^198.51.100.9:50000 /)
})

t.test('a message for everybody that no ring takes is not answered: its sender may be forged', async (t) => {
  const { ask, said, sent } = stage()
  const long = `${'01 20 ffff 00 ff'} ${'00'.repeat(1500)}`
  ask('0b', long)
  ask('04', `c0000209bac0 ${long}`)
  t.same([...said, ...sent()], [])
})
