/** Settings of updates by a release file. */
import { Type } from 'typebox'
import { milliseconds } from '#kit/pure/setting-keys.ts'

const path = (byDefault: string, description: string) =>
  Type.String({ default: byDefault, maxLength: 100, description })

export const updating = Type.Object(
  {
    upload_bytes: Type.Integer({
      default: 524_288_000,
      minimum: 1_048_576,
      maximum: 4_294_967_296,
      unit: 'bytes',
      description: 'largest release file that is taken; one at a time, of all accounts together',
    }),
    stall_ms: milliseconds(30_000, 1000, 600_000, 'an upload that gets no byte for so long is given up'),
    upload_ms: milliseconds(3_600_000, 60_000, 86_400_000, 'how long an upload may take'),
    answer_ms: milliseconds(60_000, 100, 600_000, 'how long the update service may take to prove a release file'),
    socket: path('/run/plantroom/update.sock', 'socket of the update service'),
    told_file: path('/var/lib/plantroom/update-told/told.json', 'file in which the updater tells what it does'),
  },
  { additionalProperties: false, default: {}, description: 'updates of Plantroom by a release file that is uploaded' },
)
