import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { eventRoutes } from '../../api/event-routes.ts'
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
    events: { present: () => undefined },
    store: { find: async ({ label }: { label: string }) => all.filter((one) => label === 'vehicle' || one.label === label) },
  } as never)
  const search = routes.find(({ path }) => path === '/api/investigation/search')
  const found = await search?.handle({ query: { q: 'cars and vehicles', mode: 'basic', limit: 2 } } as never)
  t.match(found, { labels: ['car', 'vehicle'], events: [{ id: 'yard-3-1' }, { id: 'yard-2-1' }] })
})
