/** Templates: the points of a device as its maker documents them, for all who connect one. */
import { type Static, Type } from 'typebox'
import { templatePoint, unitNumber } from './point-record.ts'

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
