/** Routes of artifacts: for installations to find and fetch them, for the administrator to put them there. */
import { Type } from 'typebox'
import {
  count,
  instant,
  object,
  orNull,
  Reply,
  type Route,
  route,
  text,
  uploadRoute,
  wholeUpload,
} from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'
import type { Recorder } from '#kit/records/records.ts'
import { type Artifacts, artifactType, checkFilename } from '../core/artifacts/artifacts.ts'
import { type ArtifactRecord, artifactTypes, type Blobs } from '../core/ports.ts'
import type { Registry } from '../core/registry/registry.ts'
import type { Transfers } from '../core/releases/transfers.ts'
import { type ReadJson, titleOf } from './artifact-json.ts'
import { sendFile } from './sending.ts'
import { installationId, requireInstallation } from './update-routes.ts'

export interface ArtifactRouteParts {
  artifacts: Artifacts
  registry: Pick<Registry, 'require'>
  transfers: Transfers
  files: Pick<Blobs, 'read'>
  shareOf(address: string): string | undefined
  recorder: Recorder
  readJson: ReadJson
  limits: { fileBytes: number; atOnce: number; idleMs: number; wholeMs: number; retryMs: number }
}

const artifact = object({
  ...{ type: text, filename: text, name: text, description: text, version: text, tags: Type.Array(text), user: text },
  ...{ rating: orNull(Type.Number()), size: count, modified_at: instant },
})
const artifactList = object({ artifacts: Type.Array(artifact) })
const open = { additionalProperties: true }
const type = Type.String({ maxLength: 64 })
const params = Type.Object({ type })
const fileParams = Type.Object({ type, filename: Type.String({ maxLength: 1024 }) })

function viewOf({
  description,
  filename,
  modifiedAt,
  name,
  rating,
  sizeBytes,
  tags,
  type,
  user,
  version,
}: ArtifactRecord) {
  return { type, filename, name, description, version, tags, user, rating, size: sizeBytes, modified_at: modifiedAt }
}

const listOf = (records: readonly ArtifactRecord[]) => ({ artifacts: records.map(viewOf) })

export function artifactRoutes(parts: ArtifactRouteParts): Route[] {
  const { artifacts, registry } = parts
  return [
    route({
      method: 'GET',
      path: '/artifacts/types',
      who: 'anyone',
      summary: 'The types of artifacts',
      reply: object({ types: Type.Array(Type.Enum([...artifactTypes])) }),
      handle: () => ({ types: artifactTypes }),
    }),
    route({
      method: 'POST',
      path: '/:type/list',
      who: 'anyone',
      summary: 'The artifacts of a type, for a registered and enabled installation',
      params,
      body: Type.Object({ installation_id: installationId }, open),
      reply: artifactList,
      handle(ask) {
        requireInstallation(registry, ask, ask.body)
        return listOf(artifacts.list(artifactType(ask.params.type)))
      },
    }),
    route({
      method: 'POST',
      path: '/:type/search',
      who: 'anyone',
      summary: 'The artifacts of a type that have one of the tags, and the text in name, description or file name',
      params,
      body: Type.Object(
        {
          installation_id: installationId,
          tags: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 32 })),
          text: Type.Optional(Type.String({ maxLength: 128 })),
        },
        open,
      ),
      reply: artifactList,
      handle(ask) {
        requireInstallation(registry, ask, ask.body)
        return listOf(artifacts.search(artifactType(ask.params.type), ask.body))
      },
    }),
    downloadRoute(parts),
  ]
}

function downloadRoute({ artifacts, files, registry, shareOf, transfers }: ArtifactRouteParts): Route {
  return route({
    method: 'POST',
    path: '/:type/download/:filename',
    who: 'anyone',
    summary: 'An artifact; Range and If-Range work',
    params: fileParams,
    body: Type.Object({ installation_id: installationId }, open),
    replyType: 'application/octet-stream',
    partial: true,
    async handle(ask) {
      const { id } = requireInstallation(registry, ask, ask.body)
      const record = artifacts.require(artifactType(ask.params.type), ask.params.filename)
      const receiver = { share: shareOf(ask.remoteAddress), installation: id }
      return await sendFile({ ...record, release: '' }, { ask, files, isOffloaded: false, transfers, receiver })
    },
  })
}

// For the administrator.

const flag = Type.Boolean({ default: false })
const uploadQuery = Type.Object(
  {
    type: Type.String({ maxLength: 64 }),
    filename: Type.String({ maxLength: 1024 }),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    description: Type.String({ default: '', maxLength: 1024 }),
    version: Type.String({ default: '', maxLength: 64 }),
    tags: Type.String({ default: '', maxLength: 1024, description: 'separated by commas' }),
    overwrite: { ...flag, description: 'replace an artifact of the same name' },
  },
  { additionalProperties: false },
)

export function panelArtifactRoutes(parts: ArtifactRouteParts): Route[] {
  const { artifacts, recorder } = parts
  return [
    route({
      method: 'GET',
      path: '/admin/api/artifacts',
      who: 'admin',
      summary: 'All artifacts',
      reply: artifactList,
      handle: () => listOf(artifacts.list()),
    }),
    putRoute(parts),
    route({
      method: 'DELETE',
      path: '/admin/api/artifacts/:type/:filename',
      who: 'admin',
      status: 204,
      summary: 'Remove an artifact',
      params: fileParams,
      async handle(ask) {
        const { filename, type } = ask.params
        await artifacts.remove(artifactType(type), filename)
        await recorder.changed(ask, 'artifact removed', `${type}/${filename}`)
      },
    }),
  ]
}

function putRoute({ artifacts, limits, readJson, recorder }: ArtifactRouteParts): Route {
  const { atOnce, fileBytes, idleMs, retryMs, wholeMs } = limits
  let running = 0

  function requirePlace(): void {
    if (running >= atOnce)
      throw new Fault(
        'too_many_uploads',
        `${counted(running, 'artifact')} are being uploaded, as many as may be at once. Try again soon.`,
        {
          details: { retryAfterMs: retryMs },
        },
      )
  }

  return {
    ...uploadRoute({
      method: 'POST',
      path: '/admin/api/artifacts',
      who: 'admin',
      summary: 'Upload an artifact, as its JSON; what it is stands in the query',
      upload: { maxBytes: fileBytes, idleMs, wholeMs },
      query: uploadQuery,
      reads: {
        body: Type.Object({}, { description: 'the JSON of the artifact, as its type has it' }),
        query: uploadQuery,
      },
      status: 201,
      reply: artifact,
      async handle(ask) {
        const query = ask.query as { type: string; filename: string; name?: string; tags: string; overwrite: boolean }
        const facts = { ...(ask.query as { description: string; version: string }), ...query }
        const type = artifactType(query.type)
        checkFilename(query.filename)
        requirePlace()
        running++
        try {
          const bytes = await wholeUpload(ask.body)
          const name = query.name ?? titleOf(readJson(type, bytes)) ?? query.filename.replace(/\.json$/, '')
          const { description, filename, version } = facts
          const own = {
            type,
            filename,
            name,
            description,
            version,
            user: ask.caller?.name ?? '',
            tags: tagsOf(query.tags),
          }
          const record = await artifacts.put(own, bytes, query.overwrite)
          await recorder.changed(ask, 'artifact uploaded', `${type}/${filename}`, { size: bytes.length })
          return new Reply(201, viewOf(record))
        } finally {
          running--
        }
      },
    }),
  }
}

/** At most 32 tags of 64 signs, each once. */
function tagsOf(text: string): string[] {
  const tags = text.split(',').map((tag) => tag.trim())
  return [...new Set(tags.filter((tag) => tag !== '' && tag.length <= 64))].slice(0, 32)
}
