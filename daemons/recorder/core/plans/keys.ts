/** Keys of recorder.toml for plans of the site. */
import { Type } from 'typebox'

export const plans = Type.Object(
  {
    max: Type.Integer({ default: 32, minimum: 1, maximum: 256, description: 'plans of the site at once' }),
    image_bytes: Type.Integer({
      default: 8_388_608,
      minimum: 65_536,
      maximum: 8_388_608,
      unit: 'bytes',
      description: 'largest image of a plan',
    }),
    total_bytes: Type.Integer({
      default: 134_217_728,
      minimum: 65_536,
      maximum: 2_147_483_648,
      unit: 'bytes',
      description: 'images of all plans together',
    }),
    upload_ms: Type.Integer({
      default: 60_000,
      minimum: 1000,
      maximum: 600_000,
      unit: 'ms',
      description: 'longest time of sending an image',
    }),
  },
  { additionalProperties: false, default: {}, description: 'plans of the site, with its cameras on them' },
)
