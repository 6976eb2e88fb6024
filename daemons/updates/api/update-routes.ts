/** Routes of installations: whether there is an update, and its archive. */
import { type Static, Type } from 'typebox'
import { fieldsFault } from '#kit/http/check.ts'
import { type Ask, count, object, orNull, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions, isVersion } from '#kit/pure/version.ts'
import { compatibleName } from '#kit/release/record.ts'
import {
  type Blobs,
  channels,
  type DeltaRecord,
  type InstallationRecord,
  type ReleaseRecord,
  releaseKey,
  type UpdatePackage,
} from '../core/ports.ts'
import type { Registry, ReleaseName, Report } from '../core/registry/registry.ts'
import type { Deltas } from '../core/releases/deltas.ts'
import type { Releases } from '../core/releases/releases.ts'
import type { Transfers } from '../core/releases/transfers.ts'
import { installationIdOf } from './callers.ts'
import { sendFile } from './sending.ts'

export interface UpdateRouteParts {
  registry: Registry
  releases: Releases
  deltas: Pick<Deltas, 'from' | 'require'>
  transfers: Transfers
  files: Pick<Blobs, 'read'>
  /** Whether nginx sends what is asked for through it. */
  isOffloaded: boolean
  /** Who an address counts as. */
  shareOf(address: string): string | undefined
  /** Hours in which updates are to be applied, HH:MM-HH:MM; empty: theirs to say. */
  window: string
}

/** A newer installation may say more than this server knows: that must not keep it from its update. */
const open = { additionalProperties: true }

const version = Type.String({ minLength: 1, maxLength: 64, description: 'semantic version, such as 1.4.0' })
const short = Type.String({ maxLength: 64 })

/** Not checked here, so that every wrong form gets the same sentence. */
export const installationId = Type.Optional(
  Type.String({
    maxLength: 256,
    description: '32 hex digits in lower case; may be sent as the header X-Svc-Installation-Id instead',
  }),
)

const facts = Type.Object(
  {
    applied: Type.Optional({ ...version, description: 'version that runs now' }),
    rolled_back: Type.Optional({ ...version, description: 'version that was applied, and taken back' }),
    failed: Type.Optional({ ...version, description: 'version that was not applied' }),
    failed_step: Type.Optional({ ...short, description: 'step at which it failed' }),
    reason: Type.Optional(Type.String({ maxLength: 500 })),
  },
  { ...open, description: 'what came of updates since the last question' },
)

/** Sent by boards that take images. A client that sends neither is offered updates. */
const ofKind = {
  kind: Type.Optional(Type.Enum(['update', 'image'], { description: 'update, or image: the firmware of a board' })),
  compatible: Type.Optional({ ...compatibleName, description: 'kind of board that an image has to be for' }),
}

const checkBody = Type.Object(
  {
    ...{ installation_id: installationId, version, build: Type.Optional(short), arch: Type.Optional(short) },
    channel: Type.Optional(Type.Enum([...channels])),
    ...ofKind,
    facts: Type.Optional(facts),
    deltas: Type.Optional(Type.Boolean({ description: 'whether an answer may offer a delta as well' })),
  },
  open,
)

const nothingNew = object({ update: Type.Literal(false), version: text })
const newer = object({
  ...{ update: Type.Literal(true), version: text, filename: text, size: count },
  checksum: Type.String({ description: 'SHA-256 of the archive as it is sent, 64 hex digits' }),
  encryption_key: Type.String({ description: 'key of the archive, 64 hex digits' }),
  bundle_hash: orNull(text),
  release: orNull(Type.String({ description: 'signed release record, base64' })),
  delta: Type.Optional(
    object(
      { from: text, filename: text, size: count, checksum: text },
      { description: 'what turns the version that asked into it' },
    ),
  ),
  window: Type.Optional(Type.String({ description: 'hours in which to apply it, HH:MM-HH:MM' })),
  kind: Type.Optional(Type.Literal('image', { description: 'of an image alone' })),
  compatible: Type.Optional(Type.String({ description: 'of an image: the kind of board that it is for' })),
})

export function updateRoutes(parts: UpdateRouteParts): Route[] {
  return [checkRoute(parts), pullRoute(parts)]
}

function checkRoute({ deltas, registry, releases, window }: UpdateRouteParts): Route {
  return route({
    method: 'POST',
    path: '/check_update',
    who: 'anyone',
    summary: 'Whether there is a newer version, for a registered and enabled installation',
    body: checkBody,
    reply: Type.Union([nothingNew, newer]),
    // What is reported is on the disk before it is answered.
    isPlain: ({ facts: said }) => said === undefined,
    handle({ body, headers, remoteAddress }) {
      const { arch, build, channel, deltas: takesDeltas = false, facts: said, version: own } = body
      const given = installationIdOf(headers, body)
      // One that was published is one, and most run one that was.
      if (releases.get(own) === undefined && !isVersion(own)) throw badVersion()
      const compatible = compatibleOf(body)
      const installation = registry.require(given, remoteAddress, { version: own, arch, build, channel, compatible })
      const offering = (one: InstallationRecord) => offerTo(one, own, takesDeltas)
      if (said === undefined) return offering(installation)
      return take(installation.id, reportsOf(said, { version: own, compatible })).then(() =>
        offering(registry.get(installation.id) ?? installation),
      )
    },
  })

  async function take(id: string, reports: readonly Report[]): Promise<void> {
    for (const report of reports) {
      const key = releaseKey(report)
      if (releases.get(key) === undefined || !(await registry.report(id, report))) continue
      if (report.outcome !== 'applied') await releases.judge(key)
    }
  }

  function offerTo(installation: InstallationRecord, own: string, takesDeltas: boolean) {
    const latest = releases.latestFor(installation)
    if (!latest?.update || latest.version === own || compareVersions(latest.version, own) <= 0)
      return { update: false, version: own }
    const { update, version: offered } = latest
    const delta = takesDeltas ? deltas.from(own, { version: offered, update }) : undefined
    return { ...offer(latest, update, window), ...(delta && { delta: offerOfDelta(delta) }) }
  }
}

/** @throws Fault `bad_fields` */
function compatibleOf({ compatible, kind }: { compatible?: string; kind?: string }): string | undefined {
  if (kind !== 'image') return undefined
  if (compatible !== undefined) return compatible
  throw fieldsFault([{ field: 'compatible', message: 'A request for an image has to name its kind of board.' }])
}

function offer({ compatible, version: offered }: ReleaseRecord, update: UpdatePackage, window: string) {
  return {
    ...{ update: true, version: offered, filename: update.filename, size: update.sizeBytes },
    ...{ checksum: update.checksum, encryption_key: update.encryptionKey },
    ...{ bundle_hash: update.bundleHash, release: update.signed },
    ...(window !== '' && { window }),
    ...(compatible !== undefined && { kind: 'image', compatible }),
  }
}

function offerOfDelta({ checksum, filename, from, sizeBytes }: DeltaRecord) {
  return { from, filename, size: sizeBytes, checksum }
}

/** @param runs what the installation says that it runs; anything else cannot have been applied */
function reportsOf(said: Static<typeof facts>, { compatible, version: runs }: ReleaseName): Report[] {
  const { applied, failed, failed_step: step = null, reason = null, rolled_back: rolledBack } = said
  const of = compatible === undefined ? {} : { compatible }
  const came = { step, reason, ...of }
  const reports: Report[] = []
  if (applied === runs) reports.push({ version: applied, outcome: 'applied', step: null, reason: null, ...of })
  if (failed !== undefined) reports.push({ version: failed, outcome: 'failed', ...came })
  if (rolledBack !== undefined) reports.push({ version: rolledBack, outcome: 'rolled_back', ...came })
  return reports
}

function pullRoute(parts: UpdateRouteParts): Route {
  const { deltas, files, isOffloaded, registry, releases, shareOf, transfers } = parts
  return route({
    method: 'POST',
    path: '/pull_update',
    who: 'anyone',
    summary:
      'The archive or image of a version, by default the one that is offered; with `from`, the delta from that version. Range and If-Range work',
    body: Type.Object(
      { installation_id: installationId, version: Type.Optional(version), from: Type.Optional(version), ...ofKind },
      open,
    ),
    replyType: 'application/octet-stream',
    partial: true,
    async handle(ask) {
      const { body, headers, remoteAddress } = ask
      const given = installationIdOf(headers, body)
      for (const one of [body.version, body.from]) if (one !== undefined && !isVersion(one)) throw badVersion()
      const installation = registry.require(given, remoteAddress)
      const { id } = installation
      const compatible = compatibleOf(body)
      // Another server may have been told of its kind, and has not written it yet.
      const { compatible: _, ...others } = installation
      const asked = compatible === undefined ? others : { ...others, compatible }
      const wanted = body.version ?? releases.latestFor(asked)?.version
      if (wanted === undefined) throw new Fault('no_update', 'There is no update for this installation.')
      const named = { version: wanted, ...(compatible !== undefined && { compatible }) }
      const key = releaseKey(named)
      const { from } = body
      // Of images there are none.
      const isDelta = from !== undefined && compatible === undefined
      const sent = isDelta ? deltas.require(from, wanted) : releases.requireUpdate(key)
      return await sendFile(
        { ...sent, release: key },
        {
          ...{ ask, files, isOffloaded, transfers },
          receiver: { share: shareOf(remoteAddress), installation: id },
          onSent: () => registry.fetched(id, named),
        },
      )
    },
  })
}

function badVersion(): Fault {
  return new Fault('bad_version', 'The version is no semantic version, expected one such as 1.4.0.')
}

/** The enabled installation of a request. @throws Fault `bad_installation_id`, `unauthorized` */
export function requireInstallation(
  registry: Pick<Registry, 'require'>,
  { headers, remoteAddress }: Pick<Ask, 'headers' | 'remoteAddress'>,
  body: { installation_id?: string },
) {
  return registry.require(installationIdOf(headers, body), remoteAddress)
}
