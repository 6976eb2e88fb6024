/** Tests of net/mdns/message.ts. */
import t from 'tap'
import { fakeClock } from '../../../clock-fake.ts'
import { createGuard, type Refusal } from '../../../net/mdns/message.ts'
import { chooseLinks } from '../../../net/mdns/sockets.ts'
import { fakeNetwork } from './fake-network.ts'
import { announced, query } from './messages.ts'

function guardOf(more: { isFinding?: boolean; perSecond?: number } = {}) {
  const clock = fakeClock()
  const refused: Refusal[] = []
  const links = chooseLinks(
    fakeNetwork()
      .worldOf({ eth0: ['10.0.1.2'], eth1: ['10.0.2.2'] })
      .interfaces(),
    '',
  )
  const admit = createGuard({
    clock,
    links,
    port: 5353,
    labels: ['_plantroom', '_dns-sd', 'hall'],
    kind: '_plantroom._tcp.local',
    isFinding: true,
    perSecond: 40,
    onRefused: (why) => void refused.push(why),
    ...more,
  })
  return { admit, clock, refused }
}

const good = announced({ id: 'a' })
const from = { address: '10.0.1.9', port: 5353 }

t.test('lets through messages that concern us, with the link they came over', async (t) => {
  const { admit } = guardOf()
  t.match(admit(good, from), { link: { name: 'eth0' }, asksForOurs: false })
  t.match(admit(query(['_plantroom._tcp.local']), { address: '10.0.2.9', port: 40_000 }), {
    link: { name: 'eth1' },
    asksForOurs: true,
  })
  t.ok(admit(query(['hall.local']), from))
})

t.test('silently drops other messages of a building', async (t) => {
  const { admit, refused } = guardOf()
  t.equal(admit(query(['_ipp._tcp.local']), from), undefined)
  t.equal(admit(Buffer.alloc(0), from), undefined)
  t.same(refused, [])
})

t.test('refuses strangers of other networks, answers from other ports, and what is not a message', async (t) => {
  const { admit, refused } = guardOf()
  t.equal(admit(good, { address: '10.9.9.9', port: 5353 }), undefined)
  t.equal(admit(good, { ...from, port: 40_000 }), undefined)
  t.equal(admit(good.subarray(0, -1), from), undefined)
  t.equal(admit(Buffer.concat([good, Buffer.alloc(9000)]), from), undefined)
  t.same(refused, ['stranger', 'stranger', 'malformed', 'malformed'])
})

t.test('does not read answers if nothing is looked for', async (t) => {
  const { admit, refused } = guardOf({ isFinding: false })
  t.equal(admit(good, from), undefined)
  t.ok(admit(query(['_plantroom._tcp.local']), from))
  t.same(refused, [])
})

t.test('a sender that floods is cut off, and nobody else', async (t) => {
  const { admit, clock, refused } = guardOf({ perSecond: 10 })
  const taken = () => admit(good, from) !== undefined
  t.equal(Array.from({ length: 1000 }, taken).filter(Boolean).length, 100, 'ten seconds worth at once')
  t.ok(admit(good, { ...from, address: '10.0.1.10' }))
  t.equal(refused.length, 900)
  clock.advance(1000)
  t.equal(Array.from({ length: 1000 }, taken).filter(Boolean).length, 10, 'then a limited number a second')
})
