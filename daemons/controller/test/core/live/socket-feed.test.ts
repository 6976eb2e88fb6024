/** Tests of core/live/socket-feed.ts. */
import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import {
  type FeedEvent,
  type FeedMessage,
  type FeedState,
  type FeedWish,
  feedStateTable,
  SocketFeed,
} from '../../../core/live/socket-feed.ts'
import { soundsByZone, zoneState } from '../../../core/live/zones.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { harbourHouse } from '../../harbour-house.ts'

const limits = {
  ...{ coalesceMs: 100, beatMs: 2000, zonesPerMessage: 3, waitingZones: 6 },
  ...{ behindMs: 10_000, endMs: 30_000 },
}

const sightOf = (scope: ReadonlySet<number> | 'all') => ({
  zone: (id: number) => scope === 'all' || scope.has(id),
  device: (id: number) => scope === 'all' || id === 1,
  attribute: (id: number) => (scope === 'all' || id < 3 ? { id, name: `attribute ${id}` } : undefined),
  attributeChange: (id: number) => scope === 'all' || id < 3,
})

/** A feed of Harbour House; `told` is what it has sent since the last check. */
function feedHere(scope: ReadonlySet<number> | 'all' = 'all', wish: FeedWish = { zones: true }) {
  const clock = fakeClock()
  const house = harbourHouse(clock)
  const told: FeedMessage[] = []
  const state = {
    ...{ hasCaughtUp: true, takes: true, scope: scope as ReadonlySet<number> | 'all' | undefined, tooSlow: 0 },
    ...{ isElevated: false, tellUpdate: (_update: object) => {} },
  }
  const listeners = new Set<(id: number) => void>()
  const feed = new SocketFeed(
    {
      ...house.parts,
      limits,
      attributes: {
        onChange(listener) {
          listeners.add(listener)
          return () => listeners.delete(listener)
        },
      },
      sight: () => state.scope && sightOf(state.scope),
      pending: () => 3,
      isElevated: () => state.isElevated,
      updates: {
        onChange(listener) {
          state.tellUpdate = listener
          return () => {
            state.tellUpdate = () => {}
          }
        },
      },
      onTooSlow: () => {
        state.tooSlow += 1
      },
    },
    wish,
    {
      send(message) {
        if (state.takes) told.push(message)
        return state.takes
      },
      get hasCaughtUp() {
        return state.hasCaughtUp
      },
    },
  )
  const take = () => told.splice(0)
  take()
  const zones = () => take().flatMap((message) => (message.type === 'zones' ? message.zones : []))
  const set = (id: number) => {
    for (const hear of listeners) hear(id)
  }
  return { clock, house, feed, state, take, zones, set }
}

t.test('each pair of a state and an event leads where the table says, and every state can be reached', async (t) => {
  const events: FeedEvent[] = ['blocked', 'left', 'full', 'late', 'too_late']
  t.strictSame(
    Object.fromEntries(
      Object.keys(feedStateTable).map((state) => [
        state,
        events.map((event) => feedStateTable[state as FeedState][event] ?? '-'),
      ]),
    ),
    {
      current: ['behind', '-', 'dropped', '-', '-'],
      behind: ['-', 'current', 'dropped', 'dropped', 'over'],
      dropped: ['-', 'current', '-', '-', 'over'],
      over: ['-', '-', '-', '-', '-'],
    },
  )
})

t.test('tells what an update does to whoever is elevated at that moment, and to nobody after its end', async (t) => {
  const { feed, state, take } = feedHere()
  state.tellUpdate({ line: 1 })
  t.same(take(), [])
  state.isElevated = true
  state.tellUpdate({ line: 2 })
  t.same(take(), [{ type: 'update', update: { line: 2 } }])
  feed.end()
  state.tellUpdate({ line: 3 })
  t.same(take(), [])
})

t.test('tells devices and attributes where they were asked for, and only those that may be seen', async (t) => {
  const all = feedHere('all', { devices: true, attributes: new Set([2, 9]) })
  const some = feedHere(new Set([1]), { zones: new Set([1]), devices: true, attributes: new Set([2, 3]) })
  for (const { house, set, clock } of [all, some]) {
    house.report(1, { level: 1 })
    house.report(2, { level: 1 })
    for (const id of [1, 2]) house.reportDevice(id, { state: 'offline' })
    for (const id of [2, 3, 9]) set(id)
    clock.advance(100)
  }
  const attribute = (id: number) => ({ id, name: `attribute ${id}` })
  const device = (id: number) => ({ id, state: 'offline', lastSeenAt: null })
  t.match(all.take(), [
    { type: 'devices', devices: [device(1), device(2)].map(({ lastSeenAt: _, ...rest }) => rest) },
    { type: 'attributes', attributes: [attribute(2), attribute(9)] },
  ])
  const heard = some.take()
  t.strictSame(
    heard.map((message) => [message.type, 'zones' in message ? message.zones.map(({ id }) => id) : []]),
    [
      ['zones', [1]],
      ['devices', []],
      ['attributes', []],
    ],
  )
  t.match(heard.slice(1), [{ devices: [{ id: 1 }] }, { attributes: [attribute(2)] }])
  t.equal(heard.length, 3)
})

t.test(
  'a client that is behind learns nothing of changes that it may not see, not even how many there were',
  async (t) => {
    const toldOf = (hidden: number) => {
      const { clock, house, set, state, take } = feedHere(new Set([1]), {
        zones: true,
        devices: true,
        attributes: true,
      })
      state.hasCaughtUp = false
      house.report(1, { level: 1 })
      for (let round = 1; round <= hidden; round++) {
        for (const id of [2, 3, 4, 5, 6, 7, 8]) house.report(id, { level: round })
        for (let id = 9; id < 30; id++) set(id)
        house.reportDevice(2, { state: round % 2 ? 'offline' : 'online' })
      }
      clock.advance(10_100)
      house.report(1, { level: 2 })
      state.hasCaughtUp = true
      clock.advance(200)
      return take()
    }
    t.match(toldOf(0), [{ type: 'summary', dropped: 2 }])
    t.strictSame(toldOf(20), toldOf(0))
  },
)

t.test('tells everything at once where that is asked for', async (t) => {
  const { feed, clock, zones } = feedHere(new Set([1, 2]))
  feed.tellAll()
  clock.advance(100)
  t.strictSame(
    zones().map(({ id }) => id),
    [1, 2],
  )
})

t.test(
  'a client that is behind for too long gets a count of what it missed, and is let go if it stays so',
  async (t) => {
    const { clock, house, state, take } = feedHere()
    state.hasCaughtUp = false
    house.report(1, { level: 1 })
    clock.advance(10_100)
    house.report(1, { level: 2 })
    house.report(2, { level: 2 })
    clock.advance(5000)
    state.hasCaughtUp = true
    clock.advance(200)
    t.match(
      take().filter(({ type }) => type !== 'beat'),
      [{ type: 'summary', dropped: 3 }],
    )
    house.report(1, { level: 3 })
    clock.advance(100)
    t.match(take(), [{ type: 'zones' }], 'and it goes on')
    state.hasCaughtUp = false
    clock.advance(29_000)
    t.equal(state.tooSlow, 0)
    clock.advance(4000)
    t.equal(state.tooSlow, 1)
    t.equal(clock.pending(), 0, 'and nothing is left behind')
  },
)

t.test('sends the last of many changes once', async (t) => {
  const { clock, house, take } = feedHere()
  for (let level = 0; level <= 50; level++) house.report(1, { level })
  t.same(take(), [])
  clock.advance(100)
  const [message, ...more] = take()
  t.match(message, {
    type: 'zones',
    zones: [{ id: 1, values: { state: 'on', level: 50 }, device: { state: 'online' } }],
  })
  t.same(more, [])
  clock.advance(500)
  t.same(take(), [], 'and nothing if nothing changes')
})

t.test('sends nobody zones that they may not see', async (t) => {
  const { clock, house, state, zones } = feedHere(new Set([1]))
  house.report(1, { level: 1 })
  house.report(2, { level: 2 })
  clock.advance(100)
  t.same(
    zones().map(({ id }) => id),
    [1],
  )
  state.scope = new Set([2])
  house.report(1, { level: 3 })
  house.report(2, { level: 4 })
  clock.advance(100)
  t.same(
    zones().map(({ id }) => id),
    [2],
    'the scope at the time of sending counts',
  )
})

t.test('sends only the fields that pages show, whatever a driver reports', async (t) => {
  const { clock, house, zones } = feedHere()
  house.report(1, {
    wifiPassword: 'secret',
    token: 'secret',
    level: Number.NaN,
    mode: 'x'.repeat(500),
    source: ['secret'],
  })
  house.report(2, JSON.parse('{"__proto__": {"level": 99}, "constructor": "secret"}'))
  clock.advance(100)
  const told = zones()
  t.notOk(JSON.stringify(told).includes('secret'))
  t.same(told[0]?.values, { state: 'on', mode: 'x'.repeat(120) })
  t.same(told[1]?.values, { state: 'off', level: 0 })
})

t.test('sends the zones of a lost device', async (t) => {
  const { clock, house, zones } = feedHere()
  house.reportDevice(2, { state: 'offline' })
  clock.advance(100)
  t.same(
    zones().map(({ id, device }) => [id, device?.state]),
    [
      [3, 'offline'],
      [8, 'offline'],
    ],
  )
})

t.test('holds changes while the page does not keep up, and sends the last of them', async (t) => {
  const { clock, house, state, take, zones } = feedHere()
  state.hasCaughtUp = false
  house.report(1, { level: 10 })
  clock.advance(300)
  house.report(1, { level: 20 })
  clock.advance(5000)
  t.same(take(), [], 'no heartbeat either')
  state.hasCaughtUp = true
  clock.advance(100)
  t.same(
    zones().map(({ values }) => values.level),
    [20],
  )
})

t.test('splits many changes into messages, and counts them if too many wait', async (t) => {
  const { clock, house, take } = feedHere()
  for (const id of [1, 2, 3, 4, 5, 6]) house.report(id, { level: id })
  clock.advance(100)
  t.same(
    take().map((message) => (message.type === 'zones' ? message.zones.length : message.type)),
    [3, 3],
  )
  for (const id of [1, 2, 3, 4, 5, 6, 8]) house.report(id, { level: id })
  clock.advance(100)
  t.same(take(), [{ type: 'summary', dropped: 7 }])
  house.report(1, { level: 9 })
  clock.advance(100)
  t.equal(take().length, 1, 'and continues')
})

t.test('sends a summary if a message was dropped, until it is taken', async (t) => {
  const { clock, house, state, take } = feedHere()
  state.takes = false
  house.report(1, { level: 1 })
  clock.advance(350)
  state.takes = true
  clock.advance(100)
  t.same(take(), [{ type: 'summary', dropped: 1 }])
})

t.test('asks for a reload when rooms, zones or permissions change', async (t) => {
  const { clock, house, take } = feedHere()
  house.change('zone_group', [])
  clock.advance(2100)
  t.same(
    take().map(({ type }) => type),
    ['beat', 'reload'],
  )
  house.change('request_history', [])
  clock.advance(2000)
  t.same(
    take().map(({ type }) => type),
    ['beat'],
  )
})

t.test('sends heartbeats, so that a page knows that the connection is alive', async (t) => {
  const { clock, take } = feedHere()
  clock.advance(4000)
  t.match(take(), [
    { type: 'beat', now: clock.epochMs() - 2000, pending: 3 },
    { type: 'beat', now: clock.epochMs(), pending: 3 },
  ])
})

t.test('tells nothing once its user may see nothing, and leaves nothing behind', async (t) => {
  const { clock, house, feed, state, take } = feedHere()
  house.report(1, { level: 1 })
  state.scope = undefined
  house.report(1, { level: 2 })
  clock.advance(10_000)
  t.same(take(), [])
  feed.end()
  feed.end()
  state.scope = 'all'
  house.report(1, { level: 3 })
  clock.advance(10_000)
  t.same(take(), [])
  t.equal(clock.pending(), 0, 'no timer')
})

/** What a test does to a feed. */
const act = fc.oneof(
  fc.record({
    kind: fc.constant('report'),
    id: fc.integer({ min: 1, max: 8 }),
    level: fc.integer({ min: 0, max: 100 }),
  }),
  fc.record({ kind: fc.constant('device'), id: fc.integer({ min: 1, max: 4 }), isOnline: fc.boolean() }),
  fc.record({ kind: fc.constant('wait'), ms: fc.integer({ min: 1, max: 2500 }) }),
  fc.record({ kind: fc.constant('line'), hasCaughtUp: fc.boolean(), takes: fc.boolean() }),
)

t.test('leaves a page with the true state, whatever happened, and with nothing beyond its scope', async (t) => {
  const property = fc.property(fc.array(act, { maxLength: 40 }), fc.subarray([1, 2, 3, 4, 5, 6, 7, 8]), (acts, ids) => {
    const { clock, house, state, take } = feedHere(new Set(ids))
    const { book, live } = house.parts
    const all = () =>
      ids.flatMap((id) => book.row('zone', id) ?? []).map((zone) => zoneState(zone, live, soundsByZone(book)))
    let page = new Map(all().map((zone) => [zone.id, zone]))
    const read = () => {
      for (const message of take()) {
        if (message.type === 'reload' || message.type === 'summary')
          page = new Map(all().map((zone) => [zone.id, zone]))
        if (message.type === 'zones') for (const zone of message.zones) page.set(zone.id, zone)
      }
    }
    for (const one of acts) {
      if ('level' in one) house.report(one.id, { level: one.level })
      else if ('isOnline' in one) house.reportDevice(one.id, { state: one.isOnline ? 'online' : 'offline' })
      else if ('ms' in one) clock.advance(one.ms)
      else Object.assign(state, one)
      read()
    }
    Object.assign(state, { hasCaughtUp: true, takes: true })
    clock.advance(1000)
    read()
    t.strictSame(
      [...page.values()].sort((one, other) => one.id - other.id),
      all(),
    )
  })
  fc.assert(property, { numRuns: 100 })
})

t.test('zones that wait to be sent to a page take no more than their row says', async (t) => {
  const waitingZones = 20_000
  const { parts } = harbourHouse(fakeClock())
  let summaries = 0
  const bytes = await heapBytesOf(() => {
    const clock = fakeClock()
    const tellers: ((kind: 'device' | 'zone', id: number) => void)[] = []
    const live = Object.assign(Object.create(parts.live), {
      onChange: (teller: (typeof tellers)[number]) => {
        tellers.push(teller)
        return () => {}
      },
    })
    const sink = {
      send({ type }: FeedMessage) {
        if (type === 'summary') summaries++
        return true
      },
      hasCaughtUp: false,
    }
    const own = {
      sight: () => sightOf('all'),
      pending: () => 3,
      onTooSlow: () => {},
      ...{ attributes: { onChange: () => () => {} }, updates: { onChange: () => () => {} }, isElevated: () => false },
    }
    const feedParts = { ...parts, live, clock, limits: { ...limits, waitingZones } }
    const feed = new SocketFeed({ ...feedParts, ...own }, { zones: true }, sink)
    for (let id = 1; id <= waitingZones; id++) for (const tell of tellers) tell('zone', id)
    clock.advance(100)
    return [feed, clock, tellers]
  })
  t.equal(summaries, 0)
  const settings = { 'ui.waiting_zones': waitingZones, 'socket.ids': 0, 'http.max_sockets': 1 }
  const row = rowOf(memoryPlan().rows, 'zones that wait', settings)
  t.ok(bytes < row.allBytes, `${bytes} bytes, of ${row.allBytes}`)
})
