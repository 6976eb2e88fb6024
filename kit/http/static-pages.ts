/** The built pages, compressed in memory: what was read at the start is served until the end. */
import { createHash } from 'node:crypto'
import { type Dirent, existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../pure/fault.ts'
import type { WhoMay } from './route.ts'

/** One file under the path it is served by. */
export interface Page {
  path: string
  type: string
  cacheControl: string
  etag: string
  /** The only copy: plain, or gzipped if that pays. Clients that do not take gzip are rare; for them it is unpacked. */
  bytes: Buffer
  isPacked: boolean
  /** Its content security policy. */
  policy: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** Types that are compressed already. */
const PACKED = new Set(['.png', '.ico', '.woff2'])

/**
 * The hash that esbuild puts in names (`page-2XQ7PLWB.js`): the name changes with the content, so it never goes stale.
 */
const HASHED = /-[A-Z0-9]{8}\.\w+$/

/** Smaller files are not worth compressing. */
const LEAST_COMPRESSED_BYTES = 1024

/**
 * Pages load from here alone, and run no script or style inside the HTML. `style-src` does not cover styles that a
 * script sets on an element. @source CSP Level 3, 6.7.3
 */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data: blob:",
  // Live pictures come over a socket, and are played from memory.
  "media-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
]

/** The pages of a server. */
export interface WebPages {
  /** Folder of the built pages. */
  folder: string
  /** Who may see them, and learn that a path does not exist; default: anyone. */
  who?: WhoMay
  /** More paths of pages: `{ '/matrix': '/' }`. */
  also?: Readonly<Record<string, string>>
  /**
   * Whether scripts of the pages may call other hosts, known only once they are found. What they load still comes from
   * here.
   */
  asksOthers?: boolean
}

/**
 * Reads every file of a folder and its subfolders, once, before anything listens. `index.html` is served as `/`, the
 * others by their names.
 * @throws Fault `pages_missing`
 */
export function loadPages({ folder, also = {}, asksOthers = false }: WebPages): Page[] {
  const policy = [...POLICY, ...(asksOthers ? ["connect-src 'self' http: https:"] : [])].join('; ')
  const pages = filesOf(folder).map((file) => ({ ...loadPage(folder, join(file.parentPath, file.name)), policy }))
  const more = Object.entries(also).flatMap(([path, of]) => {
    const page = pages.find((each) => each.path === of)
    return page ? [{ ...page, path }] : []
  })
  return [...pages, ...more]
}

function filesOf(folder: string): Dirent[] {
  let entries: Dirent[]
  try {
    entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  } catch (cause) {
    throw new Fault('pages_missing', `the pages cannot be read from ${folder}: build them first`, { cause })
  }
  // Source maps are for debugging and not served; they are four fifths of the bytes. What is packed stands beside its file.
  return entries.filter((entry) => entry.isFile() && !/^\.|\.(map|gz)$/.test(entry.name))
}

function loadPage(folder: string, file: string): Omit<Page, 'policy'> {
  const name = relative(folder, file).split(sep).join('/')
  const built = existsSync(`${file}.gz`) ? readFileSync(`${file}.gz`) : undefined
  const plain = built ?? readFileSync(file)
  const packed = built ?? packedPage(name, plain)
  return {
    path: `/${name.replace(/(^|\/)index\.html$/, '$1')}`,
    type: TYPES[extname(name)] ?? 'application/octet-stream',
    cacheControl: HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    bytes: packed ?? plain,
    isPacked: packed !== undefined,
  }
}

/**
 * A file of pages gzipped, undefined if that does not pay. A bundle has it beside the file as `<name>.gz`: packing takes
 * longer than all else that is done with pages at a start.
 */
export function packedPage(name: string, bytes: Uint8Array): Buffer | undefined {
  if (bytes.length < LEAST_COMPRESSED_BYTES || PACKED.has(extname(name))) return undefined
  return exactly(gzipSync(bytes, { level: 9 }))
}

/**
 * zlib returns a view into 64 KiB however small the output, which keeps all of it alive (measured: 2.8 MB for sixty
 * files).
 */
function exactly(view: Buffer): Buffer {
  const bytes = Buffer.allocUnsafeSlow(view.length)
  view.copy(bytes)
  return bytes
}

/** Answers a GET or HEAD with a page. */
export function sendPage(page: Page, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const takesGzip = /(^|,)\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*(,|$))|,|$)/i.test(request.headers['accept-encoding'] ?? '')
  const sendsGzip = takesGzip && page.isPacked
  // Each content coding needs its own tag.
  const etag = sendsGzip ? `"${page.etag}.gz"` : `"${page.etag}"`
  const vary = [reply.getHeader('vary'), 'accept-encoding'].filter(Boolean).join(', ')
  reply
    .headers({ 'content-security-policy': page.policy, 'cross-origin-opener-policy': 'same-origin', vary })
    .header('cache-control', page.cacheControl)
    .header('etag', etag)
    .type(page.type)
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send()
  if (sendsGzip) reply.header('content-encoding', 'gzip')
  return reply.send(page.isPacked && !sendsGzip ? gunzipSync(page.bytes) : page.bytes)
}

/** Whether the client already has this content. Tags are compared weakly, as RFC 9110, 13.1.2 says. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
