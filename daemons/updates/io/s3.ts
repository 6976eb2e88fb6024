/**
 * Requests to an S3 server, signed, with a deadline and a few tries each. Loaded where `blobs.url` is set alone: a server
 * with a folder of its own pays nothing for it.
 */
import { createHash } from 'node:crypto'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import aws4 from 'aws4'
import type { Clock } from '#kit/clock.ts'
import { certificateSentence, trustedAuthorities } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { Backoff } from '#kit/pure/pace.ts'
import { readNamed, whyUnread } from '#kit/run/named-file.ts'
import { type Fields, readS3Answer, type S3Answer } from '../wire/s3-xml.ts'

export interface S3Parts {
  clock: Clock
  /** https:// or http://, without a path. */
  endpoint: string
  region: string
  bucket: string
  accessKey: string
  /** Its first line is the secret key. */
  secretFile: string
  caFile: string
  /** Time in which the server begins its answer, and in which more of it comes. */
  answerMs: number
  /** Of one request. */
  tries: number
  retryFirstMs: number
  retryMaxMs: number
}

/** All methods throw Fault `files_unreachable` once all tries have failed. */
export interface S3 {
  put(key: string, pieces: readonly Uint8Array[]): Promise<void>
  /** @returns its id */
  beginUpload(key: string): Promise<string>
  /** @param part from 1 @returns its ETag */
  putPart(upload: UploadName, part: number, pieces: readonly Uint8Array[]): Promise<string>
  finishUpload(upload: UploadName, etags: readonly string[]): Promise<void>
  /** Does nothing if it is gone. */
  dropUpload(upload: UploadName): Promise<void>
  /** Does nothing if it is gone. */
  remove(key: string): Promise<void>
  /** Bytes from `start` to `end`, both included. @throws Fault `file_lost` */
  read(key: string, range: { start: number; end: number }): Promise<Readable>
  /** Names that begin so, without what they begin with, and when they were written. */
  list(prefix: string): Promise<{ name: string; writtenAt: number }[]>
  uploads(prefix: string): Promise<(UploadName & { beganAt: number })[]>
}

interface UploadName {
  key: string
  id: string
}

interface Ask {
  method: string
  key?: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  pieces?: readonly Uint8Array[]
}

const CA_SETTING = 'blobs.ca_file'
/** Longest answer that is no file: a list of a thousand names. */
const ANSWER_BYTES = 4_194_304
/** A list of a million names would be longer. */
const MOST_PAGES = 1000

/** @throws Fault `ca_file_unreadable`, `secret_file_unreadable` */
export function createS3(parts: S3Parts): S3 {
  const ask = asker(parts)

  async function answerTo(question: Ask): Promise<{ answer: S3Answer | undefined; etag: string }> {
    try {
      return await lookFor(question)
    } catch (fault) {
      throw isMissing(fault) ? unreachable(parts, fault) : fault
    }
  }

  /** @throws Refused, too, if what is asked about is not there */
  async function lookFor(question: Ask): Promise<{ answer: S3Answer | undefined; etag: string }> {
    return await ask(question, async (incoming) => {
      const answer = readS3Answer(await textOf(incoming))
      if (answer?.name === 'Error') throw refusal(incoming.statusCode ?? 0, answer)
      return { answer, etag: incoming.headers.etag ?? '' }
    })
  }

  /** Asks for the pages of a list, one after another. */
  async function pages(first: Record<string, string>, next: (root: Fields) => Record<string, string>) {
    const found: S3Answer['elements'] = []
    let query = first
    for (let page = 0; page < MOST_PAGES; page++) {
      const { answer } = await answerTo({ method: 'GET', query })
      if (!answer) throw unreachable(parts, new Error('a list is no XML'))
      for (const element of answer.elements) found.push(element)
      if (answer.root.IsTruncated !== 'true') break
      query = { ...first, ...next(answer.root) }
    }
    return found
  }

  return {
    put: async (key, pieces) => void (await answerTo({ method: 'PUT', key, pieces })),
    async beginUpload(key) {
      const { answer } = await answerTo({ method: 'POST', key, query: { uploads: '' } })
      if (!answer?.root.UploadId) throw unreachable(parts, new Error('an upload began without an id'))
      return answer.root.UploadId
    },
    async putPart({ id, key }, part, pieces) {
      const query = { partNumber: String(part), uploadId: id }
      return (await answerTo({ method: 'PUT', key, query, pieces })).etag
    },
    async finishUpload({ id, key }, etags) {
      const list = etags.map(
        (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`,
      )
      const body = Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`)
      try {
        await lookFor({ method: 'POST', key, query: { uploadId: id }, pieces: [body] })
      } catch (fault) {
        // An earlier try had finished it, and its answer was lost.
        if (!isMissing(fault)) throw fault
        await answerTo({ method: 'HEAD', key })
      }
    },
    dropUpload: ({ id, key }) =>
      lookFor({ method: 'DELETE', key, query: { uploadId: id } }).then(() => undefined, unlessMissing),
    remove: (key) => lookFor({ method: 'DELETE', key }).then(() => undefined, unlessMissing),
    read: (key, range) => readRange(ask, parts, key, range),
    async list(prefix) {
      const all = await pages({ 'list-type': '2', prefix }, ({ NextContinuationToken = '' }) => ({
        'continuation-token': NextContinuationToken,
      }))
      return named(all, 'Contents').map(({ Key = '', LastModified = '' }) => ({
        name: Key.slice(prefix.length),
        writtenAt: Date.parse(LastModified),
      }))
    },
    async uploads(prefix) {
      const all = await pages({ uploads: '', prefix }, ({ NextKeyMarker = '', NextUploadIdMarker = '' }) => ({
        ...{ 'key-marker': NextKeyMarker, 'upload-id-marker': NextUploadIdMarker },
      }))
      return named(all, 'Upload').map(({ Initiated = '', Key = '', UploadId = '' }) => ({
        ...{ key: Key, id: UploadId, beganAt: Date.parse(Initiated) },
      }))
    },
  }
}

function unlessMissing(fault: unknown): void {
  if (!isMissing(fault)) throw fault
}

function named(elements: S3Answer['elements'], name: string): Fields[] {
  return elements.filter((one) => one.name === name).map(({ fields }) => fields)
}

function escaped(text: string): string {
  return text.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

type Asker = <Result>(question: Ask, take: (incoming: IncomingMessage) => Promise<Result>) => Promise<Result>

/** Asks, again after errors that pass. */
function asker(parts: S3Parts): Asker {
  const { caFile, clock, retryFirstMs: firstMs, retryMaxMs: maxMs, tries } = parts
  const isSecure = parts.endpoint.startsWith('https:')
  const options = { keepAlive: true, ...(caFile !== '' && { ca: trustedAuthorities(CA_SETTING, caFile) }) }
  const agent = isSecure ? new https.Agent(options) : new http.Agent({ keepAlive: true })
  // Read now, so that a start without it fails.
  secretOf(parts.secretFile)

  return async (question, take) => {
    const backoff = new Backoff({ firstMs, maxMs })
    for (let left = tries - 1; ; left--)
      try {
        return await take(await askOnce(parts, agent, question))
      } catch (error) {
        if (error instanceof Refused && !error.isPassing)
          throw error.isMissing || error.isPastEnd ? error : unreachable(parts, error)
        if (error instanceof Fault) throw error
        if (left <= 0) throw unreachable(parts, error)
        await new Promise<void>((resolve) => clock.after(backoff.next(), resolve))
      }
  }
}

/** @returns the answer, whose head is one of success */
async function askOnce(parts: S3Parts, agent: http.Agent, question: Ask): Promise<IncomingMessage> {
  const { clock, answerMs } = parts
  const outgoing = requestOf(parts, agent, question)
  const { promise, reject, resolve } = Promise.withResolvers<IncomingMessage>()
  const late = () => outgoing.destroy(new Error(`no answer within ${answerMs} ms`))
  let timer = clock.after(answerMs, late)
  outgoing.on('response', resolve)
  outgoing.on('error', reject)
  outgoing.on('close', () => reject(new Error('the connection was closed without an answer')))
  try {
    for (const piece of question.pieces ?? []) {
      if (outgoing.write(piece)) continue
      await Promise.race([new Promise<void>((drained) => outgoing.once('drain', drained)), promise])
      timer.cancel()
      timer = clock.after(answerMs, late)
    }
    outgoing.end()
    const incoming = await promise
    const { statusCode = 0 } = incoming
    if (statusCode >= 200 && statusCode <= 299) return incoming
    throw refusal(statusCode, readS3Answer(await textOf(incoming)))
  } finally {
    timer.cancel()
    // Errors after the head are those of the answer.
    outgoing.on('error', () => {})
    promise.catch(() => {})
  }
}

function requestOf(parts: S3Parts, agent: http.Agent, { headers, key = '', method, pieces = [], query }: Ask) {
  const { accessKey, bucket, clock, endpoint, region, secretFile } = parts
  const { hostname, host, port, protocol } = new URL(endpoint)
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  const search = query === undefined ? '' : `?${new URLSearchParams(query).toString().replaceAll('+', '%20')}`
  const signed = aws4.sign(
    {
      ...{ service: 's3', region, method, host, path: `/${bucket}/${key}${search}` },
      headers: {
        ...{ ...headers, Host: host },
        'X-Amz-Date': new Date(clock.epochMs()).toISOString().replace(/[-:]|\.\d{3}/g, ''),
        'X-Amz-Content-Sha256': hash.digest('hex'),
        ...(method === 'PUT' || pieces.length > 0 ? { 'Content-Length': String(bytes) } : {}),
      },
    },
    { accessKeyId: accessKey, secretAccessKey: secretOf(secretFile) },
  )
  const { request } = protocol === 'https:' ? https : http
  const address = { host: hostname.replace(/^\[(.*)\]$/, '$1'), ...(port !== '' && { port: Number(port) }) }
  return request({
    ...address,
    agent,
    method,
    path: signed.path ?? '',
    headers: signed.headers as http.OutgoingHttpHeaders,
  })
}

function secretOf(file: string): string {
  try {
    return readNamed(file).toString('utf8').split(/\r?\n/, 1)[0] ?? ''
  } catch (cause) {
    throw new Fault('secret_file_unreadable', `blobs.secret_file ${file} cannot be read (${whyUnread(cause)})`, {
      cause,
    })
  }
}

const OTHER_SIZE = 'The file in the bucket has another size. Publish it again.'

async function readRange(
  ask: Asker,
  parts: S3Parts,
  key: string,
  { end, start }: { start: number; end: number },
): Promise<Readable> {
  try {
    return await ask({ method: 'GET', key, headers: { Range: `bytes=${start}-${end}` } }, async (incoming) => {
      const bytes = Number(incoming.headers['content-length'])
      if (incoming.statusCode === 206 && bytes === end - start + 1) return watched(incoming, parts)
      incoming.destroy()
      throw new Fault('file_lost', OTHER_SIZE)
    })
  } catch (cause) {
    if (cause instanceof Refused && cause.isPastEnd) throw new Fault('file_lost', OTHER_SIZE, { cause })
    if (!isMissing(cause)) throw cause
    throw new Fault('file_lost', 'The file is gone from the bucket. Publish it again.', { cause })
  }
}

/** Ends an answer of which nothing comes though it is waited for: who reads slowly may take their time. */
function watched(incoming: IncomingMessage, { answerMs, clock }: S3Parts): Readable {
  let seen = -1
  const timer = clock.every(answerMs, () => {
    const { bytesRead } = incoming.socket
    if (incoming.readableLength === 0 && bytesRead === seen)
      incoming.destroy(new Error(`nothing came for ${answerMs} ms`))
    seen = bytesRead
  })
  incoming.once('close', () => timer.cancel())
  return incoming
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > ANSWER_BYTES) throw new Error(`an answer has more than ${ANSWER_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** What the server answered instead of success. */
class Refused extends Error {
  /** It may go another time. */
  readonly isPassing: boolean
  readonly isMissing: boolean
  /** It is there, and ends before the range that was asked for begins. */
  readonly isPastEnd: boolean

  constructor(status: number, { Code = '', Message = '' }: Fields) {
    super(`the S3 server answered ${status} ${Code} ${Message}`.trim())
    this.isPassing = status === 429 || (status >= 500 && status !== 501) || status === 200
    this.isMissing = status === 404 && Code !== 'NoSuchBucket'
    this.isPastEnd = status === 416
  }
}

function refusal(status: number, answer: S3Answer | undefined): Refused {
  return new Refused(status, answer?.root ?? {})
}

function isMissing(fault: unknown): boolean {
  return fault instanceof Refused && fault.isMissing
}

function unreachable({ retryMaxMs }: S3Parts, cause: unknown): Fault {
  const certificate = certificateSentence(cause, CA_SETTING)
  const why = certificate === undefined ? '' : ` Its TLS is refused: ${certificate}.`
  return new Fault(
    'files_unreachable',
    `The files of this update server cannot be reached now; nothing was changed.${why} Try again soon.`,
    { cause, details: { retryAfterMs: retryMaxMs } },
  )
}
