/** Tests of net/mdns/mdns.ts: daemons on simulated links, with bonjour-service between them. */
import t from 'tap'
import { type FakeClock, fakeClock } from '../../../clock-fake.ts'
import type { HeardService } from '../../../net/mdns/library.ts'
import { daemonOn, type FakeNetwork, fakeNetwork, type Machine, settle } from './fake-network.ts'
import { announced, nameOf, query, response } from './messages.ts'

async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += 100) {
    clock.advance(Math.min(100, ms - gone))
    await settle(4)
  }
}

function finder(network: FakeNetwork, machine: Machine, clock: FakeClock, instance = 'board-finder0000') {
  const heard: HeardService[] = []
  const gone: string[] = []
  const finding = {
    queryMs: 10_000,
    onHeard: (one: HeardService) => void heard.push(one),
    onGoodbye: (id: string) => void gone.push(id),
  }
  const daemon = daemonOn(network, machine, clock, { finding, announcement: { instance, hostname: 'finder' } })
  return { ...daemon, heard, gone }
}

t.test('a daemon is found with its address, port and texts, at once and again with each query', async (t) => {
  const clock = fakeClock()
  const network = fakeNetwork()
  const one = finder(network, { eth0: ['10.0.1.2'] }, clock)
  await one.mdns.start()
  const { mdns } = daemonOn(network, { eth0: ['10.0.1.3'] }, clock, {})
  await mdns.start()
  await pass(clock, 500)
  const [first] = one.heard
  t.match(first, {
    id: 'board-0123456789._plantroom._tcp.local',
    host: 'hall.local',
    port: 80,
    reach: ['10.0.1.3'],
    from: '10.0.1.3',
  })
  t.same(Object.fromEntries(first?.text ?? []), { role: 'serial', name: 'Hall', version: '1.0.0', path: '/' })
  one.heard.length = 0
  await pass(clock, 10_500)
  t.ok(one.heard.length >= 1, 'heard again')
  await mdns.stop()
  await pass(clock, 500)
  t.same(one.gone, ['board-0123456789._plantroom._tcp.local'], 'and says goodbye')
  await one.mdns.stop()
  t.equal(network.listeners.size, 0)
})

t.test('RFC 6762 10.1 a goodbye right after a question, before anybody has answered it, is heard once', async (t) => {
  const clock = fakeClock()
  const network = fakeNetwork()
  const one = finder(network, { eth0: ['10.0.1.2'] }, clock)
  await one.mdns.start()
  const { mdns } = daemonOn(network, { eth0: ['10.0.1.3'] }, clock, {})
  await mdns.start()
  await pass(clock, 9_000)
  const asked = () => network.heard.filter(({ from }) => from === '10.0.1.2').length
  const before = asked()
  while (asked() === before) {
    clock.advance(1)
    await settle(1)
  }
  await mdns.stop()
  await pass(clock, 500)
  t.same(one.gone, ['board-0123456789._plantroom._tcp.local'])
  await one.mdns.stop()
})

const KIND = '_plantroom._tcp.local'

async function both(machine: Machine = { eth0: ['10.0.1.3'] }) {
  const clock = fakeClock()
  const network = fakeNetwork()
  const one = finder(network, { eth0: ['10.0.1.2'] }, clock)
  await one.mdns.start()
  const other = daemonOn(network, machine, clock, {})
  await other.mdns.start()
  await pass(clock, 5000)
  return { clock, network, one, other, machine }
}

t.test('a board on two links announces on each only its address there', async (t) => {
  const { clock, network } = await both({ eth0: ['10.0.1.3'], wlan0: ['10.0.2.3'], docker0: ['172.17.0.1'] })
  const far = finder(network, { eth0: ['10.0.2.9'] }, clock, 'board-far')
  await far.mdns.start()
  await pass(clock, 2000)
  t.same(far.heard.map(({ reach, from }) => [reach, from])[0], [['10.0.2.3'], '10.0.2.3'])
})

t.test('only the named interface is used, or that of the address http listens on', async (t) => {
  for (const given of [{ config: { interface: 'wlan0' } }, { listenHost: '10.0.2.3' }]) {
    const network = fakeNetwork()
    const { mdns } = daemonOn(network, { eth0: ['10.0.1.3'], wlan0: ['10.0.2.3'] }, fakeClock(), given)
    await mdns.start()
    t.same(
      [...network.listeners].flatMap(({ links }) => links.map(({ name }) => name)),
      ['wlan0'],
    )
    await mdns.stop()
  }
})

t.test('switched off it opens nothing', async (t) => {
  const network = fakeNetwork()
  const { mdns } = daemonOn(network, { eth0: ['10.0.1.3'] }, fakeClock(), { config: { enabled: false } })
  await mdns.start()
  t.equal(network.listeners.size, 0)
  await mdns.stop()
})

t.test('a changed address is announced at the next look at interfaces', async (t) => {
  const { clock, one, machine } = await both()
  one.heard.length = 0
  machine.eth0 = ['10.0.1.77']
  await pass(clock, 2500)
  await pass(clock, 10_000)
  t.same(one.heard.at(-1)?.reach, ['10.0.1.77'])
})

t.test('a link that comes later is used then', async (t) => {
  const { clock, one, machine, other } = await both({})
  t.equal(other.mdns.counts().links, 0)
  t.same(one.heard, [])
  machine.eth0 = ['10.0.1.3']
  await pass(clock, 2500)
  t.equal(one.heard.length > 0, true)
})

t.test('sockets that cannot be opened now are opened later', async (t) => {
  const clock = fakeClock()
  const network = fakeNetwork()
  const world = network.worldOf({ eth0: ['10.0.1.3'] })
  let tries = 0
  const one = finder(network, { eth0: ['10.0.1.2'] }, clock)
  const openSockets: typeof world.openSockets = (options) => {
    tries++
    if (tries < 3) return Promise.reject(new Error('EADDRINUSE'))
    return world.openSockets(options)
  }
  const { mdns } = daemonOn(network, {}, clock, { world: { ...world, openSockets } })
  await mdns.start()
  await one.mdns.start()
  await pass(clock, 5000)
  t.equal(tries, 3)
  t.equal(one.heard.length > 0, true)
})

t.test('a new announcement replaces the old one', async (t) => {
  const { clock, one, other } = await both()
  one.heard.length = 0
  Object.assign(other.said, { port: 8080, text: { ...other.said.text, name: 'Cellar' } })
  await pass(clock, 2500)
  t.match(one.heard.at(-1), { id: `board-0123456789.${KIND}`, port: 8080 })
  t.equal(one.heard.at(-1)?.text.get('name'), 'Cellar')
  t.same(one.gone, [])
  other.said.instance = 'board-new'
  await pass(clock, 2500)
  t.same(one.gone, [`board-0123456789.${KIND}`])
  t.equal(one.heard.at(-1)?.id, `board-new.${KIND}`)
})

t.test('two copies of one card do not keep the same name', async (t) => {
  const clock = fakeClock()
  const network = fakeNetwork()
  const twins = [
    finder(network, { eth0: ['10.0.1.2'] }, clock, 'board-twin'),
    finder(network, { eth0: ['10.0.1.3'] }, clock, 'board-twin'),
  ]
  for (const { mdns } of twins) {
    await mdns.start()
  }
  await pass(clock, 25_000)
  const ids = twins.map(({ heard }) => heard.at(-1)?.id ?? '')
  t.equal(new Set(ids).size, 2)
  t.ok(ids.some((id) => /^board-twin-[0-9a-f]{8}\._plantroom/.test(id)))
})

t.test('a claim to our name makes us take another name once, and no more', async (t) => {
  const { clock, network, one } = await both()
  for (let count = 0; count < 20; count++) {
    const own = lastIdFrom(network, '10.0.1.2')
    network.say('10.0.1.66', announced({ id: own, address: '10.0.1.66' }))
    await pass(clock, 1000)
  }
  const names = network.heard.filter(({ from }) => from === '10.0.1.2').map(({ bytes }) => idIn(bytes))
  t.equal(new Set(names.filter((name) => name !== undefined)).size, 2)
  t.equal(
    one.heard.every(({ from }) => from !== '10.0.1.2'),
    true,
  )
})

t.test('a thousand forged announcements a second neither take memory nor hide a board', async (t) => {
  const { clock, network, one, other } = await both()
  one.heard.length = 0
  for (let round = 0; round < 120; round++) {
    for (let count = 0; count < 100; count++)
      network.say(
        '10.0.1.66',
        announced({ id: `forged${round}x${count}`, address: '10.0.1.66', texts: ['role=serial'] }),
      )
    await pass(clock, 100)
  }
  t.ok(
    one.heard.some(({ id }) => id.startsWith('board-0123456789')),
    'the real one is heard',
  )
  t.ok(one.heard.length < 1000, `${one.heard.length} of 12000 were looked at`)
  t.ok(one.mdns.counts().refused.flood > 11_000)
  await other.mdns.stop()
})

t.test('no message of a stranger breaks anything, or causes many answers', async (t) => {
  const { clock, network, one } = await both()
  const before = network.heard.length
  network.say('10.0.1.66', query(new Array(60).fill(KIND)))
  network.say('10.0.1.66', query([KIND, `board-finder0000.${KIND}`, 'finder.local', '_services._dns-sd._udp.local']))
  network.say('10.0.1.66', response([{ name: KIND, type: 'PTR', ttlS: 100, data: Buffer.of(0xc0, 0x0c) }]))
  network.say('10.0.1.66', response([{ name: KIND, type: 'PTR', ttlS: 0, data: nameOf('') }]))
  network.say('10.0.1.66', response([{ name: KIND, type: 'SRV', ttlS: 9, data: Buffer.of(1) }]))
  network.say('10.0.1.66', response([{ name: KIND, type: 'TXT', ttlS: 9, data: Buffer.of(9) }]))
  await pass(clock, 1000)
  t.ok(network.heard.length - before < 20)
  t.equal(one.mdns.counts().broken, 0)
})

function idIn(bytes: Uint8Array): string | undefined {
  return /(board-[a-z0-9-]+)/.exec(Buffer.from(bytes).toString('latin1'))?.[1]
}

function lastIdFrom(network: FakeNetwork, from: string): string {
  const said = network.heard.filter((one) => one.from === from && idIn(one.bytes) !== undefined).at(-1)
  return (said && idIn(said.bytes)) ?? ''
}

t.test('asked explicitly, everybody answers again, at most once a second', async (t) => {
  const { clock, network, one } = await both()
  const asked = () => network.heard.filter(({ from, bytes }) => from === '10.0.1.2' && bytes[2] === 0).length
  const before = asked()
  one.heard.length = 0
  one.mdns.askNow()
  one.mdns.askNow()
  await pass(clock, 300)
  t.equal(asked() - before, 1)
  t.equal(one.heard.length, 1)
})
