/** A point as an integrator defines it, templates of them, and which points a write touches. */
import { type Static, type TSchema, Type } from 'typebox'
import { revisionOf } from '#kit/revision.ts'
import type { ModbusRequest } from '../../wire/modbus-request.ts'
import { orders, pointTypes, sizeOf } from '../../wire/point-value.ts'

// What is kept of a point: where its value stands in a unit, how it is read, and how often.

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
const pointKeys = {
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
const templatePoint = Type.Object(pointKeys, { additionalProperties: false })

export type TemplatePoint = Static<typeof templatePoint>

// Templates: the points of a device as its maker documents them, for all who connect one.

const strict = { additionalProperties: false }
const text = (description: string) => Type.String({ minLength: 1, maxLength: 300, description })

/** Where the registers stand, so that anybody can look them up. */
const source = Type.Object(
  {
    title: text("the maker's document"),
    revision: text('its revision or date'),
    note: text('what it was checked against, and what to mind'),
    url: Type.Optional(text('where it can be found')),
  },
  strict,
)

const line = Type.Object(
  {
    baud: Type.Integer({ minimum: 300, maximum: 1_000_000 }),
    parity: Type.Enum(['none', 'odd', 'even']),
    stop_bits: Type.Enum([1, 2]),
  },
  { ...strict, description: 'line settings that the device leaves the factory with' },
)

/** One template file. */
export const pointTemplate = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 64 }),
    maker: text('maker'),
    model: text('model or series'),
    kind: Type.Enum(['energy meter', 'vfd', 'heat pump', 'relay', 'temperature', 'co2', 'air', 'input']),
    title: text('what it is, in a few words'),
    source,
    line,
    unitId: unitNumber,
    maxRegisters: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 125, description: 'registers that it gives in one read at most' }),
    ),
    points: Type.Array(templatePoint, { minItems: 1, maxItems: 250 }),
  },
  strict,
)

export type PointTemplate = Static<typeof pointTemplate>

/** Templates that came with the gateway. */
export interface TemplateLibrary {
  /** All, by maker and model; the very same list for a moment. @throws Fault `template_damaged` */
  list(): Promise<readonly PointTemplate[]>
}

/** `unitId` 0: of every unit. `fc` 1 for coils, 3 for holding registers. */
export interface WrittenPlace {
  unitId: number
  fc: 1 | 3
  address: number
  quantity: number
}

/** @returns undefined where the request writes nothing */
export function writtenPlace(request: ModbusRequest): WrittenPlace | undefined {
  const { unitId, address, quantity } = request
  switch (request.fc) {
    case 5:
    case 15:
      return { unitId, fc: 1, address, quantity }
    case 6:
    case 16:
    case 22:
      return { unitId, fc: 3, address, quantity }
    case 23:
      return { unitId, fc: 3, address: request.writeAddress ?? address, quantity: request.values?.length ?? 0 }
    default:
      return undefined
  }
}

/** Whether the point has a part of its value there. */
export function isTouched(point: PointDefinition, { unitId, fc, address, quantity }: WrittenPlace): boolean {
  if (point.fc !== fc || (unitId !== 0 && point.unitId !== unitId)) return false
  return point.address < address + quantity && address < point.address + sizeOf(point)
}
