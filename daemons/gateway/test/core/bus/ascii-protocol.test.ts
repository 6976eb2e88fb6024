/** A second protocol on the bus: everything that a `BusProtocol` gets without changes to shared files. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { serve } from '#kit/test/http/server-here.ts'
import { fakeLine, fakeOpener, plainLine } from '#kit/test/line/fake-line.ts'
import { faultStatus } from '../../../api/fault-status.ts'
import { pointRoutes } from '../../../api/point-routes.ts'
import { unitRoutes } from '../../../api/unit-routes.ts'
import { Bus } from '../../../core/bus/bus.ts'
import { busCounts } from '../../../core/bus/faults.ts'
import { createBusPoints, withPoints } from '../../../core/bus/points.ts'
import { askingKeys, type BusSettings, echoKeys, framingKeys, pollingKeys } from '../../../core/bus/settings.ts'
import type { AskHow } from '../../../core/bus/transactions.ts'
import type { Adapter, AdapterContext } from '../../../core/lines/adapter.ts'
import { Port } from '../../../core/lines/port.ts'
import { type PortRegistry, requireFace } from '../../../core/lines/port-registry.ts'
import type { FramePayload } from '../../../core/lines/ports.ts'
import { createPointBook } from '../../../core/points/book.ts'
import type { ValuePayload } from '../../../core/points/values.ts'
import {
  type AsciiPoint,
  type AsciiReply,
  type AsciiRequest,
  asciiFrame,
  asciiPoints,
  asciiProtocol,
} from './ascii-protocol.ts'

const keys = { ...askingKeys, ...framingKeys, ...pollingKeys, ...echoKeys }
const defaults = Object.fromEntries(
  Object.entries(keys).flatMap(([key, schema]) => ('default' in schema ? [[key, schema.default]] : [])),
) as BusSettings

/** Everything of the protocol that a port needs: its adapter. */
function asciiAdapter(context: AdapterContext, settings: BusSettings, points: readonly AsciiPoint[]) {
  const counts = busCounts()
  const live = createBusPoints(context, settings, asciiPoints, points)
  const bus = new Bus<AsciiRequest, AsciiReply>({
    ...context,
    baud: context.lineSettings.baud,
    gapMs: 2,
    settings,
    protocol: asciiProtocol,
    counts,
    hooks: live.hooks,
  })
  const adapter: Adapter = {
    faces: { units: bus.units },
    whyNoAction: (action) => `${context.port} speaks ASCII, which has no rest/${action}.`,
    attach: (line) => bus.attach(line),
    detach: (fault) => bus.detach(fault),
    counters: () => ({ ...counts, ...bus.gauges }),
  }
  return { adapter: withPoints(adapter, live, bus), bus }
}

/** What a unit says to a request, and after how long; nothing if left out. */
type Manner = (text: string) => { afterMs?: number; say?: string } | undefined

const point = (name: string, item: number, more: Partial<AsciiPoint> = {}): AsciiPoint => ({
  ...{ name, item, unitId: 5, unit: 'K', decimals: 1, pollMs: 1000, deadband: 0, template: null },
  ...more,
})

/** A port that is open, with one simulated unit 5 at the far end whose values are `values`. */
async function asciiPort({
  points = [],
  settings = {},
  manner = () => undefined,
}: {
  points?: readonly AsciiPoint[]
  settings?: Partial<BusSettings>
  manner?: Manner
} = {}) {
  const clock = fakeClock()
  const line = fakeLine()
  const values = new Map([
    [1, 230],
    [2, 415],
    [3, 9999],
  ])
  const asked: string[] = []
  const frames: FramePayload[] = []
  const told: ValuePayload[] = []
  const context: AdapterContext = {
    port: '/dev/ttyTEST',
    lineSettings: plainLine,
    clock,
    whyNotOpen: () => port.whyNotOpen(),
    publish(event, payload) {
      const made = typeof payload === 'function' ? payload() : payload
      if (event === 'frame') frames.push(made)
      if (event === 'value') told.push(made)
    },
  }
  const { adapter, bus } = asciiAdapter(context, { ...defaults, ...settings }, points)
  const retry = { firstMs: 1000, maxMs: 1000 }
  const port: Port = new Port({
    ...{ path: context.port, line: plainLine, adapter, clock, retry, publish: context.publish },
    opener: fakeOpener(() => line),
  })

  function plainAnswer(text: string): string {
    const item = Number(text.slice(4, 6))
    if (text[3] === 'W') values.set(item, Number(text.slice(7, 11)))
    const value = values.get(item)
    if (value === undefined) return `<05!${text.slice(4, 6)}?02`
    return `<05${text[3]}${text.slice(4, 6)}=${String(value).padStart(4, '0')}`
  }

  const write = line.write.bind(line)
  line.write = async (bytes) => {
    await write(bytes)
    const text = String.fromCharCode(...bytes.subarray(0, -4))
    asked.push(text)
    if (text.slice(1, 3) !== '05') return
    const { afterMs = 10, say = plainAnswer(text) } = manner(text) ?? {}
    clock.after(afterMs, () => say !== '' && line.arrive(asciiFrame(say), clock.monotonicMs() * 1000))
  }
  await port.open()
  await clock.run(defaults.response_timeout_ms)

  function ask(request: AsciiRequest, how: AskHow = { priority: 'operator' }): { came?: number | string } {
    const outcome: { came?: number | string } = {}
    bus.ask(request, how).then(
      (reply) => Object.assign(outcome, { came: reply?.value }),
      (fault: Fault) => Object.assign(outcome, { came: fault.code }),
    )
    return outcome
  }
  return { adapter, ask, asked, clock, frames, line, port, told, values }
}

t.test("bus: bytes without a frame are kept up to four of the protocol's longest frames", async (t) => {
  const { adapter, line } = await asciiPort()
  const begun = new TextEncoder().encode(`<05R${'x'.repeat(56)}`)
  line.arrive(begun, 0)
  t.match(adapter.counters(), { noiseBytes: 0 }, 'a frame may still come of 60 bytes')
  line.arrive(new TextEncoder().encode('x'), 0)
  t.match(adapter.counters(), { noiseBytes: 61 }, 'and of more none that is known here')
})

t.test('bus: another protocol sends requests and gets replies, and its frames are published decoded', async (t) => {
  const on = await asciiPort()
  const read = on.ask({ unitId: 5, item: 1 })
  await on.clock.run(100)
  t.equal(read.came, 230)
  t.same(
    on.frames.map(({ decoded }) => decoded).map((decoded) => (decoded as { kind: string }).kind),
    ['request', 'reply'],
  )
  t.match(on.frames[1]?.decoded, { kind: 'reply', item: 1, value: 230 })
  const refused = on.ask({ unitId: 5, item: 44 })
  await on.clock.run(100)
  t.equal(refused.came, 'ascii_refused')
  t.match(on.adapter.counters(), { requests: 2, replies: 2, exceptions: 1 })
})

t.test('bus: requests of another protocol are sent by priority, and are refused when the queue is full', async (t) => {
  const on = await asciiPort({ settings: { queue: 3 } })
  const owner = {}
  const first = on.ask({ unitId: 5, item: 1 })
  const poll = on.ask({ unitId: 5, item: 2 }, { priority: 'poll' })
  const operator = on.ask({ unitId: 5, item: 1, value: 7 })
  await on.clock.run(300)
  t.same([first.came, operator.came, poll.came], [230, 7, 415])
  t.same(on.asked, ['>05R01', '>05W01=0007', '>05R02'])
  const many = Array.from({ length: 6 }, () => on.ask({ unitId: 5, item: 1 }, { priority: 'operator', owner }))
  await on.clock.run(1)
  t.ok(many.some(({ came }) => came === 'queue_full'))
})

t.test('bus: a late answer of another protocol is never the answer to the next request', async (t) => {
  let lateMs = 450
  const on = await asciiPort({ manner: () => ({ afterMs: lateMs }) })
  const missed = on.ask({ unitId: 5, item: 1 })
  await on.clock.run(320)
  t.equal(missed.came, 'ascii_timeout')
  on.values.set(1, 999)
  lateMs = 10
  const next = on.ask({ unitId: 5, item: 1 })
  await on.clock.run(2000)
  t.equal(next.came, 999, 'and not 230, the answer to the first')
  t.match(on.adapter.counters(), { timeouts: 1, lateReplies: 1 })
})

t.test('bus: a dead unit of another protocol becomes silent, and its polls fail at once', async (t) => {
  const on = await asciiPort({ manner: () => ({ say: '' }), settings: { breaker_failures: 2 } })
  for (let n = 0; n < 2; n++) {
    on.ask({ unitId: 5, item: 1 + n })
    await on.clock.run(3000)
  }
  const poll = on.ask({ unitId: 5, item: 1 }, { priority: 'poll' })
  await on.clock.run(1)
  t.equal(poll.came, 'ascii_unit_silent')
  t.match(requireFace(on.port, 'units').list(), [{ unitId: 5, state: 'silent', timeouts: 2 }])
})

t.test(
  'points: those of another protocol are polled, published when they change, and read again after a write',
  async (t) => {
    const on = await asciiPort({
      points: [point('in', 1), point('out', 2), point('none', 3), point('missing', 44)],
    })
    await on.clock.run(1500)
    const face = requireFace(on.port, 'points')
    t.match(face.list(), [
      { name: 'in', value: 23, text: '23.0', quality: 'good', unit: 'K', item: 1 },
      { name: 'out', value: 41.5, quality: 'good' },
      { name: 'none', value: null, quality: 'bad', fault: { code: 'point_no_value' } },
      { name: 'missing', value: null, quality: 'bad', fault: { code: 'ascii_refused' } },
    ])
    t.match(face.polling(), { reads: 4, pointsPerRead: 1 })
    t.match(on.told, [{ name: 'in', value: 23 }, { name: 'out', value: 41.5 }, { name: 'none' }, { name: 'missing' }])
    on.ask({ unitId: 5, item: 2, value: 500 })
    await on.clock.run(100)
    t.match(on.told.at(-1), { name: 'out', value: 50, previous: 41.5 })
    await on.port.close()
    t.match(face.list()[0], { quality: 'stale', fault: { code: 'line_closed' } })
  },
)

t.test('A.points, A.units the routes serve what another protocol supports, and refuse what it does not', async (t) => {
  const on = await asciiPort({ points: [point('in', 1)] })
  await on.clock.run(500)
  const registry = { require: () => on.port } as unknown as PortRegistry
  const recorder = { changed: async () => {} } as never
  const keeper = { port: () => on.port, list: () => [], total: () => 1, change: async () => {} }
  const templates = { list: async () => [] }
  const book = createPointBook({ keeper, templates, limits: { max: 10, total: 10 } })
  const routes = [...unitRoutes({ registry, recorder }), ...pointRoutes({ book, recorder, maxPoints: 10 })]
  const { ask } = await serve(t, { routes, faultStatus })
  const read = async (what: string) => (await ask(`/api/ports/%2Fdev%2FttyTEST/${what}`, { as: 'admin' })).json()
  t.match(await read('units'), [{ unitId: 5, state: 'well', replies: 1 }])
  t.match(await read('points'), {
    points: [{ name: 'in', item: 1, value: 23, quality: 'good' }],
    polling: { reads: 1 },
  })
  t.throws(() => requireFace(on.port, 'scan'), { code: 'wrong_protocol' })
})
