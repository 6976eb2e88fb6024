/** Routes of the registers that a port in mode slave serves to the master on its line. */
import { Type } from 'typebox'
import { type Route, route } from '#kit/http/route.ts'
import type { SendRecorder } from '#kit/recorder.ts'
import { requireFace } from '../core/adapter-faces.ts'
import type { PortRegistry } from '../core/port-registry.ts'
import { registerTables } from '../core/register-map.ts'
import { registersAnswer } from './answers.ts'
import { portParams } from './port-body.ts'

const place = {
  unitId: Type.Integer({ minimum: 1, maximum: 247, description: 'one of settings.slave_units' }),
  table: Type.Enum([...registerTables]),
  address: Type.Integer({ minimum: 0, maximum: 65_535, description: 'first address, counted from 0' }),
}

const rangeQuery = Type.Object(
  { ...place, quantity: Type.Integer({ default: 1, minimum: 1, maximum: 2000, description: 'values from there' }) },
  { additionalProperties: false },
)

const valuesBody = Type.Object(
  {
    ...place,
    values: Type.Array(Type.Union([Type.Integer({ minimum: 0, maximum: 65_535 }), Type.Null()]), {
      minItems: 1,
      maxItems: 2000,
      description: '0 or 1 per bit, 0..65535 per register; null takes a value back: exception 4 until it is written',
    }),
  },
  { additionalProperties: false },
)

export function registerRoutes({ registry, recorder }: { registry: PortRegistry; recorder: SendRecorder }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports/:path/registers',
      who: 'user',
      reply: registersAnswer,
      summary: 'Values that a port in mode slave serves to its master',
      params: portParams,
      query: rangeQuery,
      handle: ({ params, query }) => requireFace(registry.require(params.path), 'registers').read(query),
    }),
    route({
      method: 'PUT',
      path: '/api/ports/:path/registers',
      who: 'admin',
      reply: registersAnswer,
      summary: 'Set values that a port in mode slave serves; all at once, between two frames',
      params: portParams,
      body: valuesBody,
      async handle(ask) {
        const { path } = ask.params
        const { values, ...target } = ask.body
        const answer = requireFace(registry.require(path), 'registers').write(target, values)
        await recorder.sent(ask, 'registers written', path, ask.body)
        return answer
      },
    }),
  ]
}
