/** Tests of release/board-socket.ts: boards that hold whoever asks them. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { Value } from 'typebox/value'
import { systemClock } from '../../clock.ts'
import { boardAt } from '../../release/board-socket.ts'
import { imageTable } from '../../release/update-settings.ts'

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n'
const LIMITS = { answer_ms: 200, install_ms: 200 }
const FOREVER_MS = 3_600_000

/** Its name has to be short. */
function socketOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantroom-board-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return join(folder, 'ota.sock')
}

/** Takes all that comes, says `first`, and then one sign every few ms. */
async function trickling(t: Test, first: string, sign: string): Promise<string> {
  const socket = socketOf(t)
  const server: Server = createServer((client) => {
    client.on('error', () => {}).resume()
    client.write(first)
    const more = setInterval(() => client.write(sign), 10)
    client.on('close', () => clearInterval(more))
  })
  server.listen(socket)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return socket
}

const boardOf = (socket: string, limits: Partial<typeof LIMITS> = {}) =>
  boardAt({ ...Value.Create(imageTable), ...LIMITS, ...limits, socket }, systemClock)

async function* imageOf(pieces: number) {
  for (let piece = 0; piece < pieces; piece++) yield Buffer.alloc(1000)
}

const ways = [
  { what: 'the lines of its head', first: 'HTTP/1.1 200 OK\r\n', sign: 'a: b\r\n' },
  { what: 'the head of another answer', first: '', sign: 'HTTP/1.1 102 Processing\r\n\r\n' },
  { what: 'the body of its answer', first: HEAD, sign: ' ' },
]
for (const { first, sign, what } of ways) {
  t.test(`a board that sends ${what} byte by byte is given up`, async (t) => {
    const socket = await trickling(t, first, sign)
    const silent = { code: 'image_board_silent', message: /does not answer .* \(not done within 200 ms\)/ }
    await t.rejects(boardOf(socket).about(), silent)
    const limits = first === HEAD ? { install_ms: FOREVER_MS } : { answer_ms: FOREVER_MS }
    await t.rejects(boardOf(socket, limits).install(imageOf(3), 3000), silent)
  })
}

t.test('a board that stops taking an image, and says that it works on it, is given up', async (t) => {
  const socket = socketOf(t)
  const server = createServer((client) => {
    client.on('error', () => {})
    client.on('data', () => client.pause())
    const more = setInterval(() => client.write('HTTP/1.1 102 Processing\r\n\r\n'), 10)
    client.on('close', () => clearInterval(more))
    t.teardown(() => client.destroy())
  })
  server.listen(socket)
  await once(server, 'listening')
  t.teardown(() => server.close())
  await t.rejects(boardOf(socket).install(imageOf(10_000), 10_000_000), { code: 'image_board_silent' })
})
