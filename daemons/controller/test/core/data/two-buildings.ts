/** Buildings that differ only in their secrets, for tests that nobody can find these out. */
import type { Json } from '../../../core/json.ts'
import type { HouseOptions, Tables } from './data-house.ts'

/** The values in secret places; as many as a building has places. */
export type Secrets = readonly Json[]
export const PLACES = 16

/** A building with these values in columns, JSON and live state; everything else is always the same. */
export function buildingOf(secrets: Secrets, isRich: boolean): { content: Tables; options: HouseOptions } {
  const text = (place: number) => (secrets[place] === null ? null : String(secrets[place]))
  const json = (place: number): Json => secrets[place] ?? null
  const blob = (place: number) =>
    JSON.stringify({ host: 'a', password: json(place), more: [{ 'push signing key': json(place), port: 7 }] })
  const inAddress = (place: number) => `rtsp://a:${encodeURIComponent(text(place) ?? '')}@cam/1`
  const inQuery = (place: number) => `/shot.cgi?usr=a&pwd=p${encodeURIComponent(text(place) ?? '')}`
  const zone = { system_target: 'zone', secure: false }
  const content: Tables = {
    device: [
      {
        name: 'a',
        address: '7',
        username: 'b',
        password: text(0),
        api_key: text(1),
        config: { url: inAddress(4), path: inQuery(5), said: blob(6), password: json(2) },
      },
      {
        name: 'b',
        address: '07',
        username: 'a',
        password: text(3),
        api_key: null,
        config: { token: json(3), list: [{ pin: json(2) }] },
      },
      { name: null, address: null, password: text(1), api_key: text(0), config: null },
      // Equal except for their secrets: an order that sees these puts one or the other first.
      { name: 'a', address: 'c', password: text(2), config: { password: json(0) } },
      { name: 'a', address: 'c', password: text(0), config: { password: json(1) } },
    ],
    zone: [
      { name: 'a', device_id: 1, address: '7', position: 1, overrides: { on: { args: { pin: json(7), level: 1 } } } },
      { name: 'b', device_id: 1, address: 'b', position: null },
      { name: 'a', device_id: 2, address: null, position: 1 },
    ],
    attribute: [
      { ...zone, name: 'mode', value: 'a', previous_value: 'b', target_id: 1 },
      { ...zone, name: 'mode', value: text(4), previous_value: text(5), target_id: 1, secure: true },
      { ...zone, name: 'apiKey', value: text(6), previous_value: text(7), target_id: 2 },
      { ...zone, name: 'mode', value: blob(8), previous_value: blob(9), target_id: 2 },
      { ...zone, name: 'mode', value: blob(13), previous_value: blob(14), target_id: 2 },
      { ...zone, name: 'level', value: '7', previous_value: inAddress(8), target_id: 3 },
      { ...zone, name: 'a', value: inAddress(9), previous_value: inQuery(10), target_id: 3 },
      { ...zone, name: 'level', value: ` ${JSON.stringify(blob(10))}`, previous_value: null, target_id: 3 },
      { ...zone, name: 'level', value: JSON.stringify({ inner: blob(11) }), previous_value: null, target_id: 1 },
      { ...zone, name: isRich ? 'door-PIN' : 'wifi password', value: blob(12), previous_value: text(13), target_id: 1 },
      { ...zone, name: 'a', value: text(14), previous_value: text(15), target_id: 2, secure: true },
    ],
    attribute_history: [{ attribute_id: 1, value: text(4), at: 1 }, ...(secrets[5] === null ? [] : [{ at: 2 }])],
    channel_provider: [
      { name: 'a', type: 'b', config: { country: 'a', credential: json(5), nested: { hash: json(6) } } },
      { name: 'a', type: 'b', config: { country: 'a', credential: json(7), nested: { hash: json(8) } } },
    ],
    auth_user: [
      { username: 'a', hash: text(7), salt: text(8), pin: text(9) },
      ...(secrets[10] === null ? [] : [{ username: text(11) }]),
    ],
    credential: [{ name: text(12), password: text(13) }],
    macro: secrets[14] === null ? [] : [{ name: text(15) }],
  }
  const options = {
    devices: { 1: { state: 'online' as const, ipAddress: isRich ? '10.0.0.7' : null, lastSeenAt: 7, error: 'a' } },
    zones: {
      1: {
        ...{ state: 'on', level: 7, session_token: json(0), deep: { key: json(4), open: 'a' }, password: json(2) },
        // Of the two attributes of this name one is secure.
        mode: json(5),
      },
      2: { state: 'on', apiKey: json(6), mode: { host: 'a', password: json(9) }, a: json(12), nobody: inAddress(11) },
      3: { level: blob(15), a: inQuery(7) },
    },
  }
  return { content, options }
}

/** The secrets of a building that even elevated sessions must not see. */
export function onlyColumns(secrets: Secrets): Secrets {
  // Places 0 to 3 are only in secret columns, and in JSON of secret columns.
  return Array.from({ length: PLACES }, (_, place) => (place < 4 ? (secrets[place] ?? null) : 'same'))
}
