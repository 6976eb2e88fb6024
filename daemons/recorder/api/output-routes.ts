/** Outputs of cameras: looking for them, how they are, and switching them. */
import { Type } from 'typebox'
import { instant, object, orNull, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'
import type { Recorder } from '#kit/records/records.ts'
import { type CameraBook, type CameraRecord, outputDrivers, outputKinds } from '../core/cameras/book.ts'
import { type Outputs, outputStates, PULSE } from '../core/outputs/outputs.ts'
import { type Callers, requireOperator, requirePermission } from './callers.ts'
import { cameraParams } from './camera-routes.ts'

interface OutputRouteParts {
  callers: Callers
  cameras: CameraBook
  outputs: Outputs
  recorder: Recorder
}

const outputAnswer = object({
  ...{ id: text, kind: Type.Enum([...outputKinds]), name: text, driver: Type.Enum([...outputDrivers]) },
  on: Type.Boolean({ description: 'what the recorder last set' }),
  until: orNull({ ...instant, description: 'when it ends by itself, epoch milliseconds' }),
})
const listAnswer = object({
  outputs: Type.Array(outputAnswer),
  probedAt: orNull({ ...instant, description: 'null: no administrator has looked' }),
  notes: orNull(Type.String({ description: 'what could not be done' })),
})
const outputParams = Type.Object({
  ...cameraParams.properties,
  output: Type.String({ minLength: 1, maxLength: 64, description: 'id of an output' }),
})

/** How an output is switched, by a person or by a rule. */
export const pulseSeconds = Type.Integer({
  ...{ minimum: PULSE.least, maximum: PULSE.most, unit: 's' },
  description: `of a pulse alone; ${PULSE.usual} unless said`,
})

export function outputRoutes({ callers, cameras, outputs, recorder }: OutputRouteParts): Route[] {
  const answerOf = (record: CameraRecord) => ({
    outputs: outputs.of(record),
    ...{ probedAt: record.outputs?.probedAt ?? null, notes: record.outputs?.notes ?? null },
  })
  return [
    route({
      method: 'GET',
      path: '/api/cameras/:id/outputs',
      who: 'user',
      summary: 'What a camera can switch, as an administrator last looked, and what was set last',
      params: cameraParams,
      reply: listAnswer,
      handle: ({ caller, params }) => answerOf(cameras.require(params.id, callers.accountOf(caller)).record),
    }),
    route({
      method: 'POST',
      path: '/api/cameras/:id/outputs',
      who: 'admin',
      summary: 'Look at the camera for what it can switch; nothing is switched',
      params: cameraParams,
      reply: listAnswer,
      async handle(ask) {
        const { record } = cameras.require(ask.params.id, callers.accountOf(ask.caller))
        const found = await outputs.find(record)
        const changed = await cameras.change(record.id, { outputs: found })
        await recorder.changed(ask, 'outputs looked for', record.name, { found: counted(found.list.length, 'output') })
        return answerOf(changed.record)
      },
    }),
    route({
      method: 'POST',
      path: '/api/cameras/:id/outputs/:output',
      who: 'user',
      summary: 'Switch an output; for operators and administrators with the permission outputs',
      params: outputParams,
      body: Type.Object(
        { state: Type.Enum([...outputStates]), seconds: Type.Optional(pulseSeconds) },
        { additionalProperties: false },
      ),
      reply: outputAnswer,
      async handle(ask) {
        const account = callers.accountOf(ask.caller)
        const { record } = cameras.require(ask.params.id, account)
        requireOperator(account, 'Switching outputs')
        requirePermission(account, 'outputs', 'Switching outputs')
        const { seconds, state } = ask.body
        if (seconds !== undefined && state !== 'pulse')
          throw new Fault('bad_pulse', `seconds are of a pulse; ${state} lasts until something else is said.`)
        const wish = { output: ask.params.output, state, seconds: seconds ?? PULSE.usual }
        const performedBy = ask.caller?.name ?? null
        return await outputs.switch(record, wish, { performedBy })
      },
    }),
  ]
}
