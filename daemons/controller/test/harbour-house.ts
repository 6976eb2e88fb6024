/** Harbour House: a building with rooms, zones of every kind, an administrator with a mailed code, and staff. */
import type { Clock } from '#kit/clock.ts'
import { type Columns, type FakeHouse, fakeHouse } from './fake-house.ts'

/** Eight zones in three rooms and one without a room; device 3 is lost, device 4 was never heard from. */
export function harbourHouse(clock?: Clock): FakeHouse {
  const house = fakeHouse(clock)
  house.people.set('sam', {
    id: 1,
    password: 'engine room',
    isElevated: true,
    functions: ALL,
    code: 'K7MPQ2',
    scope: 'all',
  })
  house.people.set('ada', { id: 2, password: 'front desk', isElevated: false, functions: ALL, scope: [1, 2, 3, 4, 7] })
  house.change('site', [{ id: 1, name: 'Harbour House', timezone: 'Europe/Amsterdam' }])
  house.change('auth_user', [
    { id: 1, username: 'sam', full_name: 'Sam Okafor', hash: 'never sent' },
    { id: 2, username: 'ada', full_name: 'Ada Lindqvist' },
  ])
  house.change('zone_group', [
    { id: 10, name: 'Ground floor', parent_id: null, position: 1 },
    { id: 11, name: 'Lobby', parent_id: 10, position: 2 },
    { id: 12, name: 'Bar', parent_id: 10, position: 1 },
  ])
  house.change('device', [
    { id: 1, name: 'Dimmer rack', elevated: false },
    { id: 2, name: 'Heat pump', elevated: false },
    { id: 3, name: 'Blind bus', elevated: false },
    { id: 4, name: 'Plant', elevated: true },
  ])
  house.change('zone', zones)
  house.change('macro', [
    {
      id: 5,
      name: 'Close down',
      description: 'Lights off, blinds down, heat to 17 °C',
      enabled: true,
      elevated: false,
    },
    { id: 6, name: 'Flush the pipes', description: null, enabled: true, elevated: true },
  ])
  house.change('ui_macro', [{ id: 1, ui_id: 1, macro_id: 5, position: 1 }])
  for (const id of [1, 2])
    house.devices.set(id, { state: 'online', ipAddress: null, lastSeenAt: Date.now(), error: null })
  house.devices.set(3, { state: 'offline', ipAddress: null, lastSeenAt: Date.now() - LOST_MS, error: 'no route' })
  house.zones.set(1, { state: 'on', level: 60, wifiPassword: 'never sent' })
  house.zones.set(2, { state: 'off', level: 0 })
  house.zones.set(3, { state: 'heating', setpoint: 21.5, temperature: 20.9 })
  house.zones.set(5, { state: 'playing', volume: 35, mute: false, source: 'Lobby music' })
  house.zones.set(6, { state: 'on' })
  house.zones.set(8, { state: 'ok', value: 412 })
  return house
}

const ALL = ['command', 'macro', 'query', 'subscribe', 'set_attribute', 'write']
const LOST_MS = 26 * 60_000

const zones: Columns[] = [
  { id: 1, name: 'Ceiling', type: 'dimmer', device_id: 1, zone_group_id: 11, position: 1 },
  { id: 2, name: 'Counter', type: 'dimmer', device_id: 1, zone_group_id: 12, position: 1 },
  {
    id: 3,
    name: 'Heat',
    type: 'thermostat',
    device_id: 2,
    zone_group_id: 11,
    position: 2,
    unit: '°C',
    min: 15,
    max: 25,
  },
  { id: 4, name: 'Window blinds', type: 'blind', device_id: 3, zone_group_id: 11, position: 3 },
  { id: 5, name: 'Music', type: 'audio', device_id: 1, zone_group_id: 12, position: 2, unit: '%' },
  { id: 6, name: 'Sign outside', type: 'relay', device_id: 1, zone_group_id: null, position: 1 },
  { id: 7, name: 'Boiler', type: 'switch', device_id: 4, zone_group_id: null, position: 2 },
  { id: 8, name: 'Air', type: 'sensor', device_id: 2, zone_group_id: 11, position: 4, unit: 'ppm' },
]
