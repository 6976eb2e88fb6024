/** Keys of the table `capture` in gateway.toml. */
import { Type } from 'typebox'

/** Bounds of live captures. */
export const captureKeys = Type.Object(
  {
    max: Type.Integer({ default: 4, minimum: 1, maximum: 64, description: 'live captures at once, of all ports' }),
    backlog_bytes: Type.Integer({
      default: 1_048_576,
      minimum: 65_536,
      maximum: 67_108_864,
      unit: 'bytes',
      description: 'bytes held for one capture that is not read as fast as it grows, before it is broken off',
    }),
  },
  { additionalProperties: false, default: {}, description: 'live captures of ports' },
)
