import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { holdsLater } from '#kit/test/holds.ts'
import type { Session } from '../../../core/access/accounts.ts'
import { createAv } from '../../../core/av/av.ts'
import { createPlaying } from '../../../core/av/playing.ts'
import { createCommand, createDispatcher } from '../../../core/control/command.ts'
import type { DriverCommand } from '../../../core/drivers/driver.ts'
import type { Json } from '../../../core/json.ts'
import { LiveState } from '../../../core/live/live-book.ts'
import { createBook, type Row } from '../../../core/site/book.ts'
import { answerOf } from '../control/stage.ts'

/** A driver that leaves every verb to its device. */
const knowsAll = { verbsOf: () => undefined, check() {} }

const MUSIC = { mcast: '239.1.1.1', port: 5004, encoding: 'L24', link_ms: 20 }
const TABLES: Readonly<Record<string, readonly Row[]>> = {
  device: [
    { id: 10, name: 'Bar decoder' },
    { id: 11, name: 'Hall decoder' },
    { id: 12, name: 'Mixer' },
    { id: 13, name: 'Intercom', elevated: true },
  ],
  zone_group: [
    { id: 100, name: 'House', parent_id: null },
    { id: 101, name: 'Ground', parent_id: 100 },
  ],
  zone: [
    { id: 1, name: 'Bar', type: 'av', device_id: 10, zone_group_id: 101 },
    { id: 2, name: 'Hall', type: 'av', device_id: 11, zone_group_id: 100 },
    { id: 3, name: 'Lamp', type: 'light', device_id: 10, zone_group_id: 101 },
  ],
  av_zone: [
    { id: 5, name: 'Bar', zone_id: 1, device_id: 10, max_volume: 60, default_volume: 25, volume: null, mute: false },
    {
      id: 6,
      name: 'Hall',
      zone_id: 2,
      device_id: 11,
      max_volume: null,
      default_volume: null,
      output: '2',
      mute: false,
    },
  ],
  av_source: [
    { id: 20, name: 'Music', device_id: 12, stream: MUSIC },
    { id: 21, name: 'Radio', device_id: 12, stream: { ...MUSIC, mcast: '239.1.1.2' } },
    { id: 22, name: 'Intercom', device_id: 13, stream: { ...MUSIC, mcast: '239.1.1.3' } },
    { id: 23, name: 'Jack', device_id: 12, input: '4', stream: null },
    { id: 24, name: 'Twin', device_id: 12, stream: null },
    { id: 25, name: 'Twin', device_id: 12, stream: null },
  ],
  ui: [{ id: 1, name: 'Panel', enabled: true }],
  ui_zone: [{ id: 1, ui_id: 1, zone_id: 1 }],
}

/** Decoders that do what they are told and say so; `lost` ones do nothing. */
function house() {
  const book = createBook()
  for (const [table, rows] of Object.entries(TABLES)) for (const row of rows) book.put(table, row)
  const clock = fakeClock(1000)
  const live = new LiveState(clock, { fields: 20, fieldChars: 500, totalChars: 65_536 })
  const lost = new Set<number>()
  const sent: string[] = []
  const secure = new Set<string>()
  let loudest = 0
  let held: Promise<void> | undefined
  /** The next command is taken, and answered when the function that this returns is called. */
  function hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    return resolve
  }
  async function execute(deviceId: number, { lead, ...command }: DriverCommand): Promise<object> {
    if (lead) await executeOne(deviceId, { ...command, ...lead })
    return executeOne(deviceId, command)
  }
  async function executeOne(deviceId: number, { zone, verb, args }: DriverCommand) {
    if (lost.has(deviceId)) throw new Fault('driver_failed', `device ${deviceId} is offline`)
    sent.push(`${zone?.id ?? 'whole'} ${verb} ${JSON.stringify(args)}`)
    const until = held
    held = undefined
    await until
    const { volume, mute, mcast = null, port = null } = args
    if (zone && typeof volume === 'number') loudest = Math.max(loudest, zone.id === 1 ? volume : 0)
    const said: Readonly<Record<string, Record<string, Json>>> = {
      route: { state: 'playing', mcast, port, source: args.input ?? null },
      stop: { state: 'stopped', mcast: '', port: null, source: null },
      volume: { volume: volume ?? null },
      mute: { mute: mute ?? null },
    }
    if (zone && said[verb]) live.report({ zoneId: zone.id }, said[verb])
    return {}
  }
  const set = new Set<string>()
  const playing = createPlaying({
    ...{ book, live, secureOf: () => secure, put: (av) => book.touch('av_zone', av) },
    isSet: (zoneId, name) => set.has(`${zoneId} ${name}`),
  })
  const av = createAv({ book, clock, host: { execute }, ...playing })
  const dispatcher = createDispatcher({ book, host: { ...knowsAll, execute }, limits: { overrides: 8 }, av })
  const command = createCommand({
    dispatcher,
    runMacro: async () => ({ status: 200, body: { json: {} }, reason: null }),
  })
  const session = (isElevated: boolean): Session => {
    const uis = book.rows('ui')
    return {
      userId: 1,
      username: 'ann',
      roles: [],
      surface: 'api',
      isElevated,
      mustChangePassword: false,
      may: () => true,
      uis,
    }
  }
  for (const zoneId of [1, 2]) live.report({ zoneId }, { state: 'stopped', mcast: '', volume: 30, mute: false })
  const say = async (body: object, isElevated = true) => answerOf(await command(session(isElevated), body))
  const avOf = (id: number) => book.row('av_zone', id) as Row
  return { avOf, book, clock, dispatcher, hold, live, loudest: () => loudest, lost, say, secure, sent, set }
}

t.test('a source is selected by name or by id, and its stream goes to the decoder', async (t) => {
  const { avOf, say, sent } = house()
  t.match(await say({ zone_id: 2, command: 'source', args: { source: 'Music' } }), { success: true })
  t.match((await say({ zone: 'Hall', source: 'Radio' })).json, { success: true, answer: { source_id: 21 } })
  t.match(await say({ zone_id: 2, command: 'select', args: { source_id: 20 } }), { success: true })
  t.strictSame(sent, [
    `2 route ${JSON.stringify({ output: '2', ...MUSIC })}`,
    `2 route ${JSON.stringify({ output: '2', ...MUSIC, mcast: '239.1.1.2' })}`,
    `2 route ${JSON.stringify({ output: '2', ...MUSIC })}`,
  ])
  t.equal(avOf(6).source_id, 20)
  t.match(await say({ zone_id: 2, command: 'source', args: { source: null } }), { success: true })
  t.equal(sent.at(-1), '2 stop {}')
  t.equal(avOf(6).source_id, null)
})

t.test('a source without a stream is the input of a matrix', async (t) => {
  const { avOf, say, sent } = house()
  await say({ zone_id: 2, source: 'Jack' })
  t.strictSame(sent, ['2 route {"input":"4","output":"2"}'])
  t.equal(avOf(6).source_id, 23)
})

t.test('a source that there is not, or twice, is refused, and nothing is sent', async (t) => {
  const { say, sent } = house()
  for (const args of [{ source: 'Nothing' }, { source: 'Twin' }, { source_id: 99 }, { source: { a: 1 } }])
    t.match(await say({ zone_id: 1, command: 'source', args }), { status: 400, error: 'invalid args' })
  t.strictSame(sent, [])
})

t.test('a zone that was silent begins with its default volume; one that plays keeps its own', async (t) => {
  const { say, sent } = house()
  await say({ zone_id: 1, source: 'Music' })
  await say({ zone_id: 1, volume: 50 })
  await say({ zone_id: 1, source: 'Radio' })
  t.match(sent, ['1 volume {"volume":25}', /^1 route/, '1 volume {"volume":50}', /^1 route/])
})

t.test('a device that is louder than the limit is turned down before it plays', async (t) => {
  const { live, say, sent } = house()
  live.report({ zoneId: 1 }, { volume: 95, state: 'playing', mcast: '239.1.1.1', port: 5004 })
  await say({ zone_id: 1, source: 'Radio' })
  await say({ zone_id: 1, command: 'unmute' })
  t.match(sent, ['1 volume {"volume":60}', /^1 route/, '1 mute {"mute":false}'])
})

t.test('a device that has not said its volume is turned down before it is unmuted or plays', async (t) => {
  const { live, say, sent } = house()
  live.lost(10, [1], 'the cable is out')
  live.report({ zoneId: 1 }, { state: 'playing', mcast: '239.1.1.1', port: 5004, mute: true })
  await say({ zone_id: 1, command: 'unmute' })
  live.lost(10, [1], 'the cable is out')
  live.report({ zoneId: 1 }, { state: 'playing', mcast: '239.1.1.1', port: 5004, mute: true })
  await say({ zone_id: 1, mute: 'toggle' })
  t.strictSame(sent, [
    '1 volume {"volume":60}',
    '1 mute {"mute":false}',
    '1 volume {"volume":60}',
    '1 mute {"mute":false}',
  ])
})

t.test('a volume that somebody has set as an attribute is not what the device does', async (t) => {
  const { live, say, sent, set } = house()
  live.report({ zoneId: 1 }, { volume: 10, state: 'playing', mcast: '239.1.1.1', port: 5004, mute: true })
  set.add('1 volume')
  await say({ zone_id: 1, command: 'unmute' })
  t.strictSame(sent, ['1 volume {"volume":60}', '1 mute {"mute":false}'])
})

t.test('a source and its volume are one command, which a later stop does not come between', async (t) => {
  const { book, clock } = house()
  const commands: DriverCommand[] = []
  const execute = async (_deviceId: number, command: DriverCommand) => {
    commands.push(command)
    return {}
  }
  const soundOf = () => ({ volume: undefined, mute: undefined, sourceId: null })
  const perform = createAv({ book, clock, host: { execute }, soundOf, chosen() {} })
  const target = { zone: book.row('zone', 1) as Row, device: book.row('device', 10) as Row }
  const order = (verb: string, args: Record<string, Json> = {}) =>
    perform({ target, verb, args, caller: undefined, refusal: () => undefined })
  const selecting = order('select', { source: 'Music' })
  const stopping = order('stop')
  await Promise.all([selecting, stopping])
  t.match(commands, [
    { verb: 'route', args: MUSIC, lead: { verb: 'volume', args: { volume: 25 } } },
    { verb: 'stop', args: {} },
  ])
  t.equal(commands.length, 2)
})

t.test('up and down stop at the limit and at nought', async (t) => {
  const { say, sent } = house()
  await say({ zone_id: 1, volume: 58 })
  await say({ zone_id: 1, command: 'volume_up' })
  await say({ zone_id: 1, volume: 'up' })
  await say({ zone_id: 1, command: 'down', args: { step: 100 } })
  t.strictSame(
    sent,
    [58, 60, 60, 0].map((volume) => `1 volume {"volume":${volume}}`),
  )
})

t.test('mute takes true, false and toggle, and nothing it does not know', async (t) => {
  const { avOf, say, sent } = house()
  for (const body of [{ command: 'mute' }, { mute: 'toggle' }, { mute: true }, { mute: 0 }])
    await say({ zone_id: 2, ...body })
  t.strictSame(
    sent,
    [true, false, true, false].map((mute) => `2 mute {"mute":${mute}}`),
  )
  t.match(await say({ zone_id: 2, mute: 'maybe' }), { status: 400 })
  await say({ zone_id: 2, command: 'mute' })
  t.equal(avOf(6).mute, true)
})

t.test('all off reaches the group with its subgroups, or the site, and what the caller may command', async (t) => {
  const { book, lost, say, sent } = house()
  t.match((await say({ zone_id: 1, command: 'all_off' })).json, { answer: { off: [1], failed: [] } })
  t.match((await say({ zone_id: 2, command: 'all_off' })).json, { answer: { off: [1, 2] } })
  t.match((await say({ zone_id: 1, command: 'all_off', args: { reach: 'site' } })).json, { answer: { off: [1, 2] } })
  t.match((await say({ zone_id: 1, command: 'all_off', args: { reach: 'site' } }, false)).json, {
    answer: { off: [1] },
  })
  t.match(await say({ zone_id: 1, command: 'all_off', args: { reach: 'world' } }), { status: 400 })
  book.put('device', { id: 11, name: 'Hall decoder', elevated: true })
  t.match((await say({ zone_id: 1, command: 'all_off', args: { reach: 'site' } }, false)).json, {
    answer: { off: [1] },
  })
  sent.length = 0
  lost.add(11)
  t.match((await say({ zone_id: 2, command: 'all_off' })).json, {
    answer: { off: [1], failed: [{ zone_id: 2, error: /offline/ }] },
  })
  t.match(await say({ zone_id: 2, command: 'stop' }), { success: false })
})

t.test('the gates hold: scope, elevation, and the elevation of the source', async (t) => {
  const { say, sent } = house()
  t.match(await say({ zone_id: 2, source: 'Music' }, false), { status: 403, reason: 'scope_denied' })
  t.match(await say({ zone_id: 1, source: 'Intercom' }, false), { status: 403, reason: 'elevation_denied' })
  t.strictSame(sent, [])
  t.match(await say({ zone_id: 1, source: 'Music' }, false), { success: true })
  t.match(await say({ zone_id: 1, source: 'Intercom' }), { success: true })
})

t.test('without elevation a route is the source with that address, and reaches no other output', async (t) => {
  const { book, say, sent } = house()
  const route = (args: object, target: object = { zone_id: 1 }) => say({ ...target, command: 'Route', args }, false)
  t.match(await route({ mcast: '239.1.1.3', port: 5004 }), { status: 403, reason: 'elevation_denied' })
  t.match(await route({ MCAST: '239.1.1.3' }), { status: 400 })
  t.match(await route({ mcast: '239.9.9.9' }), { status: 400, json: { message: /no source has this stream/ } })
  t.match(await route({ mcast: ' 239.1.1.3' }, { device_id: 10 }), { status: 403, reason: 'elevation_denied' })
  t.strictSame(sent, [])
  t.match(await route({ input: 4, output: '2' }), { success: true })
  t.match(await route({ mcast: '239.1.1.1', port: 5004, output: '2' }), { success: true })
  t.strictSame(sent, ['1 volume {"volume":25}', '1 route {"input":"4"}', `1 route ${JSON.stringify(MUSIC)}`])
  book.put('av_source', { ...(book.row('av_source', 22) as Row), device_id: null })
  t.match(await route({ mcast: '239.1.1.3' }, { device_id: 10 }), { success: true }, 'on no elevated device any more')
})

t.test('what plays where is what the devices say, whoever asked for it', async (t) => {
  const { avOf, book, live, secure } = house()
  live.report({ zoneId: 1 }, { state: 'playing', mcast: '239.1.1.2', port: 5004, volume: 41, mute: true })
  t.match(avOf(5), { source_id: 21, volume: 41, mute: true })
  live.report({ zoneId: 1 }, { mcast: '239.9.9.9' })
  t.equal(avOf(5).source_id, null, 'a stream of nobody')
  live.report({ zoneId: 1 }, { mcast: '239.1.1.1' })
  const shape = book.shape('av_zone')
  live.lost(10, [1], 'the cable is out')
  t.match(avOf(5), { source_id: null, volume: null, mute: false })
  t.equal(book.shape('av_zone'), shape)
  secure.add('volume')
  live.report({ zoneId: 1 }, { state: 'playing', volume: 41 })
  t.equal(avOf(5).volume, null, 'a secure attribute of this name hides it')
})

t.test('a device that does not say what it plays is believed', async (t) => {
  const { avOf, book, live, say } = house()
  book.put('zone', { id: 4, name: 'Yard', type: 'av', device_id: 12 })
  book.put('av_zone', { id: 7, name: 'Yard', zone_id: 4, max_volume: null, default_volume: null, mute: false })
  live.report({ zoneId: 4 }, { power: true })
  const before = live.zone(4)
  await say({ zone_id: 4, source: 'Jack' })
  t.not(live.zone(4), before)
  t.equal(avOf(7).source_id, 23)
})

t.test('a ramp goes in steps, and ends with the next command', async (t) => {
  const { clock, say, sent } = house()
  t.match(await say({ zone_id: 1, command: 'ramp', args: { volume: 50, duration_ms: 400 } }), { success: true })
  await clock.run(1000)
  t.strictSame(
    sent,
    [35, 40, 45, 50].map((volume) => `1 volume {"volume":${volume}}`),
  )
  await say({ zone_id: 1, command: 'ramp', args: { to: 0, duration_ms: 1000 } })
  await clock.run(200)
  await say({ zone_id: 1, mute: true })
  const { length } = sent
  await clock.run(2000)
  t.equal(sent.length, length)
})

t.test(
  'a ramp whose step is under way ends with the next command, and so does one that another ramp follows',
  async (t) => {
    const { clock, hold, say, sent } = house()
    const release = hold()
    void say({ zone_id: 1, command: 'ramp', args: { volume: 60, duration_ms: 1000 } })
    await clock.run(10)
    await say({ zone_id: 1, command: 'stop' })
    release()
    await clock.run(2000)
    t.strictSame(sent, ['1 volume {"volume":33}', '1 stop {}'])
    const second = hold()
    void say({ zone_id: 1, command: 'ramp', args: { volume: 60, duration_ms: 1000 } })
    await clock.run(10)
    await say({ zone_id: 1, command: 'ramp', args: { volume: 0, duration_ms: 100 } })
    second()
    await clock.run(2000)
    t.equal(sent.at(-1), '1 volume {"volume":0}')
  },
)

t.test('a limit that is lowered during a ramp holds', async (t) => {
  const { avOf, book, clock, say, sent } = house()
  await say({ zone_id: 1, command: 'ramp', args: { volume: 60, duration_ms: 1000 } })
  book.put('av_zone', { ...avOf(5), max_volume: 35 })
  await clock.run(2000)
  t.equal(sent.at(-1), '1 volume {"volume":35}')
})

t.test('two zones of one output keep the lower limit, whichever is commanded', async (t) => {
  const { book, clock, say, sent } = house()
  book.put('zone', { id: 4, name: 'Bar, too', type: 'av', device_id: 10, address: ' ' })
  book.put('av_zone', { id: 8, name: 'Bar, too', zone_id: 4, device_id: 10, max_volume: 90, volume: null, mute: false })
  book.put('zone', { id: 5, name: 'Terrace', type: 'av', device_id: 10, address: '2' })
  for (const body of [
    { zone_id: 3, volume: 100 },
    { zone_id: 3, command: 'volume_up' },
    { zone_id: 3, command: 'ramp', args: { volume: 80 } },
    { zone_id: 4, volume: 61 },
    { zone_id: 4, command: 'ramp', args: { volume: 61 } },
  ])
    t.match(await say(body), { error: 'invalid args' }, JSON.stringify(body))
  t.strictSame(sent, [])
  await say({ zone_id: 4, command: 'route', args: { mcast: '239.1.1.1' } })
  t.equal(sent[0], '4 volume {"volume":60}')
  await say({ zone_id: 5, volume: 100 })
  t.equal(sent.at(-1), '5 volume {"volume":100}', 'another output has a limit of its own, or none')
  book.put('av_zone', { ...(book.row('av_zone', 5) as Row), max_volume: null })
  t.match(await say({ zone_id: 3, volume: 90 }), { success: true })
  await say({ zone_id: 4, command: 'ramp', args: { volume: 90, duration_ms: 200 } })
  await clock.run(1000)
  t.equal(sent.at(-1), '4 volume {"volume":90}')
})

t.test('ways around the limit are refused', async (t) => {
  const { dispatcher, book, say, sent } = house()
  for (const body of [
    { zone_id: 1, volume: 61 },
    { zone_id: 1, command: 'volume', args: { volume: '6e1 ' + '0' } },
    { zone_id: 1, command: 'volume_db', args: { volume_db: 0 } },
    { zone_id: 1, command: 'ramp', args: { to: 61 } },
    { zone_id: 1, command: 'set_gain', args: { value: 5 } },
    { zone_id: 1, command: 'preset', args: { volume_db: 0 } },
    { zone_id: 1, command: 'preset', args: { vol: 90 } },
    { zone_id: 1, command: 'main_vol', args: { main_vol: 90 } },
    { zone_id: 1, command: 'outDB', args: { value: 3 } },
    { zone_id: 1, level: 61 },
    { zone_id: 1, command: 'value', args: { value: 'max' } },
    { zone_id: 1, command: 'setpoint', args: { setpoint: 100 } },
    { zone_id: 1, command: 'input', args: { input: 'a', Position: '1e2' } },
    { device_id: 10, command: 'level', args: { level: 61 } },
    { device_id: 10, command: 'volume_db', args: { volume_db: 0 } },
    { device_id: 10, command: 'volume', args: { volume: 'up' } },
    { device_id: 10, command: 'volume_up' },
  ])
    t.match(await say(body), { status: 400 }, JSON.stringify(body))
  t.strictSame(sent, [])
  const zone = book.row('zone', 1) as Row
  book.put('zone', { ...zone, overrides: { on: { command: 'volume', args: { volume: 99 } } } })
  t.match(await say({ zone_id: 1, command: 'on' }), { status: 400 })
  const target = { zone: book.row('zone', 1) as Row, device: book.row('device', 10) as Row }
  await t.rejects(dispatcher.dispatch(target, 'volume', { volume: 99 }), { code: 'args_invalid' })
  t.strictSame(sent, [])
})

t.test('what a driver takes for the most of a zone is no more than its limit', async (t) => {
  const { book, dispatcher } = house()
  const zones: unknown[] = []
  const seen = createDispatcher({
    book,
    host: {
      ...knowsAll,
      async execute(_deviceId, { zone }) {
        zones.push(zone?.max)
        return {}
      },
    },
    limits: { overrides: 8 },
  })
  for (const max of [undefined, 40, 255]) {
    book.put('zone', { ...(book.row('zone', 1) as Row), max: max ?? null })
    const target = dispatcher.resolve({ zone_id: 1 })
    if ('target' in target) await seen.dispatch(target.target, 'on', {})
  }
  t.strictSame(zones, [60, 40, 60])
})

t.test('whatever is sent, no volume above the limit reaches the device', async (t) => {
  const number = fc.oneof(
    fc.integer({ min: -20, max: 200 }),
    fc.constantFrom<Json>('up', 'down', '61', '6１', null, true),
  )
  const verb = fc.constantFrom(
    ...['volume', 'source', 'select', 'up', 'volume_up', 'ramp', 'VOLUME', 'mute', 'unmute', 'on', 'route', 'stop'],
    ...['volume_db', 'level', 'increase', 'preset'],
  )
  const key = fc.constantFrom('volume', 'value', 'to', 'step', 'Volume', 'volume_db', 'level', 'duration_ms', 'source')
  const args = fc.dictionary(key, fc.oneof(number, fc.constantFrom<Json>('Music', 'Radio')), { maxKeys: 3 })
  const step = fc.record({ verb, args, reported: fc.option(fc.integer({ min: 0, max: 100 })), waitMs: fc.nat(300) })
  const law = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
    const { clock, live, loudest, say, sent } = house()
    for (const { verb, args, reported, waitMs } of steps) {
      if (reported !== null) live.report({ zoneId: 1 }, { volume: reported })
      await say({ zone_id: 1, command: verb, args })
      await clock.run(waitMs)
    }
    return loudest() <= 60 && !sent.some((line) => line.includes('volume_db'))
  })
  await holdsLater(t, law, { numRuns: 300 })
})
