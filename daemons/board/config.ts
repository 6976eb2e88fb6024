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

/** The settings of a board. */
export const config = Type.Object({ board, ...commonTables(DEFAULT_PORT) }, { additionalProperties: false })

export type BoardConfig = Static<typeof config>
