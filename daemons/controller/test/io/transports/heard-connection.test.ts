/** Hostile or broken devices: each is limited, and reported once. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { systemClock, wait } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { holdsLater } from '#kit/test/holds.ts'
import { until } from '#kit/test/until.ts'
import type { ConnectionEvents } from '../../../core/drivers/driver.ts'
import type { Row } from '../../../core/site/book.ts'
import { createDriverWorld } from '../../../io/driver-world.ts'
import { HeardBudget, KeptBytes } from '../../../io/transports/bounds.ts'
import { HeardConnection } from '../../../io/transports/heard-connection.ts'
import type { WireEvents } from '../../../io/transports/tcp.ts'
import { WORLD_LIMITS } from '../../core/drivers/host-stage.ts'
import { toyAmp, toyStage, toyUdpAmp } from '../../core/drivers/toy-stage.ts'

const at = (kind: string, port: number) => ({ transport: { kind, host: '127.0.0.1', port } })

t.test('a message that never ends is dropped with its tail, and reported once', async (t) => {
  const amp = await toyAmp(t)
  const { reading, said } = toyStage(t, at('tcp', amp.port))
  await until('it is connected', () => amp.sockets.size === 1)
  for (let n = 0; n < 20; n++) amp.say('x'.repeat(200))
  amp.say('VOL 9\r\nVOL 7\r\n')
  await until('the message after it is read', () => reading().volume === 7)
  t.strictSame(said, [`127.0.0.1:${amp.port} sent a message longer than drivers.frame_bytes (256): it was dropped`])
})

t.test('a flooding device is read at its limit, loses nothing, and is reported once', async (t) => {
  const amp = await toyAmp(t)
  // A line counts as its bytes plus 64: 40,000 / 72 lines per second are allowed.
  const { reading, said, live } = toyStage(t, { ...at('tcp', amp.port), limits: { heardBytes: 40_000 } })
  await until('it is connected', () => amp.sockets.size === 1)
  let told = 0
  live.onChange((kind) => void (kind === 'zone' && told++))
  const begunMs = systemClock.monotonicMs()
  for (let n = 0; n < 1500; n++) amp.say(`VOL ${n % 2}\r\n`)
  amp.say('VOL 7\r\n')
  await until('the last is heard', () => reading().volume === 7)
  const tookMs = systemClock.monotonicMs() - begunMs
  t.equal(told, 1501, 'nothing is lost')
  t.ok(tookMs > 1000, `a second's worth came at once, the rest had to wait: ${tookMs} ms`)
  t.strictSame(said, [
    `127.0.0.1:${amp.port} sends more than drivers.heard_bytes, or more than its share of drivers.heard_in_all: it is slowed down`,
  ])
})

t.test('a flood of datagrams, which cannot be slowed down, costs the device its connection', async (t) => {
  const amp = await toyUdpAmp(t)
  const { live, said, turn } = toyStage(t, { ...at('udp', amp.port), limits: { heardBytes: 1024 } })
  await turn(1)
  for (let n = 0; n < 100; n++) amp.say('VOL 1\r\n')
  await until('it is lost', () => live.device(1).state === 'offline')
  t.match(live.device(1).error, /sends more than/)
  t.equal(said.length, 1)
})

t.test('all devices together are limited too, and one that sends little is still read', async (t) => {
  const [loud, quiet] = [await toyAmp(t), await toyAmp(t)]
  const limits = { heardInAll: 65_536, heardBytes: 1_000_000 }
  const { reading } = toyStage(t, { ...at('tcp', loud.port), limits })
  await until('it is connected', () => loud.sockets.size === 1)
  for (let n = 0; n < 3000; n++) loud.say('VOL 1\r\n')
  loud.say('VOL 5\r\n')
  const other = toyStage(t, { ...at('tcp', quiet.port), limits })
  await until('the other is connected', () => quiet.sockets.size === 1)
  quiet.say('VOL 3\r\n')
  await until('the quiet one is heard', () => other.reading().volume === 3)
  await until('the loud one is heard to its end', () => reading().volume === 5)
  t.equal(reading().volume, 5)
})

t.test('a device that closes at once is retried with growing pauses, and reported once', async (t) => {
  let tries = 0
  const server = createServer((socket) => {
    tries++
    socket.on('error', () => {})
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const { port } = server.address() as AddressInfo
  const { live, said } = toyStage(t, at('tcp', port))
  await until('it was tried three times', () => tries >= 3)
  t.equal(live.device(1).state, 'offline')
  t.match(live.device(1).error, new RegExp(`127\\.0\\.0\\.1:${port}`))
  t.ok(said.length <= 1, `${said}`)
})

t.test('an unsolicited unknown message is reported once, and no request takes it for its answer', async (t) => {
  const amp = await toyAmp(t, (socket, line) => {
    socket.write('VERSION 7\r\nPOWER ON\r\n')
    if (line === 'VOL=1') socket.write('OK\r\n')
  })
  const { turn, said, live } = toyStage(t, at('tcp', amp.port))
  t.strictSame(await turn(1), {})
  t.strictSame(said, [`127.0.0.1:${amp.port} sent a message that its driver does not know`])
  t.equal(live.device(1).state, 'online')
})

/** A connection as a session opens it. */
async function connectTo(t: Test, port: number, frame: ConnectionEvents['frame'] = () => true) {
  const lost: string[] = []
  const limits = { ...WORLD_LIMITS, heardDevices: 1, unsent: 1 }
  const world = createDriverWorld({ clock: systemClock, log: { info() {} } as never, chance: () => 0, limits })
  const ground = world.open({ id: 1 } as Row)
  t.teardown(() => ground.close())
  const place = {
    kind: 'tcp',
    host: '127.0.0.1',
    port,
    framing: { mode: 'delimiter', delimiter: bytes('\n') },
  } as const
  const connection = await ground.connect(place, { frame, lost: (reason) => void lost.push(reason) })
  return { connection, lost, world, ground, place }
}

const bytes = (text: string) => new TextEncoder().encode(text)
const never = new AbortController().signal

t.test('a request without an answer ends the connection: a late answer never goes to the next request', async (t) => {
  const amp = await toyAmp(t, () => {})
  const { connection, lost } = await connectTo(t, amp.port)
  const stopper = new AbortController()
  const asking = connection.ask(bytes('VOL=1\r\n'), () => true, stopper.signal)
  await until('it is asked', () => amp.lines.length === 1)
  const next = connection.ask(bytes('VOL=2\r\n'), () => true, never)
  stopper.abort(new Error('too late'))
  await t.rejects(asking, { message: 'too late' })
  await t.rejects(next, { code: 'device_cut_off' })
  t.strictSame(lost, [`127.0.0.1:${amp.port} did not answer in time`])
  t.strictSame(amp.lines, ['VOL=1'])
})

t.test('a driver that fails on a message loses its device', async (t) => {
  const amp = await toyAmp(t)
  const { lost } = await connectTo(t, amp.port, () => {
    throw new Error('no such thing')
  })
  await until('it is connected', () => amp.sockets.size === 1)
  amp.say('1\n2\n')
  await until('it is lost', () => lost.length > 0)
  t.strictSame(lost, [`its driver failed on what 127.0.0.1:${amp.port} said: no such thing`])
})

t.test(
  'messages over the limit of waiting ones are refused, and so are devices over the limit of connections',
  async (t) => {
    const amp = await toyAmp(t, () => {})
    const { connection, world, place } = await connectTo(t, amp.port)
    const asked = [1, 2, 3].map((n) => connection.ask(bytes(`${n}\r\n`), () => true, AbortSignal.timeout(50)))
    await t.rejects(asked[2] as Promise<unknown>, { code: 'device_busy', message: /2 messages with 6 bytes wait/ })
    await t.rejects(world.open({ id: 2 } as Row).connect(place, { frame: () => true, lost() {} }), {
      code: 'device_busy',
      message: '1 devices are connected already (drivers.heard_devices)',
    })
    await Promise.allSettled(asked)
    await until('it has ended', () => amp.sockets.size === 0)
    const second = world.open({ id: 2 } as Row)
    t.teardown(() => second.close())
    t.ok(await second.connect(place, { frame: () => true, lost() {} }), 'its place is free')
  },
)

t.test('when all devices together hold too many bytes, the one with most gives up', async (t) => {
  const kept = new KeptBytes(1000)
  const given: string[] = []
  const keeper = (name: string) => ({ give: () => void given.push(name) })
  const [small, large, third] = [keeper('small'), keeper('large'), keeper('third')]
  kept.set(small, 300)
  kept.set(large, 600)
  t.equal(kept.total, 900)
  kept.set(third, 200)
  t.strictSame(given, ['large'])
  t.equal(kept.total, 500)
  kept.set(small, 1200)
  t.strictSame(given, ['large', 'small'], 'it can be the one that asks')
  t.equal(kept.total, 200)
  kept.set(third, 0)
  t.equal(kept.total, 0)
})

t.test('frames end by silence if nothing else ends them', async (t) => {
  const amp = await toyAmp(t)
  const { reading, said } = toyStage(t, { ...at('tcp', amp.port), framing: { mode: 'silence', silenceMs: 30 } })
  await until('it is connected', () => amp.sockets.size === 1)
  amp.say('VOL ')
  amp.say('40')
  await until('it is heard', () => reading().volume === 40)
  amp.say(`VOL 41${' '.repeat(300)}`)
  await wait(systemClock, 60)
  amp.say('VOL 42')
  await until('the frame after one that is too long is read', () => reading().volume === 42)
  t.equal(said.length, 1)
})

/** A connection whose device is played by the test. */
function heardBySilence(limits: object = {}) {
  const clock = fakeClock()
  const all = { ...WORLD_LIMITS, ...limits }
  const frames: string[] = []
  const said = new Map<string, string>()
  const wire: { events?: WireEvents } = {}
  new HeardConnection(
    {
      name: 'the amp',
      framing: { mode: 'silence', silenceMs: 30 },
      clock,
      limits: all,
      kept: new KeptBytes(1_000_000),
      budget: new HeardBudget(clock, all),
      say: (kind, sentence) => void said.set(kind, sentence),
      events: { frame: (frame) => frames.push(Buffer.from(frame).toString()) > 0, lost: () => {} },
    },
    (events) => {
      wire.events = events
      return { write: async () => {}, hold: () => true, close() {} }
    },
  )
  return { clock, frames, said: () => [...said.values()], say: (text: string) => wire.events?.bytes(Buffer.from(text)) }
}

t.test('a message is not taken as complete because the device was paused inside it', (t) => {
  const { clock, frames, said, say } = heardBySilence({ heardBytes: 1024, frameBytes: 4096 })
  say(`VOL 40${' '.repeat(2000)}`)
  clock.advance(500)
  t.strictSame(frames, [])
  clock.advance(5000)
  t.match(said(), [/it is slowed down$/, /the amp was slowed down within a message: it was dropped/])
  say('VOL 41')
  clock.advance(40)
  t.strictSame(frames, ['VOL 41'])
  t.end()
})

t.test('a message is not taken as complete before bytes that came meanwhile are read', (t) => {
  const { clock, frames, say } = heardBySilence()
  say('VOL ')
  clock.after(30, () => say('40'))
  clock.advance(30)
  t.strictSame(frames, [])
  clock.advance(31)
  t.strictSame(frames, ['VOL 40'])
  t.end()
})

t.test('a device that sends byte by byte pays for each packet', (t) => {
  const { said, say } = heardBySilence({ heardBytes: 1024 })
  for (let n = 0; n < 20; n++) say('V')
  t.match(said(), [/it is slowed down$/, /dropped/])
  t.end()
})

t.test('whatever bytes a device sends, in whatever pieces, it is understood again once it behaves', async (t) => {
  const amp = await toyAmp(t)
  const { reading } = toyStage(t, at('tcp', amp.port))
  await until('it is connected', () => amp.sockets.size === 1)
  let volume = 0
  const law = fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 8 }), async (pieces) => {
    for (const piece of pieces) amp.say(piece)
    volume = (volume % 100) + 1
    amp.say(`\r\nVOL ${volume}\r\n`)
    await until('it is heard', () => reading().volume === volume)
  })
  await holdsLater(t, law, { numRuns: 30 })
})
