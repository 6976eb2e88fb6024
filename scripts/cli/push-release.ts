/** Uploads one file of a release to an update server, and checks what the server says that it has. */
import { createReadStream } from 'node:fs'
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { readJsonAnswer } from '#kit/net/json-answer.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { deltaFileName, releaseFileName } from '#kit/pure/version.ts'
import type { ReleaseKind } from '#kit/release/record.ts'

/** What is uploaded. */
export interface Push {
  kind: ReleaseKind
  file: string
  sizeBytes: number
  /** SHA-256 of the file, 64 hex digits. */
  sha256: string
  version: string
  /** Of an image: the kind of board that it is for. */
  compatible?: string
  bundle: string
  /** The text of its signed record. */
  release: string
  /** Of the container, 64 hex digits; undefined for an installer. */
  encryptionKey: string | undefined
}

/** A delta that is uploaded, encrypted by the key of the update that it leads to. */
export interface DeltaPush extends Pick<Push, 'file' | 'sizeBytes' | 'sha256' | 'version'> {
  /** The version that it is applied to. */
  from: string
}

/** Where it goes. */
export interface PushTarget {
  /** `https://updates.example`, perhaps with a path before those of the server. */
  server: URL
  updateKey: string
  /** Given up after so long without a byte in either direction. */
  stallMs: number
  /** Bytes handed to the connection since the last call. */
  onSent(bytes: number): void
}

/** Longest answer that is read. */
const MOST_ANSWER_BYTES = 65_536

const answer = Type.Object({
  filename: Type.String(),
  version: Type.String(),
  checksum: Type.String(),
  size: Type.Integer(),
  bundle_hash: Type.Union([Type.String(), Type.Null()]),
})
const deltaAnswer = Type.Object({ filename: Type.String(), checksum: Type.String(), size: Type.Integer() })
const refusal = Type.Object({ error: Type.String(), message: Type.String() })

/**
 * Uploads.
 * @returns the bundle hash that the server has recorded; null if it has none
 * @throws Fault `push_failed`; `push_taken` if the server has the version with other bytes; `push_mismatch` if what it says that
 * it has is not what was sent
 */
export async function pushRelease(push: Push, target: PushTarget): Promise<string | null> {
  const { compatible, encryptionKey } = push
  const { status, body } = await send({ ...push, what: push.kind, path: `/push_${push.kind}` }, target, {
    ...(compatible !== undefined && { 'X-Svc-Compatible': compatible }),
    ...(encryptionKey !== undefined && { 'X-Svc-Encryption-Key': encryptionKey }),
    'X-Svc-Bundle-Hash': push.bundle,
    'X-Svc-Release': Buffer.from(push.release).toString('base64'),
  })
  if (status < 200 || status > 299) throw refused(push.kind, push, { status, body })
  if (!Value.Check(answer, body))
    throw new Fault('push_failed', `the server answered ${status}, and not what it has filed`)
  checkAnswer(push, body)
  return body.bundle_hash
}

/**
 * Uploads a delta of an update that was uploaded.
 * @throws Fault `push_failed`, also of a server that takes no deltas; `push_mismatch`
 */
export async function pushDelta(push: DeltaPush, target: PushTarget): Promise<void> {
  const { from, sha256, sizeBytes, version } = push
  const sent = { ...push, what: 'delta', path: '/push_delta' }
  const { status, body } = await send(sent, target, { 'X-Svc-From': from })
  if (status < 200 || status > 299) throw refused('delta', push, { status, body })
  const isSame =
    Value.Check(deltaAnswer, body) &&
    body.filename === deltaFileName(from, version) &&
    body.checksum === sha256 &&
    body.size === sizeBytes
  if (!isSame) throw new Fault('push_mismatch', `the server has another delta from ${from} than was sent`)
}

function checkAnswer(push: Push, said: Static<typeof answer>): void {
  const expected: [what: string, sent: string | number, said: string | number][] = [
    ['file name', releaseFileName(push.kind, push.version, push.compatible), said.filename],
    ['version', push.version, said.version],
    ['checksum', push.sha256, said.checksum],
    ['size', push.sizeBytes, said.size],
    ['bundle hash', said.bundle_hash === null ? '' : push.bundle, said.bundle_hash ?? ''],
  ]
  for (const [what, sent, other] of expected)
    if (sent !== other)
      throw new Fault('push_mismatch', `the server has the ${push.kind} with the ${what} ${other}, expected ${sent}`)
}

function refused(
  what: string,
  { compatible, version }: Pick<Push, 'version'> & Partial<Pick<Push, 'compatible'>>,
  { body, status }: { status: number; body: unknown },
): Fault {
  const said = Value.Check(refusal, body) ? body : undefined
  if (said?.error === 'release_exists')
    return new Fault(
      'push_taken',
      compatible !== undefined
        ? `the server has image ${version} for ${compatible} with other bytes: make one of the next version. (${said.message})`
        : `the server has ${version} with other bytes. Publish again: it will be the next patch version. (${said.message})`,
    )
  const why = said === undefined ? 'without saying why' : said.message
  return new Fault('push_failed', `the server refused the ${what} with ${status}: ${why}`)
}

/** A file that is sent. */
interface Sent extends Pick<Push, 'file' | 'sizeBytes' | 'sha256' | 'version'> {
  what: string
  path: string
}

/** @returns the answer; its body undefined if it is no JSON @throws Fault `push_failed` */
function send(
  sent: Sent,
  target: PushTarget,
  headers: OutgoingHttpHeaders,
): Promise<{ status: number; body: unknown }> {
  const { server, stallMs } = target
  const request = (server.protocol === 'https:' ? httpsRequest : httpRequest)(addressOf(sent, server), {
    method: 'POST',
    headers: { ...headersOf(sent, target), ...headers },
    timeout: stallMs,
  })
  const file = createReadStream(sent.file, { highWaterMark: 262_144 })
  return new Promise((resolve, reject) => {
    const failed = (why: string, cause?: unknown) => {
      file.destroy()
      request.destroy()
      reject(new Fault('push_failed', why, { cause }))
    }
    let isAnswered = false
    request.on('timeout', () =>
      failed(`nothing moved for ${durationText(stallMs)} while the ${sent.what} was sent: try again`),
    )
    request.on('response', (response) => {
      isAnswered = true
      // It has made up its mind: what is left of the file need not be sent.
      file.destroy()
      readJsonAnswer(response, MOST_ANSWER_BYTES).then(
        (said) => {
          resolve(said)
          request.destroy()
        },
        (cause) => failed('the answer of the server was cut off', cause),
      )
    })
    request.on('error', (cause: NodeJS.ErrnoException) => {
      if (!isAnswered) failed(`${server.host} cannot be reached, or hung up (${cause.code ?? cause.message})`, cause)
    })
    file.on('error', (cause) => failed(`${sent.file} cannot be read`, cause))
    file.on('data', (piece) => target.onSent(piece.length))
    file.pipe(request)
  })
}

function addressOf({ path }: Sent, server: URL): URL {
  return new URL(`${server.pathname.replace(/\/$/, '')}${path}`, server)
}

function headersOf({ sha256, sizeBytes, version }: Sent, { updateKey }: PushTarget): OutgoingHttpHeaders {
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Length': sizeBytes,
    'X-Svc-Update-Key': updateKey,
    'X-Svc-Version': version,
    'X-Svc-Checksum': sha256,
  }
}
