/** The routes that every daemon has: its own description, and its measurements. */
import type { Metrics } from './metrics.ts'
import { openApiOf } from './openapi.ts'
import { Reply, type Route } from './route.ts'

/** @returns `GET /api/openapi.json` over the routes given and these two, and `GET /metrics` */
export function kitRoutes(of: { title: string; version: string; routes: readonly Route[]; metrics: Metrics }): Route[] {
  let description: unknown
  const own: Route[] = [
    {
      method: 'GET',
      path: '/api/openapi.json',
      who: 'user',
      summary: 'This description, OpenAPI 3.1',
      handle: () => {
        description ??= openApiOf({ ...of, routes: [...of.routes, ...own] })
        return description
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      who: 'user',
      summary: 'Counts and gauges, Prometheus text',
      replyType: 'text/plain',
      handle: async () =>
        new Reply(200, Buffer.from(await of.metrics.text()), { 'content-type': of.metrics.contentType }),
    },
  ]
  return own
}
