/** The first phase over real sockets: hosts that behave, and hosts that do not. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { createShareOf, type ShareOf } from '#kit/net/address.ts'
import { KERNEL_BYTES } from '#kit/pure/memory-plan.ts'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../../core/memory.ts'
import type { HostDesk, HostLink, OpOutcome } from '../../core/ports.ts'
import { createOpServerOpener, type OpServerLimits } from '../../io/op-server.ts'
import { openDevice, openDevlistReply, openImportReply, requestBytes } from '../../wire/op.ts'

const device = { ...openDevice(new Uint8Array(312)), busId: '1-1', interfaces: 1 }
const LIMITS: OpServerLimits = {
  ...{ host: '127.0.0.1', port: 0, connections: 8, connectionsPerHost: 8, timeoutMs: 5000 },
  keepAlive: { idleS: 5, intervalS: 2, count: 3, userTimeoutMs: 11_000 },
}

interface Rig {
  clock: FakeClock
  port: number
  outcomes: OpOutcome[]
  links: HostLink[]
  close(): void
  /** Connects and sends; resolves with everything that comes until the end. */
  say(bytes: Uint8Array | string): Promise<Buffer>
  join(localAddress?: string): Promise<Socket>
}

/** A server whose desk gives 1-1 to any host that asks. */
async function start(
  t: Test,
  given: { limits?: Partial<OpServerLimits>; desk?: Partial<HostDesk>; shareOf?: ShareOf } = {},
): Promise<Rig> {
  const clock = fakeClock()
  const rig = { clock, outcomes: [] as OpOutcome[], links: [] as HostLink[] }
  const sockets = new Set<Socket>()
  const desk: HostDesk = {
    admits: () => true,
    list: () => [{ device, interfaces: [] }],
    async take(busId, link) {
      if (busId !== '1-1') return { status: 'no_device' }
      rig.links.push(link)
      return { status: 'ok', device }
    },
    ended: (outcome) => void rig.outcomes.push(outcome),
    ...given.desk,
  }
  const own = (promise: Promise<unknown>) => void promise.catch((error) => t.fail(String(error)))
  const limits = { ...LIMITS, ...given.limits }
  const { shareOf = createShareOf([]) } = given
  const server = createOpServerOpener({ limits, shareOf, clock, log: silentLog, own })(desk)
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
    for (const link of rig.links) link.close()
  })
  async function join(localAddress = '127.0.0.1'): Promise<Socket> {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress })
    sockets.add(socket)
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  async function say(bytes: Uint8Array | string): Promise<Buffer> {
    const socket = await join()
    socket.write(bytes)
    return await rest(socket)
  }
  return { ...rig, port: server.port, close: () => server.close(), say, join }
}

/** Everything that comes until the server ends it. */
async function rest(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part))
  await new Promise<void>((resolve) => {
    if (socket.readableEnded || socket.closed) resolve()
    socket.once('end', resolve).once('close', resolve)
  })
  return Buffer.concat(parts)
}

async function until(isSo: () => boolean): Promise<boolean> {
  for (let i = 0; i < 1000 && !isSo(); i++) await new Promise((resolve) => systemClock.after(10, () => resolve(true)))
  return isSo()
}

t.test('answers a list, and hangs up', async (t) => {
  const rig = await start(t)
  const reply = await rig.say(requestBytes({ kind: 'devlist' }))
  t.equal(openDevlistReply(reply)[0]?.device.busId, '1-1')
  t.ok(await until(() => rig.outcomes[0] === 'listed'))
})

t.test('answers an import and leaves the connection to the code that took it', async (t) => {
  const rig = await start(t)
  const host = await rig.join()
  host.write(requestBytes({ kind: 'import', busId: '1-1' }))
  const [reply] = await once(host, 'data')
  t.match(openImportReply(reply), { status: 'ok', device: { busId: '1-1' } })
  t.same(rig.outcomes, ['imported'])
  await rig.clock.run(60_000)
  t.notOk(host.closed, 'its time limit no longer applies')
  rig.close()
  t.notOk(host.closed, 'nor does the end of the server')
})

t.test('data that a host sends after its import is not read', async (t) => {
  const rig = await start(t)
  const host = await rig.join()
  host.write(Buffer.concat([requestBytes({ kind: 'import', busId: '1-1' }), Buffer.from('for the kernel')]))
  await once(host, 'data')
  const [link] = rig.links
  t.equal(link?.counts().receivedBytes, 54)
  t.ok(link && link.fd > 2)
  // What the kernel would find: read by a copy of the descriptor.
  const { readSync } = await import('node:fs')
  const slab = Buffer.alloc(100)
  t.equal(slab.subarray(0, readSync(link?.fd ?? -1, slab)).toString(), 'for the kernel')
})

t.test('refuses an import with the status, and hangs up', async (t) => {
  const rig = await start(t)
  t.same(openImportReply(await rig.say(requestBytes({ kind: 'import', busId: '9-9' }))), { status: 'no_device' })
  t.ok(await until(() => rig.outcomes[0] === 'import_refused'))
})

t.test('a request that comes byte by byte is understood', async (t) => {
  const rig = await start(t)
  const host = await rig.join()
  for (const byte of requestBytes({ kind: 'import', busId: '1-1' })) {
    host.write(Uint8Array.of(byte))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const [reply] = await once(host, 'data')
  t.equal(openImportReply(reply).status, 'ok')
})

t.test('a host that is not allowed is closed before a byte is read', async (t) => {
  const rig = await start(t, { desk: { admits: () => false } })
  t.equal((await rig.say(requestBytes({ kind: 'devlist' }))).length, 0)
  t.same(rig.outcomes, ['not_allowed'])
  t.same(rig.links, [])
})

t.test('anything that is not USB/IP gets no answer', async (t) => {
  const rig = await start(t)
  const hostile = [
    'GET / HTTP/1.1\r\n\r\n',
    Buffer.alloc(100_000, 0xff),
    Buffer.from('0111000300000000', 'hex'),
    Buffer.concat([Buffer.from('0111800300000000', 'hex'), Buffer.alloc(32, 0x41)]),
    Buffer.concat([Buffer.from('0111800300000000', 'hex'), Buffer.from('../../../etc/passwd'.padEnd(32, '\0'))]),
  ]
  for (const bytes of hostile) t.equal((await rig.say(bytes)).length, 0)
  t.ok(await until(() => rig.outcomes.length === hostile.length))
  t.same(new Set(rig.outcomes), new Set(['not_understood']))
})

t.test('a host that sends nothing, or half a request, is closed when its time is over', async (t) => {
  const rig = await start(t)
  const silent = await rig.join()
  const half = await rig.join()
  half.write(requestBytes({ kind: 'import', busId: '1-1' }).subarray(0, 20))
  const ends = Promise.all([rest(silent), rest(half)])
  t.ok(await until(() => rig.clock.pending() === 2), 'the time of both runs')
  await rig.clock.run(4900)
  t.same(rig.outcomes, [])
  await rig.clock.run(200)
  t.same(
    (await ends).map(({ length }) => length),
    [0, 0],
  )
  t.same(rig.outcomes, ['too_slow', 'too_slow'])
})

t.test('a host that takes its list and does not hang up is closed when its time is over', async (t) => {
  const rig = await start(t)
  const host = connect({ port: rig.port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => host.destroy())
  host.write(requestBytes({ kind: 'devlist' }))
  await rest(host)
  t.same(rig.outcomes, [])
  await rig.clock.run(5000)
  t.same(rig.outcomes, ['listed'])
})

t.test('hosts that leave in the middle of a request are forgotten', async (t) => {
  const rig = await start(t)
  const [gone, reset] = [await rig.join(), await rig.join()]
  gone.end(Buffer.from('0111', 'hex'))
  reset.resetAndDestroy()
  t.ok(await until(() => rig.outcomes.length === 2))
  t.same(rig.outcomes, ['went_away', 'went_away'])
})

t.test('of a thousand connections the limit is held, the rest is closed, and then all is as before', async (t) => {
  const rig = await start(t, { limits: { connections: 32, connectionsPerHost: 32 } })
  const hosts = await Promise.all(Array.from({ length: 1000 }, () => rig.join()))
  t.ok(await until(() => rig.outcomes.length === 968), `${rig.outcomes.length} closed at once`)
  t.same(new Set(rig.outcomes), new Set(['too_many']))
  await rig.clock.run(5001)
  t.equal(rig.outcomes.length, 1000)
  for (const host of hosts) host.destroy()
  t.equal(openDevlistReply(await rig.say(requestBytes({ kind: 'devlist' }))).length, 1)
})

t.test('one address cannot hold all places', async (t) => {
  const rig = await start(t, { limits: { connections: 8, connectionsPerHost: 2 } })
  await Promise.all([rig.join(), rig.join(), rig.join()])
  t.ok(await until(() => rig.outcomes[0] === 'too_many'))
  const other = await rig.join('127.0.0.2')
  other.write(requestBytes({ kind: 'devlist' }))
  t.equal(openDevlistReply(await rest(other)).length, 1)
})

t.test('addresses of one network, such as a /64, share its places', async (t) => {
  const shareOf = (address: string) => (address.startsWith('127.0.0.') ? 'neighbours' : address)
  const rig = await start(t, { limits: { connections: 8, connectionsPerHost: 2 }, shareOf })
  for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']) await rig.join(address)
  t.ok(await until(() => rig.outcomes.length === 2))
  const other = await rig.join('127.0.9.1')
  other.write(requestBytes({ kind: 'devlist' }))
  t.equal(openDevlistReply(await rest(other)).length, 1)
  t.same(rig.outcomes.slice(0, 2), ['too_many', 'too_many'])
})

t.test(
  'an address that holds every place makes room for another: a connection without a request goes first',
  async (t) => {
    const asked = Promise.withResolvers<void>()
    const desk: Partial<HostDesk> = {
      async take() {
        await asked.promise
        return { status: 'no_device' }
      },
    }
    const rig = await start(t, { limits: { connections: 4, connectionsPerHost: 4 }, desk })
    const busy = await rig.join()
    busy.write(requestBytes({ kind: 'import', busId: '1-1' }))
    const silent = [await rig.join(), await rig.join(), await rig.join()]
    const ended = silent.map((socket) => once(socket, 'close'))
    const other = await rig.join('127.0.0.2')
    other.write(requestBytes({ kind: 'devlist' }))
    t.equal(openDevlistReply(await rest(other)).length, 1)
    await Promise.race(ended)
    t.same(
      rig.outcomes.filter((outcome) => outcome === 'too_many'),
      ['too_many'],
    )
    asked.resolve()
    t.equal((await rest(busy)).length, 8, 'the one that waited for the kernel gets its answer')
  },
)

t.test('IPv4 on a socket for both families counts as IPv4', async (t) => {
  const seen: string[] = []
  const admits = (address: string) => seen.push(address) > 0
  const rig = await start(t, { limits: { host: '::' }, desk: { admits } })
  await rig.say(requestBytes({ kind: 'devlist' }))
  t.same(seen, ['127.0.0.1'])
})

t.test('a host that leaves while the kernel is asked is cut off', async (t) => {
  const asked = Promise.withResolvers<void>()
  const taken = Promise.withResolvers<HostLink>()
  let wasCut = false
  const rig = await start(t, {
    desk: {
      async take(_, link) {
        taken.resolve(link)
        await asked.promise
        const cut = link.cut.bind(link)
        link.cut = () => {
          wasCut = true
          cut()
        }
        return { status: 'ok', device }
      },
    },
  })
  const host = await rig.join()
  host.write(requestBytes({ kind: 'import', busId: '1-1' }))
  const link = await taken.promise
  const gone = new Promise<void>((resolve) => link.onceEnded(resolve))
  host.resetAndDestroy()
  await gone
  asked.resolve()
  t.ok(await until(() => rig.outcomes.length === 1))
  t.ok(wasCut)
})

t.test('says which port another program uses', async (t) => {
  const rig = await start(t)
  await t.rejects(start(t, { limits: { port: rig.port } }), { code: 'usbip_port_taken', message: /EADDRINUSE/ })
})

t.test('the most hosts allowed, in the middle of their requests, take no more than their row says', async (t) => {
  const connections = 200
  const row = rowOf(memoryPlan().rows, 'USB/IP hosts that are asking', { 'usbip.connections': connections })
  const rig = await start(t, { limits: { connections: connections + 1, connectionsPerHost: connections + 1 } })
  const half = requestBytes({ kind: 'import', busId: '1-1' }).subarray(0, 39)
  async function come(): Promise<void> {
    const host = await rig.join()
    await new Promise((resolve) => host.write(half, resolve))
  }
  await come()
  const before = await heldBytes()
  for (let at = 0; at < connections; at++) await come()
  t.ok(await until(() => rig.clock.pending() === connections + 1), 'all are there')
  const bytes = ((await heldBytes()) - before) / connections
  t.ok(bytes < (row.eachBytes ?? 0) - KERNEL_BYTES, `${bytes} bytes, and those of the kernel, of ${row.eachBytes}`)
})
