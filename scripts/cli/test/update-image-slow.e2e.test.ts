/** Firmware images that are fetched over a slow connection: a killed or withdrawn download leaves nothing that could be installed. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { until } from '#kit/test/until.ts'
import { boardStage } from './board-stage.ts'

/** Passes on what goes to the update server; a download stands still at its half until it is released. */
async function slowServer(t: Test) {
  const halves = Promise.withResolvers<void>()
  const goes = Promise.withResolvers<void>()
  let isSlow = true
  const open = async (url: string) => {
    const server = createServer((request, response) => void pass(url, request, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  async function pass(url: string, request: IncomingMessage, response: ServerResponse) {
    const body = await buffer(request)
    const { host: _, ...headers } = request.headers
    const asked = ask(url + request.url, { method: 'POST', headers, agent: false })
    asked.end(body)
    asked.on('error', () => response.destroy())
    asked.on('response', async (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.on('error', () => response.destroy())
      if (request.url !== '/pull_update' || !isSlow) return void answer.pipe(response)
      isSlow = false
      // So small a part that the rest does not fit the buffers between.
      answer.once('data', (piece: Buffer) => {
        answer.pause()
        response.write(piece)
        halves.resolve()
        void goes.promise.then(() => answer.pipe(response))
      })
    })
  }
  return { open, halves: halves.promise, go: () => goes.resolve() }
}

t.test('docs/updates.md: one that is killed while it downloads goes on where it was', async (t) => {
  const slow = await slowServer(t)
  const { begin, installed, left, path, publish, slot, update } = await boardStage(t, { url: slow.open })
  await publish('2.0.0')
  const { child, said } = begin('--yes')
  await slow.halves
  await until('some of it is here', () => existsSync(path('update/download.part')))
  child.kill('SIGKILL')
  await said
  slow.go()
  t.match(await update('--settle'), { code: 0, out: /no update was cut off/ })
  t.match(await update('--yes'), { code: 0 })
  t.same([slot(), installed(), left()], ['2.0.0', ['2.0.0'], []])
})

t.test(
  'docs/updates.md: one that is withdrawn while it is fetched is not installed, and not asked for again',
  async (t) => {
    const slow = await slowServer(t)
    const { begin, installed, left, publish, server, slot, update } = await boardStage(t, { url: slow.open })
    // More than the buffers between take.
    await publish('2.0.0', { bytes: 24_000_000 })
    const { said } = begin('--yes')
    await slow.halves
    await server.admin('PATCH', '/admin/api/updates/2.0.0@panel', { withdrawn: true })
    slow.go()
    t.match(await said, { code: 1, err: /answered 410: .*was withdrawn/ })
    t.match(await update('--yes'), { code: 0, out: /already current/ })
    t.same([slot(), installed()], ['1.0.0', []])
    await publish('2.0.1')
    t.match(await update('--yes'), { code: 0 })
    t.same([slot(), installed(), left()], ['2.0.1', ['2.0.1'], []], 'its part is in no other')
  },
)
