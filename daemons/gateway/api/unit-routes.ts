/** Routes of the units of a Modbus line: how each does, and one forgotten. */
import { Type } from 'typebox'
import { type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import { requireFace } from '../core/adapter-faces.ts'
import type { PortRegistry } from '../core/port-registry.ts'
import { unitsAnswer } from './answers.ts'
import { portParams } from './port-body.ts'

const unitParams = Type.Object({
  ...portParams.properties,
  unitId: Type.Integer({ minimum: 1, maximum: 247, description: 'number of the unit on the line' }),
})

export function unitRoutes({ registry, recorder }: { registry: PortRegistry; recorder: Recorder }): Route[] {
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
    route({
      method: 'DELETE',
      path: '/api/ports/:path/units/:unitId',
      who: 'admin',
      status: 204,
      summary: 'Forget a unit: its state and its counts; who asks it again makes it anew',
      params: unitParams,
      async handle(ask) {
        const { path, unitId } = ask.params
        requireFace(registry.require(path), 'units').forget(unitId)
        await recorder.changed(ask, 'unit forgotten', path, { unitId })
      },
    }),
  ]
}
