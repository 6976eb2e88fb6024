import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { RawSocketLine } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import { fakeLine, plainLine } from '#kit/test/line/fake-line.ts'
import { RawAdapter, type RawWorld } from '../../../core/raw/raw.ts'
import { act } from '../act.ts'
import { whyNotOpen } from '../modbus/line-of-others.ts'

const settings = {
  framing: 'delimiter',
  silence_ms: 20,
  delimiter_hex: '0A',
  frame_bytes: 8,
  length_offset: 0,
  length_size: 1,
  length_endian: 'big',
  length_adjust: 0,
  max_frame_bytes: 16,
  queue: 2,
  send_limit_ms: 1000,
  tcp_port: 0,
  tcp_clients: 4,
} as const

function rawOn(changes: Partial<Record<keyof typeof settings, unknown>> = {}) {
  const events: { event: string; payload: unknown }[] = []
  const clock = fakeClock()
  const sockets: { line?: RawSocketLine; sent: Uint8Array[]; closed: number; isTaken: boolean } = {
    sent: [],
    closed: 0,
    isTaken: false,
  }
  const world: RawWorld = {
    retry: { firstMs: 500, maxMs: 1000 },
    silenceFramer: () => ({ feed: () => {}, onFrame: () => {}, close: () => {} }),
    queueBytes: 65_536,
    streamMs: 4,
    async openSockets(options, line) {
      if (sockets.isTaken) throw new Fault('tcp_port_taken', `TCP port ${options.port} cannot be opened`)
      sockets.line = line
      return {
        broadcast: (bytes) => void sockets.sent.push(bytes),
        counters: () => ({ tcpClients: 1 }),
        close: async () => void sockets.closed++,
      }
    },
  }
  const adapter = new RawAdapter(
    {
      port: '/dev/ttyS0',
      lineSettings: plainLine,
      whyNotOpen,
      clock,
      publish: (event, payload) => events.push({ event, payload: typeof payload === 'function' ? payload() : payload }),
    },
    { ...settings, ...changes } as never,
    world,
  )
  return { adapter, clock, events, sockets }
}

t.test('A.raw sends base64 and spaced hex as they are, and says how many bytes', async (t) => {
  const { adapter, events } = rawOn()
  const line = fakeLine()
  adapter.attach(line)
  t.same(await act(adapter, 'tx', { data: 'AQL/' }), { sent: 3 })
  t.same(await act(adapter, 'tx', { hex: '0D 0A' }), { sent: 2 })
  t.same(
    line.written.map((bytes) => [...bytes]),
    [
      [1, 2, 255],
      [13, 10],
    ],
  )
  t.match(events, [
    { event: 'frame', payload: { direction: 'tx', hex: '01 02 FF', length: 3, decoded: null } },
    { event: 'frame', payload: { direction: 'tx', hex: '0D 0A' } },
  ])
})

const badBodies: [string, object, RegExp][] = [
  ['neither', {}, /neither/],
  ['both', { data: 'AQ==', hex: '01' }, /both/],
  ['nothing to send', { hex: '' }, /0 bytes|hex/],
  ['more than a frame', { hex: Array(17).fill('00').join(' ') }, /17 bytes.*16/],
]
for (const [title, body, sentence] of badBodies)
  t.test(`A.raw refuses a body with ${title}`, async (t) => {
    const { adapter } = rawOn()
    adapter.attach(fakeLine())
    await t.rejects(act(adapter, 'tx', body), { message: sentence })
  })

t.test('A.raw names the position of a wrong character', async (t) => {
  const { adapter } = rawOn()
  adapter.attach(fakeLine())
  await t.rejects(act(adapter, 'tx', { hex: '01 0G' }), { code: 'bad_hex', message: /5/ })
  await t.rejects(act(adapter, 'tx', { data: 'AQ*=' }), { code: 'bad_base64', message: /3/ })
})

t.test('publishes each frame seen, with its timestamp, and says when one was cut', async (t) => {
  const { adapter, events } = rawOn()
  const line = fakeLine()
  adapter.attach(line)
  line.arrive(Uint8Array.of(1, 2), 5)
  line.arrive(Uint8Array.of(10), 7)
  line.arrive(new Uint8Array(16), 9)
  t.match(events, [
    { event: 'frame', payload: { direction: 'rx', hex: '01 02 0A', monotonicUs: 7 } },
    { event: 'frame', payload: { length: 16, decodeError: { code: 'frame_cut' } } },
  ])
  t.match(adapter.counters(), { rxFrames: 2, cutFrames: 1 })
})

t.test('refuses to send on a closed line, and refuses actions that raw does not have', async (t) => {
  const { adapter } = rawOn()
  await t.rejects(act(adapter, 'tx', { hex: '01' }), { code: 'line_closed' })
  await t.rejects(act(adapter, 'request', {}), { code: 'wrong_protocol', message: /rest\/request/ })
})

t.test('refuses a send when the limit of waiting ones is reached, and counts it', async (t) => {
  const { adapter } = rawOn()
  const line = fakeLine()
  const releases: (() => void)[] = []
  line.write = () => new Promise((resolve) => releases.push(resolve))
  adapter.attach(line)
  const first = act(adapter, 'tx', { hex: '01' })
  const second = act(adapter, 'tx', { hex: '02' })
  await t.rejects(act(adapter, 'tx', { hex: '03' }), { code: 'queue_full', details: { retryAfterMs: 1000 } })
  t.match(adapter.counters(), { refusedSends: 1 })
  for (const release of releases) release()
  t.same(await Promise.all([first, second]), [{ sent: 1 }, { sent: 1 }])
})

t.test('the send on a line that takes nothing is abandoned, and what waited is never sent', async (t) => {
  const { adapter, clock, events } = rawOn()
  const line = fakeLine()
  const fails: ((fault: Fault) => void)[] = []
  let flushed = 0
  line.write = () => new Promise((_, reject) => fails.push(reject))
  line.flush = async () => {
    flushed++
    for (const fail of fails) fail(new Fault('line_write_failed', 'thrown away'))
  }
  adapter.attach(line)
  const first = act(adapter, 'tx', { hex: '01 02' })
  const second = act(adapter, 'tx', { hex: '03' })
  const both = Promise.allSettled([first, second])
  await clock.run(1005)
  t.match(await both, [
    { status: 'rejected', reason: { code: 'send_timeout', message: /thrown away/ } },
    { status: 'rejected', reason: { code: 'line_write_failed', message: /thrown away/ } },
  ])
  t.equal(flushed, 1)
  t.same(events, [], 'nothing is shown as sent')
  t.match(adapter.counters(), { sendTimeouts: 1, txFrames: 0 })
  line.write = async () => {}
  t.same(await act(adapter, 'tx', { hex: '04' }), { sent: 1 })
})

t.test('lends the line to TCP clients while it is open', async (t) => {
  const { adapter, events, sockets } = rawOn({ tcp_port: 5000 })
  const line = fakeLine()
  adapter.attach(line)
  await new Promise((resolve) => setImmediate(resolve))
  const sender = sockets.line?.sender('192.0.2.7', { onRest() {} })
  if (sender) t.equal(await sockets.line?.onBytes(Uint8Array.of(7, 9), 1, sender), 1)
  sockets.line?.onPassed(Uint8Array.of(5), 77)
  line.arrive(Uint8Array.of(8), 1)
  t.same(line.written, [Uint8Array.of(9)], 'what the driver already has is not written again')
  t.match(
    events.map(({ payload }) => payload),
    [{ hex: '07 09' }, { hex: '05', monotonicUs: 77 }],
    'each is shown as it was sent',
  )
  t.same(sockets.sent, [Uint8Array.of(8)])
  sockets.line?.pause()
  t.equal(line.isPaused, true)
  sockets.line?.resume()
  t.equal(line.isPaused, false)
  await adapter.detach()
  t.equal(sockets.closed, 1)
})

t.test('publishes pending bytes before it releases the line, and nothing after', async (t) => {
  const { adapter, events } = rawOn()
  const line = fakeLine()
  line.settle = () => line.arrive(Uint8Array.of(1, 10), 5)
  adapter.attach(line)
  await adapter.detach()
  line.arrive(Uint8Array.of(2, 10), 6)
  t.match(events, [{ event: 'frame', payload: { hex: '01 0A' } }])
  t.equal(events.length, 1)
})

t.test('reports a TCP port that is taken, serves the line anyway, and tries again', async (t) => {
  const { adapter, clock, events, sockets } = rawOn({ tcp_port: 5000 })
  sockets.isTaken = true
  adapter.attach(fakeLine())
  await clock.run(3000)
  t.match(events, [{ event: 'error', payload: { code: 'tcp_port_taken' } }])
  t.equal(events.length, 1, 'reported once, however often it is tried')
  t.match(adapter.fault(), { code: 'tcp_port_taken' })
  t.same(await act(adapter, 'tx', { hex: '01' }), { sent: 1 })
  sockets.isTaken = false
  await clock.run(1000)
  t.ok(sockets.line, 'it is open now')
  t.equal(adapter.fault(), undefined)
})

t.test('stops trying to open its TCP port once the line has closed', async (t) => {
  const { adapter, clock, sockets } = rawOn({ tcp_port: 5000 })
  sockets.isTaken = true
  adapter.attach(fakeLine())
  await clock.run(700)
  await adapter.detach()
  sockets.isTaken = false
  await clock.run(5000)
  t.equal(sockets.line, undefined)
  t.equal(adapter.fault(), undefined)
})

t.test('a line that sends on and on is read as often as is set, and often enough to tell silence', (t) => {
  const pacesOf = (changes: Parameters<typeof rawOn>[0]) => {
    const paces: number[] = []
    rawOn(changes).adapter.attach({ ...fakeLine(), readEvery: (ms) => void paces.push(ms) })
    return paces
  }
  t.same(pacesOf({ framing: 'delimiter', silence_ms: 1 }), [4])
  t.same(pacesOf({ framing: 'silence', silence_ms: 10_000 }), [4])
  t.same(pacesOf({ framing: 'silence', silence_ms: 20 }), [2])
  t.same(pacesOf({ framing: 'silence', silence_ms: 7 }), [0], 'at once')
  t.end()
})
