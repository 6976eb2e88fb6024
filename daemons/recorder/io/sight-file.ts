/** The saved choice of a detector, and of the cameras that it looks at. */
import { type Static, Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store/store.ts'
import { detectorKinds, NOTHING_CHOSEN, type SightChoice } from '../core/sight/sight-book.ts'

const strict = { additionalProperties: false }
const sightFile = Type.Object(
  {
    version: Type.Literal(1),
    kind: Type.Enum([...detectorKinds]),
    fps: Type.Integer(),
    cameras: Type.Record(
      Type.String(),
      Type.Object(
        {
          enabled: Type.Boolean(),
          fps: Type.Union([Type.Integer(), Type.Null()]),
          trackOffsetMs: Type.Union([Type.Integer(), Type.Null()]),
        },
        strict,
      ),
    ),
  },
  strict,
)

/** @param folder the state folder */
export async function openSightChoice(folder: string, log: Log) {
  const initial = (): Static<typeof sightFile> => ({ version: 1, ...NOTHING_CHOSEN, cameras: {} })
  const store = createStore({ folder, name: 'detector', log, check: createReader(sightFile), initial })
  const { version: _, ...choice } = await store.load()
  const save = (next: SightChoice) => store.save({ version: 1, ...next, cameras: { ...next.cameras } })
  return { choice, save }
}
