/** Route of the units of a Modbus line: how each does. */
import { type Route, route } from '#kit/http/route.ts'
import { requireFace } from '../core/adapter-faces.ts'
import type { PortRegistry } from '../core/port-registry.ts'
import { unitsAnswer } from './answers.ts'
import { portParams } from './port-body.ts'

export function unitRoutes({ registry }: { registry: PortRegistry }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports/:path/units',
      who: 'user',
      reply: unitsAnswer,
      summary: 'The units of a Modbus line: state, counts, times of their answers, what holds them back',
      params: portParams,
      handle: ({ params }) => requireFace(registry.require(params.path), 'units').list(),
    }),
  ]
}
