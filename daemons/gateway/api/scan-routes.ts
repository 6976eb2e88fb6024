/** Routes of a scan: which units are on a Modbus line. */
import { Type } from 'typebox'
import { Reply, type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import { requireFace } from '../core/adapter-faces.ts'
import type { PortRegistry } from '../core/port-registry.ts'
import { scanAnswer } from './answers.ts'
import { portParams } from './port-body.ts'

const unitId = (fallback: number, description: string) =>
  Type.Integer({ default: fallback, minimum: 1, maximum: 247, description })

/** One coil or register is read of each unit. */
const scanBody = Type.Object(
  {
    from: unitId(1, 'first unit'),
    to: unitId(247, 'last unit'),
    fc: Type.Integer({ default: 3, minimum: 1, maximum: 4, description: 'function to ask by: 1 to 4' }),
    address: Type.Integer({ default: 0, minimum: 0, maximum: 65_535, description: 'coil or register, counted from 0' }),
  },
  { additionalProperties: false },
)

const PATH = '/api/ports/:path/rest/scan'

export function scanRoutes({ registry, recorder }: { registry: PortRegistry; recorder: Recorder }): Route[] {
  const scanOf = (path: string) => requireFace(registry.require(path), 'scan')
  return [
    route({
      method: 'POST',
      path: PATH,
      who: 'admin',
      status: 202,
      reply: scanAnswer,
      summary: 'Scan a Modbus line for units, in gaps between polls; answers the job',
      params: portParams,
      body: scanBody,
      async handle(ask) {
        const job = scanOf(ask.params.path).start(ask.body)
        await recorder.changed(ask, 'scan started', ask.params.path, ask.body)
        return new Reply(202, job)
      },
    }),
    route({
      method: 'GET',
      path: PATH,
      who: 'user',
      reply: scanAnswer,
      summary: 'The scan that runs, or the last one: progress and units found',
      params: portParams,
      handle: ({ params }) => scanOf(params.path).job(),
    }),
    route({
      method: 'DELETE',
      path: PATH,
      who: 'admin',
      reply: scanAnswer,
      summary: 'Cancel the scan; units found so far stay in its job',
      params: portParams,
      async handle(ask) {
        const scan = scanOf(ask.params.path)
        const wasRunning = scan.job().state === 'running'
        const job = scan.cancel()
        if (wasRunning) await recorder.changed(ask, 'scan cancelled', ask.params.path)
        return job
      },
    }),
  ]
}
