/** Tests of http/static-pages.ts. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { createMetrics } from '../../http/metrics.ts'
import { serve } from './server-here.ts'

const html = `<!doctype html><title>Page</title><p>${'text '.repeat(400)}</p>`

function folderOf(t: { testdir(): string }): string {
  const folder = t.testdir()
  mkdirSync(join(folder, 'fonts'))
  writeFileSync(join(folder, 'index.html'), html)
  writeFileSync(join(folder, 'page-2XQ7PLWB.js'), 'export {}')
  writeFileSync(join(folder, 'small.css'), 'p{}')
  writeFileSync(join(folder, '.hidden'), 'no')
  writeFileSync(join(folder, 'fonts', 'a.woff2'), Buffer.alloc(2000))
  return folder
}

/** Without fetch, which unpacks and normalizes on its own. */
function get(port: number, path: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      request({ port, path, headers, method, agent: false }, (reply) => {
        buffer(reply).then((body) => resolve({ status: reply.statusCode, headers: reply.headers, body }), reject)
      }).end()
    },
  )
}

t.test('serves the index as / with its type and the rules for pages', async (t) => {
  const { port } = await serve(t, { web: { folder: folderOf(t) } })
  const page = await get(port, '/')
  t.equal(page.status, 200)
  t.equal(String(page.body), html)
  t.match(page.headers, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    etag: /^"[\w-]{22}"$/,
  })
  const policy = String(page.headers['content-security-policy'])
  t.match(policy, /default-src 'self'.*frame-ancestors 'none'/)
  t.notMatch(policy, /unsafe/)
})

t.test('files with a hash in their name can be cached for good', async (t) => {
  const { port } = await serve(t, { web: { folder: folderOf(t) } })
  t.match((await get(port, '/page-2XQ7PLWB.js')).headers, {
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
  })
  t.equal((await get(port, '/small.css')).headers['cache-control'], 'no-cache')
})

t.test('answers 304 to a client that already has this content', async (t) => {
  const { port } = await serve(t, { web: { folder: folderOf(t) } })
  const etag = String((await get(port, '/')).headers.etag)
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await get(port, '/', { 'if-none-match': known })
    t.same([again.status, again.body.length, again.headers.etag], [304, 0, etag])
  }
  t.equal((await get(port, '/', { 'if-none-match': '"other"' })).status, 200)
})

t.test('compresses text for clients that accept it, under a separate ETag', async (t) => {
  const { port } = await serve(t, { web: { folder: folderOf(t) } })
  const plain = await get(port, '/')
  const packed = await get(port, '/', { 'accept-encoding': 'br, gzip;q=0.5' })
  t.equal(packed.headers['content-encoding'], 'gzip')
  t.equal(packed.headers.vary, 'accept-encoding')
  t.not(packed.headers.etag, plain.headers.etag)
  t.equal(String(gunzipSync(packed.body)), html)
  for (const refused of ['gzip;q=0', 'br', 'identity', 'x-gzip-not'])
    t.equal((await get(port, '/', { 'accept-encoding': refused })).headers['content-encoding'], undefined, refused)
  const font = await get(port, '/fonts/a.woff2', { 'accept-encoding': 'gzip' })
  t.same([font.headers['content-encoding'], font.body.length], [undefined, 2000])
})

t.test('what a bundle has packed is served as it is, and has no path of its own', async (t) => {
  const folder = folderOf(t)
  const packed = gzipSync(html, { level: 1 })
  writeFileSync(join(folder, 'index.html.gz'), packed)
  const { port } = await serve(t, { web: { folder } })
  const plain = await get(port, '/')
  t.equal(String(plain.body), html)
  const answer = await get(port, '/', { 'accept-encoding': 'gzip' })
  t.ok(answer.body.equals(packed))
  t.equal(answer.headers.etag, `"${String(plain.headers.etag).slice(1, -1)}.gz"`)
  t.equal((await get(port, '/index.html.gz')).status, 404)
})

t.test('serves only files that were read at the start', async (t) => {
  const folder = folderOf(t)
  writeFileSync(join(folder, '../outside.txt'), 'no')
  writeFileSync(join(folder, 'app.js.map'), '{}')
  const { port } = await serve(t, { web: { folder } })
  writeFileSync(join(folder, 'late.txt'), 'no')
  for (const path of [
    '/late.txt',
    '/.hidden',
    '/app.js.map',
    '/../outside.txt',
    '/%2e%2e/outside.txt',
    '/..%2foutside.txt',
    '/fonts/',
    '/fonts',
  ])
    t.equal((await get(port, path)).status, 404, path)
  t.match(await get(port, '/', {}, 'POST'), { status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } })
  t.match(await get(port, '/', {}, 'HEAD'), { status: 200, headers: { 'content-length': String(html.length) } })
})

t.test('counts requests for pages under one label, and for missing files under another', async (t) => {
  const metrics = createMetrics({ process: false })
  const { port } = await serve(t, { web: { folder: folderOf(t) }, metrics })
  await get(port, '/')
  await get(port, '/page-2XQ7PLWB.js')
  await get(port, '/nothing')
  const text = await metrics.text()
  t.match(text, /request_duration_seconds_count\{method="GET",route="page",status="2xx"\} 2/)
  t.match(text, /request_duration_seconds_count\{method="GET",route="unknown",status="4xx"\} 1/)
})

t.test('does not start without its pages', async (t) => {
  await t.rejects(serve(t, { web: { folder: join(t.testdir(), 'missing') } }), { code: 'pages_missing' })
})

t.test('a page can be served under a second path', async (t) => {
  const { port } = await serve(t, { web: { folder: folderOf(t), also: { '/matrix': '/' } } })
  t.equal(String((await get(port, '/matrix')).body), html)
  t.equal((await get(port, '/matrix/')).status, 404)
  t.equal((await get(port, '/matrix', {}, 'POST')).status, 405)
})

t.test(
  'scripts of pages can call only this host, or others that the server allows; resources come only from here',
  async (t) => {
    const policyOf = async (asksOthers: boolean): Promise<string> => {
      const { port } = await serve(t, { web: { folder: folderOf(t), asksOthers } })
      return String((await get(port, '/')).headers['content-security-policy'])
    }
    t.notMatch(await policyOf(false), /connect-src|http:/)
    const policy = await policyOf(true)
    t.match(policy, /default-src 'self';.*; connect-src 'self' http: https:$/)
    t.notMatch(policy.replace(/connect-src.*/, ''), /http:|\*/)
  },
)
