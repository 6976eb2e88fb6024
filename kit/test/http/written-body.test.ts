/** Tests of bodies that are written piece by piece: `WrittenBody` of http/route.ts. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { createMetrics } from '../../http/metrics.ts'
import { Reply, type Route, type Writing, WrittenBody } from '../../http/route.ts'
import { serve } from './server-here.ts'

const BYTES = 4_000_000

/** A server whose `/file` is written so. */
async function serving(t: Test, writeAll: (writing: Writing) => Promise<void>) {
  const file: Route = {
    method: 'GET',
    path: '/file',
    who: 'user',
    summary: 'Test',
    handle: () => new Reply(206, new WrittenBody(writeAll), { 'content-length': String(BYTES), 'x-own': 'yes' }),
  }
  const metrics = createMetrics({ process: false })
  const state = { isIn: true }
  const here = await serve(t, { routes: [file], metrics, isStillSignedIn: () => state.isIn })
  return { ...here, metrics, state }
}

t.test('one buffer serves for all pieces, each of which is sent as it was when it was written', async (t) => {
  const { ask, metrics } = await serving(t, async ({ write }) => {
    const piece = Buffer.alloc(BYTES / 8)
    for (let at = 0; at < 8; at++) await write(piece.fill(at))
    piece.fill(9)
  })
  const answer = await ask('/file', { as: 'viewer' })
  const bytes = Buffer.from(await answer.arrayBuffer())
  t.equal(answer.status, 206)
  t.match(Object.fromEntries(answer.headers), { 'x-own': 'yes', 'cache-control': 'no-store' })
  t.equal(bytes.length, BYTES)
  for (let at = 0; at < 8; at++)
    t.ok(
      bytes.subarray((at * BYTES) / 8, ((at + 1) * BYTES) / 8).every((byte) => byte === at),
      `piece ${at}`,
    )
  t.match(await metrics.text(), /duration_seconds_count\{[^}]*route="\/file",status="2xx"\} 1/)
})

t.test('a HEAD gets the headers, and the writer is told that nobody takes the rest', async (t) => {
  let fault: unknown
  const { ask } = await serving(t, async ({ write }) => {
    await write(Buffer.alloc(10)).catch((error) => {
      fault = error
      throw error
    })
  })
  const answer = await ask('/file', { as: 'viewer', method: 'HEAD' })
  t.equal(answer.headers.get('content-length'), String(BYTES))
  t.equal(await answer.text(), '')
  t.match(fault, { code: 'client_gone' })
})

t.test('a writer that throws, or cuts, ends the connection: the answer is not taken for whole', async (t) => {
  for (const end of ['throw', 'cut'] as const) {
    const { ask } = await serving(t, async ({ cut, write }) => {
      await write(Buffer.alloc(10))
      if (end === 'cut') cut()
      else throw new Error('the disk is gone')
    })
    const answer = await ask('/file', { as: 'viewer' })
    await t.rejects(answer.arrayBuffer(), end)
  }
})

t.test('a client that leaves, and a sign-out, end a write that waits', async (t) => {
  for (const end of ['leave', 'sign out'] as const) {
    const ended = Promise.withResolvers<unknown>()
    const { port, server, state } = await serving(t, async ({ write }) => {
      try {
        // More than sockets of loopback hold.
        for (;;) await write(Buffer.alloc(BYTES))
      } catch (fault) {
        ended.resolve(fault)
        throw fault
      }
    })
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write('GET /file HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer viewer\r\n\r\n')
    await once(socket, 'readable')
    state.isIn = false
    if (end === 'leave') socket.destroy()
    else server.endSignedOut()
    t.match(await ended.promise, { code: 'client_gone' }, end)
    socket.destroy()
  }
})
