import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { MqttOutlet } from '#kit/net/mqtt/outlet.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { KnownCamera } from '../../../core/cameras/book.ts'
import { Mqtt, type MqttSettings } from '../../../core/mqtt/mqtt.ts'
import type { MqttSources, ToldEvent } from '../../../core/mqtt/publisher.ts'
import { checkMqttSettings } from '../../../io/mqtt-settings.ts'

const settings: MqttSettings = {
  ...{ isEnabled: true, url: 'mqtt://10.0.0.2', username: 'ann', password: 'secret' },
  ...{ topicPrefix: 'p', discoveryPrefix: 'ha' },
}

function cameraOf(id: string, state = 'recording'): KnownCamera {
  const health = { state, stateSince: 7, fault: null, nextTryAt: null, lastPictureAt: 9 }
  return { record: { id, name: `Camera ${id}` }, camera: { health: () => health } } as unknown as KnownCamera
}

/** A source with one listener. */
function source<Listener extends (...args: never[]) => void>() {
  const listeners = new Set<Listener>()
  return {
    on(listener: Listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    say(...args: Parameters<Listener>) {
      for (const listener of listeners) listener(...args)
    },
    count: () => listeners.size,
  }
}

interface StageParts {
  hasEvents?: boolean
  isLicensed?: boolean
  open?: () => Promise<MqttOutlet>
  begin?: Partial<MqttSettings>
}

async function stage({ begin = {}, hasEvents = true, isLicensed = true, open }: StageParts = {}) {
  const clock = fakeClock()
  const kept = new Map<string, { text: string; times: number }>()
  const told: [topic: string, value: Record<string, unknown>][] = []
  const lives: string[] = []
  const outlet = {
    ...{ id: 'box', prefix: 'p', statusTopic: 'p/state' },
    keep(topic: string, make: () => string, { revision }: { revision?: string } = {}) {
      const before = kept.get(topic)
      if (before?.text === revision) return
      kept.set(topic, { text: make(), times: (before?.times ?? 0) + 1 })
    },
    drop: (topic: string) => void kept.delete(topic),
    tell: (topic: string, text: string) => void told.push([topic, JSON.parse(text)]),
    part: { start: () => void lives.push('starts'), stop: async () => void lives.push('stops') },
  } as unknown as MqttOutlet
  const events = source<(event: ToldEvent, phase: 'begin' | 'end') => void>()
  const sightings = source<(sighting: { cameraId: string }) => void>()
  const alerts = source<(alert: object) => void>()
  const alarms = source<Parameters<MqttSources['onAlarm']>[0]>()
  const changes = source<() => void>()
  const cameras = [cameraOf('a'), cameraOf('b', 'lost')]
  const goingOn: ToldEvent[] = []
  const faults: Fault[] = []
  const saved: MqttSettings[] = []
  const mqtt = new Mqtt({
    ...{ clock, cameras: () => cameras, check: checkMqttSettings },
    settings: { ...settings, ...begin },
    save: async (next) => void saved.push(next),
    open: open ?? (async () => outlet),
    licence: {
      requireFeature(feature) {
        if (!isLicensed) throw new Fault('license_feature', feature)
      },
    },
    says: () => ({ name: 'Shop', version: '1.0.0', product: 'Plantroom recorder' }),
    sources: {
      ...{ onCamera: changes.on, onAlarm: alarms.on },
      ...(hasEvents && { goingOn: () => goingOn, onEvent: events.on, onSighting: sightings.on, onAlert: alerts.on }),
    },
    onFault: (fault) => void faults.push(fault),
  })
  await mqtt.start()
  const json = (topic: string) => JSON.parse(kept.get(topic)?.text ?? 'null')
  const more = { goingOn, json, kept, lives, mqtt, saved, sightings, told }
  return { alarms, alerts, cameras, changes, clock, events, faults, ...more }
}

t.test('3A.mqtt other settings forget nothing of what goes on', async (t) => {
  const { clock, events, goingOn, json, mqtt } = await stage()
  const event = { id: 'a-1-1', cameraId: 'a', label: 'person' }
  goingOn.push(event)
  await mqtt.change({ discoveryPrefix: '' })
  t.match(json('p/cameras/a/state'), { motion: true, occupancy: true, labels: ['person'] })
  events.say(event, 'end')
  clock.advance(100)
  t.match(json('p/cameras/a/state'), { motion: false, occupancy: false })
})

t.test(
  '3A.mqtt cameras are kept at the broker, told again when they change, and go when they are removed',
  async (t) => {
    const { cameras, changes, clock, json, kept, mqtt } = await stage()
    t.same(json('p/cameras/a/state'), {
      ...{ id: 'a', name: 'Camera a', state: 'recording', since: 7, fault: null },
      ...{ motion: false, occupancy: false, labels: [] },
    })
    t.match(json('ha/binary_sensor/plantroom_box/plantroom_box_a_motion/config'), {
      ...{ name: 'Motion', device_class: 'motion', state_topic: 'p/cameras/a/state' },
      value_template: "{{ 'ON' if value_json.motion else 'OFF' }}",
      availability: [{ topic: 'p/state' }],
      device: { name: 'Camera a', model: 'camera of Shop', sw_version: '1.0.0' },
    })
    t.equal(kept.size, 2 * 4)
    changes.say()
    clock.advance(100)
    t.equal(kept.get('p/cameras/a/state')?.times, 1, 'what is as it was is not told again')
    cameras.splice(0, 2, cameraOf('a', 'lost'))
    changes.say()
    changes.say()
    clock.advance(100)
    t.equal(json('p/cameras/a/state').state, 'lost')
    t.equal(kept.get('p/cameras/a/state')?.times, 2)
    t.equal(kept.size, 4, 'the other camera is forgotten')
    await mqtt.stop()
  },
)

t.test('3A.mqtt events make motion and occupancy, and each of them is told', async (t) => {
  const { alarms, alerts, cameras, changes, clock, events, json, mqtt, sightings, told } = await stage()
  const event = (id: string, label: string) => ({ id, cameraId: 'a', label, startedAt: 5 })
  events.say(event('1', 'car'), 'begin')
  clock.advance(100)
  t.match(json('p/cameras/a/state'), { motion: true, occupancy: false, labels: ['car'] })
  events.say(event('2', 'person'), 'begin')
  events.say(event('1', 'car'), 'end')
  clock.advance(100)
  t.match(json('p/cameras/a/state'), { motion: true, occupancy: true, labels: ['person'] })
  events.say(event('2', 'person'), 'end')
  for (let id = 10; id < 200; id++) events.say(event(String(id), 'dog'), 'begin')
  for (let id = 199; id > 135; id--) events.say(event(String(id), 'dog'), 'end')
  clock.advance(100)
  t.match(json('p/cameras/a/state'), { motion: false }, 'events that are never ended count no more at some time')
  events.say({ ...event('1', 'car'), cameraId: 'b' }, 'begin')
  cameras.pop()
  changes.say()
  clock.advance(100)
  cameras.push(cameraOf('b'))
  changes.say()
  clock.advance(100)
  t.match(json('p/cameras/b/state'), { motion: false }, 'what a removed camera had open is over')
  sightings.say({ cameraId: 'b' })
  alerts.say({ rule: 'Night' })
  alarms.say({ id: 3, what: 'camera_lost' } as never, 'opened')
  t.same(told[0], ['p/cameras/a/events', { phase: 'begin', ...event('1', 'car') }])
  t.same(told.slice(-3), [
    ['p/cameras/b/detections', { cameraId: 'b' }],
    ['p/alerts', { rule: 'Night' }],
    ['p/alarms', { event: 'opened', id: 3, what: 'camera_lost' }],
  ])
  await mqtt.stop()
  t.same(
    [events, sightings, alerts, alarms, changes].map(({ count }) => count()),
    [0, 0, 0, 0, 0],
  )
})

t.test('without what sees, nothing is said of motion', async (t) => {
  const { json, kept } = await stage({ hasEvents: false })
  t.notOk('motion' in json('p/cameras/a/state'))
  t.same([...kept.keys()].filter((topic) => topic.startsWith('ha/')).length, 2, 'whether each camera is recorded')
})

t.test('3A.mqtt switching on needs the licence; what is on may be saved and switched off without', async (t) => {
  const { mqtt } = await stage({ isLicensed: false })
  await mqtt.change({ discoveryPrefix: '' })
  await mqtt.change({ isEnabled: false })
  t.equal(mqtt.outlet(), undefined)
  await mqtt.change({ topicPrefix: 'q' })
  await t.rejects(mqtt.change({ isEnabled: true }), { code: 'license_feature' })
  t.match(mqtt.settings(), { isEnabled: false, topicPrefix: 'q' })
})

t.test('another broker gets no password of the old one, and what it kept is removed', async (t) => {
  const { kept, lives, mqtt, saved } = await stage()
  await mqtt.change({ username: 'bob' })
  t.match(saved.at(-1), { username: 'bob', password: 'secret' })
  await mqtt.change({ isEnabled: false })
  t.equal(kept.size, 0)
  t.same(lives, ['starts', 'stops', 'starts', 'stops'])
  await mqtt.change({ url: 'mqtts://10.0.0.3' })
  t.match(saved.at(-1), { url: 'mqtts://10.0.0.3', username: '', password: null })
  const wrong: [Partial<MqttSettings>, string][] = [
    [{ url: 'http://10.0.0.3' }, 'bad_broker'],
    [{ url: 'mqtt://ann:pw@10.0.0.3' }, 'bad_broker'],
    [{ url: '', isEnabled: true }, 'bad_broker'],
    [{ url: 'mqtt://169.254.169.254' }, 'bad_target'],
    [{ password: 'alone' }, 'bad_broker'],
    [{ topicPrefix: 'a/#' }, 'bad_topic'],
    [{ topicPrefix: '$SYS' }, 'bad_topic'],
  ]
  for (const [wish, code] of wrong) await t.rejects(mqtt.change(wish), { code }, JSON.stringify(wish))
})

t.test('what is wrong with MQTT keeps no recorder from starting, and is told', async (t) => {
  const broken = new Fault('ca_file_unreadable', 'mqtt.ca_file is gone')
  const { faults, mqtt } = await stage({ open: () => Promise.reject(broken) })
  t.equal(mqtt.fault(), broken)
  t.same(faults, [broken])
  await t.rejects(mqtt.test('x'), broken)
  await t.rejects((await stage({ begin: { isEnabled: false } })).mqtt.test('x'), { code: 'mqtt_off' })
})
