/** Bodies and parameters of the point routes. */
import { type TSchema, Type } from 'typebox'
import { createCheck } from '#kit/http/check.ts'
import type { FieldFault } from '#kit/http/sentences.ts'
import { pointFaults } from '../core/point-check.ts'
import { MOST_POINTS, type PointDefinition, pointDefinition, pointName, unitNumber } from '../core/point-record.ts'
import { portParams } from './port-body.ts'

/** Body of PUT: the table whole. Of how many a port may have, `points.max` says the rest. */
export const pointTableBody = Type.Object(
  { points: Type.Array(pointDefinition, { maxItems: MOST_POINTS }) },
  { additionalProperties: false },
)

const checkPoint = createCheck(pointDefinition)

/** Faults between the fields and names of those points that fit their schema, where others of the table do not. */
export function faultsBesideShape(body: unknown): FieldFault[] {
  const points = (body as { points?: unknown } | null)?.points
  if (!Array.isArray(points) || points.length > MOST_POINTS) return []
  const checked = points.map((point) => checkPoint(point))
  return pointFaults(checked.map(({ faults, value }) => (faults.length > 0 ? undefined : (value as PointDefinition))))
}

/** Body of POST: a device by its template. */
export const newDeviceBody = Type.Object(
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

const { name: _inPath, ...fieldsBesideName } = pointDefinition.properties

/** Body of POST to a name: the rest of one point. */
export const newPointBody = Type.Object(fieldsBesideName, { additionalProperties: false })

/** Where a new point comes to stand. */
export const newPointQuery = Type.Object(
  {
    at: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MOST_POINTS, description: 'place in the list, from 0; left out: the last' }),
    ),
  },
  { additionalProperties: false },
)

/** Body of PATCH: any fields of a point; what is left out stays, so nothing has a default. */
export const pointChangeBody = Type.Unsafe<Partial<PointDefinition>>({
  type: 'object',
  properties: Object.fromEntries(Object.entries(pointDefinition.properties).map(withoutDefault)),
  additionalProperties: false,
})

/** `:path` and `:name`. */
export const pointParams = Type.Object({ ...portParams.properties, name: pointName })

function withoutDefault([key, schema]: [string, TSchema]): [string, object] {
  const plain = JSON.parse(JSON.stringify(schema))
  delete plain.default
  return [key, plain]
}
