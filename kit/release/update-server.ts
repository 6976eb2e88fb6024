/**
 * The update server as a machine sees it: whether there is an update, and its archive, which is downloaded in as many
 * pieces as the network makes of it.
 * @source interface document 3, part B
 */
import { type FileHandle, open, rm } from 'node:fs/promises'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Clock, Timer } from '../clock.ts'
import { Fault } from '../pure/fault.ts'
import { isHours } from '../pure/setting-keys.ts'
import { escapeControls, shortCopy } from '../pure/text.ts'
import { isVersion } from '../pure/version.ts'
import { compatibleName } from './record.ts'
import type { UpdateReport } from './update-memory.ts'
import type { UpdateSettings } from './update-settings.ts'

const version = Type.Refine(Type.String({ maxLength: 64 }), isVersion)
const hash = Type.String({ pattern: '^[0-9a-f]{64}$' })

// A newer server may say more.
const nothing = Type.Object({ update: Type.Literal(false) })
const offer = Type.Object({
  update: Type.Literal(true),
  version,
  /** SHA-256 of the archive as it is sent. */
  checksum: hash,
  encryption_key: hash,
  size: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  bundle_hash: Type.Optional(Type.Union([hash, Type.Null()])),
  /** The signed release record, base64. */
  release: Type.Optional(Type.Union([Type.String({ maxLength: 16_384 }), Type.Null()])),
  /** Hours in which to apply it, HH:MM-HH:MM: that it is hours is checked by itself, with a sentence of its own. */
  window: Type.Optional(Type.String()),
  /** Checked by itself: a delta in a wrong form must not hide the archive. */
  delta: Type.Optional(Type.Unknown()),
  /** Of an image alone. */
  kind: Type.Optional(Type.Literal('image')),
  compatible: Type.Optional(compatibleName),
})
const deltaOffer = Type.Object({
  /** The version that it makes the new one of. */
  from: version,
  size: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  /** SHA-256 of the delta as it is sent. */
  checksum: hash,
})
export type DeltaOffer = Static<typeof deltaOffer>
/** An update that the server offers; nothing of it is proven. */
export type Offer = Omit<Static<typeof offer>, 'delta'> & { delta?: DeltaOffer }

/** What a machine says of itself. */
export interface Question {
  version: string
  arch: string
  channel: string
  facts?: UpdateReport
  /** Whether it is told of a delta too. */
  deltas: true
}

const MOST_ANSWER_BYTES = 65_536
/** Written at once. */
const PIECE_BYTES = 1_048_576

/** The server, for one installation. */
export interface UpdateServer {
  /**
   * Asks whether there is an update.
   * @throws Fault `update_server_silent`, `update_server_refused`, `update_server_wrong`
   */
  check(question: Question): Promise<Offer | undefined>
  /**
   * Downloads an archive, or with `from` the delta from that version, or the rest of it, into a file. Whether it is the right
   * one is not looked at.
   * @param onBytes how many there are now
   * @throws Fault as `check`, and `update_download_cut` if it did not get on in `pull_tries`; errors of the disk
   */
  pull(
    offered: Pick<Offer, 'version' | 'checksum' | 'size'> & { from?: string },
    part: string,
    onBytes?: (bytes: number) => void,
  ): Promise<void>
  /**
   * Downloads the installer of a version into a file.
   * @throws Fault as `pull`, and `archive_too_large` beyond `archive_bytes`; errors of the disk
   */
  pullInstaller(version: string, to: string): Promise<void>
}

interface ServerParts {
  settings: Pick<
    UpdateSettings,
    'update_url' | 'answer_ms' | 'stall_ms' | 'pull_tries' | 'retry_ms' | 'retry_most_ms' | 'archive_bytes'
  >
  installationId: string
  /** Kind of board, of one that takes images and no updates. */
  compatible?: string
  clock: Clock
}

/** @param parts.settings `update_url` with or without a slash at its end */
export function updateServer(parts: ServerParts): UpdateServer {
  const { clock, compatible, installationId, settings } = parts
  const ofKind = compatible === undefined ? {} : { kind: 'image', compatible }
  return {
    async check(question) {
      const guard = guardOf(clock)
      try {
        const response = await ask(parts, '/check_update', { ...question, ...ofKind }, { guard })
        const text = await textOf(response, guard, settings.stall_ms).catch((cause) => {
          throw silent(settings.update_url, cause)
        })
        if (response.status !== 200) throw refused(response.status, text, installationId)
        const offered = offerOf(text)
        if (offered !== undefined) refuseOtherKind(offered, compatible)
        return offered
      } finally {
        guard.end()
      }
    },
    async pull(offered, part, onBytes = () => {}) {
      const { from, version: wanted } = offered
      const body = { version: wanted, ...(from !== undefined && { from }), ...ofKind }
      await pullWhole(parts, { ...offered, path: '/pull_update', body }, part, onBytes)
    },
    async pullInstaller(wanted, to) {
      const path = `/installers/${wanted}`
      const { checksum, size } = await sizeOfInstaller(parts, path)
      if (size > settings.archive_bytes)
        throw new Fault(
          'archive_too_large',
          `the installer of ${wanted} has ${size} bytes, and update.archive_bytes allows ${settings.archive_bytes}`,
        )
      await rm(to, { force: true })
      await pullWhole(parts, { version: wanted, checksum, size, path, body: undefined }, to, () => {})
    },
  }
}

/** A file that the server sends. */
interface Source extends Pick<Offer, 'version' | 'checksum' | 'size'> {
  path: string
  /** Undefined for what is asked for by GET. */
  body: object | undefined
}

async function pullWhole(parts: ServerParts, source: Source, to: string, onBytes: (bytes: number) => void) {
  const { clock, settings } = parts
  const file = await open(to, 'a+', 0o600)
  try {
    if ((await file.stat()).size > source.size) await file.truncate(0)
    if ((await file.stat()).size === source.size) return
    for (let tries = 1; ; tries++) {
      const waitMs = await pullOnce(parts, source, { file, onBytes })
      if (waitMs === true) return
      if (tries >= settings.pull_tries)
        throw new Fault(
          'update_download_cut',
          `the download of ${source.version} did not get to its end in ${tries} tries: ${(await file.stat()).size} of ${source.size} bytes are here, and the next update goes on from there`,
        )
      await new Promise<void>((resolve) => clock.after(waitMs, resolve))
    }
  } finally {
    await file.close()
  }
}

/** Of one byte of it the server tells both. */
async function sizeOfInstaller(parts: ServerParts, path: string): Promise<Pick<Offer, 'checksum' | 'size'>> {
  const guard = guardOf(parts.clock)
  try {
    const response = await ask(parts, path, undefined, { guard, headers: { range: 'bytes=0-0' } })
    const text = await textOf(response, guard, parts.settings.stall_ms)
    if (response.status !== 206) throw refused(response.status, text, parts.installationId)
    const size = /^bytes 0-0\/(\d{1,15})$/.exec(response.headers.get('content-range') ?? '')?.[1]
    return { checksum: (response.headers.get('etag') ?? '').replaceAll('"', ''), size: Number(size ?? 0) }
  } finally {
    guard.end()
  }
}

async function ask(
  { installationId, settings }: ServerParts,
  path: string,
  body: object | undefined,
  { guard, headers = {} }: { headers?: Record<string, string>; guard: Guard },
): Promise<Response> {
  guard.arm(settings.answer_ms)
  try {
    return await fetch(`${settings.update_url.replace(/\/+$/, '')}${path}`, {
      // A credential is not sent wherever a redirection leads.
      redirect: 'error',
      headers: { 'accept-encoding': 'identity', ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { method: 'POST', body: JSON.stringify({ installation_id: installationId, ...body }) }),
      signal: guard.signal,
    })
  } catch (cause) {
    throw silent(settings.update_url, cause)
  }
}

/** One request. @returns true if the file is whole now; else the ms to wait before the next */
async function pullOnce(
  parts: ServerParts,
  { body, checksum, path, size }: Source,
  { file, onBytes }: { file: FileHandle; onBytes(bytes: number): void },
): Promise<true | number> {
  const { clock, installationId, settings } = parts
  const have = (await file.stat()).size
  const guard = guardOf(clock)
  const headers = have > 0 ? { headers: { range: `bytes=${have}-`, 'if-range': `"${checksum}"` } } : {}
  try {
    const response = await ask(parts, path, body, { ...headers, guard })
    const from = startOf(response, have)
    if (from === undefined) {
      const text = await textOf(response, guard, settings.stall_ms)
      // What is there is a part of nothing that the server has.
      if (response.status === 416) await file.truncate(0)
      else if (!isPassing(response.status)) throw refused(response.status, text, installationId)
      return Math.min(waitOf(response) ?? settings.retry_ms, settings.retry_most_ms)
    }
    if (from < have) await file.truncate(from)
    await receive(response, { file, from, size, onBytes, guard, stallMs: settings.stall_ms })
    return (await file.stat()).size === size || settings.retry_ms
  } catch (cause) {
    if (!isOfNetwork(cause)) throw cause
    return settings.retry_ms
  } finally {
    guard.end()
  }
}

/** Ends a request that nothing comes from. */
interface Guard {
  signal: AbortSignal
  arm(ms: number): void
  end(): void
}

function guardOf(clock: Clock): Guard {
  const controller = new AbortController()
  let timer: Timer | undefined
  return {
    signal: controller.signal,
    arm(ms) {
      timer?.cancel()
      timer = clock.after(ms, () => controller.abort(new Error(`it was not there within ${ms} ms`)))
    },
    end() {
      timer?.cancel()
      controller.abort()
    },
  }
}

/** Where in the file the body begins; undefined if it is none. */
function startOf(response: Response, have: number): number | undefined {
  if (response.status === 200) return 0
  const [, start] = /^bytes (\d+)-\d+\/\d+$/.exec(response.headers.get('content-range') ?? '') ?? []
  if (response.status !== 206) return undefined
  if (Number(start) !== have)
    throw new Fault(
      'update_server_wrong',
      `the update server sent the bytes from ${start ?? '?'} on, and was asked for those from ${have}`,
    )
  return have
}

/** In pieces of one size, so that many small packets are not many small writes. */
async function receive(
  response: Response,
  to: { file: FileHandle; from: number; size: number; onBytes(bytes: number): void; guard: Guard; stallMs: number },
): Promise<void> {
  const piece = Buffer.allocUnsafe(PIECE_BYTES)
  let held = 0
  let at = to.from
  const flush = async () => {
    const bytes = piece.subarray(0, held)
    held = 0
    if (bytes.length > 0) await to.file.appendFile(bytes)
  }
  try {
    for await (const chunk of response.body ?? []) {
      to.guard.arm(to.stallMs)
      at += chunk.length
      if (at > to.size)
        throw new Fault(
          'update_server_wrong',
          `the update server sends more than the ${to.size} bytes that it announced`,
        )
      for (let done = 0; done < chunk.length; ) {
        const part = chunk.subarray(done, done + PIECE_BYTES - held)
        piece.set(part, held)
        held += part.length
        done += part.length
        if (held === PIECE_BYTES) await flush()
      }
      to.onBytes(at)
    }
  } finally {
    // What came before the cut need not come again.
    await flush()
  }
}

function isPassing(status: number): boolean {
  return status === 408 || status === 429 || status >= 500
}

/** Errors of fetch have no errno of the disk; a fault of ours is no cut. */
function isOfNetwork(cause: unknown): boolean {
  if (cause instanceof Fault) return cause.code === 'update_server_silent'
  return (cause as NodeJS.ErrnoException).syscall === undefined
}

function waitOf(response: Response): number | undefined {
  const text = response.headers.get('retry-after')
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined
}

async function textOf(response: Response, guard: Guard, stallMs: number): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  // In all, and not anew for each byte: whoever asks holds the lock of updates meanwhile.
  guard.arm(stallMs)
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MOST_ANSWER_BYTES)
      throw new Fault('update_server_wrong', `the update server answered with more than ${MOST_ANSWER_BYTES} bytes`)
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}

function offerOf(text: string): Offer | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Fault('update_server_wrong', 'the answer of the update server is not JSON: look at its address', {
      cause,
    })
  }
  if (Value.Check(nothing, value)) return undefined
  if (Value.Check(offer, value)) {
    const { delta, ...found } = value
    refuseOddHours(found.window)
    return { ...found, ...(Value.Check(deltaOffer, delta) && { delta }) }
  }
  throw new Fault(
    'update_server_wrong',
    'the answer of the update server has another shape than that of an update: look at its address',
  )
}

/** Nonsense would be no hours of the day, and the timer would wait for them for ever. @throws Fault `update_server_wrong` */
function refuseOddHours(window: string | undefined): void {
  if (window === undefined || isHours(window)) return
  throw new Fault(
    'update_server_wrong',
    `the update server says that updates are applied in the hours "${escapeControls(shortCopy(window, 40))}", expected hours such as 02:00-05:00: look at releases.window of that server`,
  )
}

/** An older server knows no images, and would offer an update. @throws Fault `update_server_wrong` */
function refuseOtherKind(offered: Offer, compatible: string | undefined): void {
  if (offered.compatible === compatible && (offered.kind === 'image') === (compatible !== undefined)) return
  throw new Fault(
    'update_server_wrong',
    compatible === undefined
      ? 'the update server offers an image, and was asked for an update'
      : `the update server offers no image for ${compatible}, and was asked for one: it may be older than its boards`,
  )
}

function silent(url: string, cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  const inner = (cause as Error).cause
  const why =
    inner instanceof Error ? ((inner as NodeJS.ErrnoException).code ?? inner.message) : (cause as Error).message
  return new Fault(
    'update_server_silent',
    `the update server ${url} does not answer (${why}): look at its address and the network`,
    { cause },
  )
}

/** Whoever knows the whole id can ask as this installation, and anybody may read what is told: its first digits do. */
function refused(status: number, text: string, id: string): Fault {
  if (status === 401)
    return new Fault(
      'update_server_refused',
      `the update server does not know this installation, or it is not enabled there: enable the one whose id begins with ${id.slice(0, 8)} in its panel`,
    )
  return new Fault('update_server_refused', `the update server answered ${status}: ${sentenceOf(text)}`, {
    details: { status },
  })
}

function sentenceOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    if (typeof message === 'string') return escapeControls(shortCopy(message, 200))
  } catch {
    // No JSON: somebody else answered.
  }
  return 'not in the words of an update server'
}
