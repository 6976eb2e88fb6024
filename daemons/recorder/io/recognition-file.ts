/** The saved book of identities, and whether anything is recognised. Only the recorder's own user reads it. */
import { type Static, Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store/store.ts'
import type { RecognitionRecord } from '../core/recognition/identities.ts'

const strict = { additionalProperties: false }
const recognitionFile = Type.Object(
  {
    version: Type.Literal(1),
    enabled: Type.Boolean(),
    identities: Type.Array(
      Type.Object(
        { id: Type.String(), name: Type.String(), plates: Type.Array(Type.String()), createdAt: Type.Number() },
        strict,
      ),
    ),
  },
  strict,
)

/** @param folder the state folder */
export async function openRecognitionFile(folder: string, log: Log) {
  const initial = (): Static<typeof recognitionFile> => ({ version: 1, enabled: false, identities: [] })
  const store = createStore({ folder, name: 'recognition', log, check: createReader(recognitionFile), initial })
  const { version: _, ...record } = await store.load()
  const save = ({ enabled, identities }: RecognitionRecord) =>
    store.save({ version: 1, enabled, identities: identities.map((one) => ({ ...one, plates: [...one.plates] })) })
  return { record, save }
}
