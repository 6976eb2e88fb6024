/** Routes of the panel: installations and releases. */
import { type Static, Type } from 'typebox'
import { nameText } from '#kit/http/people-routes.ts'
import { count, instant, object, orNull, type Route, route, text, yesNo } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import {
  channels,
  type InstallationRecord,
  type InstallerPackage,
  installationStates,
  outcomes,
  type ReleaseRecord,
  releaseKey,
  releaseStates,
} from '../core/ports.ts'
import type { Registry } from '../core/registry/registry.ts'
import type { Deltas } from '../core/releases/deltas.ts'
import type { Publishing } from '../core/releases/publishing.ts'
import type { ReleaseCounts, Releases } from '../core/releases/releases.ts'

export interface PanelReleaseParts {
  registry: Registry
  releases: Releases
  deltas: Pick<Deltas, 'of'>
  publishing: Pick<Publishing, 'uploads'>
  recorder: Recorder
}

const strict = { additionalProperties: false }
const channel = Type.Enum([...channels])
const id = Type.String({ pattern: '^[0-9a-f]{32}$' })

const delivery = object({
  compatible: orNull(Type.String({ description: 'of an image: the kind of board that it is for' })),
  ...{ version: text, fetched_at: orNull(instant), outcome: orNull(Type.Enum([...outcomes])) },
  ...{ reported_at: orNull(instant), step: orNull(text), reason: orNull(text) },
})
const installation = object({
  ...{ id: text, state: Type.Enum([...installationStates]), name: orNull(text), channel: orNull(channel) },
  ...{ asked_channel: orNull(channel), version: orNull(text), build: orNull(text), arch: orNull(text) },
  ...{ registered_at: instant, registered_from: text, last_seen_at: instant, address: text },
  compatible: orNull(Type.String({ description: 'kind of board, of one that takes images' })),
  offered: orNull(Type.String({ description: 'version that it would be offered now' })),
  updates: Type.Array(delivery, { description: 'what became of versions here, the newest last' }),
})

const wanted = Type.Object(
  {
    state: Type.Optional(Type.Enum([...installationStates])),
    q: Type.Optional(
      Type.String({ maxLength: 128, description: 'part of id, name, address or version, whatever its case' }),
    ),
    release: Type.Optional(
      Type.String({
        maxLength: 129,
        description: 'only those that fetched the release of this id, or reported what came of it',
      }),
    ),
    limit: Type.Integer({ default: 500, minimum: 1, maximum: 5000 }),
    skip: Type.Integer({ default: 0, minimum: 0, maximum: 1_000_000 }),
  },
  strict,
)

export function panelInstallationRoutes({
  recorder,
  registry,
  releases,
}: Omit<PanelReleaseParts, 'publishing' | 'deltas'>): Route[] {
  const view = (record: InstallationRecord) => installationView(record, releases)
  return [
    route({
      method: 'GET',
      path: '/admin/api/installations',
      who: 'admin',
      summary: 'The installations: those that wait to be enabled first, then registered last first',
      query: wanted,
      reply: object({
        installations: Type.Array(installation),
        total: Type.Integer({ description: 'of those asked for, on all pages' }),
        counts: object({ pending: count, enabled: count, disabled: count }),
      }),
      handle({ query: { limit, q, release, skip, state } }) {
        const all = registry.list().filter((one) => (!state || one.state === state) && isMeant(one, q))
        const found = inOrder(release === undefined ? all : all.filter((one) => hasMet(one, release)))
        const page = found.slice(skip, skip + limit)
        return { installations: page.map(view), total: found.length, counts: registry.counts() }
      },
    }),
    route({
      method: 'PATCH',
      path: '/admin/api/installations/:id',
      who: 'admin',
      summary: 'Enable, disable or name an installation, or give it a channel',
      params: Type.Object({ id }),
      body: Type.Object(
        {
          enabled: Type.Optional(Type.Boolean()),
          name: Type.Optional(orNull(nameText)),
          channel: Type.Optional(orNull(channel)),
          retry: Type.Optional(Type.Literal(true, { description: 'offer versions again that it rolled back from' })),
        },
        strict,
      ),
      reply: installation,
      async handle(ask) {
        const [record] = await registry.change([ask.params.id], ask.body)
        await recorder.changed(ask, 'installation changed', ask.params.id, ask.body)
        return view(record as InstallationRecord)
      },
    }),
    route({
      method: 'PATCH',
      path: '/admin/api/installations',
      who: 'admin',
      summary: 'Enable or disable several installations: all of them, or none',
      body: Type.Object(
        { ids: Type.Array(id, { minItems: 1, maxItems: 1000, uniqueItems: true }), enabled: Type.Boolean() },
        strict,
      ),
      reply: object({ installations: Type.Array(installation) }),
      async handle(ask) {
        const { enabled, ids } = ask.body
        const records = await registry.change(ids, { enabled })
        await recorder.changed(ask, enabled ? 'installations enabled' : 'installations disabled', undefined, { ids })
        return { installations: records.map(view) }
      },
    }),
  ]
}

/** Somebody has to look at those that wait. */
function inOrder(all: readonly InstallationRecord[]): InstallationRecord[] {
  const [waiting = [], others = []] = [true, false].map((is) => all.filter(({ state }) => (state === 'pending') === is))
  return [...waiting, ...others]
}

function hasMet({ deliveries }: InstallationRecord, release: string): boolean {
  return deliveries.some((one) => releaseKey(one) === release)
}

function isMeant({ address, id: own, name, version }: InstallationRecord, q: string | undefined): boolean {
  if (q === undefined) return true
  const part = q.toLowerCase()
  return [own, name, address, version].some((words) => words?.toLowerCase().includes(part))
}

function installationView(record: InstallationRecord, releases: Releases): Static<typeof installation> {
  const { address, arch, build, channel: own, id: named, name, state, version } = record
  return {
    ...{ id: named, state, name, channel: own, asked_channel: record.askedChannel, version, build, arch, address },
    ...{ registered_at: record.registeredAt, registered_from: record.registeredFrom, last_seen_at: record.seenAt },
    compatible: record.compatible ?? null,
    offered: releases.latestFor(record)?.version ?? null,
    updates: record.deliveries.map((one) => ({
      ...{ version: one.version, compatible: one.compatible ?? null, fetched_at: one.fetchedAt, outcome: one.outcome },
      ...{ reported_at: one.reportedAt, step: one.step, reason: one.reason },
    })),
  }
}

const file = object({
  ...{ filename: text, checksum: text, size: count, bundle_hash: orNull(text), published_at: instant },
  signed: yesNo,
})
const release = object({
  id: Type.String({ description: 'what names it in paths: its version, of an image with @ and its kind of board' }),
  compatible: orNull(Type.String({ description: 'of an image: the kind of board that it is for' })),
  ...{ version: text, state: Type.Enum([...releaseStates]), channel, percent: count, hold: yesNo },
  ...{ min_from: orNull(text), arch: orNull(text), update: orNull(file), installer: orNull(file) },
  deltas: Type.Array(object({ from: text, size: count }), {
    description: 'from which versions there is a delta to it',
  }),
  ...{ fetched: count, applied: count, failed: count },
})

export function panelReleaseRoutes(parts: Omit<PanelReleaseParts, 'registry'>): Route[] {
  const { deltas, publishing, recorder, releases } = parts
  const params = Type.Object({ id: Type.String({ maxLength: 129 }) })
  return [
    route({
      method: 'GET',
      path: '/admin/api/updates',
      who: 'admin',
      summary: 'The releases, highest version first, and what installations have done with them',
      reply: object({ updates: Type.Array(release) }),
      handle() {
        const counts = releases.counts()
        return { updates: releases.list().map((one) => releaseView(one, deltas, counts.get(releaseKey(one)))) }
      },
    }),
    uploadsRoute(publishing),
    route({
      method: 'PATCH',
      path: '/admin/api/updates/:id',
      who: 'admin',
      summary: 'Withdraw a release or offer it again, hold everybody at it, give it a share or a channel',
      params,
      body: Type.Object(
        {
          withdrawn: Type.Optional(Type.Boolean()),
          hold: Type.Optional(Type.Boolean({ description: 'nobody is offered a higher version' })),
          percent: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
          channel: Type.Optional(channel),
          halted: Type.Optional(Type.Literal(false, { description: 'offer it again after failures halted it' })),
        },
        strict,
      ),
      reply: release,
      async handle(ask) {
        const { id: key } = ask.params
        const changed = await releases.change(key, ask.body)
        await recorder.changed(ask, 'release changed', key, ask.body)
        return releaseView(changed, deltas, releases.counts().get(key))
      },
    }),
    route({
      method: 'DELETE',
      path: '/admin/api/updates/:id',
      who: 'admin',
      status: 204,
      summary: 'Delete a release with its files; a later request for it is answered 410',
      params,
      async handle(ask) {
        await releases.remove(ask.params.id)
        await recorder.changed(ask, 'release deleted', ask.params.id)
      },
    }),
  ]
}

function uploadsRoute(publishing: PanelReleaseParts['publishing']): Route {
  return route({
    method: 'GET',
    path: '/admin/api/uploads',
    who: 'admin',
    summary: 'What is being published now, and how far it is',
    reply: object({
      uploads: Type.Array(
        object({
          kind: text,
          version: text,
          compatible: orNull(text),
          bytes: count,
          size: orNull(count),
          started_at: instant,
        }),
      ),
    }),
    handle: () => ({
      uploads: publishing
        .uploads()
        .map(({ bytes, compatible = null, kind, lengthBytes: size = null, startedAt, version }) => ({
          ...{ kind, version, compatible, bytes, size, started_at: startedAt },
        })),
    }),
  })
}

function releaseView(
  record: ReleaseRecord,
  deltas: Pick<Deltas, 'of'>,
  counts: ReleaseCounts | undefined,
): Static<typeof release> {
  const { arch, channel: own, installer, isHeld, minFrom, percent, state, update, version } = record
  const { applied, failed, fetched } = counts ?? { applied: 0, failed: 0, fetched: 0 }
  return {
    ...{ id: releaseKey(record), compatible: record.compatible ?? null },
    ...{ version, state, channel: own, percent, hold: isHeld, min_from: minFrom, arch, fetched, applied, failed },
    ...{ update: update && fileView(update), installer: installer && fileView(installer) },
    deltas: update ? deltas.of(version, update).map(({ from, sizeBytes }) => ({ from, size: sizeBytes })) : [],
  }
}

function fileView({
  bundleHash,
  checksum,
  filename,
  publishedAt,
  signed,
  sizeBytes,
}: InstallerPackage): Static<typeof file> {
  return {
    ...{ filename, checksum, size: sizeBytes, bundle_hash: bundleHash },
    ...{ published_at: publishedAt, signed: signed !== null },
  }
}
