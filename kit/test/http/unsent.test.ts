import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createMetrics } from '#kit/http/metrics.ts'
import type { Route } from '#kit/http/route.ts'
import type { HttpServerOptions } from '#kit/http/server.ts'
import { createShareOf } from '#kit/net/address.ts'
import { until } from '../until.ts'
import { serve } from './server-here.ts'

/** Far more than the kernel keeps of a connection on loopback. */
const LONG = 12_000_000
const rows = 'x'.repeat(LONG)
const long: Route = { method: 'GET', path: '/api/rows', who: 'anyone', summary: 'Test', handle: () => rows }
const short: Route = { method: 'GET', path: '/api/status', who: 'anyone', summary: 'Test', handle: () => ({}) }

async function guarded(t: Parameters<typeof serve>[0], options: Parameters<typeof serve>[1] = {}) {
  const metrics = createMetrics({ process: false })
  const clock = fakeClock()
  const server = await serve(t, { routes: [long, short], metrics, clock, ...options })
  const figure = async (name: string) =>
    Number(new RegExp(`^plantroom_http_${name} (\\d+)$`, 'm').exec(await metrics.text())?.[1])
  return {
    ...server,
    clock,
    unsent: () => figure('unsent_bytes'),
    stalled: () => figure('unread_answers_ended_total\\{why="stalled"\\}'),
    greedy: () => figure('unread_answers_ended_total\\{why="greedy"\\}'),
  }
}

/** A client that reads when the test tells it to. */
async function come(t: Parameters<typeof serve>[0], port: number, localAddress = '127.0.0.1') {
  const socket: Socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  let text = ''
  let isReading = false
  const enough = { bytes: Number.POSITIVE_INFINITY, reached: () => {} }
  socket.on('data', (bytes: Buffer) => {
    if (text.length < 1000) text += bytes.toString('latin1')
    if (socket.bytesRead < enough.bytes) return
    socket.pause()
    enough.reached()
  })
  socket.pause()
  return {
    socket,
    /** Reads that much and no more. */
    read: (bytes: number) =>
      new Promise<void>((reached) => {
        Object.assign(enough, { bytes: socket.bytesRead + bytes, reached })
        socket.resume()
      }),
    ask: (path = '/api/rows', times = 1) => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times)),
    /** Reads on. @returns the status of the first answer */
    async status(): Promise<number> {
      if (!isReading) socket.resume()
      isReading = true
      await until('an answer came', () => text.includes('\r\n'))
      return Number(text.split(' ')[1])
    },
  }
}

t.test('a client that leaves answers unread gets 503 before more are made, and others are served', async (t) => {
  const { port, unsent } = await guarded(t, { http: { unsent_bytes_per_address: 1.5 * LONG } })
  const first = await come(t, port)
  first.ask()
  await until('it waits', async () => (await unsent()) > 1_000_000)
  const second = await come(t, port)
  second.ask()
  t.equal(await second.status(), 503, 'it does not fit in addition to the other')
  const little = await come(t, port)
  little.ask('/api/status')
  t.equal(await little.status(), 200, 'a short one does')
  const other = await come(t, port, '127.0.0.9')
  other.ask()
  t.equal(await other.status(), 200)
  t.equal(await first.status(), 200)
  await until('all was read', async () => (await unsent()) === 0)
  const again = await come(t, port)
  again.ask()
  t.equal(await again.status(), 200)
})

t.test('a client that reads each answer at once never gets that 503, on however many connections', async (t) => {
  const { port, unsent } = await guarded(t, { http: { unsent_bytes_per_address: 1.5 * LONG } })
  const readers = await Promise.all(Array.from({ length: 6 }, () => come(t, port)))
  for (const reader of readers) {
    reader.ask()
    t.equal(await reader.status(), 200)
    await until('all was read', async () => (await unsent()) === 0)
  }
})

t.test('for an address that holds more than its limit no answer is made at all', async (t) => {
  let made = 0
  const counted: Route = { ...long, handle: () => rows.slice(made++) }
  const { port, unsent } = await guarded(t, { routes: [counted, short], http: { unsent_bytes_per_address: 1_048_576 } })
  const first = await come(t, port)
  first.ask()
  await until('it waits', async () => (await unsent()) > 1_048_576)
  for (const path of ['/api/rows', '/api/status', '/api/none']) {
    const next = await come(t, port)
    next.ask(path)
    t.equal(await next.status(), 503, path)
  }
  t.equal(made, 1)
})

t.test('many requests sent at once on one connection hold no more than one answer beyond the limit', async (t) => {
  const { port, unsent } = await guarded(t, { http: { unsent_bytes_per_address: LONG } })
  const greedy = await come(t, port)
  greedy.ask('/api/rows', 60)
  await until('it waits', async () => (await unsent()) > 1_000_000)
  t.ok((await unsent()) < 1.2 * LONG, `${await unsent()}`)
})

t.test('a client that reads nothing for http.stalled_ms is disconnected, one that reads slowly is not', async (t) => {
  const { port, clock, unsent, stalled } = await guarded(t, {
    http: { stalled_ms: 20_000, unsent_bytes_per_address: 4 * LONG },
  })
  const [still, slow, idle] = [await come(t, port), await come(t, port), await come(t, port)]
  still.ask()
  slow.ask()
  await until('both wait', async () => (await unsent()) > 1.1 * LONG)
  for (let quarter = 0; quarter < 5; quarter++) {
    clock.advance(5000)
    await slow.read(1_000_000)
  }
  await until('it was ended', async () => (await stalled()) === 1)
  const ended = once(still.socket, 'close')
  still.socket.resume()
  await ended
  t.equal(slow.socket.destroyed, false)
  t.equal(idle.socket.destroyed, false, 'nothing waits for it')
})

t.test('if all room is taken the greediest address makes room, and a proxy has no limit of its own', async (t) => {
  const options: Partial<HttpServerOptions> = { shareOf: createShareOf(['127.0.0.8']) }
  const http = { unsent_bytes: 4 * LONG, unsent_bytes_per_address: 3 * LONG }
  const { port, clock, unsent, greedy } = await guarded(t, { ...options, http })
  const modest = await come(t, port, '127.0.0.7')
  modest.ask()
  const proxied = [await come(t, port, '127.0.0.8'), await come(t, port, '127.0.0.8'), await come(t, port, '127.0.0.8')]
  for (const each of proxied) each.ask()
  await until('they wait', async () => (await unsent()) > 2 * LONG)
  for (let at = 0; at < 3; at++) {
    const next = await come(t, port, '127.0.0.8')
    next.ask()
    await until('it was made', async () => (await greedy()) > 0 || (await unsent()) > 3 * LONG)
  }
  clock.advance(5000)
  t.ok((await greedy()) > 0)
  t.ok((await unsent()) <= 4 * LONG)
  t.equal(await modest.status(), 200)
})

t.test('a waiting text is counted in bytes, however few characters it has', async (t) => {
  const characters = LONG / 3
  const asian: Route = { ...long, handle: () => '\u6f22'.repeat(characters) }
  const { port, unsent } = await guarded(t, { routes: [asian, short], http: { unsent_bytes_per_address: 2 * LONG } })
  const first = await come(t, port)
  first.ask()
  await until('it waits', async () => (await unsent()) > 1_000_000)
  t.ok((await unsent()) > 2 * characters, `${await unsent()} of ${LONG} bytes`)
})
