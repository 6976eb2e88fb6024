/** Tests of http/surface.ts: the ways in which a surface can answer. */
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import type { Surface } from '../../http/surface.ts'
import { serve } from './server-here.ts'

/** A surface with this answer. */
function answering(handle: Surface['handle']): Surface {
  return { prefix: '/api', bodyBytes: 100, handle }
}

async function send(port: number, { method = 'GET', path }: { method?: string; path: string }) {
  const got = await fetch(`http://127.0.0.1:${port}${path}`, { method })
  return { status: got.status, headers: Object.fromEntries(got.headers), body: await got.text() }
}

t.test('writes an answer in pieces as one, with its length, and none of it for a HEAD', async (t) => {
  const pieces = ['[', '"é"', ',"', 'x'.repeat(100_000), '"]'].map((text) => Buffer.from(text))
  const handle = () => ({ status: 200, pieces })
  const { port } = await serve(t, { surface: answering(handle) })
  const got = await send(port, { path: '/api/x' })
  t.same(JSON.parse(got.body), ['é', 'x'.repeat(100_000)])
  t.match(got.headers, { 'content-length': '100009', 'content-type': 'application/json; charset=utf-8' })
  t.notOk(got.headers['transfer-encoding'])
  const head = await send(port, { method: 'HEAD', path: '/api/x' })
  t.same([head.status, head.body, head.headers['content-length']], [200, '', '100009'])
})

t.test('answers an error thrown at once like one thrown later', async (t) => {
  const handle: Surface['handle'] = ({ path }) => {
    const fault = new Fault('busy', 'too much to do')
    if (path === '/api/now') throw fault
    return Promise.reject(fault)
  }
  const { port } = await serve(t, { surface: answering(handle) })
  for (const path of ['/api/now', '/api/late']) t.equal((await send(port, { path })).status, 503, path)
})

t.test('sends headers that change from one answer to the next', async (t) => {
  const headers = { 'x-box': 'attic' }
  const { port } = await serve(t, {
    surface: answering(() => ({ status: 200, text: '{}' })),
    headers,
  })
  t.equal((await send(port, { path: '/api/x' })).headers['x-box'], 'attic')
  headers['x-box'] = 'cellar'
  t.equal((await send(port, { path: '/api/x' })).headers['x-box'], 'cellar')
})
