import t from 'tap'
import { type FollowStatus, Follows, followStateTable } from '../../../core/ptz/follow.ts'
import { createPtzBook, type FollowRecord } from '../../../core/ptz/ptz-book.ts'
import { boxOf } from '../../peer/ptz-world.ts'
import { ann, CAMERA, ptzStage, truthOf } from './ptz-stage.ts'

const wish: FollowRecord = {
  ...{ enabled: true, groups: ['person'], maxFollowSeconds: 600, returnPreset: '1', returnPresetName: 'Gate' },
  ...{ returnAfterSeconds: 5, resumeAfterSeconds: 20 },
}

/** Somebody walks, and a detector sees them five times a second, a quarter of a second late. */
async function stage(over: Partial<FollowRecord> = {}) {
  const presets = new Map([['1', { name: 'Gate', pan: 0, tilt: -10, zoom: 0.3 }]])
  const of = ptzStage({ presets, degPerS: 60, pose: { pan: 0, tilt: -10, zoom: 0.3 } })
  const { camera, clock, moves } = of
  const book = createPtzBook(
    [{ camera: CAMERA, geometry: truthOf(camera), patrol: null, follow: null }],
    async () => {},
  )
  of.geometry = truthOf(camera)
  const follows = new Follows({
    ...{ clock, moves, book, onChange() {} },
    limits: { everyMs: 500, lostMs: 3000, leadMs: 400 },
  })
  await follows.set(CAMERA, { ...wish, ...over })
  const person = { pan: 2, tilt: -10, trackId: 'a', group: 'person', isThere: true }
  const walk = { panPerS: 0, tiltPerS: 0 }
  clock.every(50, () => {
    person.pan += walk.panPerS * 0.05
    person.tilt += walk.tiltPerS * 0.05
  })
  clock.every(200, () => {
    const box = person.isThere && boxOf(person, camera.view(), { wide: 2, high: 4 })
    const { group, trackId } = person
    const boxes = box ? [{ trackId, label: group, group, score: 0.9, box }] : []
    const at = clock.epochMs()
    clock.after(250, () => follows.sighted({ cameraId: CAMERA, at, boxes }))
  })
  const status = () => follows.status(CAMERA)
  const followed = () => of.writes.of(CAMERA, 99).find(({ operation }) => operation === 'ptz_follow')
  return { ...of, follows, followed, person, status, walk }
}

t.test('A.follow the table of its states, row by row', async (t) => {
  t.same(followStateTable, {
    off: { enabled: 'watching' },
    watching: { disabled: 'off', sighted: 'following', command: 'paused', stopped: 'paused' },
    following: { disabled: 'off', ended: 'watching', command: 'paused', stopped: 'paused', broken: 'paused' },
    paused: { disabled: 'off', timeUp: 'watching', command: 'paused', stopped: 'paused' },
  })
})

t.test('A.follow who walks stays in the middle third for a minute, at two positions a second at most', async (t) => {
  const { camera, clock, person, status, walk } = await stage()
  Object.assign(walk, { panPerS: 2.2 })
  await clock.run(3000)
  t.match(status(), { state: 'following', label: 'person', since: Number, hops: Number, until: null })
  let outside = 0
  for (let second = 0; second < 60; second++) {
    if (second % 10 === 0)
      Object.assign(walk, { panPerS: second % 20 === 0 ? 2.2 : -2, tiltPerS: second % 20 === 0 ? -0.4 : 0.3 })
    // Their track gets another name now and then.
    if (second % 17 === 5) person.trackId = `t${second}`
    for (let part = 0; part < 5; part++) {
      await clock.run(200)
      const box = boxOf(person, camera.view(), { wide: 0, high: 0 })
      const [x, y] = box ? [box[0], box[1]] : [0, 0]
      if (Math.max(Math.abs(x - 0.5), Math.abs(y - 0.5)) > 1 / 6) outside++
    }
  }
  t.equal(outside, 0, `${outside} of 300 looks outside of the middle third`)
  t.equal(status().state, 'following')
  const sent = camera.told.filter(({ name }) => name === 'AbsoluteMove').map(({ atMs }) => atMs)
  t.ok(sent.length > 20)
  t.ok(sent.every((at, index) => index === 0 || at - (sent[index - 1] ?? 0) >= 499))
})

type Stage = Awaited<ReturnType<typeof stage>>

type FollowEnd = NonNullable<FollowStatus['lastEnded']>['why']

/** What ends a follow in each way, and what state comes of it. */
const ENDS: Record<FollowEnd, [(it: Stage) => unknown, 'watching' | 'paused']> = {
  lost: [
    async ({ clock, person }) => {
      person.isThere = false
      await clock.run(4000)
    },
    'watching',
  ],
  time: [({ clock }) => clock.run(11_000), 'watching'],
  operator: [({ moves }) => moves.stop(CAMERA, ann), 'paused'],
  rule: [({ moves }) => moves.recall(CAMERA, '1', { kind: 'rule', name: 'Gate' }), 'watching'],
  moved: [
    async ({ camera, clock }) => {
      camera.push({ pan: 15 })
      await clock.run(500)
    },
    'paused',
  ],
  stopped: [({ follows }) => follows.stop(CAMERA), 'paused'],
  failed: [
    async ({ camera, clock, walk }) => {
      camera.traits.refuses = new Set(['AbsoluteMove'])
      Object.assign(walk, { panPerS: 8 })
      await clock.run(3000)
    },
    'paused',
  ],
}

for (const [why, [end, state]] of Object.entries(ENDS))
  t.test(`A.follow one that ended says so, and is written down: ${why}`, async (t) => {
    const it = await stage({ maxFollowSeconds: 10 })
    Object.assign(it.walk, { panPerS: 2 })
    await it.clock.run(2500)
    t.equal(it.status().state, 'following')
    await end(it)
    await it.clock.run(100)
    t.match(it.status(), {
      state,
      label: null,
      since: null,
      hops: null,
      lastEnded: { why, label: 'person', at: Number },
    })
    t.match(it.followed(), { performedBy: null, detail: { label: 'person', why, seconds: Number, moves: Number } })
    const resting = it.camera.pose().pan
    Object.assign(it.walk, { panPerS: 0 })
    it.camera.traits.refuses = new Set()
    await it.clock.run(8000)
    const operations = it.writes.of(CAMERA, 99).map(({ operation }) => operation)
    t.equal(operations.includes('ptz_follow_return'), why === 'lost' || why === 'time')
    if (why === 'stopped') t.equal(it.camera.pose().pan, resting, 'it stays where it is')
    if (why === 'time') t.equal(it.status().state, 'watching', 'the same one is not followed again')
    if (state === 'paused') t.match(it.status(), { state: 'paused', until: Number })
    Object.assign(it.person, it.camera.pose(), { isThere: true, trackId: 'new' })
    await it.clock.run(state === 'paused' ? 14_000 : 3000)
    t.equal(it.status().state, 'following', 'somebody else is followed, once the pause is over')
  })

t.test('A.follow a stop ends it although the camera does not answer, and keeps it from going back', async (t) => {
  const it = await stage()
  Object.assign(it.walk, { panPerS: 2 })
  await it.clock.run(2500)
  t.equal(it.status().state, 'following')
  it.camera.traits.refuses = new Set(['AbsoluteMove'])
  await t.rejects(it.follows.stop(CAMERA), { code: 'onvif_unsupported' })
  t.match(it.status(), { state: 'paused', lastEnded: { why: 'stopped' } })
  it.camera.traits.refuses = new Set()
  await it.clock.run(21_000)
  Object.assign(it.walk, { panPerS: 0 })
  Object.assign(it.person, it.camera.pose())
  await it.clock.run(3000)
  t.equal(it.status().state, 'following')
  it.person.isThere = false
  await it.clock.run(4000)
  t.match(it.status(), { state: 'watching', lastEnded: { why: 'lost' } })
  await it.follows.stop(CAMERA)
  t.match(it.status(), { state: 'paused' })
  await it.clock.run(30_000)
  t.notOk(it.writes.of(CAMERA, 99).some(({ operation }) => operation === 'ptz_follow_return'))
})

t.test('A.follow only the groups that are wished are followed, and only by a camera that can', async (t) => {
  const { clock, follows, person, status } = await stage()
  person.group = 'animal'
  await clock.run(2000)
  t.equal(status().state, 'watching')
  t.equal(await follows.unavailable(CAMERA), null)
  await follows.set(CAMERA, null)
  t.match(status(), { state: 'off', lastEnded: null })
  const bare = ptzStage({ units: undefined })
  const book = createPtzBook([], async () => {})
  const other = new Follows({ ...bare, book, onChange() {}, limits: { everyMs: 500, lostMs: 3000, leadMs: 400 } })
  t.match(await other.unavailable(CAMERA), /cannot be sent/)
  const untrained = ptzStage()
  t.match(
    await new Follows({
      ...untrained,
      book,
      onChange() {},
      limits: { everyMs: 500, lostMs: 3000, leadMs: 400 },
    }).unavailable(CAMERA),
    /Train it/,
  )
})

t.test('A.follow a pause ends by itself, also where nobody is seen, and is told', async (t) => {
  const of = ptzStage()
  const book = createPtzBook([], async () => {})
  await book.put(CAMERA, { geometry: truthOf(of.camera) })
  const told: unknown[] = []
  const follows: Follows = new Follows({
    ...{ ...of, book, limits: { everyMs: 500, lostMs: 3000, leadMs: 400 } },
    onChange: () => void told.push(follows.status(CAMERA).state),
  })
  await follows.set(CAMERA, wish)
  await follows.stop(CAMERA)
  t.match(follows.status(CAMERA), { state: 'paused', until: of.clock.epochMs() + wish.resumeAfterSeconds * 1000 })
  await of.clock.run(wish.resumeAfterSeconds * 1000)
  t.match(follows.status(CAMERA), { state: 'watching', until: null })
  t.same(told, ['watching', 'paused', 'watching'])
})

t.test('A.follow why a camera cannot follow is remembered for the feed', async (t) => {
  const of = ptzStage({ units: undefined })
  const book = createPtzBook([], async () => {})
  const follows = new Follows({ ...of, book, onChange() {}, limits: { everyMs: 500, lostMs: 3000, leadMs: 400 } })
  t.match(follows.knownUnavailable(CAMERA), /Train it/)
  await follows.unavailable(CAMERA)
  t.match(follows.knownUnavailable(CAMERA), /cannot be sent/)
})

t.test(
  'A.follow nobody is followed while a person aims the camera, and what ended a follow is told by who it was',
  async (t) => {
    const { clock, followed, moves, status } = await stage()
    await clock.run(3000)
    t.equal(status().state, 'following')
    const over = Promise.withResolvers<void>()
    const aimed = moves.within(CAMERA, ann, async (signal) => {
      await over.promise
      t.notOk(signal.aborted, 'nobody has taken it')
    })
    await clock.run(60_000)
    t.match(status(), { label: null, lastEnded: { why: 'operator', label: 'person' } })
    t.match(followed(), { detail: { why: 'operator' } })
    over.resolve()
    await aimed
    await clock.run(19_000)
    t.equal(status().state, 'paused', 'the pause counts from its end')
    await clock.run(3000)
    t.equal(status().state, 'following')
    await moves.within(CAMERA, { kind: 'rule', name: 'ann' }, async () => {})
    await clock.run(100)
    t.match(
      status(),
      { state: 'watching', lastEnded: { why: 'rule' } },
      'a button of a rule is a rule, and pauses nothing',
    )
  },
)
