/** Tests of core/live/zones.ts: groups of zones. */
import t from 'tap'
import type { Session } from '../../../core/access/accounts.ts'
import { groupZones } from '../../../core/live/zones.ts'
import type { FakeHouse } from '../../fake-house.ts'
import { harbourHouse } from '../../harbour-house.ts'

const staff: Session = {
  ...{ userId: 2, username: 'ada', roles: [], isElevated: false, uis: [] },
  surface: 'socket',
  mustChangePassword: false,
  may: () => true,
}
const admin: Session = { ...staff, isElevated: true }

const named = (house: FakeHouse, scope: ReadonlySet<number> | 'all' = 'all', session = admin) =>
  groupZones(house.parts, session, scope).map(({ name, zones }) => [name, ...zones.map((zone) => zone.name)])

const zoneOf = (house: FakeHouse, id: number, session = admin) =>
  groupZones(house.parts, session, 'all')
    .flatMap(({ zones }) => zones)
    .find((zone) => zone.id === id)

t.test(
  'shows rooms in the order of the building, zones in that of their room, and zones without a room last',
  async (t) => {
    t.same(named(harbourHouse()), [
      ['Bar', 'Counter', 'Music'],
      ['Lobby', 'Ceiling', 'Heat', 'Window blinds', 'Air'],
      [null, 'Sign outside', 'Boiler'],
    ])
    t.same(groupZones(harbourHouse().parts, admin, 'all')[0]?.within, ['Ground floor'])
  },
)

t.test('leaves out zones beyond the scope, and rooms in which nothing is left', async (t) => {
  t.same(named(harbourHouse(), new Set([1, 7])), [
    ['Lobby', 'Ceiling'],
    [null, 'Boiler'],
  ])
  t.same(named(harbourHouse(), new Set()), [])
})

t.test('does not loop if groups contain themselves or each other, or their parent is gone', async (t) => {
  const house = harbourHouse()
  house.change('zone_group', [
    { id: 10, name: 'A', parent_id: 11, position: 1 },
    { id: 11, name: 'B', parent_id: 10, position: 2 },
    { id: 12, name: 'C', parent_id: 12, position: 3 },
    { id: 13, name: 'D', parent_id: 99, position: 0 },
  ])
  house.change(
    'zone',
    [10, 11, 12, 13, 99].map((group) => ({ id: group, name: `in ${group}`, zone_group_id: group })),
  )
  t.same(
    named(house).map(([name]) => name),
    ['D', 'A', 'B', 'C', null],
  )
})

t.test('offers the commands that the building names for a zone, else those of its type', async (t) => {
  const house = harbourHouse()
  const verbs = (id: number, session = admin) => zoneOf(house, id, session)?.verbs
  t.same(verbs(1), ['on', 'off', 'level'])
  t.same(verbs(3), ['setpoint'])
  t.same(verbs(4), ['open', 'stop', 'close', 'level'])
  t.same(verbs(8), [])
  house.change('command', [
    { id: 1, name: 'level', zone_type: 'dimmer', enabled: true, elevated: false },
    { id: 2, name: 'calibrate', zone_type: 'dimmer', enabled: true, elevated: true },
    { id: 3, name: 'off', zone_type: 'dimmer', enabled: false },
    { id: 4, name: 'reboot', enabled: true },
    { id: 5, name: 'boost', device_id: 2, zone_type: 'thermostat', enabled: true },
  ])
  t.same(verbs(1), ['level', 'calibrate'])
  t.same(verbs(1, staff), ['level'])
  t.same(verbs(3), ['boost'])
  t.same(verbs(5), ['volume', 'mute'], 'a command that names no zone type is not for a zone')
})

t.test(
  'offers a sound zone the sources that this person may select, and says what it plays and its limit',
  async (t) => {
    const house = harbourHouse()
    t.notOk('sources' in (zoneOf(house, 5) ?? {}), 'without a row of av_zone it is none')
    house.change('av_source', [
      { id: 1, name: 'Radio', position: 2 },
      { id: 2, name: 'Microphone', position: 1, device_id: 4 },
      { id: 3, name: '', position: 3 },
    ])
    house.change('av_zone', [
      { id: 1, zone_id: 5, source_id: 1, max_volume: 70 },
      { id: 2, zone_id: 5, max_volume: 60 },
    ])
    const [radio, other] = [
      { id: 1, name: 'Radio' },
      { id: 3, name: 'Source 3' },
    ]
    t.match(zoneOf(house, 5), { sourceId: 1, sources: [{ id: 2, name: 'Microphone' }, radio, other], maxVolume: 60 })
    t.strictSame(zoneOf(house, 5, staff)?.sources, [radio, other], 'one on an elevated device is for elevated sessions')
    t.notOk('sourceId' in (zoneOf(house, 1) ?? {}))
  },
)

t.test('recognises a kind by a word of the type, and offers nothing for an unknown type', async (t) => {
  const house = harbourHouse()
  const cases: [unknown, string[]][] = [
    ['Light_Dimmer', ['on', 'off', 'level']],
    ['rollerShutter', ['open', 'stop', 'close', 'level']],
    ['light sensor', []],
    ['cave', []],
    ['__proto__', []],
    ['', []],
    [null, []],
    [7, []],
  ]
  for (const [type, verbs] of cases) {
    house.change('zone', [{ id: 1, name: 'x', type: type as string }])
    t.same(zoneOf(house, 1)?.verbs, verbs, String(type))
  }
})

t.test('says why a zone cannot be commanded', async (t) => {
  const house = harbourHouse()
  const offer = (id: number, session: Session) => {
    const { verbs, refused } = zoneOf(house, id, session) ?? {}
    return { verbs, refused }
  }
  t.same(offer(7, staff), { verbs: [], refused: 'elevation' })
  t.same(offer(7, admin), { verbs: ['on', 'off'], refused: null })
  t.same(offer(1, { ...admin, may: () => false }), { verbs: [], refused: 'role' })
})

t.test('returns unknown values as null, and a name for zones without one', async (t) => {
  const house = harbourHouse()
  house.change('zone', [{ id: 9, name: '', unit: '', min: 'low', max: null }])
  t.same(zoneOf(house, 9), {
    id: 9,
    values: { state: 'unknown' },
    device: null,
    name: 'Zone 9',
    type: null,
    unit: null,
    min: null,
    max: null,
    verbs: [],
    refused: null,
  })
})

t.test('1 Guards 5 shows no secret inside the reports of a device', async (t) => {
  const house = harbourHouse()
  house.report(1, { source: 'rtsp://viewer:s3cret@cam/1', value: '{"password": "s3cret", "port": 21}', mode: 'day' })
  const { values } = zoneOf(house, 1) ?? {}
  t.match(values, { source: 'rtsp://***@cam/1', value: '{"password":null,"port":21}', mode: 'day' })
  house.report(1, { value: '{"password": "s3cret' })
  t.equal(zoneOf(house, 1)?.values.value, undefined, 'nor inside a text that only looks like JSON')
})
