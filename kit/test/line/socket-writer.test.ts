import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { SocketWriter } from '#kit/line/raw-sockets.ts'
import { CLIENT_BYTES } from '#kit/pure/memory-plan.ts'
import { heldBytes } from '#kit/test/heap.ts'
import { until } from '#kit/test/until.ts'

/** Writers to clients that read nothing yet; the kernel takes no more for them. */
async function writersHere(t: Test, many: number) {
  const server = createServer({ pauseOnConnect: true })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as { port: number }
  const made: { client: Socket; socket: Socket; writer: SocketWriter; filled: number; emptied: number }[] = []
  for (let at = 0; at < many; at++) {
    const client = connect(port, '127.0.0.1').pause()
    t.teardown(() => client.destroy())
    const [socket] = (await once(server, 'connection')) as [Socket]
    socket.on('error', () => {})
    t.teardown(() => socket.destroy())
    const one = { client, socket, writer: new SocketWriter(socket, () => void one.emptied++), filled: 0, emptied: 0 }
    made.push(one)
  }
  for (let turns = 0; turns < 3; turns++) {
    for (const one of made)
      for (; one.writer.waitingBytes === 0; one.filled += 1024) one.writer.write(new Uint8Array(1024))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  for (const one of made) one.emptied = 0
  return made
}

t.test('waiting bytes for a slow client are sent in order, and its end is reported once', async (t) => {
  const [one] = await writersHere(t, 1)
  if (!one) return
  const { client, filled, writer } = one
  const texts = Array.from({ length: 3000 }, (_, at) => (at % 100 === 0 ? `${at}`.repeat(2000) : `<${at}>`))
  for (const text of texts) writer.write(Buffer.from(text))
  t.ok(writer.waitingBytes > texts.join('').length)
  t.equal(one.emptied, 0)
  let heard = ''
  client.on('data', (bytes) => {
    heard += bytes
  })
  client.resume()
  await until('all is there', () => heard.length >= filled + texts.join('').length)
  t.equal(heard.slice(filled), texts.join(''))
  await until('it is told', () => one.emptied > 0)
  t.equal(one.emptied, 1)
  t.equal(writer.waitingBytes, 0)
})

for (const [who, end] of [
  ['a client that is disconnected', ({ writer }: { writer: SocketWriter }) => writer.end()],
  [
    'a client that has sent everything',
    ({ client, socket }: { client: Socket; socket: Socket }) => {
      client.end()
      socket.resume()
    },
  ],
] as const)
  t.test(`${who} gets all that waited`, async (t) => {
    const [one] = await writersHere(t, 1)
    if (!one) return
    for (let at = 0; at < 1000; at++) one.writer.write(Buffer.from('abc'))
    end(one)
    await new Promise((resolve) => setTimeout(resolve, 5))
    let heard = 0
    one.client.on('data', (bytes) => {
      heard += bytes.length
    })
    one.client.resume()
    await once(one.client, 'close')
    t.equal(heard, one.filled + 3000)
  })

t.test('a backlog of single bytes fits the row of a client, beside its bytes', async (t) => {
  const many = 8
  const backlog = 65_536
  // After this V8 has compiled and optimised the code.
  for (const { client } of await writersHere(t, many)) client.destroy()
  const before = await heldBytes()
  const made = await writersHere(t, many)
  for (const { writer } of made) while (writer.waitingBytes < backlog) writer.write(Uint8Array.of(7))
  const bytes = (await heldBytes()) - before
  t.ok(bytes < many * (backlog + 2 * CLIENT_BYTES), `${bytes / many} bytes a client with its other end`)
})
