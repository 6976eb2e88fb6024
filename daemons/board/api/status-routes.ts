/** How the board is. */
import { type Route, route } from '#kit/http/route.ts'
import type { BoardStatus } from '../core/board-status.ts'
import { boardStatusAnswer } from './answers.ts'

export function statusRoutes({ status }: { status(): BoardStatus }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/status',
      who: 'admin',
      summary: 'Live state',
      reply: boardStatusAnswer,
      handle: () => status(),
    }),
  ]
}
