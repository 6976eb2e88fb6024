import t from 'tap'
import { responseFrame } from '../../../wire/mbus/frames.ts'
import { mbusLine, point, volume, waterMeter } from './mbus-line.ts'

t.test('A.mbus a meter is reset, read, and told with who it is and what it has', async (t) => {
  const on = await mbusLine({ meters: [waterMeter(5, '12345678')] })
  const { answer } = await on.doNow('read', { address: 5 })
  t.match(answer, {
    unitId: 5,
    address: 5,
    secondary: '1234567877040116',
    meter: { id: '12345678', manufacturer: 'ACW', version: 1, medium: { code: 0x16, name: 'cold water' } },
    accessNumber: 0,
    status: [],
    isComplete: true,
    problem: null,
    records: [{ record: 'volume', value: 0.678, unit: 'm³', storage: 0, headerHex: '04 13', dataHex: 'A6 02 00 00' }],
    restHex: [],
  })
  t.same(on.asked, [
    { kind: 'init', address: 5, frameCountBit: false },
    { kind: 'read', address: 5, frameCountBit: true },
  ])
  t.match(on.adapter.faces?.units?.list(), [{ unitId: 5, state: 'well', replies: 2 }])
  t.match(on.frames[0]?.decoded, { kind: 'request', unitId: 5, asks: 'reset' })
  t.match(on.frames.at(-1)?.decoded, { kind: 'reply', unitId: 5, meter: '1234567877040116', records: 1 })
})

t.test('A.mbus telegrams follow with the frame count bit toggled, and make one reading', async (t) => {
  const parts = [[...volume(1), 0x1f], [...volume(2), 0x1f], [...volume(3)]].map((part) => Uint8Array.from(part))
  const on = await mbusLine({ meters: [waterMeter(5, '12345678', {}, { telegrams: () => parts })] })
  const { answer } = await on.doNow('read', { address: 5 })
  t.match(answer, {
    isComplete: true,
    records: [{ record: 'volume' }, { record: 'volume #2' }, { record: 'volume #3', value: 0.003 }],
  })
  t.same(
    on.asked.map((one) => (one.kind === 'read' ? one.frameCountBit : one.kind)),
    ['init', true, false, true],
  )
  const again = await on.doNow('read', { address: 5 })
  t.match(again.answer, { records: [{ value: 0.001 }, { value: 0.002 }, { value: 0.003 }] }, 'from the first one on')
  const few = await mbusLine({
    settings: { max_telegrams: 2 },
    meters: [waterMeter(5, '12345678', {}, { telegrams: () => parts })],
  })
  t.match((await few.doNow('read', { address: 5 })).answer, {
    isComplete: false,
    records: [{ value: 0.001 }, { value: 0.002 }],
  })
})

t.test('A.mbus a damaged telegram is asked for again with the same frame count bit', async (t) => {
  let answers = 0
  const parts = [Uint8Array.from([...volume(1), 0x1f]), volume(2)]
  const damage = (frame: Uint8Array) =>
    frame.length > 1 && ++answers === 2 ? frame.map((byte, at) => (at === 20 ? byte ^ 1 : byte)) : frame
  const on = await mbusLine({ meters: [waterMeter(5, '12345678', { damage }, { telegrams: () => parts })] })
  const { answer } = await on.doNow('read', { address: 5 })
  t.match(answer, { records: [{ value: 0.001 }, { value: 0.002 }] })
  t.same(
    on.asked.map((one) => (one.kind === 'read' ? one.frameCountBit : one.kind)),
    ['init', true, false, false],
  )
  const always = await mbusLine({
    settings: { retries: 0 },
    meters: [waterMeter(5, '12345678', { damage: (frame) => (frame.length > 1 ? frame.with(-2, 0) : frame) })],
  })
  t.match((await always.doNow('read', { address: 5 })).fault, { code: 'mbus_bad_reply', details: { unitId: 5 } })
})

t.test('A.mbus by its number a meter is selected, and only its own answer is believed', async (t) => {
  const meters = [waterMeter(0, '12345678'), waterMeter(0, '87654321')]
  const on = await mbusLine({ meters })
  t.match((await on.doNow('read', { secondary: '87654321' })).answer, {
    unitId: 87_654_321,
    address: null,
    records: [{ value: 0.321 }],
  })
  t.match((await on.doNow('read', { secondary: '1234567877040116' })).answer, { records: [{ value: 0.678 }] })
  t.match((await on.doNow('read', { secondary: '1234567877040115' })).fault, { code: 'mbus_timeout' })
  t.same(
    on.asked.slice(0, 2).map(({ kind }) => kind),
    ['select', 'read'],
  )
  t.match(on.adapter.faces?.units?.list(), [{ unitId: 12_345_678 }, { unitId: 87_654_321 }])
  t.match((await on.doNow('init', { secondary: '87654321' })).answer, { unitId: 87_654_321 })
  t.match((await on.doNow('read', { secondary: '1F345678' })).fault, { code: 'bad_fields', message: /wildcard/ })
  t.match((await on.doNow('read', {})).fault, { code: 'bad_fields', message: /address is missing/ })
  t.match((await on.doNow('read', { address: 1, secondary: '12345678' })).fault, { code: 'bad_fields' })
  t.match((await on.doNow('read', { address: 251 })).fault, { code: 'bad_fields', message: /from 0 to 250/ })
})

t.test('A.mbus nobody there is a time-out, and a reset of all is not answered', async (t) => {
  const on = await mbusLine({ meters: [waterMeter(5, '12345678')], settings: { retries: 0 } })
  t.match((await on.doNow('read', { address: 6 })).fault, {
    code: 'mbus_timeout',
    message: /Unit 6 did not answer to SND_NKE/,
  })
  t.match((await on.doNow('init', { address: 5 })).answer, { unitId: 5 })
  t.match((await on.doNow('init', { address: 255 })).answer, { unitId: 255 })
  t.match((await on.doNow('init', { address: 254 })).fault, { code: 'bad_fields' })
})

t.test('an answer with the address of another meter is not believed', async (t) => {
  const on = await mbusLine({ meters: [waterMeter(5, '12345678', { namesAddress: 7 })], settings: { retries: 0 } })
  t.match((await on.doNow('read', { address: 5 })).fault, { code: 'mbus_timeout', message: /wrongUnit 1/ })
  t.match(on.frames.at(-1), { decodeError: { code: 'mbus_unproven', message: /another meter/ } })
})

t.test('a late acknowledgement is not that of the next meter', async (t) => {
  const on = await mbusLine({ meters: [waterMeter(5, '12345678', { lateMs: 900 })], settings: { retries: 0 } })
  t.match((await on.doNow('init', { address: 5 })).fault, { code: 'mbus_timeout' })
  t.match((await on.doNow('init', { address: 6 })).fault, { code: 'mbus_timeout' }, 'what meter 5 says is not for 6')
})

t.test('a late telegram is never that of a later reading', async (t) => {
  let litres = 1
  const faults = { lateMs: 0 }
  const on = await mbusLine({
    meters: [waterMeter(5, '12345678', faults, { telegrams: () => [volume(litres)] })],
    settings: { retries: 0, response_timeout_ms: 300 },
  })
  t.match((await on.doNow('init', { address: 5 })).answer, { unitId: 5 })
  faults.lateMs = 700
  const late = on.doNow('read', { address: 5 })
  t.match((await late).fault, { code: 'mbus_timeout' })
  litres = 2
  faults.lateMs = 0
  t.match((await on.doNow('read', { address: 5 })).answer, { records: [{ value: 0.002 }] })
})

t.test('a meter that repeats itself is not read twice for two telegrams', async (t) => {
  const same = responseFrame(5, 0x78, Uint8Array.from([...volume(1), 0x1f]))
  const on = await mbusLine({
    settings: { retries: 0 },
    meters: [waterMeter(5, '12345678', { damage: (frame) => (frame.length > 1 ? same : frame) })],
  })
  t.match((await on.doNow('read', { address: 5 })).fault, { code: 'mbus_bad_reply', message: /mismatchedReplies 1/ })
})

t.test('telegrams of two meters are not one reading', async (t) => {
  let asked = 0
  const meters = [waterMeter(5, '12345678'), waterMeter(5, '87654321')]
  for (const [at, meter] of meters.entries()) {
    const { hear } = meter
    meter.hear = (request) => {
      const said = hear(request)
      if (request.kind !== 'read') return at === 0 ? said : undefined
      return asked++ % 3 === at ? said : undefined
    }
  }
  const parts = [Uint8Array.from([...volume(1), 0x1f]), volume(2)]
  const on = await mbusLine({
    meters: [waterMeter(5, '12345678', {}, { telegrams: () => parts })],
    settings: { retries: 0 },
  })
  t.match((await on.doNow('read', { address: 5 })).answer, { records: [{}, {}] })
  const stranger = waterMeter(5, '87654321', {}, { telegrams: () => parts })
  const first = waterMeter(5, '12345678', {}, { telegrams: () => parts })
  let reads = 0
  const both = {
    ...first,
    hear: (request: Parameters<typeof first.hear>[0]) => {
      const [one, other] = [first.hear(request), stranger.hear(request)]
      return request.kind === 'read' && reads++ > 0 ? other : one
    },
  }
  const mixed = await mbusLine({ meters: [both], settings: { retries: 0 } })
  t.match((await mixed.doNow('read', { address: 5 })).fault, { code: 'mbus_bad_reply', message: /are of two meters/ })
})

t.test('no point takes its value from the telegram of another meter', async (t) => {
  const parts = (litres: number) => () => [Uint8Array.from([...volume(litres), 0x1f]), volume(litres)]
  const first = waterMeter(5, '12345678', {}, { telegrams: parts(1) })
  const stranger = waterMeter(5, '87654321', {}, { telegrams: parts(999) })
  const both = {
    ...first,
    hear: (request: Parameters<typeof first.hear>[0]) => {
      const [one, other] = [first.hear(request), stranger.hear(request)]
      return request.kind === 'read' && !request.frameCountBit ? other : one
    },
  }
  const on = await mbusLine({
    meters: [both],
    points: [point('first', 'volume'), point('second', 'volume #2')],
    settings: { retries: 0 },
  })
  await on.clock.run(5000)
  t.match(on.adapter.faces?.points?.list(), [
    { value: null, quality: 'bad', fault: { code: 'mbus_bad_reply' } },
    { value: null, quality: 'bad', fault: { code: 'mbus_bad_reply' } },
  ])
  t.same(
    on.told.value.filter(({ value }) => value !== null),
    [],
  )
})

t.test('a telegram that comes late gives no point the record of another one', async (t) => {
  const parts = () => [Uint8Array.from([...volume(1), 0x1f]), volume(999)]
  const faults = { lateMs: 0 }
  const meter = waterMeter(5, '12345678', faults, { telegrams: parts })
  const { hear } = meter
  meter.hear = (request) => {
    faults.lateMs = request.kind === 'read' && !request.frameCountBit ? 700 : 0
    return hear(request)
  }
  const on = await mbusLine({
    meters: [meter],
    points: [point('first', 'volume'), point('second', 'volume #2')],
    settings: { retries: 0, response_timeout_ms: 300 },
  })
  await on.clock.run(5000)
  t.ok(on.count('lateReplies') > 0)
  t.match(on.adapter.faces?.points?.list(), [{ value: null }, { value: null }])
})

t.test('an error that a meter tells instead of data is a refusal', async (t) => {
  const busy = responseFrame(5, 0x70, Uint8Array.of(8))
  const on = await mbusLine({
    meters: [waterMeter(5, '12345678', { damage: (frame) => (frame.length > 1 ? busy : frame) })],
  })
  t.match((await on.doNow('read', { address: 5 })).fault, {
    code: 'mbus_refused',
    message: /application too busy/,
    details: { error: { code: 8 } },
  })
})

t.test('who hangs up takes a reading along that has not begun, and operators go before polls', async (t) => {
  const on = await mbusLine({ meters: [waterMeter(5, '12345678'), waterMeter(6, '87654321')] })
  const leave = new AbortController()
  const first = on.doNow('read', { address: 5 })
  const second = on.doNow('read', { address: 5 }, leave.signal)
  leave.abort()
  t.match((await second).fault, { code: 'mbus_withdrawn' })
  t.match((await first).answer, { unitId: 5 })
  const gone = new AbortController()
  gone.abort()
  t.match((await on.doNow('read', { address: 5 }, gone.signal)).fault, { code: 'mbus_withdrawn' })
})

t.test('as many readings wait as settings.queue allows, and each for a bounded time', async (t) => {
  const on = await mbusLine({
    meters: [waterMeter(5, '12345678', { isDead: true })],
    settings: { queue: 2, request_deadline_ms: 2000 },
  })
  const all = Array.from({ length: 5 }, () => on.doNow('read', { address: 5 }))
  const codes = (await Promise.all(all)).map(({ fault }) => fault?.code)
  t.equal(codes.filter((code) => code === 'queue_full').length, 2)
  t.ok(codes.includes('mbus_expired') || codes.filter((code) => code === 'mbus_timeout').length === 3, String(codes))
})

t.test('a closed line ends what is under way and what waits', async (t) => {
  const on = await mbusLine({ meters: [waterMeter(5, '12345678', { isDead: true })] })
  const both = [on.doNow('read', { address: 5 }), on.doNow('read', { address: 5 })]
  await on.clock.run(50)
  await on.port.close()
  for (const { fault } of await Promise.all(both)) t.equal(fault?.code, 'line_closed')
  t.match((await on.doNow('read', { address: 5 })).fault, { code: 'line_closed' })
})

t.test('points of a meter share one reading, and a record that is missing is said', async (t) => {
  let litres = 100
  const parts = () => [Uint8Array.from([...volume(litres), 0x1f]), Uint8Array.from([0x44, 0x13, 7, 0, 0, 0])]
  const on = await mbusLine({
    meters: [waterMeter(5, '12345678', {}, { telegrams: parts }), waterMeter(0, '00000042')],
    points: [
      point('volume', 'volume', { scale: 1000, unit: 'l', decimals: 0 }),
      point('last month', 'volume storage 1'),
      point('energy', 'energy'),
      point('by number', 'volume', { unitId: 100_000_042 }),
    ],
  })
  await on.clock.run(5000)
  const points = on.adapter.faces?.points?.list() ?? []
  t.match(points, [
    { value: 100, text: '100', quality: 'good' },
    { value: 0.007, quality: 'good' },
    { quality: 'bad', fault: { code: 'point_no_value', message: /has told no record "energy"/ } },
    { value: 0.042, quality: 'good' },
  ])
  t.equal(on.asked.filter(({ kind }) => kind === 'read').length, 3, 'three telegrams')
  litres = 101
  await on.clock.run(10_000)
  t.match(on.told.value.at(-1), { name: 'volume', value: 101, previous: 100 })
  t.match(on.adapter.faces?.points?.polling(), { reads: 2, overruns: 0 })
})

t.test('a dead meter is silent, and its polls do not hold up those of the others', async (t) => {
  const on = await mbusLine({
    meters: [waterMeter(5, '12345678'), waterMeter(6, '87654321', { isDead: true })],
    points: [point('a', 'volume', { pollMs: 2000 }), point('b', 'volume', { unitId: 6, pollMs: 2000 })],
  })
  await on.clock.run(60_000)
  t.match(on.adapter.faces?.units?.list(), [
    { unitId: 5, state: 'well' },
    { unitId: 6, state: 'silent' },
  ])
  t.match(on.adapter.faces?.points?.list(), [
    { quality: 'good' },
    { quality: 'bad', fault: { code: 'mbus_unit_silent' } },
  ])
  const polls = on.asked.filter((one) => one.kind === 'read' && one.address === 5).length
  t.ok(polls >= 28, `${polls} polls`)
})

t.test('a meter that cannot be selected does not hold up those that are selected after it', async (t) => {
  const on = await mbusLine({
    meters: [waterMeter(0, '12345678')],
    points: [point('dead', 'volume', { unitId: 87_654_321 }), point('well', 'volume', { unitId: 12_345_678 })],
  })
  await on.clock.run(1000)
  t.match(on.adapter.faces?.points?.list(), [{ quality: 'bad' }, { quality: 'good', value: 0.678 }])
})

t.test('a line keeps counts of so many meters, and no more', async (t) => {
  const on = await mbusLine({
    settings: { retries: 0, response_timeout_ms: 10, forget_unit_ms: 604_800_000, quarantine_ms: 100 },
  })
  for (let address = 0; address < 247; address++) await on.doNow('read', { address })
  t.match((await on.doNow('read', { secondary: '12345678' })).fault, { code: 'mbus_too_many_meters' })
  on.adapter.faces?.units?.forget(0)
  t.match((await on.doNow('read', { secondary: '12345678' })).fault, { code: 'mbus_timeout' })
})
