/** What is kept of a point: where its value stands in a unit, how it is read, and how often. */
import { type Static, type TSchema, Type } from 'typebox'
import { revisionOf } from '#kit/revision.ts'
import { orders, pointTypes } from '../wire/point-value.ts'

const orNull = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { default: null, description })

/** What a point is called: 1 to 64 characters, no control characters, no blank at either end. */
export const pointName = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$',
  description: 'name on its port, 1 to 64 characters, no blank at either end',
})

/** Points of one port at most, whatever `points.max` is set to. */
export const MOST_POINTS = 5000

/** A unit's own number. */
export const unitNumber = Type.Integer({ minimum: 1, maximum: 247, description: 'unit 1 to 247' })

/** Everything of a point that a template says, with the defaults of what it leaves out. */
export const pointKeys = {
  name: pointName,
  fc: Type.Enum([1, 2, 3, 4], {
    description: '1 coils, 2 discrete inputs, 3 holding registers, 4 input registers',
  }),
  address: Type.Integer({ minimum: 0, maximum: 65_535, description: 'first register, coil or input, counted from 0' }),
  type: Type.Enum([...pointTypes], { description: 'bit for coils, inputs and single bits of a register' }),
  wordOrder: Type.Enum([...orders], { default: 'big', description: 'which register of a number comes first' }),
  byteOrder: Type.Enum([...orders], { default: 'big', description: 'which byte of a register comes first' }),
  bit: orNull(Type.Integer({ minimum: 0, maximum: 15 }), 'of type bit in a register: which one, 0 is the lowest'),
  length: orNull(Type.Integer({ minimum: 1, maximum: 125 }), 'of type string: registers'),
  maxRegisters: orNull(
    Type.Integer({ minimum: 1, maximum: 125 }),
    'registers that its unit gives in one read at most; null: as many as its function may',
  ),
  scale: Type.Number({
    default: 1,
    minimum: -1e12,
    maximum: 1e12,
    description: 'what the number is multiplied with, exactly; not 0',
  }),
  offset: Type.Number({ default: 0, minimum: -1e12, maximum: 1e12, description: 'what is added after the scale' }),
  noValue: Type.Array(Type.String({ pattern: '^([0-9A-F]{4}){1,4}$' }), {
    default: [],
    maxItems: 8,
    description: 'what the device sends where it has no value: the registers as hex digits, 7FFFFFFF',
  }),
  unit: orNull(Type.String({ minLength: 1, maxLength: 16 }), 'unit of measure, such as kWh'),
  decimals: orNull(Type.Integer({ minimum: 0, maximum: 10 }), 'decimals in the text of the value; null: all there are'),
  pollMs: Type.Integer({
    default: 10_000,
    minimum: 100,
    maximum: 86_400_000,
    description: 'how often it is read, ms',
  }),
  deadband: Type.Number({
    default: 0,
    minimum: 0,
    maximum: 1e15,
    description: 'a value is told again once it has moved by more than this; 0: by anything',
  }),
}

const templateId = orNull(Type.String({ minLength: 1, maxLength: 64 }), 'template it came from')

/** One point as PUT takes it and ports.json keeps it. */
export const pointDefinition = Type.Object(
  { ...pointKeys, unitId: unitNumber, template: templateId },
  { additionalProperties: false },
)

export type PointDefinition = Static<typeof pointDefinition>

const revisions = new WeakMap<PointDefinition, string>()

/** What a change of the point may be made from. Definitions are never changed, so each is looked at once. */
export function pointRevision(definition: PointDefinition): string {
  const known = revisions.get(definition)
  if (known !== undefined) return known
  const revision = revisionOf(definition)
  revisions.set(definition, revision)
  return revision
}

/** The same of a whole table. */
export function tableRevision(points: readonly PointDefinition[]): string {
  return revisionOf(points.map(pointRevision))
}

/** One point of a template: the same without the unit, which the installer gives. */
export const templatePoint = Type.Object(pointKeys, { additionalProperties: false })

export type TemplatePoint = Static<typeof templatePoint>
