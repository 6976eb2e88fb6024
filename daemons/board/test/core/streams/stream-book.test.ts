/** Tests of core/streams/book.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { StreamBook } from '../../../core/streams/book.ts'
import { am824, dante, lawo, ravenna } from '../../wire/streams/wild-sdp.ts'

const BOUNDS = { most: 64, perSender: 16, newPerSecond: 500 }

function book(bounds: Partial<typeof BOUNDS> = {}) {
  const clock = fakeClock()
  let changes = 0
  const streams = new StreamBook({ clock, bounds: { ...BOUNDS, ...bounds }, onChange: () => changes++ })
  const announce = (sdp: string, from: string, hash?: number) =>
    streams.heard({ by: ['sap'], from, sdp, ...(hash === undefined ? {} : { hash }) })
  return { clock, streams, announce, changes: () => changes }
}

/** A description of a separate session. */
function made(number: number, origin = '10.1.5.20', version = 1): string {
  return dante.replace('1423986 1423994 IN IP4 10.1.5.20', `${number} ${version} IN IP4 ${origin}`)
}

const names = (list: { name: string }[]) => list.map(({ name }) => name)

t.test('announced streams are listed by name, with how they were heard of', async (t) => {
  const { announce, streams } = book()
  announce(ravenna, '10.1.6.31')
  announce(dante, '10.1.5.20')
  announce(am824.replace('s=', 's=X '), '10.1.5.21')
  t.same(names(streams.list()), ['ALC_Demo_2', 'STAGE-BOX-04 : 2', 'X STAGE-BOX-04 : 2'])
  t.match(streams.list()[1], {
    id: '1423986@10.1.5.20',
    mcast: '239.65.20.154',
    source: '10.1.5.20',
    heard_by: ['sap'],
    mclk_offset: 3_560_866_135,
    not_playable: null,
    sdp: dante,
  })
  t.match(streams.list()[2], { not_playable: /AM824/ })
})

t.test('B.rules.1 streams are found by group and port, with two paths by either', async (t) => {
  const { announce, streams } = book()
  announce(lawo, '172.16.4.2')
  announce(dante, '10.1.5.20')
  t.same(names(streams.find('239.11.4.2', 5004)), ['A__mic8 Tx 12'])
  t.same(names(streams.find('239.65.20.154', 5004)), ['STAGE-BOX-04 : 2'])
  t.same(streams.find('239.65.20.154', 5006), [])
})

t.test('ten missed announcements end a stream: 30 s apart if the rhythm is not known', async (t) => {
  const { announce, changes, clock, streams } = book()
  announce(dante, '10.1.5.20')
  clock.advance(299_000)
  t.equal(streams.list().length, 1)
  const before = changes()
  clock.advance(3000)
  t.same(streams.list(), [])
  t.ok(changes() > before)
})

t.test('the rhythm is learnt: a sender that announces every 5 s is gone after 50', async (t) => {
  const { announce, clock, streams } = book()
  for (let count = 0; count < 10; count++) {
    announce(dante, '10.1.5.20')
    clock.advance(5000)
  }
  clock.advance(40_000)
  t.equal(streams.list().length, 1)
  clock.advance(10_000)
  t.equal(streams.list().length, 0)
})

t.test('a sender that announces every 120 s stays', async (t) => {
  const { announce, clock, streams } = book()
  announce(dante, '10.1.5.20')
  for (let count = 0; count < 5; count++) {
    clock.advance(120_000)
    announce(dante, '10.1.5.20')
  }
  clock.advance(1_000_000)
  t.equal(streams.list().length, 1)
})

t.test('a new version replaces the old one; a late old one does not', async (t) => {
  const { announce, clock, streams } = book()
  announce(made(7, '10.1.5.20', 2), '10.1.5.20')
  announce(made(7, '10.1.5.20', 3).replace('s=', 's=New '), '10.1.5.20')
  t.same(names(streams.list()), ['New STAGE-BOX-04 : 2'])
  announce(made(7, '10.1.5.20', 2), '10.1.5.20')
  t.same(names(streams.list()), ['New STAGE-BOX-04 : 2'])
  clock.advance(30_000)
  announce(made(7, '10.1.5.20', 1), '10.1.5.20')
  t.same(names(streams.list()), ['STAGE-BOX-04 : 2'], 'a sender that restarted counts from 1')
})

t.test(
  'a stream that changes with each packet is read a few times a second; afterwards it is as announced last',
  async (t) => {
    const { announce, clock, streams } = book()
    const told = (version: number) => made(7, '10.1.5.20', version).replace('s=', `s=${version} `)
    for (let version = 1; version <= 1000; version++) announce(told(version), '10.1.5.20')
    t.equal(streams.refused().flood, 995)
    t.same(names(streams.list()), ['5 STAGE-BOX-04 : 2'])
    clock.advance(1000)
    announce(told(1000), '10.1.5.20')
    t.same(names(streams.list()), ['1000 STAGE-BOX-04 : 2'])
  },
)

t.test('no more changes of all streams together are read in a second than new streams', async (t) => {
  const { announce, streams } = book({ newPerSecond: 20 })
  for (let number = 0; number < 12; number++) announce(made(number), '10.1.5.20')
  for (let version = 2; version < 5; version++)
    for (let number = 0; number < 12; number++) announce(made(number, '10.1.5.20', version), '10.1.5.20')
  t.equal(streams.refused().flood, 3 * 12 - 20)
})

t.test('a description that was fetched before a change does not undo it, and keeps the stream', async (t) => {
  const { announce, clock, streams } = book()
  const fetched = made(7, '10.1.5.20', 3)
  streams.heard({ by: ['mdns', 'rtsp'], from: '10.1.5.20', sdp: fetched })
  clock.advance(5000)
  announce(made(7, '10.1.5.20', 4).replace('s=', 's=Next '), '10.1.5.20')
  clock.advance(5000)
  streams.heard({ by: ['mdns', 'rtsp'], from: '10.1.5.20', sdp: fetched, isRepeated: true })
  t.match(streams.list(), [{ name: 'Next STAGE-BOX-04 : 2', heard_by: ['mdns', 'rtsp', 'sap'] }])
})

t.test('a sender that changes a description without a new version is followed', async (t) => {
  const { announce, streams } = book()
  announce(made(7), '10.1.5.20')
  announce(made(7).replace('s=', 's=New '), '10.1.5.20')
  t.same(names(streams.list()), ['New STAGE-BOX-04 : 2'])
})

t.test('a repeated announcement counts as heard, and is not a change', async (t) => {
  const { announce, changes, clock, streams } = book()
  announce(made(7), '10.1.5.20')
  const before = { changes: changes(), at: streams.list()[0]?.last_heard_at ?? 0 }
  clock.advance(30_000)
  announce(made(7), '10.1.5.20')
  t.equal(streams.list()[0]?.last_heard_at, before.at + 30_000)
  t.equal(changes(), before.changes)
})

t.test('RFC 2974 4 a deletion ends a stream, by its o= line or its hash, only from the same sender', async (t) => {
  const { announce, clock, streams } = book()
  announce(made(7), '10.1.5.20', 77)
  announce(made(8), '10.1.5.20', 88)
  streams.takenBack({ by: ['sap'], from: '10.1.5.99', sdp: made(7) })
  streams.takenBack({ by: ['sap'], from: '10.1.5.99', hash: 88 })
  clock.advance(1000)
  t.equal(streams.list().length, 2)
  streams.takenBack({ by: ['sap'], from: '10.1.5.20', sdp: made(7).slice(0, 50) })
  clock.advance(1000)
  t.equal(streams.list().length, 1)
  streams.takenBack({ by: ['sap'], from: '10.1.5.20', hash: 77 })
  clock.advance(1000)
  t.equal(streams.list().length, 1, 'the hash of another stream ends none')
  streams.takenBack({ by: ['sap'], from: '10.1.5.20', hash: 88 })
  clock.advance(1000)
  t.equal(streams.list().length, 0)
})

t.test('RFC 2974 6 a stream whose old version is withdrawn before the new one comes stays', async (t) => {
  const { announce, clock, streams } = book()
  announce(made(7, '10.1.5.20', 1), '10.1.5.20', 77)
  const [before] = streams.list()
  clock.advance(500)
  streams.takenBack({ by: ['sap'], from: '10.1.5.20', hash: 77, sdp: made(7) })
  announce(made(7, '10.1.5.20', 2), '10.1.5.20', 78)
  clock.advance(2000)
  t.equal(streams.list()[0]?.first_heard_at, before?.first_heard_at)
})

t.test('one stream heard of in several ways is one, and stays while one of them lasts', async (t) => {
  const { announce, clock, streams } = book()
  announce(made(7), '10.1.5.20')
  const other = made(7).replace('a=keywds:Dante\r\n', '')
  streams.heard({ by: ['mdns', 'rtsp'], from: '10.1.5.20', sdp: other })
  t.same(
    streams.list().map(({ heard_by, sdp }) => [heard_by, sdp]),
    [[['mdns', 'rtsp', 'sap'], made(7)]],
    'with the description of the first',
  )
  streams.takenBack({ by: ['sap'], from: '10.1.5.20', sdp: made(7) })
  clock.advance(1000)
  t.same(
    streams.list().map(({ heard_by }) => heard_by),
    [['mdns', 'rtsp']],
  )
})

t.test('an origin that is not an address of a machine is replaced with the sender', async (t) => {
  const { announce, streams } = book()
  announce(made(7, '127.0.0.1'), '10.1.5.20')
  announce(made(8, '0.0.0.0'), '10.1.5.20')
  announce(made(9, 'stage.local'), '10.1.5.20')
  for (const stream of streams.list()) t.match(stream, { source: '10.1.5.20', origin: '10.1.5.20' })
  t.equal(streams.list().length, 3)
})

t.test('a forged announcement from another address does not change the real one', async (t) => {
  const { announce, streams } = book()
  announce(made(7, '10.1.5.20', 1), '10.1.5.20')
  announce(made(7, '10.1.5.20', 99).replace('s=', 's=Forged '), '10.1.5.66')
  t.same(
    streams.list().map(({ id, name }) => [id, name]),
    [
      ['7@10.1.5.20 by 10.1.5.66', 'Forged STAGE-BOX-04 : 2'],
      ['7@10.1.5.20', 'STAGE-BOX-04 : 2'],
    ],
  )
})

t.test('unreadable announcements are counted, and so are those of a sender with too many', async (t) => {
  const { announce, streams } = book()
  announce('', '10.1.5.20')
  announce('v=0\r\no=- 1 1 IN IP4 10.1.5.20\r\n', '10.1.5.20')
  for (let number = 0; number < 20; number++) announce(made(number), '10.1.5.20')
  t.equal(streams.list().length, 16)
  t.match(streams.refused(), { unreadable: 2, sender_full: 4 })
})

/** A thousand forged announcements a second for 40 s; real ones every 30 s, the last of them new in the flood. */
function flood(fromOf: (number: number) => string) {
  const { announce, clock, streams } = book()
  for (let real = 1; real <= 3; real++) announce(made(real, `10.1.5.${real}`), `10.1.5.${real}`)
  let number = 1000
  let most = 0
  for (let second = 0; second < 40; second++) {
    if (second % 30 === 5)
      for (let real = 1; real <= 4; real++) announce(made(real, `10.1.5.${real}`), `10.1.5.${real}`)
    for (let count = 0; count < 1000; count++, number++) announce(made(number, fromOf(number)), fromOf(number))
    clock.advance(1000)
    most = Math.max(most, streams.list().length)
  }
  const real = streams.list().filter(({ origin }) => /^10\.1\.5\.[1-4]$/.test(origin))
  return { real: real.length, most, streams, clock, announce }
}

t.test('1000 forged announcements a second from one address neither grow the list nor hide real ones', async (t) => {
  const { most, real } = flood(() => '10.9.9.9')
  t.equal(real, 4)
  t.ok(most <= 20)
})

t.test('nor do 1000 forged announcements a second from as many addresses', async (t) => {
  const { announce, clock, most, real, streams } = flood((number) => `172.16.${(number >> 8) & 255}.${number & 255}`)
  t.equal(real, 4)
  t.ok(most <= 64)
  t.ok(streams.refused().flood > 0)
  for (let count = 0; count < 12; count++) {
    for (let real = 1; real <= 4; real++) announce(made(real, `10.1.5.${real}`), `10.1.5.${real}`)
    clock.advance(30_000)
  }
  t.equal(streams.list().length, 4, 'once it is over, only the real ones are left')
})

t.test('nor do forged announcements that are each sent twice', async (t) => {
  const { most, real } = flood((number) => `172.16.0.${(number >> 1) & 255}`)
  t.equal(real, 4)
  t.ok(most <= 64)
})

t.test('in a full list of lasting streams, a sender with more than its share loses one', async (t) => {
  const { announce, clock, streams } = book({ most: 12 })
  for (let round = 0; round < 3; round++) {
    for (let number = 0; number < 8; number++) announce(made(number, '10.1.5.66'), '10.1.5.66')
    for (let number = 0; number < 4; number++) announce(made(number, `10.1.5.${number}`), `10.1.5.${number}`)
    clock.advance(5000)
  }
  announce(made(7, '10.1.5.20'), '10.1.5.20')
  t.equal(streams.list().length, 12)
  t.equal(streams.list().filter(({ origin }) => origin === '10.1.5.66').length, 7)
  for (let number = 30; number < 60; number++) announce(made(1, `10.1.5.${number}`), `10.1.5.${number}`)
  t.ok(
    streams.list().some(({ origin }) => origin === '10.1.5.3'),
    'other lasting streams are not evicted',
  )
})

t.test('a full list of streams with the longest descriptions fits the memory of its row', async (t) => {
  const most = 300
  const filled = () => {
    const { announce, clock, streams } = book({ most, perSender: most })
    for (let round = 0; round < 3; round++, clock.advance(3000))
      for (let number = 0; number < most + 10; number++) {
        const sdp = made(number, '10.1.5.20').replace(/\r\ns=.*/, `\r\ns=${'ж'.repeat(120)}`)
        // As it comes from the network: no strings are shared.
        announce(Buffer.from(`${sdp}a=x:${'ж'.repeat(8185 - sdp.length)}\r\n`).toString(), '10.1.5.20', number)
      }
    return streams
  }
  t.equal(filled().list().length, most, 'filled to the bound')
  const bytes = await heapBytesOf(filled)
  const row = rowOf(memoryPlan().rows, 'streams that were heard', { 'streams.most': most, 'streams.sessions': 0 })
  t.ok(bytes < row.allBytes, `${bytes / most} bytes a stream, of ${row.eachBytes}`)
})
