/** Routes that act on a bus: raw transmit and Modbus request. */
import { Type } from 'typebox'
import { Fault } from '#kit/fault.ts'
import { type Route, route } from '#kit/http/route.ts'
import type { SendRecorder } from '#kit/recorder.ts'
import type { PortRegistry } from '../core/port-registry.ts'
import { modbusAnswer, sentAnswer } from './answers.ts'
import { faultStatus } from './fault-status.ts'
import { modbusRequestBody } from './modbus-request-body.ts'
import { portParams } from './port-body.ts'

/** Shape of `rest/tx`; wire/raw.ts reads it and names a wrong character by its position. */
export const transmitBody = Type.Object(
  {
    data: Type.Optional(Type.String({ maxLength: 16_384, description: 'base64' })),
    hex: Type.Optional(Type.String({ maxLength: 24_576, description: 'pairs of hex digits, separated by spaces' })),
  },
  { additionalProperties: false },
)

export function actionRoutes({ registry, recorder }: { registry: PortRegistry; recorder: SendRecorder }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/tx',
      who: 'admin',
      reply: sentAnswer,
      summary: 'Raw transmit: bytes to the line as they are',
      params: portParams,
      body: transmitBody,
      async handle(ask) {
        const { path } = ask.params
        const tell = (detail: unknown) => recorder.sent(ask, 'bytes sent', path, detail)
        const answer = await orTold(registry.require(path).adapter.act('tx', ask.body), tell)
        await tell(answer)
        return answer
      },
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/request',
      who: 'admin',
      reply: modbusAnswer,
      summary: 'Modbus RTU request: one transaction on the bus',
      params: portParams,
      body: modbusRequestBody,
      async handle(ask) {
        const { path } = ask.params
        const tell = async (detail: unknown) => {
          if (isWrite(ask.body)) await recorder.sent(ask, 'modbus write', path, detail)
        }
        const told = (failed: object) => tell({ ...ask.body, ...failed })
        const answer = await orTold(registry.require(path).adapter.act('request', ask.body, ask.signal), told)
        await tell(ask.body)
        return answer
      },
    }),
  ]
}

/** What failed on the bus, a timeout above all, may have reached the device: it is told with its fault, and thrown on. */
async function orTold(acting: Promise<unknown>, tell: (failed: { error: string }) => Promise<void>): Promise<unknown> {
  try {
    return await acting
  } catch (error) {
    if (error instanceof Fault && mayBeOut(error)) await tell({ error: error.code })
    throw error
  }
}

/** A port that somebody closes says so with 409, whether the bytes were on their way or not. */
function mayBeOut({ code, details }: Fault): boolean {
  return (faultStatus[code] ?? 0) >= 500 || details?.mayBeOut === true
}

/** Reads are asked by the thousand and change nothing: they are not journalled. */
function isWrite(body: { fc: number }): boolean {
  return [5, 6, 15, 16, 22, 23].includes(body.fc)
}
