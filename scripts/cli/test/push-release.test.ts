/** Tests of scripts/cli/push-release.ts: an upload ends, whatever the server does. */
import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { type Push, pushRelease } from '../push-release.ts'

const BYTES = 16_777_216

async function pushTo(t: Test, listener: RequestListener, stallMs = 60_000): Promise<string | null> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const file = join(t.testdir({}), 'file')
  writeFileSync(file, Buffer.alloc(BYTES))
  const push: Push = {
    ...{ kind: 'installer', file, sizeBytes: BYTES, sha256: 'a'.repeat(64), version: '1.0.0', bundle: 'b'.repeat(64) },
    ...{ release: '{}', encryptionKey: undefined },
  }
  const target = {
    server: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/below/`),
    updateKey: 'x',
  }
  return pushRelease(push, { ...target, stallMs, onSent: () => {} })
}

t.test('a refusal before the upload is whole is told at once', async (t) => {
  const refused: RequestListener = (_, response) => {
    response.writeHead(401, { 'Content-Type': 'application/json' })
    response.end('{"error":"unauthorized","message":"The update key is wrong."}')
  }
  await t.rejects(pushTo(t, refused), { code: 'push_failed', message: /with 401: The update key is wrong\./ })
})

t.test('a server that hangs up in the middle fails the upload', async (t) => {
  await t.rejects(
    pushTo(t, (request) => request.once('data', () => request.destroy())),
    {
      code: 'push_failed',
      message: /cannot be reached, or hung up \(E/,
    },
  )
})

t.test('a server that takes nothing, or answers nothing, is given up', async (t) => {
  await t.rejects(
    pushTo(t, () => {}, 50),
    { code: 'push_failed', message: /nothing moved for 50 ms/ },
  )
  await t.rejects(
    pushTo(t, (request) => request.resume(), 50),
    { code: 'push_failed', message: /nothing moved/ },
  )
  const half: RequestListener = (request, response) => {
    request.resume().once('end', () => response.writeHead(200).write('{"filename":'))
  }
  await t.rejects(pushTo(t, half, 50), { code: 'push_failed' })
})

t.test('an answer that is cut off fails the upload', async (t) => {
  const cut: RequestListener = (request, response) => {
    request.resume().once('end', () => {
      response.writeHead(200, { 'Content-Length': 100 }).write('{"filename":')
      setImmediate(() => response.destroy())
    })
  }
  await t.rejects(pushTo(t, cut), { code: 'push_failed', message: /cut off/ })
})

t.test('the path of the server is kept', async (t) => {
  const answer = {
    filename: 'plantroom-1.0.0.run',
    version: '1.0.0',
    checksum: 'a'.repeat(64),
    size: BYTES,
    bundle_hash: null,
  }
  const taken: RequestListener = (request, response) => {
    request
      .resume()
      .once('end', () => response.end(request.url === '/below/push_installer' ? JSON.stringify(answer) : '{}'))
  }
  t.equal(await pushTo(t, taken), null)
})
