/** Secrets influence nothing that a socket tells to sessions that are not elevated, nor what is outside of their scope. */
import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { holds } from '#kit/test/holds.ts'
import type { Json } from '../../../core/json.ts'
import { type LiveValues, shownOnPages } from '../../../core/live/live-values.ts'
import { createSights } from '../../../core/live/sight.ts'
import { SocketFeed } from '../../../core/live/socket-feed.ts'
import type { Row } from '../../../core/site/book.ts'
import { plainCaller, worldOf } from '../data/data-house.ts'
import { buildingOf, PLACES, type Secrets } from '../data/two-buildings.ts'

/** CASES=100000 in the environment runs more. */
const CASES = Number(process.env.CASES ?? 200)

const limits = {
  ...{ coalesceMs: 10, beatMs: 1000, zonesPerMessage: 2, waitingZones: 100 },
  ...{ behindMs: 10_000, endMs: 30_000 },
}

/** All messages of a feed over a building with these secrets, while things change. */
function toldOf(secrets: Secrets, { isRich, uis, changes }: Case): string {
  const { content, options } = buildingOf(secrets, isRich)
  const ui_zone: Row[] = [{ id: 1, ui_id: 1, zone_id: 1, position: null }]
  const ui: Row[] = [1, 2].map((id) => ({ id, name: `ui ${id}`, enabled: true }))
  const { book: own, live: said, values, views, schema } = worldOf(content, options)
  // As assemble/ui.ts gives it to the pages and the socket.
  const live = shownOnPages(said, values as LiveValues)
  const more: Record<string, readonly Row[]> = { ui, ui_zone }
  const book = { ...own, rows: (table: string) => more[table] ?? own.rows(table) }
  const sights = createSights({ book, views, attributes: schema.table('attribute') })
  const clock = fakeClock()
  const heard: unknown[] = []
  const listeners = { live: (_kind: 'zone' | 'device', _id: number) => {}, attribute: (_id: number) => {} }
  const session = { ...plainCaller, uis: ui.filter(({ id }) => uis.includes(id)) }
  const feed = new SocketFeed(
    {
      ...{ book, clock, limits, pending: () => null, onTooSlow: () => {} },
      ...{ isElevated: () => false, updates: { onChange: () => () => {} } },
      sight: () => sights(session),
      live: Object.assign(Object.create(live), {
        onChange(listener: typeof listeners.live) {
          listeners.live = listener
          return () => {}
        },
      }),
      attributes: {
        onChange(listener) {
          listeners.attribute = listener
          return () => {}
        },
      },
    },
    { zones: true, devices: true, attributes: true },
    {
      send: (message) => heard.push(message) > 0,
      hasCaughtUp: true,
    },
  )
  feed.tellAll()
  for (const { kind, id } of changes) {
    if (kind === 'attribute') listeners.attribute(id)
    else listeners.live(kind, id)
    clock.advance(5)
  }
  clock.advance(100)
  feed.end()
  return JSON.stringify(heard)
}

const secret: fc.Arbitrary<Json> = fc.constantFrom<Json>(null, 'a', 'zz', '', '{"password":1}', '[', 7, true, {
  password: 'a',
})
const secrets: fc.Arbitrary<Secrets> = fc.array(secret, { minLength: PLACES, maxLength: PLACES })
const change = fc.record({
  kind: fc.constantFrom<'zone' | 'device' | 'attribute'>('zone', 'device', 'attribute'),
  id: fc.integer({ min: 1, max: 12 }),
})
const cases = fc.record({
  one: secrets,
  other: secrets,
  isRich: fc.boolean(),
  uis: fc.subarray([1, 2]),
  changes: fc.array(change, { maxLength: 12 }),
})
type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never

t.test('1 Guards secrets do not influence what a socket tells to a session that is not elevated', async (t) => {
  holds(
    t,
    fc.property(cases, (each) => toldOf(each.one, each) === toldOf(each.other, each)),
    { numRuns: CASES },
  )
})

t.test('the feeds of this property tell something, and less to whom less is in sight', async (t) => {
  const none: Secrets = Array.from({ length: PLACES }, () => null)
  const base = { one: none, other: none, isRich: true, changes: [] }
  const [nothing, some, all] = [[], [1], [1, 2]].map((uis) => toldOf(none, { ...base, uis }))
  t.notMatch(nothing, /zones|devices|attributes/)
  t.match(some, /"zones":\[\{"id":1/)
  t.notMatch(some, /"zones":\[\{"id":2/)
  t.ok(String(all).length > String(some).length)
})
