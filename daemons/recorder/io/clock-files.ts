/** What the disk knows of clocks: what was written to cameras, and the zone of this machine. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store/store.ts'
import type { OwnZone } from '../core/clocks/camera-clock.ts'
import type { CameraWrite } from '../core/clocks/writes.ts'

const VERSION = 1 as const

const strict = { additionalProperties: false }
const writesFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    writes: Type.Array(
      Type.Object(
        {
          ...{ camera: Type.String(), at: Type.Integer(), operation: Type.String() },
          performedBy: Type.Union([Type.String(), Type.Null()]),
          detail: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
        },
        strict,
      ),
    ),
  },
  strict,
)

/** What was written to cameras, and saving it. @param folder the state folder */
export async function openWrites(folder: string, log: Log) {
  const initial = () => ({ version: VERSION, writes: [] as CameraWrite[] })
  const store = createStore({ folder, name: 'camera-writes', log, check: createReader(writesFile), initial })
  const { writes: records } = await store.load()
  return { records, save: (writes: CameraWrite[]) => store.save({ version: VERSION, writes }) }
}

const ZONES = '/usr/share/zoneinfo'

/** The POSIX string stands at the end of each file of the database of zones. @source RFC 8536, 3.3 */
export const ownZone: OwnZone = {
  posix() {
    const name = new Intl.DateTimeFormat().resolvedOptions().timeZone
    try {
      return readFileSync(join(ZONES, name), 'latin1').trimEnd().split('\n').at(-1)
    } catch {
      // A system without the database: zones of cameras are left alone.
      return undefined
    }
  },
}
