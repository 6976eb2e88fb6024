/** Routes of a hunt for the settings of a line: it is started, read and cancelled as a scan is. */
import { Type } from 'typebox'
import { Reply, type Route, route } from '#kit/http/route.ts'
import { lineSettings } from '#kit/pure/line.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { Hunts } from '../core/hunt/hunts.ts'
import { huntedProtocols } from '../core/protocols.ts'
import { huntAnswer } from './answers.ts'
import { portParams } from './port-routes.ts'

const unit = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 250, description }))

const huntBody = Type.Object(
  {
    protocols: Type.Optional(
      Type.Array(Type.Enum(Object.keys(huntedProtocols)), {
        minItems: 1,
        maxItems: Object.keys(huntedProtocols).length,
        description: 'what may be spoken on the line; left out: any of these',
      }),
    ),
    bauds: Type.Optional(
      Type.Array(lineSettings.properties.baud, {
        minItems: 1,
        maxItems: 12,
        description: 'rates to try, in this order; left out: those of the protocols, 300 to 115200',
      }),
    ),
    parities: Type.Optional(
      Type.Array(Type.Enum(['none', 'even', 'odd']), {
        minItems: 1,
        maxItems: 3,
        description: 'left out: those of each protocol',
      }),
    ),
    ask: Type.Optional(
      Type.Boolean({
        description:
          'where nobody was heard, units are asked something that changes nothing; left out: false, nothing is ever sent',
      }),
    ),
    from: unit('first unit to ask; left out, as is `to`: 1 to 10 and 247, of meters 0 to 10'),
    to: unit('last unit to ask'),
    takeOver: Type.Optional(
      Type.Boolean({ description: 'take the line even if its port is open; left out: false, that is refused' }),
    ),
  },
  { additionalProperties: false },
)

const PATH = '/api/ports/:path/hunt'

export function huntRoutes({ hunts, recorder }: { hunts: Hunts; recorder: Recorder }): Route[] {
  return [
    route({
      method: 'POST',
      path: PATH,
      who: 'admin',
      status: 202,
      reply: huntAnswer,
      summary: 'Hunt for rate, parity, protocol and units of a line, set up or not; its port is closed meanwhile',
      params: portParams,
      body: huntBody,
      async handle(ask) {
        const { path } = ask.params
        const job = await hunts.start(path, ask.body)
        await recorder.changed(ask, 'hunt started', path, ask.body)
        return new Reply(202, job)
      },
    }),
    route({
      method: 'GET',
      path: PATH,
      who: 'user',
      reply: huntAnswer,
      summary: 'The hunt that runs, or the last one: progress, what was found, and the verdict',
      params: portParams,
      handle: ({ params }) => hunts.job(params.path),
    }),
    route({
      method: 'DELETE',
      path: PATH,
      who: 'admin',
      reply: huntAnswer,
      summary: 'Cancel the hunt; answers when the line has its former settings again',
      params: portParams,
      async handle(ask) {
        const { path } = ask.params
        const wasRunning = hunts.job(path).state === 'running'
        const job = await hunts.cancel(path)
        if (wasRunning) await recorder.changed(ask, 'hunt cancelled', path)
        return job
      },
    }),
  ]
}
