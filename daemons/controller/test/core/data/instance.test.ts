import t from 'tap'
import { answerData } from '../../../core/data/answer-data.ts'
import { registryFace } from '../../../core/data/views.ts'
import { bodyText } from '../../../core/json.ts'
import { elevatedCaller, type HouseOptions, plainCaller, type Tables, worldOf } from './data-house.ts'

const content: Tables = {
  device: [
    { name: 'Amp', ip_address: '10.0.0.1', password: 's3cret', config: { key: 'n3sted' } },
    { name: 'Spare', ip_address: '10.0.0.2' },
  ],
  zone: [
    { name: 'Hall', device_id: 1 },
    { name: 'Yard', device_id: 1 },
    { name: 'Loose', device_id: null },
  ],
  attribute: [
    { name: 'volume', value: '5', previous_value: '4', secure: false, system_target: 'zone', target_id: 1 },
    { name: 'code', value: 's3cure', previous_value: 's3cure0', secure: true, system_target: 'zone', target_id: 1 },
    { name: 'api_key', value: 'k3y', previous_value: 'k3y0', secure: false, system_target: 'zone', target_id: 2 },
    {
      name: 'blob',
      value: '{"a":1,"pin":"p1n"}',
      previous_value: null,
      secure: false,
      system_target: 'zone',
      target_id: 2,
    },
    { name: 'other', value: 'x', previous_value: null, secure: false, system_target: 'device', target_id: 1 },
  ],
}
const options: HouseOptions = {
  devices: { 1: { state: 'online', ipAddress: '10.9.9.9', lastSeenAt: 5, error: null } },
  zones: {
    1: {
      state: 'on',
      level: 40,
      id: 99,
      name: 'stolen',
      attributes: 'x',
      session_token: 'l1ve',
      report: '{"pin":"l1ve","fan":2}',
      deep: { apiKey: 'd33p', b: 1 },
    },
  },
}
const secrets = ['s3cret', 'n3sted', 's3cure', 'k3y', 'p1n', 'l1ve', 'd33p']

function asked(entity: string, query: string, caller = plainCaller) {
  const outcome = answerData(worldOf(content, options), caller, entity, query)
  if (outcome instanceof Promise || 'json' in outcome.body) throw new Error('no rows')
  const text = bodyText(outcome.body)
  return { rows: JSON.parse(text), text }
}

t.test('1 Entity rows a device carries its state and its zones, each zone its attributes', async (t) => {
  const { rows } = asked('device', '_instance=true')
  t.match(rows[0], { id: 1, name: 'Amp', state: 'online', ip_address: '10.9.9.9', last_seen: 5, error: null })
  t.match(rows[0].zones, [
    { id: 1, name: 'Hall', state: 'on', level: 40, attributes: [{ name: 'volume', value: '5' }, { name: 'code' }] },
    { id: 2, name: 'Yard', state: 'unknown', attributes: [{ name: 'api_key' }, { name: 'blob' }] },
  ])
  t.equal(rows[0].zones.length, 2)
  t.match(rows[1], { state: 'unknown', ip_address: '10.0.0.2', last_seen: null })
  t.same(rows[1].zones, [])
})

t.test('1 Entity rows a zone carries its live state; a live field does not replace a column', async (t) => {
  const [hall, yard, loose] = asked('zone', '_instance=true').rows
  t.match(hall, { id: 1, name: 'Hall', state: 'on', level: 40, deep: { b: 1 } })
  t.equal(hall.attributes.length, 2)
  t.equal(yard.state, 'unknown')
  t.same(loose.attributes, [])
})

t.test('1 Guards 5 secrets in the merge are null at every depth', async (t) => {
  for (const query of ['_instance=true', '_instance=1', '_instance=true&_fields=id', '%5Finstance=true'])
    for (const entity of ['device', 'zone']) {
      const { text } = asked(entity, query)
      t.notOk(
        secrets.find((secret) => text.includes(secret)),
        `${entity}?${query}`,
      )
    }
  const [device] = asked('device', '_instance=true').rows
  t.match(device.zones[0].attributes[1], { name: 'code', secure: true, value: null, previous_value: null })
  t.match(device.zones[1].attributes, [{ value: null }, { value: '{"a":1,"pin":null}' }])
  t.match(device.zones[0], { session_token: null, deep: { apiKey: null, b: 1 }, report: '{"pin":null,"fan":2}' })
})

t.test('1 Guards 5 elevated sessions see secure attributes, and no secret-bearing name', async (t) => {
  const [device] = asked('device', '_instance=true', elevatedCaller).rows
  t.match(device, { password: null, config: { key: null } })
  t.match(device.zones[0].attributes[1], { value: 's3cure' })
  t.equal(device.zones[0].session_token, null)
})

t.test('1 Modifiers _instance adds to the columns of _fields, and conditions apply to columns only', async (t) => {
  t.strictSame(Object.keys(asked('device', '_instance=true&_fields=name').rows[0]), [
    'name',
    'state',
    'ip_address',
    'last_seen',
    'error',
    'zones',
  ])
  t.equal(asked('device', '_instance=true&ip_address=10.0.0.1').rows[0].ip_address, '10.9.9.9')
  t.same(asked('device', '_instance=true&ip_address=10.9.9.9').rows, [])
  t.strictSame(asked('zone', '_instance=true&_count=true').rows, { count: 3 })
  t.notOk('state' in asked('attribute', '_instance=true').rows[0])
})

t.test('1 Entity rows an attribute says whether its value holds now, whatever it is', async (t) => {
  const current = asked('zone', '_instance=true').rows.flatMap(
    ({ attributes }: { attributes: { name: string; current: boolean }[] }) =>
      attributes.map(({ name, current }) => [name, current]),
  )
  t.strictSame(current, [
    ['volume', false],
    ['code', false],
    ['api_key', false],
    ['blob', false],
  ])
  const live = { zones: { 1: { state: 'on', volume: 6 } } }
  const outcome = answerData(worldOf(content, live), plainCaller, 'attribute', 'name=volume&_instance=true')
  if (outcome instanceof Promise) throw new Error('late')
  t.match(JSON.parse(bodyText(outcome.body)), [{ value: '6', previous_value: '5', changed_at: 3000, current: true }])
})

t.test('1 Entity rows what a secure attribute holds is null among what the zone does', async (t) => {
  const live = { zones: { 1: { state: 'on', code: '4711', level: 3 } } }
  const zoneFor = (caller = plainCaller) => {
    const outcome = answerData(worldOf(content, live), caller, 'zone', 'id=1&_instance=true')
    if (outcome instanceof Promise) throw new Error('late')
    return JSON.parse(bodyText(outcome.body))[0]
  }
  t.match(zoneFor(), { code: null, level: 3, attributes: [{}, { name: 'code', value: null, changed_at: null }] })
  t.match(zoneFor(elevatedCaller), {
    code: '4711',
    attributes: [{}, { name: 'code', value: '4711', changed_at: 3000 }],
  })
})

t.test('1 Entity rows a zone without a device does what its attributes say', async (t) => {
  const attribute = [
    { name: 'level', value: '40', secure: false, system_target: 'zone', target_id: 3 },
    { name: 'state', value: 'on', secure: false, system_target: 'zone', target_id: 3 },
    { name: 'door', value: '1', secure: true, system_target: 'zone', target_id: 3 },
    { name: 'pin', value: '2', secure: false, system_target: 'zone', target_id: 3 },
  ]
  const outcome = answerData(worldOf({ ...content, attribute }, {}), plainCaller, 'zone', 'id=3&_instance=true')
  if (outcome instanceof Promise) throw new Error('late')
  t.match(JSON.parse(bodyText(outcome.body))[0], { state: 'on', level: 40, door: null, pin: null })
})

t.test('1 Entity rows an av_zone carries the state of its zone and of its device', async (t) => {
  const av_zone = [
    { name: 'Hall', zone_id: 1 },
    { name: 'None', zone_id: null },
  ]
  const outcome = answerData(
    worldOf({ ...content, av_zone }, { ...options, schema: registryFace() }),
    plainCaller,
    'av_zone',
    '_instance=true',
  )
  if (outcome instanceof Promise) throw new Error('late')
  t.match(JSON.parse(bodyText(outcome.body)), [
    { name: 'Hall', state: 'on', device_state: 'online' },
    { name: 'None', state: 'unknown', device_state: 'unknown' },
  ])
})

t.test('1 Modifiers _instance gives no name twice', async (t) => {
  const { text } = asked('device', '_instance=true&_fields=["id","ip_address",["name","state"]]', elevatedCaller)
  t.equal(text.match(/"ip_address"/g)?.length, 2)
  t.match(JSON.parse(text), [
    { state: 'Amp', ip_address: '10.9.9.9' },
    { state: 'Spare', ip_address: '10.0.0.2' },
  ])
})

t.test('a device with many zones is written in pieces that are never copied as a whole', async (t) => {
  const zone = Array.from({ length: 3000 }, (_, at) => ({ name: `Zone ${at} über`, device_id: 1 }))
  const outcome = answerData(worldOf({ ...content, zone }, options), plainCaller, 'device', '_instance=true')
  if (outcome instanceof Promise || !('pieces' in outcome.body)) throw new Error('not in pieces')
  t.ok(outcome.body.pieces.length > 5)
  t.ok(outcome.body.pieces.every(({ length }) => length < 140_000))
  const [device] = JSON.parse(bodyText(outcome.body))
  t.same(
    device.zones.map(({ name }: { name: string }) => name),
    zone.map(({ name }) => name),
  )
  t.match(device, { state: 'online', name: 'Amp' })
})

t.test('1 Entity rows the position of a blind is where it stands, not its place in a list', async (t) => {
  const zone = (id: number, more: object) => ({ id, name: `Z${id}`, device_id: 1, position: 90 + id, ...more })
  const tables: Tables = {
    device: [{ name: 'Motors' }],
    zone: [
      zone(1, { type: 'blind' }),
      zone(2, { type: 'blind' }),
      zone(3, { type: 'dimmer' }),
      zone(4, { type: 'screen' }),
      zone(5, { type: 'roller shutter' }),
    ],
    attribute: [
      { name: 'position', value: '12', secure: false, system_target: 'zone', target_id: 4 },
      { name: 'position', value: '34', secure: true, system_target: 'zone', target_id: 5 },
    ],
  }
  const live: HouseOptions = { zones: { 1: { state: 'ok', position: 30 }, 3: { state: 'on' }, 5: { position: 34 } } }
  const rows = (query: string, caller = plainCaller, entity = 'zone') => {
    const outcome = answerData(worldOf(tables, live), caller, entity, query)
    if (outcome instanceof Promise || 'json' in outcome.body) throw new Error('no rows')
    return JSON.parse(bodyText(outcome.body))
  }
  const positions = (list: { position?: unknown }[]) => list.map(({ position }) => position)
  t.same(positions(rows('_instance=true')), [30, null, 93, null, null], 'unknown is null; a dimmer has a place alone')
  t.same(positions(rows('_instance=true', elevatedCaller)), [30, null, 93, null, 34])
  t.same(positions(rows('_instance=true', plainCaller, 'device')[0].zones), [30, null, 93, null, null])
  t.same(positions(rows('')), [91, 92, 93, 94, 95], 'the row itself is as ever')
  t.same(rows('_instance=true&_fields=id,position&id=1')[0].position, 30)
  t.same(positions(rows('_instance=true&position=91')), [30], 'a filter asks for the row')
  const text = JSON.stringify(rows('_instance=true'))
  t.equal(text.match(/"position":/g)?.length, 5, 'it is there once')
})
