import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createReader } from '#kit/http/check.ts'
import { eventRoutes } from '../../api/event-routes.ts'
import { footageRoutes } from '../../api/footage-routes.ts'
import type { SightEvent } from '../../core/sight/events.ts'

t.test('A.investigation what fits two words of a search is answered once', async (t) => {
  const event = (number: number, label: string): SightEvent => ({
    ...{ id: `yard-${number}-1`, cameraId: 'yard', label, group: 'vehicle', score: 1, beganAt: number, lastAt: number },
    ...{ endedAt: number, bestAt: number, box: null, source: 'external' },
  })
  const all = [event(3, 'car'), event(2, 'bus'), event(1, 'car')]
  const routes = eventRoutes({
    ...{ clock: fakeClock(), timeZone: () => 'UTC', recognition: { book: { isOn: () => false } } },
    callers: { accountOf: () => ({ id: 'ann' }) },
    cameras: { seenBy: () => [{ record: { id: 'yard', name: 'Yard' } }] },
    events: { goingOn: () => [], present: () => undefined, unwritten: () => [] },
    store: {
      find: async ({ label }: { label: string }) => all.filter((one) => label === 'vehicle' || one.label === label),
    },
  } as never)
  const search = routes.find(({ path }) => path === '/api/investigation/search')
  const found = await search?.handle({ query: { q: 'cars and vehicles', mode: 'basic', limit: 2 } } as never)
  t.match(found, { labels: ['car', 'vehicle'], events: [{ id: 'yard-3-1' }, { id: 'yard-2-1' }] })
})

t.test('A.events what goes on is in a span that began after it was written, and told as it is now', async (t) => {
  const open: SightEvent = {
    ...{ id: 'yard-5-1', cameraId: 'yard', label: 'motion', group: 'other', score: 1, beganAt: 5, lastAt: 5 },
    ...{ endedAt: null, bestAt: 5, box: null, source: 'camera' },
  }
  let isOver = false
  const routes = eventRoutes({
    ...{ clock: fakeClock(1000), recognition: { book: { isOn: () => false } } },
    callers: { accountOf: () => ({ id: 'ann' }) },
    cameras: { seenBy: () => [{ record: { id: 'yard', name: 'Yard' } }] },
    events: {
      goingOn: (camera: string) => (camera === 'yard' ? [open] : []),
      present: (id: string) => (id === open.id ? { ...open, lastAt: 990 } : undefined),
      unwritten: () => (isOver ? [{ ...open, id: 'yard-6-1', beganAt: 6, lastAt: 7, endedAt: 7 }] : []),
    },
    store: { find: async () => [], one: async () => open },
  } as never)
  const list = routes.find(({ path }) => path === '/api/events')
  const find = async (query: object): Promise<number[]> => {
    const answer = (await list?.handle({ query } as never)) as { events: { last_seen_at: number }[] } | undefined
    return answer?.events.map((one) => one.last_seen_at) ?? []
  }
  for (const query of [{}, { since: 900 }, { label: 'motion' }, { label: 'other', since: 1000 }, { until: 5 }])
    t.same(await find(query), [990], JSON.stringify(query))
  for (const query of [{ since: 1001 }, { label: 'person' }, { until: 4 }])
    t.same(await find(query), [], JSON.stringify(query))
  isOver = true
  t.same(await find({ since: 7 }), [7, 990], 'and one that is over and not written yet')
  t.same(await find({ since: 8 }), [990])
})

t.test('A.events who and plate find what goes on in a span that began after it was written', async (t) => {
  const event = (number: number, endedAt: number | null): SightEvent => ({
    ...{ id: `yard-${number}-1`, cameraId: 'yard', label: 'car', group: 'vehicle', score: 1, beganAt: number },
    ...{ lastAt: 5, endedAt, bestAt: number, box: null, source: 'external' },
    recognised: { identityId: null, method: null, plate: { text: 'AB 12', state: 'unknown', confidence: 0.9 } },
  })
  const asked: string[][] = []
  const routes = eventRoutes({
    clock: fakeClock(1000),
    recognition: { book: { isOn: () => true, find: () => undefined }, recognises: () => ['plate'] },
    callers: { accountOf: () => ({ id: 'ann' }) },
    cameras: { seenBy: () => [{ record: { id: 'yard', name: 'Yard' } }] },
    events: {
      goingOn: () => [event(1, null), event(2, null), event(3, null)],
      present: (id: string) => ({ ...event(Number(id[5]), null), lastAt: 990, recognised: undefined }),
      unwritten: () => [event(4, 5)],
    },
    store: {
      find: async () => [event(2, null)],
      async among(ids: string[]) {
        asked.push(ids)
        return ids.includes('yard-1-1') ? [event(1, null)] : []
      },
    },
  } as never)
  const list = routes.find(({ path }) => path === '/api/events')
  const answer = (await list?.handle({ query: { plate: 'ab', since: 900 } } as never)) as { events: object[] }
  t.match(answer.events, [
    { id: 'yard-2-1', last_seen_at: 990, plate_text: 'AB 12' },
    { id: 'yard-1-1', last_seen_at: 990, plate_text: 'AB 12' },
  ])
  t.equal(answer.events.length, 2, 'not the one that was not read')
  t.same(asked, [['yard-1-1', 'yard-3-1']])
})

t.test(
  'A.Limits no window lies where numbers are too coarse to go through it, and none ends before it begins',
  async (t) => {
    // 31 days at most, and adding a day to the first changes nothing.
    const window = { from: '10000000000000000000000000', to: '10000000000000002147483648' }
    const parts = {
      clock: fakeClock(),
      callers: { accountOf: () => ({ id: 'ann' }) },
      cameras: { seenBy: () => [] },
    } as never
    const routes = [...eventRoutes(parts), ...footageRoutes(parts)]
    for (const path of ['/api/events/density', '/api/cameras/:id/availability', '/api/recordings/availability']) {
      const query = routes.find((one) => one.path === path)?.query
      t.ok(query, path)
      if (!query) continue
      const reader = createReader(query, '', 'text')
      t.throws(() => reader(window), { code: 'bad_fields' }, path)
      t.match(reader({ from: '0', to: '8640000000000000' }), { from: 0 }, 'the last moment that there is')
    }
    const list = routes.find(({ path }) => path === '/api/events')
    await t.rejects(async () => list?.handle({ query: { since: 2, until: 1 } } as never), { code: 'bad_span' })
  },
)
