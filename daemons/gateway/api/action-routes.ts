/** Routes that act on a bus: raw transmit and Modbus request. */
import { Type } from 'typebox'
import { type Route, route } from '#kit/http/route.ts'
import type { PortRegistry } from '../core/port-registry.ts'
import { modbusRequestBody } from './modbus-request-body.ts'
import { portParams } from './port-body.ts'
import type { Recorder } from './recorder.ts'

/** Shape of `rest/tx`; wire/raw.ts reads it and names a wrong character by its position. */
export const transmitBody = Type.Object(
  {
    data: Type.Optional(Type.String({ maxLength: 16_384, description: 'base64' })),
    hex: Type.Optional(Type.String({ maxLength: 24_576, description: 'pairs of hex digits, separated by spaces' })),
  },
  { additionalProperties: false },
)

export function actionRoutes({ registry, recorder }: { registry: PortRegistry; recorder: Recorder }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/tx',
      who: 'admin',
      summary: 'Raw transmit: bytes to the line as they are',
      params: portParams,
      body: transmitBody,
      async handle(ask) {
        const answer = await registry.require(ask.params.path).adapter.act('tx', ask.body)
        await recorder.changed(ask, 'bytes sent', ask.params.path, answer)
        return answer
      },
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/request',
      who: 'admin',
      summary: 'Modbus RTU request: one transaction on the bus',
      params: portParams,
      body: modbusRequestBody,
      async handle(ask) {
        const answer = await registry.require(ask.params.path).adapter.act('request', ask.body)
        if (isWrite(ask.body)) await recorder.changed(ask, 'modbus write', ask.params.path, ask.body)
        return answer
      },
    }),
  ]
}

/** Reads are asked by the thousand and change nothing: they are not journalled. */
function isWrite(body: { fc: number }): boolean {
  return [5, 6, 15, 16, 22, 23].includes(body.fc)
}
