/** Tests of io/sap.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { type Log, silentLog } from '#kit/log.ts'
import type { Link } from '#kit/net/mdns/sockets.ts'
import { KeptOnLink } from '../../io/sap.ts'

const linkAt = (address: string): Link => ({ name: 'eth0', address, addresses: [address], networks: [] })

function rig() {
  const clock = fakeClock()
  const events: string[] = []
  const world = { link: undefined as Link | undefined, works: true }
  const log: Log = { ...silentLog, warning: (event) => void events.push(event) }
  const kept = new KeptOnLink({
    ...{ clock, log, trouble: 'trouble', recheckMs: 1000, link: () => world.link },
    async open({ address }) {
      if (!world.works) throw new Error('no')
      events.push(`open ${address}`)
      return { close: () => void events.push(`close ${address}`) }
    },
    onOpen: (_, { address }) => void events.push(`on ${address}`),
  })
  return { clock, events, world, kept }
}

t.test('a socket on an interface follows its address, and its disappearance and return', async (t) => {
  const { clock, events, kept, world } = rig()
  await kept.start()
  t.same(events, [])
  world.link = linkAt('10.0.0.1')
  await clock.run(1000)
  world.link = linkAt('10.0.0.2')
  await clock.run(3000)
  world.link = undefined
  await clock.run(1000)
  t.equal(kept.thing, undefined)
  t.same(events, ['open 10.0.0.1', 'on 10.0.0.1', 'close 10.0.0.1', 'open 10.0.0.2', 'on 10.0.0.2', 'close 10.0.0.2'])
  await kept.stop()
})

t.test('a failure is reported once, retried, and reported again when it fails again', async (t) => {
  const { clock, events, kept, world } = rig()
  world.link = linkAt('10.0.0.1')
  world.works = false
  await kept.start()
  await clock.run(5000)
  t.same(events, ['trouble'])
  world.works = true
  await clock.run(1000)
  t.same(events, ['trouble', 'open 10.0.0.1', 'on 10.0.0.1'])
  world.works = false
  kept.broken()
  await clock.run(2000)
  t.same(events.slice(3), ['close 10.0.0.1', 'trouble'])
  await kept.stop()
})

t.test('after closing nothing is open or opened again', async (t) => {
  const { clock, events, kept, world } = rig()
  world.link = linkAt('10.0.0.1')
  await kept.start()
  await kept.stop()
  world.link = linkAt('10.0.0.2')
  await clock.run(5000)
  t.same(events, ['open 10.0.0.1', 'on 10.0.0.1', 'close 10.0.0.1'])
  t.equal(clock.pending(), 0)
})
