/** Routes of a port that is a DNP3 outstation: its points and masters, and setting points and indications. */
import { Type } from 'typebox'
import { type Route, route } from '#kit/http/route.ts'
import type { SendRecorder } from '#kit/records/records.ts'
import { type PortRegistry, requireAction, requireFace } from '../core/lines/port-registry.ts'
import { pointKinds } from '../wire/dnp3/objects.ts'
import { indicationsAnswer, outstationAnswer, setPointAnswer } from './answers.ts'
import { portParams } from './port-routes.ts'

const kind = Type.Enum([...pointKinds])
const index = { minimum: 0, maximum: 65_535 }

/** Body of `rest/set-point`; core/dnp3/dnp3.ts checks that value and flags fit the kind. */
const pointBody = Type.Object(
  {
    kind,
    index: Type.Integer({ ...index, description: 'from 0; settings.points says how many there are' }),
    value: Type.Union([Type.Boolean(), Type.Number(), Type.String({ maxLength: 1024 })], {
      description:
        'binary: true or false; double_bit: 0 to 3, or intermediate, off, on, indeterminate; analog: a number; counter and frozen_counter: 0 to 4294967295; octet_string: 1 to 255 bytes as hex pairs with spaces',
    }),
    flags: Type.Optional(
      Type.Union(
        [Type.Array(Type.String({ maxLength: 32 }), { maxItems: 8 }), Type.Integer({ minimum: 0, maximum: 127 })],
        {
          description: 'names such as online, comm_lost or over_range, or their byte; online if omitted',
        },
      ),
    ),
    time: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 0xffff_ffff_ffff,
        description: 'when it changed, epoch milliseconds; now if omitted',
      }),
    ),
  },
  { additionalProperties: false },
)

const indicationsBody = Type.Object(
  {
    need_time: Type.Optional(Type.Boolean({ description: 'the master shall set the time' })),
    local_control: Type.Optional(Type.Boolean({ description: 'points are operated at the device, not by the master' })),
    device_trouble: Type.Optional(Type.Boolean()),
    config_corrupt: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false, minProperties: 1 },
)

const outstationQuery = Type.Object(
  {
    kind: Type.Optional(kind),
    start: Type.Integer({ default: 0, ...index, description: 'index of the first point that is shown' }),
    limit: Type.Integer({ default: 100, minimum: 1, maximum: 1000, description: 'points that are shown' }),
  },
  { additionalProperties: false },
)

export function outstationRoutes({ registry, recorder }: { registry: PortRegistry; recorder: SendRecorder }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports/:path/outstation',
      who: 'user',
      reply: outstationAnswer,
      summary: 'A DNP3 outstation: its masters, the events that wait for each, and points of one kind',
      params: portParams,
      query: outstationQuery,
      handle({ params, query }) {
        const outstation = requireFace(registry.require(params.path), 'outstation')
        const view = outstation.view()
        const shown = query.kind ?? pointKinds.find((one) => view.points[one] > 0) ?? 'binary'
        return { ...view, kind: shown, shown: outstation.points(shown, query.start, query.limit) }
      },
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/set-point',
      who: 'admin',
      reply: setPointAnswer,
      summary: 'Set a point of a DNP3 outstation',
      params: portParams,
      body: pointBody,
      async handle(ask) {
        const { path } = ask.params
        const answer = requireAction(registry.require(path), 'set-point')(ask.body)
        await recorder.sent(ask, 'point set', path, ask.body)
        return answer
      },
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/set-iin',
      who: 'admin',
      reply: indicationsAnswer,
      summary: 'Set internal indications of a DNP3 outstation; those that are left out stay as they are',
      params: portParams,
      body: indicationsBody,
      async handle(ask) {
        const { path } = ask.params
        const answer = requireAction(registry.require(path), 'set-iin')(ask.body)
        await recorder.sent(ask, 'indications set', path, ask.body)
        return answer
      },
    }),
  ]
}
