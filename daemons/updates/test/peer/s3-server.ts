/**
 * A small S3 server for tests, strict where real ones are: it checks every signature and body by the written rules, without
 * the package that signs, and wants parts of the size that S3 wants. bucket.measure.test.ts asks a real one.
 */
import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Owner } from '#kit/test/running-daemon.ts'

export const ACCOUNT = {
  accessKey: 'example:AKID.1',
  secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'eu-test-1',
}

export interface S3Server {
  endpoint: string
  /** By key. */
  objects: Map<string, { bytes: Buffer; writtenAt: number }>
  /** By id. */
  uploads: Map<string, { key: string; parts: Map<number, Buffer>; beganAt: number }>
  /** What was asked: `METHOD key query`. */
  asked: string[]
  /** Called before each answer; what it returns is answered instead. */
  faults: { before?: (asked: string) => number | 'cut' | 'silent' | 'half' | 'answer, then cut' | undefined }
}

const LEAST_PART = 5_242_880
const MOST_KEYS = 3

export async function startS3(t: Owner, bucket: string): Promise<S3Server> {
  const state: S3Server = { endpoint: '', objects: new Map(), uploads: new Map(), asked: [], faults: {} }
  const server = createServer((request, response) => {
    void answer(state, bucket, request, response).catch((error: Error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  state.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return state
}

interface Question {
  method: string
  key: string
  query: URLSearchParams
  body: Buffer
  range: string | undefined
}

type Told = [status: number, body?: string | Buffer, headers?: Record<string, string>]

async function answer(state: S3Server, bucket: string, request: IncomingMessage, response: ServerResponse) {
  const body = await buffer(request)
  const { pathname, searchParams: query } = new URL(request.url ?? '', state.endpoint)
  const [, asked = '', key = ''] = /^\/([^/]+)\/(.*)$/.exec(pathname) ?? []
  const { method = '' } = request
  const line = `${method} ${key} ${query}`.trim()
  state.asked.push(line)
  const fault = state.faults.before?.(line)
  if (fault === 'silent') return
  if (fault === 'cut') return void request.socket.destroy()
  const refusal = refusalOf(request, body)
  const question = { method, key, query, body, range: request.headers.range }
  let told: Told
  if (typeof fault === 'number') told = error(fault, fault === 403 ? 'AccessDenied' : 'SlowDown')
  else if (refusal) told = error(403, refusal)
  else told = asked === bucket ? doIt(state, question) : error(404, 'NoSuchBucket')
  if (fault === 'answer, then cut') return void request.socket.destroy()
  const [status, text = '', headers = {}] = told
  response.writeHead(status, { 'content-length': Buffer.byteLength(text), ...headers })
  if (fault === 'half') return void response.write(text.slice(0, text.length / 2))
  response.end(method === 'HEAD' ? undefined : text)
}

function error(status: number, code: string): Told {
  return [status, `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`]
}

function doIt(state: S3Server, question: Question): Told {
  const { key, method, query } = question
  const { objects } = state
  if (key === '') return method === 'GET' ? list(state, query) : error(405, 'MethodNotAllowed')
  if (query.has('uploads') || query.has('uploadId')) return multipart(state, question)
  if (method === 'PUT') {
    objects.set(key, { bytes: question.body, writtenAt: Date.now() })
    return [200, '', { etag: etagOf(question.body) }]
  }
  const found = objects.get(key)
  if (method === 'DELETE') {
    objects.delete(key)
    return [204]
  }
  if (!found) return error(404, 'NoSuchKey')
  if (method === 'HEAD') return [200]
  const [, start = '', end = ''] = /^bytes=(\d+)-(\d+)$/.exec(question.range ?? '') ?? []
  if (start === '') return [200, found.bytes]
  if (Number(start) >= found.bytes.length) return error(416, 'InvalidRange')
  const part = found.bytes.subarray(Number(start), Number(end) + 1)
  return [206, part, { 'content-range': `bytes ${start}-${end}/${found.bytes.length}` }]
}

function multipart({ objects, uploads }: S3Server, { body, key, method, query }: Question): Told {
  if (method === 'POST' && query.has('uploads')) {
    const id = `${randomUUID()}+/=&`
    uploads.set(id, { key, parts: new Map(), beganAt: Date.now() })
    return [200, `<InitiateMultipartUploadResult><UploadId>${xml(id)}</UploadId></InitiateMultipartUploadResult>`]
  }
  const id = query.get('uploadId') ?? ''
  const upload = uploads.get(id)
  if (upload?.key !== key) return error(404, 'NoSuchUpload')
  if (method === 'PUT') {
    upload.parts.set(Number(query.get('partNumber')), body)
    return [200, '', { etag: etagOf(body) }]
  }
  uploads.delete(id)
  if (method === 'DELETE') return [204]
  const named = [...String(body).matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag>/g)]
  const parts = named.map(([, number, etag]) => {
    const part = upload.parts.get(Number(number))
    return part && xml(etagOf(part)) === etag ? part : undefined
  })
  if (parts.length === 0 || parts.includes(undefined)) return error(400, 'InvalidPart')
  const whole = parts as Buffer[]
  if (whole.slice(0, -1).some(({ length }) => length < LEAST_PART)) return error(400, 'EntityTooSmall')
  objects.set(key, { bytes: Buffer.concat(whole), writtenAt: Date.now() })
  return [200, '<CompleteMultipartUploadResult><Key>x</Key></CompleteMultipartUploadResult>']
}

/** In short pages. */
function list({ objects, uploads }: S3Server, query: URLSearchParams): Told {
  const prefix = query.get('prefix') ?? ''
  const begin = (key: string) => key.startsWith(prefix)
  const at = (ms: number) => new Date(ms).toISOString()
  if (query.has('uploads')) {
    const all = [...uploads].filter(([, { key }]) => begin(key))
    const from = all.findIndex(([id]) => id === query.get('upload-id-marker')) + 1
    const page = all.slice(from, from + MOST_KEYS)
    const texts = page.map(
      ([id, { beganAt, key }]) =>
        `<Upload><Key>${key}</Key><UploadId>${xml(id)}</UploadId><Initiator><ID>x</ID></Initiator><Initiated>${at(beganAt)}</Initiated></Upload>`,
    )
    const [last, { key = '' } = {}] = page.at(-1) ?? ['']
    const more = `<IsTruncated>${from + MOST_KEYS < all.length}</IsTruncated><NextKeyMarker>${key}</NextKeyMarker><NextUploadIdMarker>${xml(last)}</NextUploadIdMarker>`
    return [200, `<ListMultipartUploadsResult>${more}${texts.join('')}</ListMultipartUploadsResult>`]
  }
  if (query.get('list-type') !== '2') return error(400, 'InvalidArgument')
  const all = [...objects].filter(([key]) => begin(key)).sort()
  const from = all.findIndex(([key]) => key === query.get('continuation-token')) + 1
  const page = all.slice(from, from + MOST_KEYS)
  const texts = page.map(
    ([key, { writtenAt }]) => `<Contents><Key>${key}</Key><LastModified>${at(writtenAt)}</LastModified></Contents>`,
  )
  const more = `<IsTruncated>${from + MOST_KEYS < all.length}</IsTruncated><NextContinuationToken>${page.at(-1)?.[0] ?? ''}</NextContinuationToken>`
  return [200, `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>${more}${texts.join('')}</ListBucketResult>`]
}

const xml = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
const etagOf = (bytes: Uint8Array) => `"${createHash('md5').update(bytes).digest('hex')}"`
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: string | Uint8Array, text: string) => createHmac('sha256', key).update(text).digest()

/** @source AWS General Reference, Signature Version 4 signing process */
function refusalOf({ headers, method, url = '' }: IncomingMessage, body: Buffer): string | undefined {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const [, account = '', day = '', region = '', names = '', signature = ''] =
    form.exec(headers.authorization ?? '') ?? []
  if (account !== ACCOUNT.accessKey || region !== ACCOUNT.region) return 'InvalidAccessKeyId'
  const at = String(headers['x-amz-date'])
  const ms = Date.parse(at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(ms - Date.now()) < 900_000) || !at.startsWith(day)) return 'RequestTimeTooSkewed'
  const signed = names.split(';')
  if (!['host', 'x-amz-date', 'x-amz-content-sha256'].every((name) => signed.includes(name))) return 'AccessDenied'
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'XAmzContentSHA256Mismatch'
  const [path = '', search = ''] = url.split('?')
  const query = [...new URLSearchParams(search)]
    .map(([name, value]) => `${strict(name)}=${strict(value)}`)
    .sort()
    .join('&')
  const lines = signed.map((name) => `${name}:${String(headers[name] ?? '').trim()}\n`).join('')
  const canonical = [method, path, query, lines, names, sha256(body)].join('\n')
  const text = ['AWS4-HMAC-SHA256', at, `${day}/${region}/s3/aws4_request`, sha256(canonical)].join('\n')
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (before, part) => hmac(before, part),
    `AWS4${ACCOUNT.secret}`,
  )
  return timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex')) ? undefined : 'SignatureDoesNotMatch'
}

function strict(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}
