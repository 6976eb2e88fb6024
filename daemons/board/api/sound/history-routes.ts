/** What was measured in the last hour. */
import { type Route, route } from '#kit/http/route.ts'
import type { History } from '../../core/sound/history.ts'
import { historyAnswer } from '../answers.ts'

export function historyRoutes({ history }: { history: Pick<History, 'view'> }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/history',
      who: 'admin',
      reply: historyAnswer,
      summary: 'What was measured each second of the last hour',
      handle: () => history.view(),
    }),
  ]
}
