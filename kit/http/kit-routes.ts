/** The routes that every daemon has: its own description, and its measurements. */
import { Type } from 'typebox'
import type { Dialect } from './dialect.ts'
import type { Fence } from './fence.ts'
import type { Metrics } from './metrics.ts'
import { openApiOf } from './openapi.ts'
import { Reply, type Route } from './route.ts'
import { isBelow, type Surface } from './surface.ts'

/** Where the description is; a surface that has this path puts it beside. */
const DESCRIPTION = '/api/openapi.json'

const openApiDocument = Type.Object({
  openapi: Type.String(),
  info: Type.Object({ title: Type.String(), version: Type.String() }),
  paths: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
  components: Type.Record(Type.String(), Type.Unknown()),
})

/** @returns `GET /api/openapi.json` over the routes given and these two, and `GET /metrics` */
export function kitRoutes(of: {
  title: string
  version: string
  routes: readonly Route[]
  metrics: Metrics
  fence?: Fence
  dialect?: Dialect
  surface?: Pick<Surface, 'prefix' | 'describes'>
}): Route[] {
  let description: unknown
  const own: Route[] = [
    {
      method: 'GET',
      path: of.surface && isBelow(DESCRIPTION, of.surface.prefix) ? '/openapi.json' : DESCRIPTION,
      who: 'user',
      summary: 'This description, OpenAPI 3.1',
      reply: openApiDocument,
      handle: () => {
        description ??= openApiOf({ ...of, routes: [...(of.surface?.describes ?? []), ...of.routes, ...own] })
        return description
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      who: 'user',
      summary: 'Counts and gauges, Prometheus text',
      replyType: 'text/plain',
      async handle({ caller }) {
        const { fence } = of
        // Whole and by the library's own hand for all but the few that are held to a part of it.
        const isWhole = !fence || !caller?.only
        const text = await (isWhole
          ? of.metrics.text()
          : of.metrics.textOf((labels) => fence.showsSample(caller, labels)))
        return new Reply(200, Buffer.from(text), { 'content-type': of.metrics.contentType })
      },
    },
  ]
  return own
}
