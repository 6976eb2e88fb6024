/** Modbus TCP to a line, on the real bundle: the answers a client gets. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { hexByte, lineOf } from './modbus-tcp-rig.ts'
import { dialMbap } from './peer/mbap-client.ts'

t.test('pipelined requests are answered in order, with their transaction ids', async (t) => {
  const { tcpPort } = await lineOf(t, { settings: { tcp_pipeline: 4 } })
  const client = await dialMbap(t, tcpPort)
  const ids = Array.from({ length: 40 }, (_, n) => (65_530 + n * 7) & 0xffff)
  for (const [n, id] of ids.entries()) client.ask(id, `0${1 + (n % 2)} 03 00 ${hexByte(n)} 00 01`)
  await until('all are answered', () => client.told.length === 40)
  t.strictSame(
    client.told,
    ids.map((id, n) => {
      const value = 100 * (1 + (n % 2)) + n
      return [id, `0${1 + (n % 2)} 03 02 ${hexByte(value >> 8)} ${hexByte(value & 0xff)}`]
    }),
  )
})

t.test('every function passes, with the exceptions of the unit; an unknown one is refused', async (t) => {
  const { tcpPort } = await lineOf(t)
  const client = await dialMbap(t, tcpPort)
  for (const [asked, told] of [
    ['01 06 00 05 12 34', '01 06 00 05 12 34'],
    ['01 10 00 06 00 02 04 00 01 00 02', '01 10 00 06 00 02'],
    ['01 03 00 05 00 03', '01 03 06 12 34 00 01 00 02'],
    ['01 16 00 05 00 FF 00 00', '01 16 00 05 00 FF 00 00'],
    ['01 17 00 05 00 02 00 07 00 01 02 00 09', '01 17 04 00 34 00 01'],
    ['01 05 00 00 FF 00', '01 05 00 00 FF 00'],
    ['01 0F 00 01 00 03 01 05', '01 0F 00 01 00 03'],
    ['01 01 00 00 00 05', '01 01 01 0B'],
    ['01 2B 0E 01 00', `01 2B 0E 01 83 FF 01 01 00 09 ${text('Plantroom')}`],
    ['01 03 00 63 00 02', '01 83 02'],
    ['01 02 00 00 00 01', '01 82 01'],
    ['01 08 00 00 00 00', '01 88 01'],
    ['01 03 00 00 00 7E', '01 83 03'],
    ['FF 03 00 00 00 01', 'FF 83 0A'],
    ['09 03 00 00 00 01', '09 83 0B'],
  ] as const)
    t.equal(await client.exchange(asked), told, asked)
})

t.test('a broadcast reaches every unit and is answered with nothing', async (t) => {
  const { tcpPort } = await lineOf(t)
  const client = await dialMbap(t, tcpPort)
  client.ask(1, '00 06 00 07 00 2A')
  client.ask(2, '01 03 00 07 00 01')
  client.ask(3, '02 03 00 07 00 01')
  await until('both reads are answered', () => client.told.length === 2)
  t.strictSame(client.told, [
    [2, '01 03 02 00 2A'],
    [3, '02 03 02 00 2A'],
  ])
})

t.test('a dead unit delays its own client, and costs no other client a reply', async (t) => {
  const { tcpPort, view } = await lineOf(t, { settings: { response_timeout_ms: 500 } })
  const [stubborn, other] = [await dialMbap(t, tcpPort), await dialMbap(t, tcpPort)]
  let isDone = false
  const asksTheDead = (async () => {
    const told = new Set<string>()
    while (!isDone) told.add(await stubborn.exchange('63 03 00 00 00 01'))
    return [...told]
  })()
  for (let n = 0; n < 60; n++)
    t.equal(await other.exchange(`01 03 00 ${hexByte(n)} 00 01`), `01 03 02 00 ${hexByte(100 + n)}`)
  isDone = true
  t.strictSame(await asksTheDead, ['63 83 0B'])
  t.match((await view()).counters, { tcpClients: 2, badReplies: 0 })
})

t.test('bytes that are not Modbus TCP end only that client, counted and reported with what was seen', async (t) => {
  const { gateway, tcpPort, view } = await lineOf(t)
  const [good, bad] = [await dialMbap(t, tcpPort), await dialMbap(t, tcpPort)]
  bad.ask(1, '01 03 00 00 00 01')
  bad.socket.write('GET / HTTP/1.1\r\n\r\n')
  await until('it is disconnected', bad.isClosed)
  t.strictSame(bad.told, [[1, '01 03 02 00 64']], 'what it asked before is answered')
  t.equal(await good.exchange('02 03 00 00 00 01'), '02 03 02 00 C8')
  t.match((await view()).counters, { tcpClients: 1, tcpMalformed: 1 })
  t.match(gateway.output(), /modbus tcp clients let go.*why=malformed.*protocol id is/)
})

t.test('a client that leaves withdraws its waiting requests; none of them is sent later', async (t) => {
  const { tcpPort, view } = await lineOf(t, {
    units: [1],
    // Long enough that no request follows before the client's end is known.
    say: (bytes) => [{ afterMs: 500, bytes }],
    settings: { local_echo: 'absent' },
  })
  const client = await dialMbap(t, tcpPort)
  for (let n = 0; n < 10; n++) client.ask(n, `01 06 00 ${hexByte(n)} 00 01`)
  await until('the first is out', async () => (await view()).counters.requests >= 1)
  client.socket.resetAndDestroy()
  await until('it is gone', async () => (await view()).counters.tcpClients === 0)
  const { requests } = (await view()).counters
  t.equal(requests, 1, 'the one that was under way when it left')
  await until('it is answered', async () => (await view()).counters.replies === 1)
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.match((await view()).counters, { requests: 1, tcpWithdrawn: 9 })
})

t.test('clients that reset the connection in the middle of a request leave their places to others', async (t) => {
  const { gateway, tcpPort, view } = await lineOf(t, { settings: { tcp_clients: 4 } })
  const clients = [await dialMbap(t, tcpPort), await dialMbap(t, tcpPort), await dialMbap(t, tcpPort)]
  for (const client of clients) await client.exchange('01 03 00 01 00 01')
  // It meets the bytes and the reset in one look, as when it is busy. No reply would show that nobody is there.
  process.kill(gateway.pid, 'SIGSTOP')
  for (const client of clients) {
    client.socket.write(Uint8Array.of(0, 1, 0))
    client.socket.resetAndDestroy()
  }
  await Promise.all(clients.map(({ isClosed }) => until('it is reset', isClosed)))
  process.kill(gateway.pid, 'SIGCONT')
  await until('they are gone', async () => (await view()).counters.tcpClients === 0)
})

function text(words: string): string {
  return [...Buffer.from(words)].map(hexByte).join(' ')
}
