/** Tests of net/mdns/library.ts, and of services that are not daemons: of another type, with a subtype to look for. */
import t from 'tap'
import { fakeClock } from '../../../clock-fake.ts'
import { silentLog } from '../../../log.ts'
import { domainOf, type HeardService, labelsOf, soughtOf } from '../../../net/mdns/library.ts'
import { type Announcement, Mdns } from '../../../net/mdns/mdns.ts'
import { CONFIG, fakeNetwork, settle } from './fake-network.ts'

const kind = { type: 'rtsp', subtype: 'ravenna_session' }

t.test('RFC 6763 7.1 a subtype is asked for by its own name', async (t) => {
  t.equal(domainOf(kind), '_rtsp._tcp.local')
  t.equal(soughtOf(kind), '_ravenna_session._sub._rtsp._tcp.local')
  t.equal(soughtOf({ type: 'rtsp' }), '_rtsp._tcp.local')
  t.same(labelsOf(kind), ['_rtsp', '_ravenna_session'])
  t.same(labelsOf({ type: 'rtsp' }), ['_rtsp'])
})

function rig() {
  const clock = fakeClock()
  const network = fakeNetwork()
  const heard: HeardService[] = []
  const gone: string[] = []
  const common = { clock, log: silentLog, config: CONFIG, listenHost: '0.0.0.0', kind }
  const said: { now: Announcement | undefined } = {
    now: { instance: 'Foyer – links', hostname: 'hall', port: 8554, text: {} },
  }
  const world = (address: string) => network.worldOf({ eth0: [address] })
  const announcer = new Mdns({ ...common, announcement: () => said.now, world: world('10.0.1.3') })
  const finding = {
    queryMs: 10_000,
    onHeard: (one: HeardService) => void heard.push(one),
    onGoodbye: (id: string) => void gone.push(id),
  }
  const finder = new Mdns({ ...common, announcement: () => undefined, finding, world: world('10.0.1.2') })
  async function pass(ms: number): Promise<void> {
    for (let at = 0; at < ms; at += 100) {
      clock.advance(100)
      await settle(4)
    }
  }
  return { announcer, finder, heard, gone, said, network, pass }
}

t.test('one that announces nothing finds the services of others, by their names as written', async (t) => {
  const { announcer, finder, gone, heard, pass, said } = rig()
  await finder.start()
  await announcer.start()
  await pass(2000)
  t.match(heard[0], { name: 'Foyer – links', port: 8554, host: 'hall.local', reach: ['10.0.1.3'], from: '10.0.1.3' })
  heard.length = 0
  said.now = { instance: 'Foyer – rechts', hostname: 'hall', port: 8554, text: {} }
  await pass(15_000)
  t.same(gone, ['foyer – links._rtsp._tcp.local'], 'the old name says goodbye')
  t.equal(heard.at(-1)?.name, 'Foyer – rechts')
  said.now = undefined
  await pass(5000)
  t.equal(gone.at(-1), 'foyer – rechts._rtsp._tcp.local')
  await announcer.stop()
  await finder.stop()
})

t.test('one that announces nothing sends nothing about itself', async (t) => {
  const { finder, network, pass } = rig()
  await finder.start()
  await pass(12_000)
  await finder.stop()
  t.ok(network.heard.length > 0)
  for (const { bytes } of network.heard) t.equal((bytes[2] ?? 0) & 0x80, 0, 'a question')
})

t.test('its own announcement is not taken for another service of its name', async (t) => {
  const { announcer, network, pass } = rig()
  await announcer.start()
  await pass(5000)
  t.equal(announcer.id(), 'foyer – links._rtsp._tcp.local')
  const names = network.heard.map(({ bytes }) => Buffer.from(bytes).toString('latin1'))
  t.ok(names.some((text) => text.includes('\x10_ravenna_session\x04_sub')))
  t.notOk(names.some((text) => text.includes('_plantroom')))
  await announcer.stop()
})
