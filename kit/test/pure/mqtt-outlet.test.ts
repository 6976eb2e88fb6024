import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { mqttRows } from '#kit/pure/mqtt-memory.ts'
import {
  Outlet,
  type OutletEvent,
  type OutletLimits,
  type OutletMessage,
  type OutletState,
  outletStateTable,
} from '#kit/pure/mqtt-outlet.ts'
import type { Condition } from '#kit/records/ledger-entry.ts'
import { heapBytesOf, rowOf } from '../heap.ts'

const HOUR_MS = 3_600_000

const LIMITS: OutletLimits = {
  topics: 100,
  queue: 10,
  queueBytes: 10_000,
  inFlight: 4,
  answerMs: 10_000,
  firstMs: 1000,
  maxMs: 60_000,
}

/** A broker whose every answer the test decides. */
class PlayedBroker {
  isThere = true
  /** Whether it acknowledges what it gets. */
  answers = true
  tries = 0
  taken: OutletMessage[] = []
  left = 0
  #owed: (() => void)[] = []
  #lost: ((why: Fault) => void) | undefined

  readonly connect = async (lost: (why: Fault) => void) => {
    this.tries++
    if (!this.isThere) throw new Fault('broker_unreachable', 'broker:1883 refuses connections')
    this.#lost = lost
    return {
      publish: (message: OutletMessage) => {
        this.taken.push(message)
        if (this.answers) return Promise.resolve()
        return new Promise<void>((resolve) => this.#owed.push(resolve))
      },
      close: async () => {
        this.left++
        this.cut()
      },
    }
  }

  acknowledge(): void {
    for (const answer of this.#owed.splice(0)) answer()
  }

  cut(): void {
    this.#owed = []
    this.#lost?.(new Fault('broker_lost', 'broker:1883 closed the connection'))
  }

  /** What it got since the last time, as `topic payload`. */
  told(): string[] {
    return this.taken.splice(0).map(({ topic, payload }) => `${topic} ${payload}`)
  }
}

function build(limits: Partial<OutletLimits> = {}) {
  const clock = fakeClock()
  const broker = new PlayedBroker()
  const open = new Map<string, Condition>()
  const outlet = new Outlet({
    clock,
    chance: () => 1,
    limits: { ...LIMITS, ...limits },
    connect: broker.connect,
    conditions: {
      raise: (condition) => void open.set(condition.what, condition),
      clear: (what) => void open.delete(what),
      happened() {},
    },
    where: 'broker:1883',
    statusTopic: 'status',
  })
  return { broker, clock, open, outlet }
}

async function connected(limits: Partial<OutletLimits> = {}) {
  const stage = build(limits)
  stage.outlet.open([])
  await stage.clock.run(0)
  stage.broker.told()
  return stage
}

const rows: [OutletState, OutletEvent, OutletState][] = [
  ['closed', 'openAsked', 'connecting'],
  ['connecting', 'closeAsked', 'closed'],
  ['connecting', 'taken', 'connected'],
  ['connecting', 'lost', 'waiting'],
  ['connected', 'closeAsked', 'closed'],
  ['connected', 'lost', 'waiting'],
  ['waiting', 'closeAsked', 'closed'],
  ['waiting', 'retryDue', 'connecting'],
]

for (const [state, event, next] of rows)
  t.test(`an outlet that is ${state} becomes ${next} on ${event}`, async (t) => {
    t.equal(outletStateTable[state][event], next)
  })

t.test('no other pair changes the state', async (t) => {
  const listed = Object.entries(outletStateTable).flatMap(([state, row]) => Object.keys(row).map((on) => [state, on]))
  t.strictSame(listed.map(String).sort(), rows.map(([state, event]) => `${state},${event}`).sort())
})

t.test('what is kept is told when the broker is there, and online comes last', async (t) => {
  const { broker, clock, outlet } = build()
  outlet.keep('a', () => '1')
  outlet.keep('b', () => '2', { isRetained: false })
  outlet.open([])
  await clock.run(0)
  t.strictSame(broker.taken, [
    { topic: 'a', payload: '1', isRetained: true },
    { topic: 'b', payload: '2', isRetained: false },
    { topic: 'status', payload: 'online', isRetained: true },
  ])
  t.match(outlet.view(), { state: 'connected', fault: null, topics: 3, due: 0, published: 3 })
})

t.test(
  'a broker that is away for an hour costs few tries and bounded memory, and gets the newest of all',
  async (t) => {
    const { broker, clock, open, outlet } = await connected()
    outlet.keep('temperature', () => '20')
    outlet.keep('removed', () => 'x')
    await clock.run(0)
    const sinceAt = clock.epochMs()
    broker.isThere = false
    broker.cut()
    for (let minute = 0; minute < 60; minute++) {
      outlet.keep('temperature', () => String(minute))
      outlet.tell('event', String(minute))
      await clock.run(60_000)
    }
    outlet.drop('removed')
    t.match(outlet.view(), { state: 'waiting', since: sinceAt, waiting: 10, dropped: 50, due: 2, topics: 3 })
    t.match(outlet.view().fault, { code: 'broker_unreachable' })
    t.ok(broker.tries < 70, `${broker.tries} tries`)
    t.match(open.get('broker_away'), { where: 'broker:1883', sentence: /refuses connections.*table mqtt/ })
    t.ok(open.has('broker_events_dropped'))
    broker.told()
    broker.isThere = true
    await clock.run(60_000)
    const told = broker.told()
    t.strictSame(
      told.filter((each) => !each.startsWith('event')),
      ['temperature 59', 'removed ', 'status online'],
    )
    t.strictSame(
      told.filter((each) => each.startsWith('event')),
      Array.from({ length: 10 }, (_, at) => `event ${50 + at}`),
    )
    t.strictSame([...open.keys()], [], 'the ledger has nothing open')
    t.match(outlet.view(), { state: 'connected', waiting: 0, waitingBytes: 0, due: 0, topics: 2 })
    t.ok(outlet.view().since > sinceAt + HOUR_MS - 1)
  },
)

t.test('an event that the broker has not acknowledged is told again, before all others', async (t) => {
  const { broker, clock, outlet } = await connected({ inFlight: 2 })
  broker.answers = false
  for (const name of ['one', 'two', 'three']) outlet.tell('event', name)
  await clock.run(0)
  t.strictSame(broker.told(), ['event one', 'event two'], 'no more than two are on their way')
  broker.cut()
  broker.answers = true
  await clock.run(1000)
  t.strictSame(
    broker.told().filter((each) => each.startsWith('event')),
    ['event one', 'event two', 'event three'],
  )
})

t.test('a topic that changes while its message is on its way is told once more, with the newest', async (t) => {
  const { broker, clock, outlet } = await connected({ inFlight: 1 })
  broker.answers = false
  outlet.keep('a', () => '1')
  await clock.run(0)
  for (const value of ['2', '3', '4']) outlet.keep('a', () => value)
  broker.answers = true
  broker.acknowledge()
  await clock.run(0)
  t.strictSame(broker.told(), ['a 1', 'a 4'])
})

t.test('a message of the same revision is not told again', async (t) => {
  const { broker, clock, outlet } = await connected()
  for (const revision of ['r1', 'r1', 'r2']) {
    outlet.keep('a', () => revision, { revision })
    await clock.run(0)
  }
  t.strictSame(broker.told(), ['a r1', 'a r2'])
})

t.test('a broker that acknowledges nothing is lost after the time that it has', async (t) => {
  const { broker, clock, outlet } = await connected()
  broker.answers = false
  outlet.tell('event', 'x')
  await clock.run(LIMITS.answerMs)
  t.match(outlet.view(), { state: 'waiting', fault: { message: /did not acknowledge a message within 10 s/ } })
})

t.test('a broker that takes the outlet and leaves at once is not tried in quick succession', async (t) => {
  const { broker, clock } = await connected()
  for (let times = 0; times < 600; times++) {
    broker.cut()
    await clock.run(6000)
  }
  t.ok(broker.tries < 80, `${broker.tries} tries in an hour`)
})

t.test('what stood at the broker from an earlier run and is told no more is removed', async (t) => {
  const { broker, clock, outlet } = build()
  outlet.keep('a', () => '1')
  outlet.open(['a', 'old'])
  t.strictSame(outlet.topics(), ['status', 'a', 'old'])
  await clock.run(0)
  t.strictSame(
    broker.taken.filter(({ topic }) => topic === 'old'),
    [{ topic: 'old', payload: '', isRetained: true }],
  )
  t.strictSame(outlet.topics(), ['status', 'a'])
})

t.test('a topic that is kept again before the broker has forgotten it stays', async (t) => {
  const { broker, clock, outlet } = await connected()
  outlet.keep('a', () => '1')
  await clock.run(0)
  broker.answers = false
  outlet.drop('a')
  await clock.run(0)
  outlet.keep('a', () => '2')
  broker.answers = true
  broker.acknowledge()
  await clock.run(0)
  t.strictSame(broker.told(), ['a 1', 'a ', 'a 2'])
  t.strictSame(outlet.topics(), ['status', 'a'])
})

t.test('topics beyond the bound are refused and counted; what is to be removed makes room', async (t) => {
  const { broker, clock, open, outlet } = await connected({ topics: 3 })
  for (const topic of ['a', 'b', 'c']) outlet.keep(topic, () => '1')
  await clock.run(0)
  t.match(outlet.view(), { topics: 3, refused: 1 })
  t.match(open.get('broker_topics_full'), { sentence: /mqtt\.topics/ })
  broker.answers = false
  outlet.drop('a')
  outlet.keep('c', () => '1')
  t.match(outlet.view(), { topics: 3, refused: 1 })
  t.notOk(open.has('broker_topics_full'))
})

t.test('when it closes, what is due goes out, then offline, and it takes leave', async (t) => {
  const { broker, clock, open, outlet } = await connected()
  outlet.tell('event', 'last')
  const closing = outlet.close()
  await clock.run(0)
  await closing
  t.strictSame(broker.told(), ['event last', 'status offline'])
  t.equal(broker.left, 1)
  t.strictSame([outlet.view().state, open.size], ['closed', 0], 'that is no lost broker')
  await clock.run(HOUR_MS)
  t.equal(broker.tries, 1, 'it does not come back')
})

t.test('a broker that hangs holds up the end for two seconds at most', async (t) => {
  const { broker, clock, outlet } = await connected({ answerMs: 60_000 })
  broker.answers = false
  outlet.tell('event', 'last')
  let isClosed = false
  const closing = outlet.close().then(() => (isClosed = true))
  await clock.run(2000)
  t.ok(isClosed)
  await closing
  t.equal(clock.pending(), 1, 'only the time for the answer is left')
})

t.test('a test says how long the broker took, or why nothing arrived', async (t) => {
  const { broker, clock, outlet } = await connected()
  broker.answers = false
  const testing = outlet.test('test', 'x')
  await t.rejects(outlet.test('test', 'x'), { code: 'mqtt_test_busy' })
  await clock.run(25)
  broker.acknowledge()
  t.strictSame(await testing, { tookMs: 25 })
  broker.isThere = false
  broker.cut()
  await t.rejects(outlet.test('test', 'x'), { code: 'broker_away', message: /closed the connection/ })
})

t.test('what waits takes no more memory than the plan says', async (t) => {
  const many = 5000
  const name = (at: number) => `plantroom/0123456789ab/ports/serial%2Fby-id%2Fusb-adapter/points/name of point ${at}`
  const limits = { topics: many + 1, queue: many, queueBytes: 1e9 }
  const topics = await heapBytesOf(() => {
    const { outlet } = build(limits)
    for (let at = 0; at < many; at++) {
      const payload = { value: at, text: String(at), unit: 'kWh', quality: 'good', readAt: at }
      outlet.keep(name(at), () => JSON.stringify(payload), { revision: `revision ${at}` })
    }
    return outlet
  })
  t.ok(
    topics < rowOf(mqttRows(), 'topics', { 'mqtt.topics': many }).allBytes,
    `${Math.round(topics / many)} bytes a topic`,
  )
  const events = await heapBytesOf(() => {
    const { outlet } = build(limits)
    for (let at = 0; at < many; at++) outlet.tell(`event`, `${at}`.padEnd(100, 'x'))
    return outlet
  })
  const settings = { 'mqtt.queue': many, 'mqtt.queue_bytes': many * 105 }
  t.ok(events < rowOf(mqttRows(), 'events', settings).allBytes, `${Math.round(events / many)} bytes an event`)
})
