/** Files of a decoder: route.json and volume.json. */
import { Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createStore } from '#kit/store/store.ts'
import { groupFault } from '../../../wire/addresses.ts'
import type { SavedRoute } from '../core/route.ts'
import { firstVolume, LOUDEST_DB, SILENT_DB, type VolumeRecord } from '../core/volume.ts'

/** Version of each file's format. */
const VERSION = 1 as const

const strict = { additionalProperties: false }
const place = { mcast: Type.String({ maxLength: 15 }), port: Type.Integer({ minimum: 0, maximum: 65_535 }) }
const nullable = <Shape extends Parameters<typeof Type.Union>[0][number]>(shape: Shape) =>
  Type.Union([shape, Type.Null()])

const routeFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    route: Type.Object(
      {
        ...place,
        source: nullable(Type.String({ maxLength: 15 })),
        link_ms: nullable(Type.Number({ minimum: 0, maximum: 2000 })),
        mclk_offset: nullable(Type.Integer({ minimum: 0, maximum: 0xffff_ffff })),
        encoding: nullable(Type.Union([Type.Literal('L16'), Type.Literal('L24')])),
      },
      strict,
    ),
    settings: Type.Object(place, strict),
  },
  strict,
)
const volumeFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    volume_db: Type.Number({ minimum: SILENT_DB, maximum: LOUDEST_DB }),
    mute: Type.Boolean(),
  },
  strict,
)

/** The two files. */
interface DecoderFilesHere {
  /** null if nothing was ever routed. */
  loadRoute(): Promise<SavedRoute | null>
  saveRoute(saved: SavedRoute): Promise<void>
  loadVolume(): Promise<VolumeRecord>
  saveVolume(record: VolumeRecord): Promise<void>
}

/** @param folder the board's state folder */
export function createDecoderFiles(folder: string, log: Log): DecoderFilesHere {
  const readRoute = createReader(routeFile)
  const readVolume = createReader(volumeFile)
  const route = createStore<(SavedRoute & { version: number }) | null>({
    ...{ folder, name: 'route', log },
    check(value) {
      const file = readRoute(value)
      const { mcast } = file.route
      const fault = mcast === '' ? undefined : groupFault(mcast)
      if (fault !== undefined) throw new Fault('store_damaged', `it holds no route: ${fault}`)
      return file
    },
    initial: () => null,
  })
  const volume = createStore({
    ...{ folder, name: 'volume', log },
    check: (value) => readVolume(value),
    initial: () => ({ version: VERSION, ...firstVolume }),
  })
  return {
    async loadRoute() {
      const saved = await route.load()
      return saved === null ? null : { route: saved.route, settings: saved.settings }
    },
    saveRoute: (saved) => route.save({ version: VERSION, ...saved }),
    async loadVolume() {
      const { mute, volume_db } = await volume.load()
      return { mute, volume_db }
    },
    saveVolume: (record) => volume.save({ version: VERSION, ...record }),
  }
}
