/** Tests of api/sound-routes.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { historyRoutes } from '../../api/sound-routes.ts'
import { createHistory } from '../../core/sound/sound.ts'

t.test('answers the history, to an administrator', async (t) => {
  const history = createHistory({ clock: fakeClock(5000), names: ['lost'], seconds: 3 })
  history.add({ lost: 2 })
  const [route] = historyRoutes({ history })
  t.match(route, { method: 'GET', path: '/api/history', who: 'admin' })
  t.same(route?.handle({} as never), { step_s: 1, from_at: 5000, series: { lost: [2] } })
})
