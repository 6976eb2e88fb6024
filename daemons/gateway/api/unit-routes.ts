/** Routes of the units of a line: the scan for them, what they may mean, and the registers served here as a slave. */
import { Type } from 'typebox'
import { Reply, type Route, route } from '#kit/http/route.ts'
import type { Recorder, SendRecorder } from '#kit/records/records.ts'
import { unitStatesOf } from '../core/lines/adapter.ts'
import { type PortRegistry, requireAction, requireFace } from '../core/lines/port-registry.ts'
import { registerTables } from '../core/modbus/slave-registers.ts'
import { unitNumber } from '../core/points/definition.ts'
import { SECONDARY_PATTERN } from '../wire/mbus/identity.ts'
import { identityAnswer, registersAnswer, scanAnswer, testReadAnswer, unitsAnswer } from './answers.ts'
import { portParams } from './port-routes.ts'

export const unitParams = Type.Object({
  ...portParams.properties,
  unitId: Type.Integer({ minimum: 0, maximum: 5_294_967_295, description: 'number of the unit on the line' }),
})

interface UnitRouteParts {
  registry: PortRegistry
  recorder: Recorder
  onForgotten?: (port: string, unitId: number) => void
}

export function unitRoutes({ registry, recorder, onForgotten }: UnitRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports/:path/units',
      who: 'user',
      reply: unitsAnswer,
      summary: 'The units of a line: state, counts, times of their answers, what holds them back',
      params: portParams,
      handle: ({ params }) => requireFace(registry.require(params.path), 'units').list(),
    }),
    route({
      method: 'DELETE',
      path: '/api/ports/:path/units/:unitId',
      who: 'admin',
      status: 204,
      summary:
        'Forget a unit, its state and its counts, until it is asked again; of a ring a node that has left, until it is heard',
      params: unitParams,
      async handle(ask) {
        const { path, unitId } = ask.params
        const port = registry.require(path)
        const units = unitStatesOf(port.adapter) ?? requireFace(port, 'units')
        units.forget(unitId)
        onForgotten?.(path, unitId)
        await recorder.changed(ask, 'unit forgotten', path, { unitId })
      },
    }),
  ]
}

// Routes of a scan: which units are on a Modbus line, or which meters on an M-Bus line.

const unitId = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 250, description }))

/** Of a Modbus unit one coil or register is read, of a meter all it has. */
const scanBody = Type.Object(
  {
    from: unitId('first unit, or first primary address of a meter; left out: 1, of meters 0'),
    to: unitId('last one; left out: 247, of meters 250'),
    fc: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 4, description: 'Modbus: function to ask by, 1 to 4; left out: 3' }),
    ),
    address: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 65_535,
        description: 'Modbus: coil or register, counted from 0; left out: 0',
      }),
    ),
    identify: Type.Optional(
      Type.Boolean({ description: 'Modbus: ask the units that were found what they are; left out: false' }),
    ),
    by: Type.Optional(
      Type.Enum(['primary', 'secondary'], {
        description: 'M-Bus: by which address meters are searched for; left out: primary',
      }),
    ),
    mask: Type.Optional(
      Type.String({
        pattern: SECONDARY_PATTERN,
        description: 'M-Bus by secondary: 8 or 16 digits, F for any digit of the number, FF for any other byte',
      }),
    ),
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
      summary: 'Scan a line for Modbus units or M-Bus meters, in gaps between polls; answers the job',
      params: portParams,
      body: scanBody,
      async handle(ask) {
        const job = scanOf(ask.params.path).start(ask.body)
        await recorder.changed(ask, 'scan started', ask.params.path, askedOf(job))
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

/** What a scan was asked for, with what was left out. */
function askedOf(job: object): object {
  const names: readonly string[] = Object.keys(scanBody.properties)
  return Object.fromEntries(Object.entries(job).filter(([name, value]) => names.includes(name) && value !== null))
}

// Routes that find out what a Modbus unit has. They read, so they are not journalled.

/** `modbus.test_registers` bounds `quantity`. */
const testReadBody = Type.Object(
  {
    unitId: unitNumber,
    fc: Type.Enum([1, 2, 3, 4], {
      description: '1 coils, 2 discrete inputs, 3 holding registers, 4 input registers',
    }),
    address: Type.Integer({ minimum: 0, maximum: 65_535, description: 'first coil or register, counted from 0' }),
    quantity: Type.Integer({ minimum: 1, maximum: 2000, description: 'how many, within modbus.test_registers' }),
  },
  { additionalProperties: false },
)

export function findingRoutes({ registry }: { registry: PortRegistry }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/test-read',
      who: 'admin',
      reply: testReadAnswer,
      summary: 'Read Modbus registers once, and show what each may mean: every type, word order and byte order',
      params: portParams,
      body: testReadBody,
      handle: (ask) => requireAction(registry.require(ask.params.path), 'test-read')(ask.body, ask.signal),
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/rest/identify',
      who: 'admin',
      reply: identityAnswer,
      summary: 'Ask a Modbus unit what it is, and compare it with the devices whose points are known',
      params: portParams,
      body: Type.Object({ unitId: unitNumber }, { additionalProperties: false }),
      handle: (ask) => requireAction(registry.require(ask.params.path), 'identify')(ask.body, ask.signal),
    }),
  ]
}

// Routes of the registers that a port in mode slave serves to the master on its line.

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
