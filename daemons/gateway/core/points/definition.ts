/** Points as an integrator defines them, templates of points, and what a protocol knows about its points. */
import { type Static, type TSchema, Type } from 'typebox'
import type { Fault } from '#kit/pure/fault.ts'
import { revisionOf } from '#kit/revision.ts'
import { orders, type PointValue, pointTypes } from '../../wire/point-value.ts'

// The definition of a point: where its value is in a unit, how it is decoded, and how often it is read.

const orNull = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { default: null, description })

/** Name of a point: 1 to 64 characters, no control characters, no blank at either end. */
export const pointName = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$',
  description: 'name on its port, 1 to 64 characters, no blank at either end',
})

/** The most points of one port, whatever `points.max` says. */
export const MOST_POINTS = 5000

/** The number of a single unit, so not the broadcast address. */
export const unitNumber = Type.Integer({ minimum: 1, maximum: 247, description: 'unit 1 to 247' })

/** The keys of a point that a template gives; what it leaves out has a default. */
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

/** A point in registers, coils or inputs, as PUT accepts it and ports.json stores it. */
export const pointDefinition = Type.Object(
  { ...pointKeys, unitId: unitNumber, template: templateId },
  { additionalProperties: false },
)

export type PointDefinition = Static<typeof pointDefinition>

/** A point in the records that a unit tells all at once, found by the name of its record. */
export const recordPoint = Type.Object(
  {
    name: pointName,
    unitId: Type.Integer({
      minimum: 0,
      maximum: 5_294_967_295,
      description: 'primary address of the meter, 0 to 250, or the identification number on it, from 1000 on',
    }),
    record: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'name of the record as a reading of the meter gives it, such as energy or power maximum',
    }),
    scale: pointKeys.scale,
    offset: pointKeys.offset,
    unit: pointKeys.unit,
    decimals: pointKeys.decimals,
    pollMs: Type.Integer({
      default: 60_000,
      minimum: 100,
      maximum: 86_400_000,
      description: 'how often it is read, ms',
    }),
    deadband: pointKeys.deadband,
    template: templateId,
  },
  { additionalProperties: false },
)

export type RecordPoint = Static<typeof recordPoint>

/** One point of either kind. */
export const anyPoint = Type.Union([pointDefinition, recordPoint])

/** Any point that a port may have: which kind, says its protocol. */
export type AnyPoint = PointDefinition | RecordPoint

/** Whether a point is found by the name of a record. */
export function isRecordPoint(point: object): point is RecordPoint {
  return 'record' in point
}

const revisions = new WeakMap<object, string>()

/** The revision that a change of the point must name. Definitions are immutable, so each is hashed only once. */
export function pointRevision(definition: PointBase): string {
  const known = revisions.get(definition)
  if (known !== undefined) return known
  const revision = revisionOf(definition)
  revisions.set(definition, revision)
  return revision
}

/** The revision of a whole table. */
export function tableRevision(points: readonly PointBase[]): string {
  return revisionOf(points.map(pointRevision))
}

/** One point of a template: no unit number, which the installer gives. */
const templatePoint = Type.Object(pointKeys, { additionalProperties: false })

export type TemplatePoint = Static<typeof templatePoint>

// Templates: the points of a device as its maker documents them, ready for everybody who connects one.

const strict = { additionalProperties: false }
const text = (description: string) => Type.String({ minLength: 1, maxLength: 300, description })

/** The document with the register table, so that anybody can look the registers up. */
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

/** A code that the maker documents, in registers. `is`: what it may be, a number or a text. */
const codeSign = Type.Object(
  {
    what: text('what stands there'),
    fc: Type.Enum([3, 4]),
    address: pointKeys.address,
    type: Type.Enum(['u16', 'u32', 'string']),
    length: pointKeys.length,
    is: Type.Array(Type.Union([Type.Integer({ minimum: 0 }), Type.String({ minLength: 1, maxLength: 48 })]), {
      minItems: 1,
      maxItems: 16,
    }),
    source: text('where it is documented'),
  },
  strict,
)

/** How a name begins that the unit gives by function 43/14: 0 its vendor, 1 its product code. */
const nameSign = Type.Object(
  {
    what: text('which name'),
    object: Type.Enum([0, 1, 2]),
    begins: Type.Array(Type.String({ minLength: 1, maxLength: 48 }), { minItems: 1, maxItems: 16 }),
    source: text('where it is documented'),
  },
  strict,
)

/** A point of the template whose value lies in a range wherever such a device works: no proof, as others may do so too. */
const valueSign = Type.Object({ point: pointName, from: Type.Number(), to: Type.Number() }, strict)

const sign = Type.Union([codeSign, nameSign, valueSign])

export type TemplateSign = Static<typeof sign>

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
    signs: Type.Optional(
      Type.Array(sign, {
        minItems: 1,
        maxItems: 8,
        description: 'by which a unit is taken for such a device, which it could be',
      }),
    ),
    points: Type.Array(templatePoint, { minItems: 1, maxItems: 250 }),
  },
  strict,
)

export type PointTemplate = Static<typeof pointTemplate>

/** The templates that are delivered with the gateway. */
export interface TemplateLibrary {
  /** All, sorted by maker and model; calls in quick succession get the same array. @throws Fault `template_damaged` */
  list(): Promise<readonly PointTemplate[]>
}

// What a protocol knows about its points. The poller and the table know no more of a point than `PointBase`.

/** What every point has, whatever its protocol. */
export type PointBase = Pick<
  RecordPoint,
  'name' | 'unitId' | 'unit' | 'decimals' | 'pollMs' | 'deadband' | 'template'
> & {
  /** `string`: the values are texts. All other types belong to the protocol. */
  readonly type?: string
}

/** One read of a plan. */
export interface PlannedRead<Point extends PointBase, Request> {
  /** Equal for equal reads of different plans. */
  readonly key: string
  readonly request: Request
  readonly periodMs: number
  readonly points: readonly Point[]
}

/** Chooses the reads that cover the points. Lives as long as its port, and learns from refusals. */
export interface ReadPlanner<Point extends PointBase, Request> {
  /** @returns reads that cover every point once */
  plan(points: readonly Point[]): PlannedRead<Point, Request>[]
  /** A unit refused a read because of its extent. @returns false if another plan would not help */
  learn(read: PlannedRead<Point, Request>): boolean
  /** Forgets what it learned, except about these points. */
  keep(points: readonly Point[]): void
  /** Forgets everything: the line was opened anew. */
  forget(): void
}

/** Points in registers, or in named records. */
export type PointKind = 'registers' | 'records'

/** What a protocol knows about points. `Reading`: the values that one reply carries. */
export interface PointProtocol<Point extends PointBase, Request, Reply, Reading> {
  /** Which kind of points it takes. */
  readonly takes: PointKind
  planner(): ReadPlanner<Point, Request>
  /**
   * Why a read failed. `extent`: the unit refuses its extent, or one place in it; `refused`: the unit has no such
   * value; `unanswered`: no reply.
   */
  verdict(fault: Fault): 'extent' | 'refused' | 'unanswered'
  /** The values in a reply, which is no refusal; undefined if the request read nothing. */
  readingOf(request: Request, reply: Reply): Reading | undefined
  /** A reading is matched only with points of the same group. */
  groupOf(point: Point): number | string
  groupOfReading(reading: Reading): number | string
  /**
   * Prepares reading one point: the result gives its value, or undefined if the reading does not contain all of it. It
   * throws Fault `point_no_value` if the device reports that it has no value.
   */
  reader(point: Point): (reading: Reading) => PointValue | undefined
  /** Whether two definitions read the same value from the same place, so that they differ only in what people see. */
  isReadAlike(a: Point, b: Point): boolean
  /** Whether a write changes a part of the point's value. */
  isTouchedBy(point: Point, write: Request): boolean
}
