import t from 'tap'
import { responseFrame } from '../../../wire/mbus/frames.ts'
import { mbusLine, point, volume, waterMeter } from './mbus-line.ts'

t.test('A.mbus a scan by primary address finds meters, and says where two have one address', async (t) => {
  const meters = [
    waterMeter(1, '11111111'),
    waterMeter(9, '22222222'),
    waterMeter(4, '33333333'),
    waterMeter(4, '44444444'),
  ]
  const on = await mbusLine({ meters })
  const job = await on.scanNow({ from: 0, to: 10 })
  t.match(job, {
    by: 'primary',
    from: 0,
    to: 10,
    mask: null,
    state: 'done',
    asked: 11,
    progress: 1,
    current: null,
    found: [
      { unitId: 1, address: 1, secondary: '1111111177040116', meter: { id: '11111111', manufacturer: 'ACW' } },
      { unitId: 9, address: 9 },
    ],
    collisions: ['4'],
    fault: null,
  })
  t.ok(job.found.every(({ tookMs }) => tookMs !== null && tookMs > 0))
})

t.test('A.mbus a scan by secondary address tells meters apart that answer at once', async (t) => {
  const ids = ['12345678', '12345671', '12399999', '87654321', '00000001']
  const on = await mbusLine({ meters: ids.map((id) => waterMeter(0, id)) })
  const job = await on.scanNow({ by: 'secondary' })
  t.match(job, { state: 'done', mask: 'FFFFFFFFFFFFFFFF', collisions: [], progress: 1 })
  t.same(job.found.map(({ meter }) => meter?.id).sort(), [...ids].sort())
  t.same(
    on.adapter.faces?.units?.list().map(({ unitId }) => unitId),
    [],
    'a search makes no units',
  )
  const some = await on.scanNow({ by: 'secondary', mask: '123FFFFF' })
  t.same(some.found.map(({ meter }) => meter?.id).sort(), ids.slice(0, 3).sort())
  const few = await on.scanNow({ by: 'secondary', mask: '8FFFFFFFFFFFFF16' })
  t.match(few, { found: [{ secondary: '8765432177040116' }], asked: 2 })
})

t.test('A.mbus answers that fall together to that of a meter which is not there find those that are', async (t) => {
  // By AND their telegrams are a whole one of 12300101, with the right checksum.
  const ids = ['12340111', '56787503']
  const meters = ids.map((id) => waterMeter(0, id, {}, { telegrams: () => [volume(1)] }))
  const on = await mbusLine({ meters })
  const ghosts = () => on.frames.filter(({ decoded }) => JSON.stringify(decoded).includes('12300101')).length
  const job = await on.scanNow({ by: 'secondary' })
  t.ok(ghosts() > 0, 'the answer of nobody was heard, whole')
  t.match(job, { state: 'done', collisions: [], progress: 1 })
  t.same(
    job.found.map(({ meter }) => meter?.id),
    ids,
  )
})

t.test('A.mbus two meters of one number, and one whose number is none, are collisions', async (t) => {
  const twins = [waterMeter(0, '12345678'), waterMeter(0, '12345678', {}, { manufacturer: 'KAM' })]
  const on = await mbusLine({ meters: twins })
  t.match(await on.scanNow({ by: 'secondary' }), { state: 'done', found: [], collisions: ['12345678FFFFFFFF'] })
  const odd = await mbusLine({ meters: [waterMeter(0, 'A0000001'), waterMeter(0, 'B0000002')] })
  t.match(await odd.scanNow({ by: 'secondary' }), { found: [], collisions: ['FFFFFFFFFFFFFFFF'] })
})

t.test('a meter that answers damaged once is found all the same', async (t) => {
  let answers = 0
  const damage = (frame: Uint8Array) => (frame.length > 1 && ++answers === 1 ? frame.with(-2, 0) : frame)
  const on = await mbusLine({ meters: [waterMeter(3, '12345678', { damage })] })
  t.match(await on.scanNow({ from: 3, to: 3 }), { found: [{ unitId: 3 }], collisions: [] })
})

t.test('a meter that names another address is not found at the one it was asked at', async (t) => {
  const on = await mbusLine({ meters: [waterMeter(3, '12345678', { namesAddress: 8 })] })
  t.match(await on.scanNow({ from: 3, to: 3 }), { found: [], state: 'done' })
})

t.test('noise that answers every selection ends the scan after as many as are allowed', async (t) => {
  const noise = { damage: (frame: Uint8Array) => (frame.length > 1 ? frame.with(-2, 0) : frame) }
  const all = waterMeter(0, '12345678', noise)
  const on = await mbusLine({
    settings: { scan_selections: 25 },
    meters: [
      {
        ...all,
        hear: (request) =>
          request.kind === 'select' ? Uint8Array.of(0xe5) : responseFrame(0, 0x72, new Uint8Array(3)),
      },
    ],
  })
  const job = await on.scanNow({ by: 'secondary' })
  t.match(job, { state: 'failed', asked: 25, fault: { code: 'mbus_scan_too_long' } })
})

t.test('a scan is cancelled, fails with its line, and is not started twice', async (t) => {
  const on = await mbusLine({ meters: [waterMeter(200, '12345678')] })
  const { scan } = on.adapter.faces ?? {}
  t.throws(() => scan?.job(), { code: 'no_scan' })
  t.match(scan?.start({}), { state: 'running', from: 0, to: 250 })
  t.throws(() => scan?.start({}), { code: 'scan_running' })
  await on.clock.run(3000)
  t.match(scan?.job(), { current: /^\d+$/, etaMs: Number })
  t.match(scan?.cancel(), { state: 'cancelled', current: null })
  const asked = on.asked.length
  await on.clock.run(5000)
  t.ok(on.asked.length <= asked + 1)
  scan?.start({ by: 'secondary' })
  await on.clock.run(100)
  await on.port.close()
  t.match(scan?.job(), { state: 'failed', fault: { code: 'line_closed' } })
  t.throws(() => scan?.start({}), { code: 'line_closed' })
})

t.test('what a scan cannot mean is refused by its field', async (t) => {
  const on = await mbusLine()
  const { scan } = on.adapter.faces ?? {}
  for (const [body, message] of [
    [{ fc: 3 }, /^fc /],
    [{ address: 3 }, /^address /],
    [{ from: 9, to: 8 }, /^from is 9, above to/],
    [{ to: 300 }, /^to is 300/],
    [{ by: 'secondary', mask: '123' }, /^mask is "123"/],
  ] as const)
    t.throws(() => scan?.start(body), { code: 'bad_fields', message })
})

t.test('polls go on during a scan', async (t) => {
  const on = await mbusLine({ meters: [waterMeter(5, '12345678')], points: [point('a', 'volume', { pollMs: 2000 })] })
  await on.scanNow({ from: 0, to: 30 })
  t.match(on.adapter.faces?.points?.list(), [{ quality: 'good' }])
  t.ok(on.asked.filter((one) => one.kind === 'read' && one.address === 5).length > 5)
})

t.test('a reading that takes long does not fail a scan that waits for its turn', async (t) => {
  const settings = { request_deadline_ms: 500, background_wait_ms: 1000, response_timeout_ms: 2000 }
  const on = await mbusLine({ meters: [waterMeter(0, '12345678')], settings })
  const reading = on.doNow('read', { secondary: '87654321' })
  t.match(await on.scanNow({ by: 'secondary' }), { state: 'done', fault: null, found: [{ unitId: 12_345_678 }] })
  t.ok((await reading).fault)
})
