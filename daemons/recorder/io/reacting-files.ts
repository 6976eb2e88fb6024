/** What the disk knows of outputs and rules. */
import { Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store/store.ts'
import type { OutputState } from '../core/outputs/outputs.ts'

const VERSION = 1 as const
const strict = { additionalProperties: false }

const outputsFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    states: Type.Array(
      Type.Object(
        {
          ...{ camera: Type.String(), output: Type.String(), on: Type.Boolean() },
          offAt: Type.Union([Type.Integer(), Type.Null()]),
        },
        strict,
      ),
    ),
  },
  strict,
)

/** What was set last of each output, and saving it. @param folder the state folder */
export async function openOutputs(folder: string, log: Log) {
  const initial = () => ({ version: VERSION, states: [] as OutputState[] })
  const store = createStore({ folder, name: 'camera-outputs', log, check: createReader(outputsFile), initial })
  const { states } = await store.load()
  return { states, save: (next: readonly OutputState[]) => store.save({ version: VERSION, states: [...next] }) }
}
