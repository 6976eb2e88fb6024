import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { foldedPlate } from '../../core/recognition/plates.ts'
import type { SightEvent } from '../../core/sight/events.ts'
import { groupOf } from '../../core/sight/labels.ts'
import { EVENTS_HEAP_MIB } from '../../core/sight/memory.ts'
import { openEventStore } from '../../io/event-store.ts'
import { recognisedFind } from '../../io/recognised-table.ts'

const [DOOR, YARD] = ['0000000a', '0000000b']

function eventAt(beganAt: number, more: Partial<SightEvent> & { number?: number } = {}): SightEvent {
  const { cameraId = DOOR, label = 'person', number = 1, ...rest } = more
  const facts = { id: `${cameraId}-${beganAt}-${number}`, cameraId, label, group: groupOf(label), score: 0.75 }
  const times = { beganAt, lastAt: beganAt + 10, endedAt: beganAt + 10, bestAt: beganAt + 5 }
  return { ...facts, ...times, box: [0.1, 0.2, 0.3, 0.4], source: 'external', ...rest }
}

function open(t: Test, folder = t.testdir({}), limits = { events: 1e6, pieces: 1e6, readings: 1e6 }) {
  const told: string[] = []
  const store = openEventStore({ folder, limits, onPutAside: (why) => told.push(why) })
  t.teardown(() => store.close())
  return { folder, store, told }
}

t.test('A.events filters are by camera, label or group, and span; the newest come first', async (t) => {
  const { store } = open(t)
  const all = [
    eventAt(1000),
    eventAt(2000, { label: 'car' }),
    eventAt(3000, { cameraId: YARD, label: 'truck' }),
    eventAt(4000, { label: 'motion', box: null, endedAt: null, lastAt: 9000 }),
  ]
  await store.put(all, [])
  const find = async (wish: object) =>
    (await store.find({ cameras: [DOOR, YARD, 'none'], limit: 10, ...wish })).map(({ beganAt }) => beganAt)
  t.same(await find({}), [4000, 3000, 2000, 1000])
  t.same(await find({ limit: 2 }), [4000, 3000])
  t.same(await find({ cameras: [YARD] }), [3000])
  t.same(await find({ cameras: [] }), [])
  t.same(await find({ label: 'car' }), [2000])
  t.same(await find({ label: 'vehicle' }), [3000, 2000])
  t.same(await find({ since: 2005 }), [4000, 3000, 2000], 'one that is still there at the moment is in the span')
  t.same(await find({ until: 2500 }), [2000, 1000])
  const HOUR = 3_600_000
  await store.put([eventAt(500, { label: 'motion', lastAt: 9 * HOUR, endedAt: 9 * HOUR }), eventAt(9 * HOUR)], [])
  t.same(await find({ since: 8 * HOUR }), [9 * HOUR, 500], 'one that lasted for hours too')
  t.same(await find({ since: 8 * HOUR, limit: 1 }), [9 * HOUR])
  t.same(await find({ since: 8 * HOUR, label: 'person' }), [9 * HOUR])
  t.same(await find({ since: 8 * HOUR, label: 'other' }), [500])
  t.same(await find({ since: 8 * HOUR, cameras: [YARD] }), [])
  await store.forget(DOOR, 500, 501)
  await store.forget(DOOR, 9 * HOUR, 10 * HOUR)
  t.same(await store.one(`${DOOR}-4000-1`), all[3])
  t.equal(await store.one('nonsense'), undefined)
  await store.put([eventAt(1000, { label: 'dog' })], [])
  t.match(await store.one(`${DOOR}-1000-1`), { label: 'dog', group: 'animal' }, 'it is replaced')
})

t.test('an event that was open at a kill ended when it was seen last', async (t) => {
  const { folder, store } = open(t)
  await store.put([eventAt(1000, { endedAt: null, lastAt: 7000 })], [])
  await store.close()
  const again = open(t, folder)
  t.match(await again.store.one(`${DOOR}-1000-1`), { endedAt: 7000 })
})

t.test('A.tracks pieces come back as they were, of the span that is asked for', async (t) => {
  const { store } = open(t)
  const sightings = (from: number) =>
    [0, 400, 800].map((ms) => ({ at: from + ms, score: 0.8, box: [0.1, 0.2, 0.3, 0.4] as const }))
  const piece = (from: number) => ({ cameraId: DOOR, trackId: 3, label: 'person', sightings: sightings(from) })
  await store.put([], [piece(10_000), piece(200_000)])
  t.same(await store.pieces(DOOR, 10_500, 20_000), [piece(10_000)])
  t.same(await store.pieces(YARD, 0, 1e9), [])
  await store.forget(DOOR, 0, 100_000)
  t.same(await store.pieces(DOOR, 0, 1e9), [piece(200_000)])
})

t.test('footage that goes takes its events along, and no more rows are kept than the limit', async (t) => {
  const { store } = open(t, undefined, { events: 50, pieces: 10, readings: 5 })
  await store.put([eventAt(1000), eventAt(2000), eventAt(2000, { cameraId: YARD })], [])
  await store.forget(DOOR, 1000, 2000)
  t.same(
    (await store.find({ cameras: [DOOR, YARD], limit: 9 })).map(({ id }) => id),
    [`${DOOR}-2000-1`, `${YARD}-2000-1`],
  )
  t.same(await store.cameras(), [DOOR, YARD])
  for (let put = 0; put < 130; put++) await store.put([eventAt(10_000 + put)], [])
  const rest = await store.find({ cameras: [DOOR], limit: 500 })
  t.ok(rest.length <= 50 + 64, `${rest.length} are left`)
  t.equal(rest[0]?.beganAt, 10_129, 'the oldest go')
})

t.test('A.density sums of slices are the counts of the events, whatever the window', async (t) => {
  const { store } = open(t)
  const labels = ['person', 'car', 'dog', 'motion', 'constructor']
  const times = fc.array(fc.tuple(fc.integer({ min: 0, max: 10_000 }), fc.constantFrom(...labels)), { maxLength: 40 })
  let round = 0
  await fc.assert(
    fc.asyncProperty(
      times,
      fc.integer({ min: 0, max: 9000 }),
      fc.integer({ min: 1, max: 9000 }),
      fc.integer({ min: 1, max: 50 }),
      async (seen, from, length, buckets) => {
        round++
        const camera = round.toString(16).padStart(8, '0')
        await store.put(
          seen.map(([at, label], number) => eventAt(at, { cameraId: camera, label, number })),
          [],
        )
        const bucketMs = Math.ceil(length / buckets)
        const slices = await store.density({ camera, from, to: from + length, bucketMs })
        const inside = seen.filter(([at]) => at >= from && at < from + length)
        const sum = (of: (slice: (typeof slices)[number]) => number) =>
          slices.reduce((all, slice) => all + of(slice), 0)
        t.equal(
          sum(({ total }) => total),
          inside.length,
        )
        t.equal(
          sum(({ vehicle }) => vehicle),
          inside.filter(([, label]) => label === 'car').length,
        )
        for (const { animal, bucket, firstAt, other, person, total, vehicle } of slices) {
          t.equal(person + vehicle + animal + other, total)
          const own = inside.filter(([at]) => Math.floor((at - from) / bucketMs) === bucket)
          t.equal(total, own.length)
          t.equal(firstAt, Math.min(...own.map(([at]) => at)))
        }
      },
    ),
    { numRuns: 40 },
  )
})

t.test('a damaged file is put aside, and what is seen goes on being kept', async (t) => {
  const folder = t.testdir({ 'sight.db': 'not a database '.repeat(500) })
  const { store, told } = open(t, folder)
  await store.put([eventAt(1000)], [])
  t.equal((await store.find({ cameras: [DOOR], limit: 1 })).length, 1)
  t.equal(told.length, 1)
  t.ok(EVENTS_HEAP_MIB.old <= 32)
  await store.close()
  const plan = new DatabaseSync(`${folder}/sight.db`).prepare(
    'EXPLAIN QUERY PLAN SELECT count(*) FROM event WHERE camera = ? AND label = ? AND began_at > ?',
  )
  t.match(JSON.stringify(plan.all('a', 'b', 1)), /COVERING INDEX event_label/)
})

t.test('A.tracks offsets are told by those measured nearest, and go with their footage', async (t) => {
  const { store } = open(t)
  t.equal(await store.offsetNear(DOOR, 0, 9000), undefined)
  for (const [at, ms] of [
    [1000, 100],
    [2000, 900],
    [3000, 120],
    [9000, 400],
  ] as const)
    await store.putOffset(DOOR, at, ms)
  await store.putOffset(YARD, 2000, -300)
  t.same(await store.offsetNear(DOOR, 1500, 2500), { offsetMs: 120, at: 3000 }, 'one that is wrong is outvoted')
  await store.forget(DOOR, 0, 8000)
  t.same(await store.offsetNear(DOOR, 1500, 2500), { offsetMs: 400, at: 9000 })
  t.same(await store.offsetNear(YARD, 0, 10), { offsetMs: -300, at: 2000 })
})

const NO_PIECE = { trackId: 1, label: 'car', sightings: [{ at: 0, score: 1, box: [0, 0, 1, 1] as const }] }

const read = (
  text: string,
  identityId: string | null = null,
  state: 'known' | 'unknown' = 'unknown',
  confidence = 0.9,
) => ({
  ...{ identityId, method: identityId === null ? null : ('plate' as const), plate: { text, state, confidence } },
})

t.test('A.events who and plate find what was recognised, of cameras that are asked for alone', async (t) => {
  const { folder, store } = open(t)
  const all = [1000, 2000, 3000, 4000, 5000].map((at) =>
    eventAt(at, { label: 'car', ...(at === 3000 && { cameraId: YARD }) }),
  )
  await store.put(all, [])
  await store.recognise(`${DOOR}-1000-1`, read('B-XY 1234', 'id1', 'known'))
  await store.recognise(`${DOOR}-2000-1`, read('S0S 88'))
  await store.recognise(`${YARD}-3000-1`, read('b xy 1234'))
  await store.recognise(`${DOOR}-4000-1`, { identityId: null, method: null, plate: null })
  const find = async (wish: object) =>
    (await store.find({ cameras: [DOOR, YARD], limit: 10, ...wish })).map(({ beganAt }) => beganAt)
  t.same(await find({}), [5000, 4000, 3000, 2000, 1000])
  t.same(await find({ plate: foldedPlate('xy-12') }), [3000, 1000], 'a part of it')
  t.same(await find({ plate: foldedPlate('5o5BB') }), [2000], 'signs that are taken for each other')
  t.same(await find({ plate: foldedPlate('xy'), cameras: [DOOR] }), [1000])
  t.same(await find({ plate: foldedPlate('xy'), limit: 1 }), [3000])
  t.same(await find({ plate: foldedPlate('xy'), until: 1500 }), [1000])
  t.same(await find({ plate: foldedPlate('xy'), label: 'person' }), [])
  t.same(await find({ plate: '%' }), [], 'no sign stands for others')
  t.same(await find({ who: { certainty: 'known' } }), [1000])
  t.same(await find({ who: { certainty: 'unknown' } }), [4000, 3000, 2000], 'those that were looked at')
  t.same(await find({ who: { identityId: 'id1' } }), [1000])
  t.match(await store.one(`${DOOR}-1000-1`), { recognised: read('B-XY 1234', 'id1', 'known') })
  t.match(await store.unnamed(10), [
    { text: 'b xy 1234', count: 1, lastAt: 3000, eventId: `${YARD}-3000-1` },
    { text: 'S0S 88', count: 1 },
  ])
  await store.rejudge('id2', [foldedPlate('SOS 88'), foldedPlate('nobody 1')])
  t.same(await find({ who: { identityId: 'id2' } }), [2000], 'what was recorded gets the name')
  await store.rejudge('id1', [])
  t.same(await find({ who: { identityId: 'id1' } }), [], 'and loses it')
  t.match(await store.one(`${DOOR}-1000-1`), {
    recognised: { identityId: null, method: null, plate: { state: 'unknown' } },
  })
  await store.recognise(`${DOOR}-5000-1`, read('AB 1234', 'id3', 'known'))
  await store.recognise(`${DOOR}-4000-1`, read('AB 1235', 'id3', 'known'))
  await store.rejudge('id3', ['A81234', 'CC77'])
  t.same(
    await find({ who: { identityId: 'id3' } }),
    [5000, 4000],
    'one sign is wrong: it may still be of another plate',
  )
  t.same(await find({ who: { certainty: 'unsure' } }), [4000])
  await store.rejudge('id2', [foldedPlate('SOS 88'), 'A81234'], 'id3')
  t.same(
    await find({ who: { identityId: 'id2' } }),
    [5000, 4000, 2000],
    'what was of one that is merged is of the other',
  )
  await store.rejudge('id2', ['A81235'])
  t.match(await store.one(`${DOOR}-4000-1`), { recognised: { plate: { state: 'known' } } })
  await store.forget(DOOR, 0, 2500)
  await store.forget(DOOR, 4000, 6000)
  await store.close()
  const again = open(t, folder)
  t.same(
    (await again.store.unnamed(10)).map(({ text }) => text),
    ['b xy 1234'],
    'it goes with the footage',
  )
})

t.test('what was recognised is bounded: the oldest goes first', async (t) => {
  const { store } = open(t, undefined, { events: 50, pieces: 10, readings: 5 })
  for (let at = 1; at <= 9; at++) await store.recognise(`${DOOR}-${at}-1`, read(`AB ${100 + at}`))
  await store.put([eventAt(9)], [])
  t.same(
    (await store.unnamed(10)).map(({ lastAt }) => lastAt),
    [9, 8, 7, 6, 5],
  )
})

t.test(
  'A.events who and plate find what lasts in each span that it lasts in, and pages leave out nothing',
  async (t) => {
    const { store } = open(t)
    const HOUR = 3_600_000
    const states = ['known', 'unknown'] as const
    const all = Array.from({ length: 60 }, (_, at) => {
      const lastAt = (at % 4 === 0 ? at / 4 + 2 : at / 4) * HOUR + at * 1000 + 10
      const label = at % 5 === 0 ? 'truck' : 'car'
      return eventAt((at / 4) * HOUR + at * 1000, { label, lastAt, endedAt: lastAt, cameraId: at % 3 ? DOOR : YARD })
    })
    await store.put(all, [])
    for (const [at, { id }] of all.entries())
      if (at % 7 > 0)
        await store.recognise(id, read(`AB ${at % 2} 77`, at % 2 ? 'id1' : null, states[(at + 1) % 2], 0.9))
    const isRead = ({ id }: SightEvent) => all.findIndex((one) => one.id === id) % 7 > 0
    const isOdd = ({ id }: SightEvent) => all.findIndex((one) => one.id === id) % 2 > 0
    const asked = [
      [{ who: { certainty: 'known' } }, (one: SightEvent) => isOdd(one)],
      [{ who: { certainty: 'unknown' } }, (one: SightEvent) => !isOdd(one)],
      [{ who: { identityId: 'id1' } }, isOdd],
      [{ plate: foldedPlate('b077') }, (one: SightEvent) => !isOdd(one)],
      [{ plate: '77' }, () => true],
      [{ plate: '77', label: 'truck' }, ({ label }: SightEvent) => label === 'truck'],
      [{ plate: '77', label: 'vehicle', cameras: [YARD] }, ({ cameraId }: SightEvent) => cameraId === YARD],
      [{ plate: 'AB0', who: { certainty: 'known' } }, () => false],
    ] as const
    for (const [wish, isMeant] of asked)
      for (let since = 0; since < 16 * HOUR; since += HOUR * 1.5)
        for (const until of [since - HOUR, since, since + 3 * HOUR, 99 * HOUR]) {
          const inSpan = all.filter((one) => one.lastAt >= since && one.beganAt <= until && isRead(one) && isMeant(one))
          const found: SightEvent[] = []
          for (let before = until; ; before = (found.at(-1)?.beganAt ?? 0) - 1) {
            const page = await store.find({ cameras: [DOOR, YARD], limit: 2, ...wish, since, until: before })
            found.push(...page)
            if (page.length < 2) break
          }
          const expected = inSpan.toSorted((a, b) => b.beganAt - a.beganAt).map(({ id }) => id)
          if (JSON.stringify(found.map(({ id }) => id)) !== JSON.stringify(expected))
            t.same(
              found.map(({ id }) => id),
              expected,
              JSON.stringify({ ...wish, since, until }),
            )
        }
    const some = [all[1], all[2], all[7]].map((one) => one?.id ?? '')
    const among = async (wish: object) => (await store.among([...some, 'nonsense'], wish)).map(({ id }) => id)
    t.same(await among({ who: { certainty: 'known' } }), [some[0]])
    t.same(await among({ plate: '77' }), some.slice(0, 2), 'none that nobody has looked at')
    t.same(await store.among([], { plate: '77' }), [])
  },
)

t.test('A.events who, plate and label find the same however much of it is written by stretches of time', async (t) => {
  const { folder, store } = open(t)
  const LABELS = ['car', 'bus', 'truck', 'person']
  const PLATES = ['AB 1', 'AB 2', 'CD 12', 'XY 77', null]
  const cameras = [DOOR, YARD, '0000000c', '0000000d', '0000000e', '0000000f']
  const known = new Map<string, SightEvent>()
  let number = 0
  type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
  const step = fc.record({
    what: fc.constantFrom<'see' | 'read' | 'rename' | 'forget' | 'write'>(
      'see',
      'see',
      'see',
      'read',
      'read',
      'rename',
      'rename',
      'forget',
    ),
    at: fc.integer({ min: 0, max: 80_000_000 }),
    ...{ camera: fc.constantFrom(...cameras), label: fc.constantFrom(...LABELS), plate: fc.constantFrom(...PLATES) },
    ...{ pick: fc.nat(), isFirstRead: fc.boolean() },
  })
  const recognise = (id: string, text: string | null) =>
    store.recognise(id, text === null ? { identityId: null, method: null, plate: null } : read(text))
  async function take({ at, camera, isFirstRead, label, pick, plate, what }: Step): Promise<void> {
    const one = [...known.values()][pick % Math.max(1, known.size)]
    if (what === 'see') {
      const event = eventAt(at, { cameraId: camera, label, number: ++number })
      // What is recognised may be written before its event is.
      if (isFirstRead) await recognise(event.id, plate)
      await store.put([event], [])
      known.set(event.id, { ...event, recognised: isFirstRead ? read(plate ?? '') : undefined })
    } else if (what === 'read' && one) {
      await recognise(one.id, plate)
      known.set(one.id, { ...one, recognised: read(plate ?? '') })
    } else if (what === 'rename' && one) {
      const next = { ...one, label, group: groupOf(label) }
      await store.put([next], [])
      known.set(one.id, next)
    } else if (what === 'forget') {
      await store.forget(camera, at, at + 9_000_000)
      for (const { beganAt, cameraId, id } of known.values())
        if (cameraId === camera && beganAt >= at && beganAt < at + 9_000_000) known.delete(id)
    } else if (what === 'write')
      for (let put = 0; put < 64; put++) await store.put([], [{ ...NO_PIECE, cameraId: camera }])
  }
  const wishes = [undefined, ...LABELS, 'vehicle'].flatMap((label) =>
    [undefined, 'A8', '12', '7', 'ZZ'].flatMap((plate) =>
      [[DOOR], cameras].map((own) => ({ label, plate, cameras: own })),
    ),
  )
  async function compare(): Promise<void> {
    for (const { label, plate, cameras: own } of wishes) {
      const wish = {
        cameras: own,
        limit: 500,
        label,
        plate,
        ...(plate === undefined && { who: { certainty: 'unknown' } as const }),
      }
      const found = (await store.find(wish)).map(({ id }) => id).toSorted()
      const expected = [...known.values()].filter(
        (one) =>
          own.includes(one.cameraId) &&
          (label === undefined || one.label === label || one.group === label) &&
          one.recognised !== undefined &&
          (plate === undefined || foldedPlate(one.recognised.plate?.text ?? '').includes(plate)),
      )
      t.same(found, expected.map(({ id }) => id).toSorted(), JSON.stringify(wish))
    }
  }
  const steps = fc.array(step, { minLength: 30, maxLength: 59 })
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const write = { ...(all[0] as Step), what: 'write' as const }
      for (const [place, one] of all.entries()) {
        await take(one)
        if (place % 20 === 19) await take(write)
      }
      await compare()
      await take(write)
      await compare()
    }),
    { numRuns: 6 },
  )
  // Each of these changes what is written of a stretch already.
  const write: Step = { what: 'write', at: 0, camera: DOOR, label: 'car', plate: null, pick: 0, isFirstRead: false }
  const [early, late] = [100_000_000, 200_000_000].map((at) => eventAt(at, { label: 'car', number: ++number }))
  const busses = async () =>
    (await store.find({ cameras, limit: 9, label: 'bus', plate: 'EE', since: 90_000_000 })).length
  await recognise(early?.id ?? '', 'EE 1')
  await recognise(late?.id ?? '', 'LAST 1')
  await take(write)
  t.equal(await busses(), 0)
  await store.put([{ ...(early as SightEvent), label: 'bus' }], [])
  t.equal(await busses(), 1, 'the event is written after what was recognised of it')
  await store.put([early as SightEvent], [])
  await take(write)
  t.equal(await busses(), 0)
  await store.put([{ ...(early as SightEvent), label: 'bus' }], [])
  t.equal(await busses(), 1, 'it has another label by now')
  await store.forget(DOOR, 100_000_000, 100_000_001)
  await take(write)
  await store.close()
  const database = new DatabaseSync(`${folder}/sight.db`)
  t.teardown(() => database.close())
  const rows = database.prepare('SELECT stretch, plates FROM reading_stretch ORDER BY stretch DESC').all()
  t.equal(rows[0]?.plates, null, 'the stretch that goes on is gone through as it stands')
  const read1 = [...known.values()].filter(({ recognised }) => recognised)
  const foldedOf = (stretch: unknown) =>
    read1
      .filter(({ beganAt }) => Math.floor(beganAt / 2 ** 21) === stretch)
      .flatMap(({ recognised }) => foldedPlate(recognised?.plate?.text ?? '') || [])
  for (const { plates, stretch } of rows.slice(1))
    t.same(
      new Set(String(plates).split(',').filter(Boolean)),
      new Set(foldedOf(stretch)),
      'no plate is kept in a stretch whose footage is gone',
    )
  const asked = { cameras, limit: 9, since: 0, until: 1e12, longestMs: 0, plate: 'ZZ' }
  for (const wish of [asked, { ...asked, who: { certainty: 'known' } as const }]) {
    const { sql, values } = recognisedFind(wish, { column: 'label', value: 'car' }, 'event.label')
    const plan = JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values))
    t.notMatch(plan, /TEMP B-TREE|SCAN recognised|SCAN event/, 'by indices alone, in the order of the answer')
  }
})

t.test('by which book readings are matched is on the disk, and what has its name is not written again', async (t) => {
  const { folder, store } = open(t)
  const book = [{ id: 'id1', plates: ['AB123'] }]
  t.notOk(await store.isMatchedBy([]), 'nobody knows of a new one')
  await store.setMatched(book)
  for (const [at, text] of ['AB 123', 'AB 124', 'XY 9'].entries()) await store.recognise(`${DOOR}-${at}-1`, read(text))
  await store.recognise(`${DOOR}-9-1`, read('AB 125', 'id0', 'known'))
  t.same(await store.held(), ['id0'])
  await store.rejudge('id1', ['A8123'], 'id0')
  t.same(await store.held(), ['id1'])
  t.same((await store.readingsOf('id1')).toSorted(), ['A8123', 'A8125'])
  await store.close()
  const again = open(t, folder).store
  t.ok(await again.isMatchedBy(book))
  t.notOk(await again.isMatchedBy([{ id: 'id1', plates: ['AB123', 'AB124'] }]))
  await again.setMatched(undefined)
  t.notOk(await again.isMatchedBy(book))
  await again.close()
  const database = new DatabaseSync(`${folder}/sight.db`)
  t.teardown(() => database.close())
  database.exec("CREATE TRIGGER once BEFORE UPDATE ON recognised BEGIN SELECT raise(ABORT, 'written again'); END")
  const last = open(t, folder).store
  await last.rejudge('id1', ['A8123'])
  await t.rejects(last.rejudge('id1', ['XY9']), /written again/)
})
