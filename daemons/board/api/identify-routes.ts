/** The route by which a board is found in a rack. */
import { Type } from 'typebox'
import { type Route, route } from '#kit/http/route.ts'
import type { Identify } from '../core/identify.ts'

export function identifyRoutes({ identify }: { identify: Identify }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/identify',
      who: 'admin',
      summary: 'Blinks the lamp, where there is one, and shows a banner for a while',
      body: Type.Object(
        { on: Type.Boolean({ default: true, description: '0 ends it' }) },
        { additionalProperties: false },
      ),
      reply: Type.Object({ identify_until: Type.Union([Type.Integer(), Type.Null()]) }),
      handle(ask) {
        identify.set(ask.body.on)
        return { identify_until: identify.until() }
      },
    }),
  ]
}
