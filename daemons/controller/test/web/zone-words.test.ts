/** Tests of web/zone-words.ts. */
import t from 'tap'
import type { ZoneView } from '../../core/live/zones.ts'
import {
  footnote,
  headline,
  isOn,
  isUnknown,
  judgeZones,
  quantity,
  rangeOf,
  roomState,
  shortVerdict,
  shownText,
} from '../../web/zone-words.ts'

const zone = (more: Partial<ZoneView> = {}): ZoneView => ({
  id: 1,
  name: 'Ceiling',
  type: 'dimmer',
  unit: null,
  min: null,
  max: null,
  verbs: ['on', 'off', 'level'],
  refused: null,
  values: { state: 'on', level: 60 },
  device: { state: 'online', lastSeenAt: 1000 },
  ...more,
})
const when = () => ({ nowMs: 1_900_000_000_000, zone: 'UTC' })
const head = (more: Partial<ZoneView>) => shownText(headline(zone(more))).replaceAll('\u202f', ' ')

t.test('shows the one value that counts, with its unit', async (t) => {
  t.equal(head({}), '60 %')
  t.equal(head({ values: { state: 'off', level: 60 } }), 'Off')
  t.equal(head({ values: { state: 'heating', temperature: 20.94, setpoint: 21.5 } }), '20.9 °C')
  t.equal(head({ values: { state: 'playing', volume: -12 }, unit: 'dB' }), '−12.0 dB')
  t.equal(head({ values: { state: 'playing', volume: 40, mute: true } }), 'Muted')
  t.equal(head({ values: { state: 'ok', value: 412 }, unit: 'ppm' }), '412 ppm')
  t.equal(head({ values: { state: 'closed' }, verbs: ['open', 'close'] }), 'Closed')
  t.equal(head({ values: { state: 'constructor' }, verbs: [] }), 'Constructor')
})

t.test('does not guess: a lost device, an old value and silence are a dash', async (t) => {
  for (const more of [
    { values: {} },
    { values: { state: 'unknown' } },
    { device: { state: 'offline', lastSeenAt: null } },
    { device: { state: 'unknown', lastSeenAt: null } },
  ] as Partial<ZoneView>[]) {
    t.equal(head(more), '–')
    t.equal(isOn(zone(more)), undefined)
    t.equal(isUnknown(zone(more)), true)
  }
  t.equal(isUnknown(zone({ device: null })), false)
  t.equal(isUnknown(zone({ values: { state: 'unknown', level: 0 } })), false)
})

t.test('says in words why nothing is known', async (t) => {
  const text = (more: Partial<ZoneView>) => footnote(zone(more), when).text.replaceAll('\u202f', ' ')
  t.equal(text({ verbs: [], values: { state: 'ok', temperature: 21, humidity: 42.7 } }), 'Humidity 43 %')
  const lastSeenAt = when().nowMs - 26 * 60_000
  t.equal(text({ device: { state: 'offline', lastSeenAt } }), 'No contact since 17:20, 26 min ago.')
  t.match(text({ device: { state: 'unknown', lastSeenAt: null } }), /Not heard since/)
  t.match(text({ values: { state: 'unknown' } }), /does not report/)
  t.match(text({ refused: 'elevation' }), /elevated/)
  t.equal(text({ values: { state: 'playing', volume: 3, source: 'Lobby music' } }), 'Plays · Lobby music')
})

t.test('derives whether it is on from its values', async (t) => {
  t.equal(isOn(zone({ values: { on: false, state: 'on' } })), false)
  t.equal(isOn(zone({ values: { state: 'ok', level: 0 } })), false)
  t.equal(isOn(zone({ values: { state: 'ok', level: 1 } })), true)
  t.equal(isOn(zone({ values: { state: 'ok' } })), undefined)
})

t.test('takes the range of a slider from the building, and always has one', async (t) => {
  t.same(rangeOf(zone(), 'level'), { min: 0, max: 100, step: 1, unit: '%' })
  t.same(rangeOf(zone({ min: -60, max: 0, unit: 'dB' }), 'volume'), { min: -60, max: 0, step: 1, unit: 'dB' })
  t.same(rangeOf(zone({ min: 15, max: 25 }), 'setpoint'), { min: 15, max: 25, step: 0.5, unit: '°C' })
  t.equal(rangeOf(zone({ maxVolume: 60 }), 'volume').max, 60)
  t.equal(rangeOf(zone({ maxVolume: 60 }), 'level').max, 100)
  for (const more of [{ min: 5, max: 5 }, { min: 200, max: 100 }, { min: 1e9 }]) {
    const { min, max } = rangeOf(zone(more), 'level')
    t.ok(max > min, JSON.stringify(more))
  }
  t.same(quantity(0.5, '%'), { value: '0.5', unit: '%' })
})

t.test('judges all zones together: all known, some, or none', async (t) => {
  const lost = zone({ name: 'Blinds', device: { state: 'offline', lastSeenAt: null } })
  t.match(judgeZones([zone(), zone(), zone()]), { lit: 'ok', sentence: 'All 3 zones are known.', why: /are on\.$/ })
  t.match(judgeZones([zone({ values: { state: 'off' } })]), { why: 'Nothing is on.' })
  t.match(judgeZones([zone()]), { sentence: 'The zone is known.' })
  const plays = zone({ name: 'Lobby', values: { state: 'playing', volume: 40 } })
  t.match(judgeZones([plays]), { why: 'Lobby is on.' })
  t.match(roomState([plays]), { words: 'Lobby on' })
  t.match(judgeZones([zone(), lost]), {
    lit: 'warn',
    sentence: '1 of 2 zones is unknown.',
    why: 'Blinds. Commands are still tried.',
  })
  t.match(judgeZones([lost, lost]), { lit: 'fault', sentence: 'Both zones are unknown.' })
  const silent = zone({ name: 'Lobby', values: { state: 'silent', source: 'Radio', volume: 40 } })
  t.match(judgeZones([zone(), silent]), { lit: 'warn', sentence: 'Lobby is silent.', why: /no sound of it arrives/ })
  t.match(judgeZones([silent, lost, zone()]), { why: 'Blinds. Commands are still tried. Lobby is silent.' })
  t.same(shortVerdict([zone(), silent]), { lit: 'warn', words: '1 silent' })
  t.equal(roomState([zone(), silent]).lit, 'warn')
  t.same(shortVerdict([]), { lit: 'off', words: 'No zones' })
  t.same(shortVerdict([zone(), lost]), { lit: 'warn', words: '1 unknown' })
})

t.test('a room in a few words: what is on, how warm it is, and whether anything is unknown', async (t) => {
  const heat = zone({ name: 'Heat', verbs: ['setpoint'], values: { state: 'heating', temperature: 20.5 } })
  const said = (zones: ZoneView[]) => roomState(zones).words.replaceAll('\u202f', ' ')
  t.equal(said([zone(), heat]), 'Ceiling on · 20.5 °C')
  t.equal(said([zone({ values: { state: 'off', level: 0 } })]), 'Nothing on')
  t.equal(roomState([zone(), heat]).lit, 'ok')
  t.equal(roomState([zone({ device: { state: 'offline', lastSeenAt: null } })]).lit, 'gone')
})
