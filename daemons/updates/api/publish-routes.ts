/** Routes of publishers: an update or an installer, as its bytes or in a form around them. */
import type { IncomingHttpHeaders } from 'node:http'
import { Value } from 'typebox/value'
import { type Ask, count, object, orNull, type Route, text, type Upload, uploadRoute } from '#kit/http/route.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { isVersion } from '#kit/pure/version.ts'
import type { Recorder } from '#kit/records/records.ts'
import { compatibleName } from '#kit/release/record.ts'
import { releaseKey, type SignedRelease } from '../core/ports.ts'
import { type DeltaWish, type Publishing, type PublishWish, packageOf } from '../core/releases/publishing.ts'
import { boundaryOf, fileOfForm } from '../wire/multipart.ts'

/** What a form adds around its file. */
const FORM_BYTES = 65_536

export interface PublishRouteParts {
  publishing: Publishing
  log: Pick<Log, 'notice' | 'warning'>
  recorder: Recorder
  bounds: { maxBytes: number; idleMs: number; wholeMs: number }
  /** What a signed release record says. @param text base64 @throws Fault `release_malformed`, `release_untrusted` */
  readSigned(text: string, kind: PublishWish['kind']): SignedRelease
}

const published = object({ filename: text, version: text, checksum: text, size: count, bundle_hash: orNull(text) })

export function publishRoutes(parts: PublishRouteParts): Route[] {
  return [
    publishRoute(parts, 'update', 'an update (.tar.gz.enc), with its key in X-Svc-Encryption-Key'),
    publishRoute(parts, 'installer', 'an installer (.run)'),
    deltaRoute(parts),
    publishRoute(parts, 'image', 'a firmware image, encrypted as updates are, for the boards of X-Svc-Compatible'),
  ]
}

function publishRoute(parts: PublishRouteParts, kind: PublishWish['kind'], what: string): Route {
  const { bounds, log, publishing, recorder } = parts
  return uploadRoute({
    method: 'POST',
    path: `/push_${kind}`,
    who: 'user',
    summary: `Publish ${what}; its version in X-Svc-Version, its bundle hash in X-Svc-Bundle-Hash`,
    upload: { ...bounds, maxBytes: bounds.maxBytes + FORM_BYTES, takesForm: true },
    reply: published,
    async handle(ask) {
      const wish = wishOf(ask.headers, kind, parts.readSigned)
      const { bytes, lengthBytes } = fileOf(ask)
      const { isNew, release } = await publishing.receive(bytes, lengthBytes, wish).catch((fault) => {
        log.warning('publish failed', { kind, version: wish.version, fault })
        throw fault
      })
      const filed = packageOf(release, kind)
      if (!filed) throw new TypeError('what was published is gone')
      const { bundleHash, checksum, filename, sizeBytes } = filed
      const facts = {
        kind,
        version: release.version,
        ...(release.compatible !== undefined && { compatible: release.compatible }),
        filename,
        checksum,
        bundleHash: bundleHash ? 'recorded' : 'missing',
      }
      log.notice(isNew ? 'published' : 'published again', facts)
      if (isNew) await recorder.changed(ask, `${kind} published`, releaseKey(release), { checksum, bundleHash })
      return { filename, version: release.version, checksum, size: sizeBytes, bundle_hash: bundleHash }
    },
  })
}

const publishedDelta = object({ filename: text, version: text, from: text, checksum: text, size: count })

function deltaRoute({ bounds, log, publishing, recorder }: PublishRouteParts): Route {
  return uploadRoute({
    method: 'POST',
    path: '/push_delta',
    who: 'user',
    summary:
      'Publish a delta (.delta.enc) from version X-Svc-From to the update X-Svc-Version, encrypted by the key of that update',
    upload: { ...bounds, maxBytes: bounds.maxBytes + FORM_BYTES, takesForm: true },
    reply: publishedDelta,
    async handle(ask) {
      const wish = deltaWishOf(ask.headers)
      const { bytes, lengthBytes } = fileOf(ask)
      const { isNew, record } = await publishing.receiveDelta(bytes, lengthBytes, wish).catch((fault) => {
        log.warning('publish failed', { kind: 'delta', ...wish, fault })
        throw fault
      })
      const { checksum, filename, from, sizeBytes, version } = record
      log.notice(isNew ? 'published' : 'published again', { kind: 'delta', version, from, filename, checksum })
      if (isNew) await recorder.changed(ask, 'delta published', version, { from, checksum })
      return { filename, version, from, checksum, size: sizeBytes }
    },
  })
}

/** @throws Fault `bad_version`, `bad_upload` */
function deltaWishOf(headers: IncomingHttpHeaders): DeltaWish {
  const checksum = hashIn(headers, 'x-svc-checksum')
  return { version: versionIn(headers, 'x-svc-version'), from: versionIn(headers, 'x-svc-from'), checksum }
}

/** @throws Fault `bad_upload` */
function fileOf({ body, headers }: Ask<Upload>): { bytes: AsyncIterable<Uint8Array>; lengthBytes: number | undefined } {
  const boundary = boundaryOf(headers['content-type'])
  if (boundary === undefined) return { bytes: body.stream, lengthBytes: body.lengthBytes }
  const most = body.lengthBytes === undefined ? undefined : Math.max(0, body.lengthBytes - FORM_BYTES)
  return { bytes: fileOfForm(body.stream, boundary), lengthBytes: most }
}

const HASH = /^[0-9a-f]{64}$/i
/** As long as a header can be. */
const BASE_64 = /^[A-Za-z0-9+/]{1,16384}={0,2}$/

/** @throws Fault `bad_version`, `bad_upload`, `release_malformed` */
function wishOf(
  headers: IncomingHttpHeaders,
  kind: PublishWish['kind'],
  readSigned: PublishRouteParts['readSigned'],
): PublishWish {
  const version = versionIn(headers, 'x-svc-version')
  const bundleHash = hashIn(headers, 'x-svc-bundle-hash')
  const encryptionKey = kind === 'installer' ? undefined : hashIn(headers, 'x-svc-encryption-key')
  if (kind !== 'installer' && encryptionKey === undefined)
    throw new Fault('bad_upload', 'X-Svc-Encryption-Key is missing: the key of the archive, 64 hex digits.')
  const sent = headers['x-svc-release']
  if (sent !== undefined && (typeof sent !== 'string' || !BASE_64.test(sent)))
    throw new Fault('bad_upload', 'X-Svc-Release is no base64.')
  const signed = sent === undefined ? undefined : { text: sent, says: readSigned(sent, kind) }
  if (signed && signed.says.version !== version)
    throw new Fault('checksum_mismatch', `The signed record is of version ${signed.says.version}, not of ${version}.`)
  if (signed?.says.bundleHash && bundleHash !== undefined && signed.says.bundleHash !== bundleHash)
    throw new Fault('checksum_mismatch', 'The bundle hash of the signed record is not that of X-Svc-Bundle-Hash.')
  const compatible = kind === 'image' ? boardIn(headers) : undefined
  if (signed && signed.says.compatible !== compatible)
    throw new Fault(
      'checksum_mismatch',
      `The signed record is for ${signed.says.compatible ?? 'no kind of board'}, not for ${compatible ?? 'all machines'}.`,
    )
  return {
    ...{ kind, version, compatible, encryptionKey, signed },
    bundleHash: bundleHash ?? signed?.says.bundleHash ?? null,
    checksum: hashIn(headers, 'x-svc-checksum'),
  }
}

/** @throws Fault `bad_version` */
function versionIn(headers: IncomingHttpHeaders, name: 'x-svc-version' | 'x-svc-from'): string {
  const value = headers[name]
  if (typeof value === 'string' && isVersion(value)) return value
  const shown = name === 'x-svc-version' ? 'X-Svc-Version' : 'X-Svc-From'
  throw new Fault('bad_version', `${shown} is no semantic version, expected one such as 1.4.0.`)
}

/** @throws Fault `bad_upload` */
function boardIn({ 'x-svc-compatible': value }: IncomingHttpHeaders): string {
  if (Value.Check(compatibleName, value)) return value
  throw new Fault('bad_upload', 'X-Svc-Compatible is missing, or no kind of board: letters, digits, ".", "_" and "-".')
}

/** @throws Fault `bad_upload` */
function hashIn(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  if (value === undefined) return undefined
  if (typeof value === 'string' && HASH.test(value)) return value.toLowerCase()
  throw new Fault('bad_upload', `The header ${name} is not 64 hex digits.`)
}
