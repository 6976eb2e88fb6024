import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createEventHub } from '../../../core/lines/events.ts'
import type { Port } from '../../../core/lines/port.ts'
import { MqttPublisher } from '../../../core/mqtt/publisher.ts'
import type { PointView, ValuePayload } from '../../../core/points/values.ts'

const CONFIG = { discovery_prefix: 'ha', events: ['port', 'error'], refresh_ms: 60_000, retain: true }
const LINE = 'p/ports/serial%2Fby-id%2Fmeters'
const PATH = '/dev/serial/by-id/meters'

const view = (name: string, more: object = {}) =>
  ({
    ...{ name, unitId: 3, unit: '°C', decimals: 1, type: 's16', pollMs: 1000, deadband: 0, template: null },
    ...{ value: 21.5, text: '21.5', quality: 'good', readAt: 1000, fault: null },
    ...more,
  }) as unknown as PointView

const payload = (name: string, more: object = {}) =>
  ({ name, unitId: 3, value: 22, text: '22.0', unit: '°C', quality: 'good', readAt: 2000, ...more }) as ValuePayload

/** A gateway with one line, and an outlet that only notes what it is given. */
function build(config: Partial<typeof CONFIG> = {}) {
  const clock = fakeClock()
  const hub = createEventHub(clock, { history: 10, historyBytes: 10_000, totalBytes: 100_000 })
  const kept = new Map<string, { make: () => string; isRetained?: boolean | undefined }>()
  const again: string[] = []
  const told: [topic: string, text: string][] = []
  const line = { state: 'open', points: [view('supply')], units: [{ unitId: 3, state: 'well', stateSince: 5 }] }
  const port = {
    path: PATH,
    life: () => ({ state: line.state, stateSince: 7, fault: null }),
    adapter: { faces: { points: { list: () => line.points }, units: { list: () => line.units } } },
  } as unknown as Port
  const ports = [port]
  let name = 'Plant room'
  const publisher = new MqttPublisher({
    clock,
    hub,
    outlet: {
      ...{ id: 'x', prefix: 'p', statusTopic: 'p/status' },
      keep(topic, make, how = {}) {
        kept.set(topic, { make, isRetained: how.isRetained })
        again.push(topic)
      },
      drop: (topic) => void kept.delete(topic),
      tell: (topic, text) => void told.push([topic, text]),
    },
    ports: () => ports,
    config: { ...CONFIG, ...config },
    says: () => ({ name, version: '1', product: 'Plantroom gateway' }),
  })
  return {
    ...{ clock, hub, kept, again, told, line, ports, publisher },
    json: (topic: string) => JSON.parse(kept.get(topic)?.make() ?? 'null'),
    rename: (to: string) => {
      name = to
    },
  }
}

t.test('a line, its units and its points are told, each under its own topic', async (t) => {
  const { json, kept, publisher } = build()
  publisher.start()
  t.strictSame(json(`${LINE}/state`), { port: PATH, state: 'open', since: 7, fault: null })
  t.match(json(`${LINE}/units/3`), { unitId: 3, state: 'well', since: 5 })
  const supply = { value: 21.5, text: '21.5', unit: '°C', quality: 'good', readAt: 1000 }
  t.strictSame(json(`${LINE}/points/supply`), supply)
  const described = [...kept.keys()].filter((topic) => topic.startsWith('ha/'))
  t.strictSame(
    described.map((topic) => topic.split('/')[1]),
    ['binary_sensor', 'sensor'],
  )
  t.match(json(described[1] ?? ''), {
    state_topic: `${LINE}/points/supply`,
    expire_after: 180,
    device: { name: 'Plant room serial/by-id/meters unit 3', via_device: 'plantroom_x' },
  })
})

t.test('a value that is not good is told with its quality and without a value', async (t) => {
  const { hub, json, line, publisher } = build()
  line.points = [view('supply'), view('old', { quality: 'stale' }), view('none', { quality: 'bad', value: null })]
  publisher.start()
  for (const [name, quality] of [
    ['old', 'stale'],
    ['none', 'bad'],
  ])
    t.match(json(`${LINE}/points/${name}`), { value: null, text: null, quality, readAt: 1000 })
  hub.publish(PATH, 'value', payload('supply'))
  t.match(json(`${LINE}/points/supply`), { value: 22, readAt: 2000 })
  hub.publish(PATH, 'value', payload('supply', { quality: 'stale' }))
  t.match(json(`${LINE}/points/supply`), { value: null, quality: 'stale', readAt: 2000 })
})

t.test('points that come and go, a unit that is forgotten and a line that is removed are followed', async (t) => {
  const { clock, kept, line, ports, publisher, hub } = build()
  publisher.start()
  line.points = [view('return')]
  line.units = []
  publisher.changed(PATH)
  t.ok(kept.has(`${LINE}/points/supply`), 'not in the turn of whoever changes it')
  await clock.run(0)
  t.strictSame([kept.has(`${LINE}/points/supply`), kept.has(`${LINE}/units/3`)], [false, false])
  t.equal(kept.size, 4, 'the line, a point, and what Home Assistant is told of both')
  hub.publish(PATH, 'value', payload('unknown'))
  t.notOk(kept.has(`${LINE}/points/unknown`), 'a value of a point that is gone brings it not back')
  ports.pop()
  publisher.changed(PATH)
  await clock.run(0)
  t.equal(kept.size, 0)
})

t.test('events are told by name, and frames only where they are asked for', async (t) => {
  const { hub, publisher, told } = build()
  publisher.start()
  for (const event of ['error', 'frame', 'value', 'port']) hub.publish(PATH, event, { name: 'supply', message: event })
  t.strictSame(
    told.map(([topic]) => topic),
    [`${LINE}/events/error`, `${LINE}/events/port`],
  )
  t.match(JSON.parse(told[0]?.[1] ?? ''), { port: PATH, event: 'error', timestamp: Number, payload: {} })
})

t.test(
  'all values and states are told again after a while, so that Home Assistant does not take them for lost',
  async (t) => {
    const { again, clock, publisher } = build()
    publisher.start()
    again.length = 0
    await clock.run(60_000)
    for (const topic of ['state', 'units/3', 'points/supply']) t.ok(again.includes(`${LINE}/${topic}`), topic)
    await clock.run(60_100)
    t.equal(again.filter((topic) => topic === `${LINE}/points/supply`).length, 2)
    publisher.close()
    await clock.run(600_000)
    t.equal(again.filter((topic) => topic === `${LINE}/points/supply`).length, 2)
  },
)

t.test('another name of the gateway is told, and without a prefix Home Assistant is told nothing', async (t) => {
  const { clock, json, kept, publisher, rename } = build()
  publisher.start()
  const sensor = [...kept.keys()].find((topic) => topic.startsWith('ha/sensor')) ?? ''
  rename('Cellar')
  publisher.allChanged()
  await clock.run(0)
  t.match(json(sensor).device.name, /^Cellar /)
  const quiet = build({ discovery_prefix: '', retain: false })
  quiet.publisher.start()
  t.equal(quiet.kept.size, 3)
  t.strictSame(
    [...quiet.kept.values()].map(({ isRetained }) => isRetained),
    [false, false, false],
  )
})
