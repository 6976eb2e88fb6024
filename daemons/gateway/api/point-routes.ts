/** Points and templates of them. */
import { type TSchema, Type } from 'typebox'
import { createCheck } from '#kit/http/check.ts'
import { ifMatch, Reply, type Route, route, withRevision } from '#kit/http/route.ts'
import type { FieldFault } from '#kit/http/schema.ts'
import type { Recorder } from '#kit/records/records.ts'
import { type PointBook, pointFaults } from '../core/points/book.ts'
import {
  type AnyPoint,
  anyPoint,
  MOST_POINTS,
  type PointTemplate,
  pointDefinition,
  pointName,
  pointTemplate,
  recordPoint,
  type TemplateLibrary,
  unitNumber,
} from '../core/points/definition.ts'
import { pointAnswer, pointsAnswer } from './answers.ts'
import { portParams } from './port-routes.ts'

// Bodies and parameters of the point routes.

/** Body of PUT: the whole table. `points.max` bounds the number of points. */
const pointTableBody = Type.Object(
  { points: Type.Array(anyPoint, { maxItems: MOST_POINTS }) },
  { additionalProperties: false },
)

const checkPoint = createCheck(anyPoint)

/** The faults between fields and names of the points that fit their schema, even if others of the table do not. */
function faultsBesideShape(body: unknown): FieldFault[] {
  const points = (body as { points?: unknown } | null)?.points
  if (!Array.isArray(points) || points.length > MOST_POINTS) return []
  const checked = points.map((point) => checkPoint(point))
  return pointFaults(checked.map(({ faults, value }) => (faults.length > 0 ? undefined : (value as AnyPoint))))
}

/** Body of POST: a device by its template. */
const newDeviceBody = Type.Object(
  {
    template: Type.String({ minLength: 1, maxLength: 64, description: 'id of a template' }),
    unitId: unitNumber,
    prefix: Type.Optional(
      Type.String({ maxLength: 48, pattern: '^(?:[^\\s\\p{C}][^\\p{C}]*)?$', description: 'put before each name' }),
    ),
    pollMs: Type.Optional(
      Type.Integer({ minimum: 100, maximum: 86_400_000, description: "ms; left out: the template's own" }),
    ),
  },
  { additionalProperties: false },
)

const { name: _inPath, ...registerFields } = pointDefinition.properties
const { name: _inPathToo, ...recordFields } = recordPoint.properties

/** Body of POST to a name: the rest of one point. */
const newPointBody = Type.Union([
  Type.Object(registerFields, { additionalProperties: false }),
  Type.Object(recordFields, { additionalProperties: false }),
])

/** The position of a new point in the table. */
const newPointQuery = Type.Object(
  {
    at: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MOST_POINTS, description: 'place in the list, from 0; left out: the last' }),
    ),
  },
  { additionalProperties: false },
)

/** Body of PATCH: any fields of a point; what is left out stays, so nothing has a default. */
const pointChangeBody = Type.Unsafe<Partial<AnyPoint>>({
  type: 'object',
  // Where both kinds have a field of their own, the wider one is taken; the book checks which kind the point is.
  properties: Object.fromEntries(
    Object.entries({ ...pointDefinition.properties, ...recordPoint.properties }).map(withoutDefault),
  ),
  additionalProperties: false,
})

/** Parameters `:path` and `:name`. */
const pointParams = Type.Object({ ...portParams.properties, name: pointName })

function withoutDefault([key, schema]: [string, TSchema]): [string, object] {
  const plain = JSON.parse(JSON.stringify(schema))
  delete plain.default
  return [key, plain]
}

interface PointRouteParts {
  book: PointBook
  recorder: Recorder
  /** Most points of one port; it bounds the body of PUT. */
  maxPoints: number
}

/** The most characters of one definition as JSON. Most definitions have far fewer. */
const POINT_BYTES = 1024

export function pointRoutes(parts: PointRouteParts): Route[] {
  return [...tableRoutes(parts), ...singleRoutes(parts)]
}

/** A point, or a table of them. */
function tagged(answer: { revision: string }, status?: number): Reply {
  return withRevision(answer, answer.revision, status)
}

function tableRoutes({ book, recorder, maxPoints }: PointRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ports/:path/points',
      who: 'user',
      reply: pointsAnswer,
      summary: 'Every point of a port: value, quality, age; and how polling goes',
      params: portParams,
      handle: ({ params }) => tagged(book.list(params.path)),
    }),
    route({
      method: 'PUT',
      path: '/api/ports/:path/points',
      who: 'admin',
      reply: pointsAnswer,
      summary: 'Replace the points of a port; applied at once and saved',
      takesIfMatch: true,
      params: portParams,
      body: pointTableBody,
      faultsBeside: faultsBesideShape,
      bodyBytes: maxPoints * POINT_BYTES,
      async handle(ask) {
        const { path } = ask.params
        const answer = await book.replace(path, ask.body.points, ifMatch(ask))
        await recorder.changed(ask, 'points replaced', path, { points: ask.body.points.length })
        return tagged(answer)
      },
    }),
    route({
      method: 'POST',
      path: '/api/ports/:path/points',
      who: 'admin',
      status: 201,
      reply: pointsAnswer,
      summary: "Add a device: its template's points",
      params: portParams,
      body: newDeviceBody,
      async handle(ask) {
        const { path } = ask.params
        const answer = await book.add(path, ask.body)
        await recorder.changed(ask, 'points added', path, ask.body)
        return tagged(answer, 201)
      },
    }),
  ]
}

function singleRoutes({ book, recorder }: PointRouteParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/ports/:path/points/:name',
      who: 'admin',
      status: 201,
      reply: pointAnswer,
      summary: 'Add one point of this name',
      params: pointParams,
      query: newPointQuery,
      body: newPointBody,
      async handle(ask) {
        const { path, name } = ask.params
        const answer = await book.insert(path, { ...ask.body, name }, ask.query.at)
        await recorder.changed(ask, 'point added', path, { name, ...ask.body })
        return tagged(answer, 201)
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/ports/:path/points/:name',
      who: 'admin',
      reply: pointAnswer,
      summary: 'Change fields of one point',
      takesIfMatch: true,
      params: pointParams,
      body: pointChangeBody,
      async handle(ask) {
        const { path, name } = ask.params
        const answer = await book.change(path, name, ask.body, ifMatch(ask))
        const { name: newName, ...changes } = ask.body
        await recorder.changed(ask, 'point changed', path, {
          name,
          ...(newName !== undefined && { newName }),
          ...changes,
        })
        return tagged(answer)
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/ports/:path/points/:name',
      who: 'admin',
      status: 204,
      summary: 'Remove one point',
      takesIfMatch: true,
      params: pointParams,
      async handle(ask) {
        const { path, name } = ask.params
        await book.remove(path, name, ifMatch(ask))
        await recorder.changed(ask, 'point removed', path, { name })
      },
    }),
  ]
}

// The route of templates: devices with ready-made tables of points.

const JSON_TYPE = 'application/json; charset=utf-8'

export function templateRoutes({ templates }: { templates: TemplateLibrary }): Route[] {
  // 60 kB that seldom change: serialized once, not for each request.
  const texts = new WeakMap<readonly PointTemplate[], Buffer>()
  function textOf(list: readonly PointTemplate[]): Buffer {
    const text = texts.get(list) ?? Buffer.from(JSON.stringify(list))
    texts.set(list, text)
    return text
  }
  return [
    route({
      method: 'GET',
      path: '/api/templates/modbus',
      who: 'user',
      summary: 'Devices whose points are known, each with its source',
      reply: Type.Array(pointTemplate),
      handle: async () => new Reply(200, textOf(await templates.list()), { 'content-type': JSON_TYPE }),
    }),
  ]
}
