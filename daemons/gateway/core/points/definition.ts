/** A point as an integrator defines it, templates of them, and what a protocol says of its points. */
import { type Static, type TSchema, Type } from 'typebox'
import type { Fault } from '#kit/pure/fault.ts'
import { revisionOf } from '#kit/revision.ts'
import { orders, type PointValue, pointTypes } from '../../wire/point-value.ts'

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

const revisions = new WeakMap<object, string>()

/** What a change of the point may be made from. Definitions are never changed, so each is looked at once. */
export function pointRevision(definition: PointBase): string {
  const known = revisions.get(definition)
  if (known !== undefined) return known
  const revision = revisionOf(definition)
  revisions.set(definition, revision)
  return revision
}

/** The same of a whole table. */
export function tableRevision(points: readonly PointBase[]): string {
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

// What a protocol knows of its points. The live parts, poller and table, know no more of a point than `PointBase`.

/** What every point has, whatever its protocol. */
export type PointBase = Pick<
  PointDefinition,
  'name' | 'unitId' | 'unit' | 'decimals' | 'pollMs' | 'deadband' | 'template'
> & {
  /** `string`: its values are texts. Other types are the protocol's own. */
  readonly type?: string
}

/** One read of a plan. */
export interface PlannedRead<Point extends PointBase, Request> {
  /** The same for the same read in another plan. */
  readonly key: string
  readonly request: Request
  readonly periodMs: number
  readonly points: readonly Point[]
}

/** Chooses the reads that points take. Lives as long as its port, and learns. */
export interface ReadPlanner<Point extends PointBase, Request> {
  /** @returns reads that cover every point once */
  plan(points: readonly Point[]): PlannedRead<Point, Request>[]
  /** A unit refused the extent of a read. @returns false where another plan would not help */
  learn(read: PlannedRead<Point, Request>): boolean
  /** Forgets what is about none of these. */
  keep(points: readonly Point[]): void
  /** Forgets all: the line was opened anew. */
  forget(): void
}

/** What a protocol says of points. `Reading`: what one answer tells. */
export interface PointProtocol<Point extends PointBase, Request, Reply, Reading> {
  planner(): ReadPlanner<Point, Request>
  /** Why a read failed: its extent, or one place in it; the unit has no such value; or nothing was said. */
  verdict(fault: Fault): 'extent' | 'refused' | 'unanswered'
  /** What an answer, no refusal, tells; undefined where nothing was read. */
  readingOf(request: Request, reply: Reply): Reading | undefined
  /** Of a reading only points of the same group are looked at. */
  groupOf(point: Point): number | string
  groupOfReading(reading: Reading): number | string
  /**
   * Prepares the reading of one point: its value, or undefined where the reading does not have it all. It throws Fault
   * `point_no_value` where the device says that it has none.
   */
  reader(point: Point): (reading: Reading) => PointValue | undefined
  /** Whether two definitions read the same value from the same place: what else they say is for people. */
  isReadAlike(a: Point, b: Point): boolean
  /** Whether a write changes a part of the point's value. */
  isTouchedBy(point: Point, write: Request): boolean
}
