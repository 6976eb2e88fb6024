/** Every key of board.toml: type, default, range, unit and meaning. */
import { type Static, Type } from 'typebox'
import { commonTables } from '#kit/config/common.ts'
import { roleNames } from './wire/role-name.ts'

/** The port the board listens on unless told otherwise. */
export const DEFAULT_PORT = 80

const board = Type.Object(
  {
    role: Type.Enum([...roleNames], { default: 'serial', description: 'what the board is at its first start' }),
  },
  { additionalProperties: false, default: {}, description: 'the board before anybody has set it up' },
)

const machine = Type.Object(
  {
    owned: Type.Boolean({
      default: false,
      description: "the machine is the board's own: it gives it its name and address, restarts it, installs images",
    }),
    helper: Type.String({
      default: '/run/plantroom/helper.sock',
      minLength: 1,
      maxLength: 100,
      description: 'socket of the program that does what needs root',
    }),
    helper_ms: Type.Integer({
      default: 45_000,
      minimum: 100,
      maximum: 600_000,
      unit: 'ms',
      description: 'time that program has for one request',
    }),
  },
  { additionalProperties: false, default: {}, description: 'the machine that the board runs on' },
)

/** The settings of a board. */
export const config = Type.Object({ board, machine, ...commonTables(DEFAULT_PORT) }, { additionalProperties: false })

export type BoardConfig = Static<typeof config>
