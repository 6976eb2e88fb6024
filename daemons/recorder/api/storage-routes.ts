/** Routes of storage: where footage lies, what is kept, and which stretches stay. */
import { isAbsolute, resolve } from 'node:path'
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { count, fault, instant, moment, object, orNull, Reply, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { Storage } from '../core/storage/storage.ts'
import type { PreservedStretch } from '../core/storage/storage-book.ts'
import { type Callers, requirePermission } from './callers.ts'
import { cameraParams } from './camera-routes.ts'

/** One disk, in answers. */
export const diskAnswer = object({
  ...{ id: orNull(text), folder: text },
  state: Type.Enum(['unseen', 'here', 'full', 'failing', 'stuck', 'away', 'foreign']),
  ...{ stateSince: instant, fault: orNull(fault), sizeBytes: orNull(count), freeBytes: orNull(count) },
  roomBytes: Type.Integer({ description: 'what may be written before the oldest footage has to go' }),
  footageBytes: count,
})

interface StorageRouteParts {
  clock: Clock
  callers: Callers
  cameras: CameraBook
  storage: Storage
  footage: { bounds(camera: string): { startAt: number; endAt: number } | undefined }
  recorder: Recorder
  /** Nothing is kept in it, or below. */
  stateFolder: string
  /** A folder with its links resolved, as far as it is there. */
  realFolder(folder: string): Promise<string>
}

export function storageRoutes(parts: StorageRouteParts): Route[] {
  return [...locationRoutes(parts), ...settingsRoutes(parts), ...preserveRoutes(parts), ...allPreservedRoutes(parts)]
}

const strict = { additionalProperties: false }
const locationAnswer = object({
  disks: Type.Array(diskAnswer),
  fromSettings: Type.Boolean({ description: 'whether the folders are those of storage.folder and storage.folders' }),
})
const folderWish = Type.Object(
  {
    folder: Type.String({ minLength: 2, maxLength: 1024, pattern: '^/[^\\u0000-\\u001f]+$' }),
    isNew: Type.Optional(
      Type.Boolean({ description: 'begin there, whatever was known of it, also on the disk of the system' }),
    ),
  },
  strict,
)
const locationBody = Type.Object(
  { folders: Type.Union([Type.Array(folderWish, { minItems: 1, maxItems: 16 }), Type.Null()]) },
  strict,
)

function locationRoutes({ realFolder, recorder, stateFolder, storage }: StorageRouteParts): Route[] {
  const answer = () => ({ disks: wholeBytes(storage.disks()), fromSettings: storage.isFromSettings() })
  return [
    route({
      method: 'GET',
      path: '/api/storage/location',
      who: 'admin',
      summary: 'Folders that keep footage, and how their disks are',
      reply: locationAnswer,
      handle: answer,
    }),
    route({
      method: 'PATCH',
      path: '/api/storage/location',
      who: 'admin',
      summary: 'Keep footage in these folders from now on; null: those of the settings',
      body: locationBody,
      reply: locationAnswer,
      async handle(ask) {
        const { folders } = ask.body
        const names = folders?.map(({ folder }) => folder) ?? []
        for (const name of names) checkFolder(name, stateFolder)
        const real = await Promise.all(names.map(realFolder))
        // A link leads there as well as a name.
        const realState = await realFolder(stateFolder)
        for (const folder of real) checkFolder(folder, realState)
        if (new Set(real).size < real.length) throw new Fault('bad_folder', 'A folder is named twice.')
        await storage.setFolders(folders?.map(({ folder, isNew = false }) => ({ folder, isNew })) ?? null)
        await recorder.changed(ask, 'folders of footage changed', names.join(', '), { folders })
        return answer()
      },
    }),
  ]
}

/** What is counted in fractions, in whole bytes. */
export function wholeBytes<Disk extends { roomBytes: number }>(disks: readonly Disk[]): Disk[] {
  return disks.map((one) => ({ ...one, roomBytes: Math.round(one.roomBytes) }))
}

/** @throws Fault `bad_folder` */
function checkFolder(folder: string, stateFolder: string): void {
  const isPlain = isAbsolute(folder) && resolve(folder) === folder
  if (!isPlain) throw new Fault('bad_folder', `${folder} is not written in full, such as /mnt/disk1/footage.`)
  if (`${folder}/`.startsWith(`${stateFolder}/`) || stateFolder.startsWith(`${folder}/`))
    throw new Fault(
      'bad_folder',
      `${folder} has to do with the state of the recorder, ${stateFolder}. Name another one.`,
    )
}

const days = Type.Integer({ minimum: 1, maximum: 3650, description: 'older footage is removed' })
const keepBytes = Type.Integer({ minimum: 1_000_000, maximum: 1e15, description: 'what all footage may take' })
const freeBytes = Type.Integer({ minimum: 0, maximum: 1e12, description: 'what stays free on each disk' })
const settingsAnswer = object({
  ...{ keepDays: days, keepBytes, freeBytes },
  cameras: Type.Record(Type.String(), days, { description: 'days of single cameras, by id' }),
})
const nullable = <Schema extends Parameters<typeof orNull>[0]>(schema: Schema) => Type.Optional(orNull(schema))
const settingsBody = Type.Object(
  {
    ...{ keepDays: nullable(days), keepBytes: nullable(keepBytes), freeBytes: nullable(freeBytes) },
    cameras: Type.Optional(
      Type.Record(Type.String({ minLength: 1, maxLength: 64 }), orNull(days), {
        maxProperties: 128,
        description: 'null: like all others',
      }),
    ),
  },
  { ...strict, description: 'what is left out stays; null: as the settings say' },
)

function settingsRoutes({ callers, cameras, recorder, storage }: StorageRouteParts): Route[] {
  const answer = () => {
    const { keepDaysOf, ...rules } = storage.kept()
    return { ...rules, cameras: keepDaysOf }
  }
  return [
    route({
      method: 'GET',
      path: '/api/storage/settings',
      who: 'admin',
      summary: 'How long footage is kept, and how much of it',
      reply: settingsAnswer,
      handle: answer,
    }),
    route({
      method: 'PATCH',
      path: '/api/storage/settings',
      who: 'admin',
      summary: 'Keep footage longer or shorter, of all cameras or of one; what is over goes at once',
      body: settingsBody,
      reply: settingsAnswer,
      async handle(ask) {
        const account = callers.accountOf(ask.caller)
        for (const [id, days] of Object.entries(ask.body.cameras ?? {})) if (days !== null) cameras.require(id, account)
        await storage.setKept(ask.body)
        await recorder.changed(ask, 'storage changed', undefined, ask.body)
        return answer()
      },
    }),
  ]
}

const stretchAnswer = object({
  ...{ id: text, camera: text, from: instant, to: instant, note: orNull(text), by: text, at: instant },
})
const stretchBody = Type.Object(
  {
    from: moment,
    to: { ...moment, description: 'epoch milliseconds, at most a day later' },
    note: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'why it is preserved' })),
  },
  strict,
)
const stretchId = Type.String({ minLength: 1, maxLength: 64, description: 'id of a preserved stretch' })
const stretchParams = Type.Object({ ...cameraParams.properties, stretch: stretchId })
const DAY_MS = 86_400_000

function preserveRoutes({ callers, cameras, clock, footage, recorder, storage }: StorageRouteParts): Route[] {
  /** The camera, for who may take footage of it out. */
  function required(id: string, { caller }: Pick<Parameters<Recorder['changed']>[0], 'caller'>) {
    const account = callers.accountOf(caller as Parameters<Callers['accountOf']>[0])
    const { record } = cameras.require(id, account)
    requirePermission(account, 'export', 'Preserved footage')
    return { record, account }
  }

  return [
    route({
      method: 'GET',
      path: '/api/cameras/:id/preserve',
      who: 'user',
      summary: 'Stretches of a camera that stay until they are released; with the permission export',
      params: cameraParams,
      reply: Type.Array(stretchAnswer),
      handle: (ask) => [...storage.preserved(required(ask.params.id, ask).record.id)],
    }),
    route({
      method: 'POST',
      path: '/api/cameras/:id/preserve',
      who: 'user',
      status: 201,
      summary: 'Preserve a stretch of at most a day: it stays until it is released; with the permission export',
      params: cameraParams,
      body: stretchBody,
      reply: stretchAnswer,
      async handle(ask) {
        const { account, record } = required(ask.params.id, ask)
        const { from, note = null, to } = ask.body
        checkStretch(from, to)
        const bounds = footage.bounds(record.id)
        if (!bounds || bounds.endAt <= from || bounds.startAt >= to)
          throw new Fault('no_footage', 'No footage is kept for that time, so there is nothing to preserve.')
        const wish = { camera: record.id, from, to, note, by: account.username, at: clock.epochMs() }
        const stretch = await storage.preserve(wish, account.role === 'administrator')
        await recorder.changed(ask, 'footage preserved', record.name, factsOf(stretch))
        return new Reply(201, stretch)
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/cameras/:id/preserve/:stretch',
      who: 'user',
      status: 204,
      summary: 'Release a preserved stretch: it goes as any other footage does; with the permission export',
      params: stretchParams,
      async handle(ask) {
        const { record } = required(ask.params.id, ask)
        const stretch = await storage.release(record.id, ask.params.stretch)
        await recorder.changed(ask, 'footage released', record.name, factsOf(stretch))
      },
    }),
  ]
}

/** @throws Fault `bad_span` */
function checkStretch(from: number, to: number): void {
  if (to > from && to - from <= DAY_MS) return
  throw new Fault(
    'bad_span',
    `The stretch has ${(to - from) / 1000} seconds; more than 0 and at most a day are preserved.`,
  )
}

function factsOf({ camera, from, id, to }: PreservedStretch) {
  return { camera, from, to, stretch: id }
}

/** Those of cameras that were removed are nobody else's. */
function allPreservedRoutes({ recorder, storage }: StorageRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/storage/preserved',
      who: 'admin',
      summary: 'Every preserved stretch, those of removed cameras too',
      reply: Type.Array(stretchAnswer),
      handle: () => [...storage.preserved()],
    }),
    route({
      method: 'DELETE',
      path: '/api/storage/preserved/:stretch',
      who: 'admin',
      status: 204,
      summary: 'Release a preserved stretch of any camera, also of a removed one',
      params: Type.Object({ stretch: stretchId }),
      async handle(ask) {
        const { stretch: id } = ask.params
        const camera = storage.preserved().find((one) => one.id === id)?.camera ?? ''
        const stretch = await storage.release(camera, id)
        await recorder.changed(ask, 'footage released', camera, factsOf(stretch))
      },
    }),
  ]
}
