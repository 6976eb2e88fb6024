/** Tests of http/route.ts as http/route.ts and http/kit-routes.ts hold it. */
import { text } from 'node:stream/consumers'
import t from 'tap'
import { WebSocket } from 'ws'
import { Fault } from '#kit/pure/fault.ts'
import { createMetrics } from '../../http/metrics.ts'
import type { Caller, Fence, Place } from '../../http/route.ts'
import { echo, serve } from './server-here.ts'

/** A server whose `admin` and `viewer` are limited to port /dev/a. */
async function fenced(t: Parameters<typeof serve>[0]) {
  const asked: Place[] = []
  const refused: string[] = []
  const fence: Fence = {
    check(caller, place) {
      asked.push(place)
      const { path } = place.params
      if (place.path === '/ws' || (path !== undefined && !caller.only?.includes(path)))
        throw new Fault('foreign', 'not yours')
    },
    showsSample: (caller, { port }) => caller.only?.includes(String(port)) ?? true,
    refused: (caller, place, fault) => void refused.push(`${caller.name} ${place.method} ${place.path} ${fault.code}`),
  }
  const metrics = createMetrics({ process: false })
  const frames = metrics.counter({ name: 'frames_total', help: 'Frames', labels: ['port'] })
  for (const port of ['/dev/a', '/dev/b']) frames.add({ port })
  const identify = ({ authorization }: { authorization: string | undefined }): Caller | undefined => {
    const name = authorization?.split(' ')[1]
    if (name === 'free') return { name, role: 'admin' }
    return name === 'admin' || name === 'viewer' ? { name, role: name, only: ['/dev/a'] } : undefined
  }
  const sockets = [{ path: '/ws', who: 'user' as const, summary: 'Test', open: () => {} }]
  const here = await serve(t, { fence, metrics, identify, sockets, faultStatus: { foreign: 403 }, routes: [echo] })
  const at = (path: string, as = 'admin') =>
    here.ask(`/api/ports/${path}/echo`, { method: 'POST', as, json: { unitId: 1 } })
  return { ...here, asked, refused, at }
}

t.test('gets the route as the table has it, and the parameter decoded once', async (t) => {
  const { at, asked } = await fenced(t)
  t.equal((await at('%2Fdev%2Fa')).status, 200)
  t.match(asked, [{ method: 'POST', path: '/api/ports/:path/echo', params: { path: '/dev/a' }, remoteAddress: /127/ }])
})

t.test('no other spelling of a path bypasses it', async (t) => {
  const { at, refused } = await fenced(t)
  const others = [
    '%2Fdev%2Fb',
    '%2fdev%2fb',
    '%2Fdev%2Fa%2F..%2Fb',
    '%2Fdev%2F.%2Fa',
    '%252Fdev%252Fa',
    '%2Fdev%2Fa%00',
  ]
  for (const path of [...others, '%2Fdev%2FA', '%2Fdev%2Fa%2F', '__proto__', 'constructor'])
    t.equal((await at(path)).status, 403, path)
  t.equal(refused.length, others.length + 4)
  for (const path of ['/dev/a', '%2Fdev/a']) t.equal((await at(path)).status, 404, path)
})

t.test('too low a role is checked first, and reported like any refusal', async (t) => {
  const { at, refused } = await fenced(t)
  const answer = await at('%2Fdev%2Fb', 'viewer')
  t.match(await answer.json(), { error: 'forbidden' })
  t.same(refused, ['viewer POST /api/ports/:path/echo forbidden'])
})

t.test('protects sockets too', async (t) => {
  const { url } = await fenced(t)
  const client = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers: { authorization: 'Bearer admin' } })
  client.on('error', () => {})
  const status = await new Promise((resolve) =>
    client.on('unexpected-response', (_, reply) => resolve(reply.statusCode)),
  )
  t.equal(status, 403)
})

t.test('shows a fenced caller only its own measurements', async (t) => {
  const { ask } = await fenced(t)
  t.equal(
    await (await ask('/metrics', { as: 'admin' })).text(),
    '# HELP plantroom_frames_total Frames\n# TYPE plantroom_frames_total counter\nplantroom_frames_total{port="/dev/a"} 1\n',
  )
  const whole = await (await ask('/metrics', { as: 'free' })).text()
  t.match(whole, /port="\/dev\/b"/)
  t.match(whole, /http_request_duration_seconds/)
})

t.test('a HEAD is treated like its GET', async (t) => {
  const { ask, asked } = await fenced(t)
  t.equal((await ask('/metrics', { method: 'HEAD' })).status, 401)
  const head = await ask('/metrics', { method: 'HEAD', as: 'admin' })
  t.same([head.status, await text(head.body ?? new Blob().stream())], [200, ''])
  t.match(asked, [{ method: 'GET', path: '/metrics' }])
})
