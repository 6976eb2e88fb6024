/** Tests of core/streams/announcing.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { SapAnnouncing } from '../../../core/streams/announcing.ts'
import { readSap, sapHash } from '../../../wire/streams/sap.ts'

const sdpOf = (version: number) => `v=0\r\no=- 1 ${version} IN IP4 10.0.0.7\r\n`

function announcer() {
  const clock = fakeClock()
  const sent: string[] = []
  const world = { sdp: 'v=0\r\no=- 1 1 IN IP4 10.0.0.7\r\n' as string | undefined, works: true }
  const announcing = new SapAnnouncing({
    clock,
    everyMs: 30_000,
    describe: () => (world.sdp === undefined ? undefined : { sdp: world.sdp, origin: '10.0.0.7' }),
    send(bytes) {
      const { hash, isDeletion, sdp } = readSap(bytes)
      if (world.works) sent.push(`${isDeletion ? '-' : '+'}${sdp.split(' ')[2]} ${hash}`)
      return world.works
    },
  })
  return { clock, sent, world, announcing }
}

const signs = (sent: string[]) => sent.map((one) => one.split(' ')[0])

t.test('RFC 2974 3 a stream is announced at once, every 30 s, and withdrawn at the end', async (t) => {
  const { announcing, clock, sent } = announcer()
  announcing.start()
  t.same(signs(sent), ['+1'])
  clock.advance(90_000)
  t.same(signs(sent), ['+1', '+1', '+1', '+1'])
  t.same(announcing.view(), { lastAt: clock.epochMs(), count: 4 })
  announcing.stop()
  clock.advance(90_000)
  t.same(signs(sent), ['+1', '+1', '+1', '+1', '-1'])
  t.equal(new Set(sent.map((one) => one.split(' ')[1])).size, 1, 'under one hash')
})

t.test('RFC 2974 6 a change withdraws the old version and announces the new one, under another hash', async (t) => {
  const { announcing, clock, sent, world } = announcer()
  announcing.start()
  world.sdp = 'v=0\r\no=- 1 2 IN IP4 10.0.0.7\r\n'
  announcing.changed()
  announcing.changed()
  clock.advance(200)
  t.same(signs(sent), ['+1', '-1', '+2'])
  t.not(sent[0]?.split(' ')[1], sent[2]?.split(' ')[1])
  t.equal(sent[0]?.slice(1), sent[1]?.slice(1))
  announcing.changed()
  clock.advance(1000)
  t.equal(sent.length, 3, 'an unchanged stream is not announced')
})

t.test('a stream that ends is withdrawn, one that comes later is announced then', async (t) => {
  const { announcing, clock, sent, world } = announcer()
  world.sdp = undefined
  announcing.start()
  t.same(announcing.view(), { lastAt: null, count: 0 })
  world.sdp = 'v=0\r\no=- 1 1 IN IP4 10.0.0.7\r\n'
  announcing.changed()
  clock.advance(200)
  world.sdp = undefined
  announcing.changed()
  clock.advance(200)
  t.same(signs(sent), ['+1', '-1'])
})

t.test('a failed announcement does not count, and is sent once the network is back', async (t) => {
  const { announcing, sent, world } = announcer()
  world.works = false
  announcing.start()
  t.match(announcing.view(), { count: 0 })
  world.works = true
  announcing.again()
  t.same(signs(sent), ['+1'])
})

t.test('before its start and after its end nothing is sent', async (t) => {
  const { announcing, clock, sent } = announcer()
  announcing.changed()
  announcing.again()
  announcing.stop()
  clock.advance(60_000)
  t.same(sent, [])
})

t.test('RFC 2974 6 two versions whose hashes collide are still distinguished', async (t) => {
  const { announcing, clock, sent, world } = announcer()
  const versions = new Map<number, number>()
  let [first, second] = [0, 0]
  for (let version = 1; second === 0; version++) {
    const hash = sapHash(sdpOf(version))
    first = versions.get(hash) ?? 0
    if (first > 0) second = version
    versions.set(hash, version)
  }
  world.sdp = sdpOf(first)
  announcing.start()
  world.sdp = sdpOf(second)
  announcing.changed()
  clock.advance(200)
  const hashes = sent.map((one) => Number(one.split(' ')[1]))
  t.same(hashes, [hashes[0], hashes[0], (hashes[0] ?? 0) + 1])
})
