/** Tests of http/unsent.ts, and of what a sign-out ends at once. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { fakeClock } from '#kit/clock-fake.ts'
import { Reply, type Route } from '../../http/route.ts'
import { createLongAnswers } from '../../http/unsent.ts'
import { serve } from './server-here.ts'

/** An endless download, and a socket, of a caller that is signed in while `isIn`. */
async function endless(t: Test) {
  const clock = fakeClock()
  const state = { isIn: true }
  const sources: Readable[] = []
  const download: Route = {
    method: 'GET',
    path: '/api/capture',
    who: 'user',
    summary: 'Never ends',
    handle() {
      const source = new Readable({ read() {} })
      source.push('begin')
      sources.push(source)
      return new Reply(200, source, { 'content-type': 'application/octet-stream' })
    },
  }
  const sockets = [{ path: '/ws', who: 'user' as const, summary: 'Test', open: () => {} }]
  const here = await serve(t, { clock, sockets, routes: [download], isStillSignedIn: () => state.isIn })
  const reader = (await here.ask('/api/capture', { as: 'viewer' })).body?.getReader()
  const read = async () => new TextDecoder().decode((await reader?.read())?.value)
  t.equal(await read(), 'begin')
  return { ...here, clock, state, read, sources }
}

t.test('a sign-out ends downloads and sockets at once, and releases their sources', async (t) => {
  const { server, state, read, sources, url } = await endless(t)
  const client = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers: { authorization: 'Bearer viewer' } })
  await new Promise((resolve) => client.once('open', resolve))
  const closed = new Promise((resolve) => client.once('close', (code, why) => resolve([code, String(why)])))
  server.endSignedOut()
  sources[0]?.push('on')
  t.equal(await read(), 'on', 'a caller that is signed in continues')
  state.isIn = false
  server.endSignedOut()
  await t.rejects(read())
  t.same(await closed, [1008, 'signed out'])
  t.equal(sources[0]?.destroyed, true)
})

t.test('the downloads of an expired token end by the next heartbeat', async (t) => {
  const { clock, state, read } = await endless(t)
  state.isIn = false
  clock.advance(30_000)
  await t.rejects(read())
})

t.test('an answer whose client left while it was being started is dropped', async (t) => {
  let asked = 0
  const answers = createLongAnswers(() => {
    asked++
    return true
  })
  const answer = new ServerResponse(new IncomingMessage(new Socket()))
  answer.destroy()
  answers.add({ name: 'viewer', role: 'viewer' }, answer)
  answers.endSignedOut()
  t.equal(asked, 0)
})
