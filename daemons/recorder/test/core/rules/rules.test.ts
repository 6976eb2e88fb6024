import t from 'tap'
import type { Fault } from '#kit/pure/fault.ts'
import { type Action, type Rule, reachOf, type Trigger } from '../../../core/rules/rule.ts'
import { hook, notify, seen, stage, wish } from './rules-stage.ts'

t.test('3A.Events.1 a detection begins and departs, and its webhook says who, what and where', async (t) => {
  const { alerts, book, posted, rules, settle } = stage()
  await book.add(
    wish({ type: 'detection' }, [hook('http://one/x', 'key')], { groups: ['person'], cameraIds: ['yard'] }),
  )
  await book.add(wish({ type: 'departure' }, [notify], { labels: ['cat'] }))
  const identity = { name: 'Ann', method: 'face' } as const
  rules.detected(seen('1', { identity, plate: { text: 'AB 1', state: 'known' } }), 'begin')
  rules.detected(seen('2', { cameraId: 'door' }), 'begin')
  rules.detected(seen('3', { label: 'cat', group: 'animal' }), 'begin')
  rules.detected(seen('1'), 'end')
  rules.detected(seen('3', { label: 'cat', group: 'animal' }), 'end')
  await settle()
  t.match(posted, [
    {
      secret: 'key',
      body: {
        ...{ rule: 'Night', ruleId: String, triggerType: 'detection', cameraId: 'yard', cameraName: 'YARD' },
        ...{ region: [0.1, 0.2, 0.3, 0.4], identity, plate: { text: 'AB 1', state: 'known' } },
        event: { id: '1', label: 'person', group: 'person', at: 5 },
      },
    },
  ])
  t.match(alerts, [
    { triggerType: 'detection', notified: null, results: [{ state: 'done', sentence: 'Taken.' }] },
    { triggerType: 'departure', notified: ['ann'], sentence: 'Gone: cat.' },
  ])
})

t.test('3A.Events.1 occupancy and absence are told once, when it was so for long enough', async (t) => {
  const { book, of, pass, rules } = stage()
  const yard = { cameraIds: ['yard'] }
  await book.add(wish({ type: 'occupancy', count: 2, seconds: 10 }, [notify], yard))
  await book.add(wish({ type: 'absence', seconds: 60 }, [notify], yard))
  await pass(59_999)
  t.equal(of('absence').length, 0)
  await pass(60_001)
  t.equal(of('absence').length, 1, 'and not again while nobody comes')
  rules.detected(seen('1'), 'begin')
  rules.detected(seen('2'), 'begin')
  await pass(9000)
  rules.detected(seen('2'), 'end')
  await pass(5000)
  t.equal(of('occupancy').length, 0, 'two were there for 9 s only')
  rules.detected(seen('3'), 'begin')
  await pass(30_000)
  t.match(of('occupancy'), [{ camera: 'yard', sentence: '2 things there for 10 s: anything.' }])
  rules.detected(seen('1'), 'end')
  rules.detected(seen('3'), 'end')
  await pass(60_000)
  t.equal(of('absence').length, 2, 'somebody was there meanwhile')
  rules.stop()
})

t.test('3A.Events.1 a fault of the recorder and a claim of a camera are told to who waits for them', async (t) => {
  const { book, of, rules, settle } = stage()
  await book.add(wish({ type: 'fault', codes: [] }, [notify]))
  await book.add(wish({ type: 'camera_event', kinds: ['line'] }, [notify], { cooldownSeconds: 60 }))
  const claim = { type: 'camera_event', at: 1, camera: 'yard', sentence: 'x', by: null, facts: {} } as const
  rules.happened({ ...claim, type: 'fault', camera: null }, () => true)
  rules.happened(claim, ({ trigger }) => trigger.type === 'camera_event' && trigger.kinds.includes('motion'))
  for (let at = 0; at < 2; at++) rules.happened(claim, () => true)
  rules.happened({ ...claim, camera: 'door' }, () => true)
  await settle()
  t.equal(of('fault').length, 1)
  t.same(
    of('camera_event').map(({ camera }) => camera),
    ['yard', 'door'],
    'each camera rests for itself',
  )
})

t.test(
  '3A.Events.1 what is not normal at a site is told once, with what is usual at that time of the week',
  async (t) => {
    const { book, clock, history, of, pass, posted, rules, settle } = stage()
    const QUARTER = 900_000
    const DAY = 96
    const unusual = (more: object): Trigger => ({
      ...({ type: 'unusual', direction: 'either', minutes: 30, sensitivity: 'medium' } as const),
      ...more,
    })
    const mark = Math.ceil(clock.epochMs() / QUARTER) * QUARTER
    /** So many persons in each quarter of the hours before and after this time, days ago; a vehicle by night. */
    function past(counts: Record<number, number>, today: number) {
      const slice = (bucket: number, person: number, vehicle = 0) => ({
        ...{ bucket, person, vehicle, animal: 0, other: 0, total: person + vehicle, firstAt: 0 },
      })
      history.slices = Object.entries(counts).flatMap(([days, count]) => {
        const end = (37 - Number(days)) * DAY
        return [slice(end - 40, 0, 1), ...Array.from({ length: 9 }, (_, at) => slice(end - 4 + at, count))]
      })
      history.slices.push(slice(37 * DAY - 1, today))
    }
    const yard = { cameraIds: ['yard'], groups: ['person' as const] }
    await book.add(wish(unusual({}), [hook('http://one/x')], yard))
    await book.add(wish(unusual({ direction: 'more', sensitivity: 'low' }), [notify], { ...yard, name: 'Low' }))
    await book.add(wish(unusual({}), [notify], { cameraIds: ['door'], name: 'Door' }))
    await t.rejects(book.add(wish(unusual({}), [notify], { labels: ['cat'] })), {
      code: 'bad_rule',
      message: /by groups/,
    })
    past({ 7: 1, 14: 1, 21: 2, 28: 1, 1: 30, 2: 30, 3: 30 }, 1)
    await pass(mark - clock.epochMs() + 15_000)
    t.match(history.asked[0], { camera: 'yard', from: mark - 37 * DAY * QUARTER, to: mark, bucketMs: QUARTER })
    for (let at = 0; at < 5; at++) rules.detected(seen(`p${at}`), 'begin')
    rules.detected(seen('p0', { label: 'child' }), 'begin')
    rules.detected(seen('p4', { label: 'car', group: 'vehicle' }), 'begin')
    rules.detected(seen('v', { label: 'van', group: 'vehicle' }), 'begin')
    await settle()
    t.equal(of('unusual').length, 0, 'six of at most seven; the same day of the week counts, not yesterday')
    for (let at = 5; at < 8; at++) rules.detected(seen(`p${at}`), 'begin')
    await settle()
    t.match(of('unusual'), [{ rule: 'Night', camera: 'yard', sentence: /minutes: 8. Usual at this time: 0 to 7\.$/ }])
    t.match(posted[0]?.body, {
      ...{ triggerType: 'unusual', cameraId: 'yard' },
      unusual: { direction: 'more', count: 8, minutes: 30, least: 0, most: 7, days: 4 },
    })
    rules.detected(seen('p8'), 'begin')
    rules.detected(seen('p9'), 'begin')
    await settle()
    t.same(
      of('unusual').map(({ rule }) => rule),
      ['Night', 'Low'],
      'told once; one that is less sensitive later; a camera of which nothing is known never',
    )
    past({ 7: 10, 14: 11, 21: 10, 28: 10 }, 1)
    await pass(QUARTER)
    await pass(QUARTER)
    t.match(of('unusual').at(-1), { rule: 'Night', sentence: /minutes: 1. Usual at this time: [1-9]\d* to/ })
    t.equal(of('unusual').length, 3)
    await pass(QUARTER)
    t.equal(of('unusual').length, 3, 'and not again while it stays so')
    past({ 7: 10, 14: 11, 21: 10, 28: 10 }, 15)
    await pass(QUARTER)
    past({ 7: 10, 14: 11, 21: 10, 28: 10 }, 1)
    await pass(QUARTER)
    t.equal(of('unusual').length, 4, 'it was as usual meanwhile')
    past({ 7: 0, 14: 0 }, 0)
    await pass(QUARTER)
    rules.detected(seen('q'), 'begin')
    t.equal(of('unusual').length, 4, 'two days tell nothing')
    history.slices = []
    await pass(QUARTER)
    rules.stop()
    const asked = history.asked.length
    await pass(4 * QUARTER)
    t.equal(history.asked.length, asked)
  },
)

t.test('3A.Limits ten actions run in order, each with a result of its own', async (t) => {
  const { alerts, book, done, kept, pass, posted, rules, settle } = stage()
  const other = await book.add(wish({ type: 'detection' }, [notify], { armed: false }))
  const goesBack = { returnPreset: 'home', returnAfterSeconds: 60 }
  const out = { type: 'output', cameraId: 'yard', outputId: 'r1', seconds: 10 } as const
  const ten: Action[] = [
    { type: 'arm', armed: true, ruleIds: [other.id, 'n999'], minutes: 0 },
    notify,
    { ...out, state: 'pulse' },
    { ...out, state: 'off' },
    { type: 'ptz_preset', cameraId: 'door', preset: 'gate', ...goesBack },
    { type: 'ptz_aim', cameraId: 'yard', zoom: 0.5, returnPreset: null, returnAfterSeconds: 60 },
    { type: 'talk_message', cameraId: 'yard', messageId: 'm1', repeat: 2 },
    { type: 'preserve', beforeSeconds: 10, afterSeconds: 20 },
    hook('http://one/x'),
    hook('http://two/x', 'second'),
  ]
  await t.rejects(book.add(wish({ type: 'button' }, ten)), { code: 'bad_rule', message: /there is no rule n999/ })
  ten[0] = { type: 'arm', armed: true, ruleIds: [other.id], minutes: 0 }
  await book.add(wish({ type: 'detection' }, ten, { labels: ['person'] }))
  rules.detected(seen('1', { label: 'person', at: 5 }), 'begin')
  await settle()
  t.same(done, [
    'yard r1 pulse 10 by nobody for Night',
    'door to gate',
    'yard at 0.1 0.2 0.3 0.4 zoom 0.5',
    'yard says m1 2',
    'yard r1 off 10 by nobody for Night',
  ])
  t.match(kept, [{ camera: 'yard', by: 'rule Night', note: 'Rule Night' }])
  t.same(
    posted.map(({ secret, url }) => [url, secret]),
    [
      ['http://one/x', null],
      ['http://two/x', 'second'],
    ],
  )
  t.equal(book.require(other.id).armed, true)
  t.equal(alerts[0]?.results[0]?.sentence, 'Armed: 1 rule.', 'who is told may not see what that is about')
  await pass(60_000)
  t.equal(done.at(-1), 'door to home as ptz_return of Night')
})

t.test(
  '3A.Limits a button that is pressed a hundred times in a second does what it may, and refuses the rest',
  async (t) => {
    const { alerts, book, pass, posted, repeating, rules, settle } = stage()
    const { id } = await book.add(wish({ type: 'button' }, [hook('http://one/x')]))
    const outcomes = Array.from({ length: 100 }, () => {
      try {
        return rules.press(id, 'ann').triggerType
      } catch (error) {
        return (error as Fault).code
      }
    })
    await settle()
    t.same([...outcomes.slice(0, 6), outcomes.at(-1)], [...Array(5).fill('button'), 'rule_busy', 'rule_busy'])
    t.same([alerts.length, repeating], [5, ['Night']])
    t.same(
      [posted.length, alerts.at(-1)?.results[0]?.state],
      [3, 'failed'],
      'what waits for one target is bound as well',
    )
    await pass(60_000)
    t.equal(rules.press(id, 'ann').by, 'ann')
  },
)

t.test('3A.Limits a rule whose output is what it waits for does not go round for ever', async (t) => {
  const { alerts, book, done, of, pass, repeating, rules, settle } = stage()
  const out: Action = { type: 'output', cameraId: 'yard', outputId: 'r1', state: 'pulse', seconds: 1 }
  await book.add(wish({ type: 'camera_event', kinds: [] }, [out], { cameraIds: [] }))
  const claim = (camera: string) =>
    ({ type: 'camera_event', at: 5, camera, sentence: 'Relay.', by: null, facts: {} }) as const
  for (let at = 0; at < 50; at++) {
    rules.happened(claim('yard'), () => true)
    await settle()
  }
  t.same([done.length, of('camera_event').length, repeating], [5, 5, ['Night']], 'told once')
  rules.happened(claim('door'), () => true)
  t.equal(alerts.length, 6, 'another camera is none of it')
  await pass(60_000)
  rules.happened(claim('yard'), () => true)
  t.equal(alerts.length, 7)
})

t.test('3A.Events.1 a label is meant in either case', async (t) => {
  const { alerts, book, rules } = stage()
  await book.add(wish({ type: 'detection' }, [notify], { labels: ['Person'] }))
  rules.detected(seen('1'), 'begin')
  t.equal(alerts.length, 1)
})

t.test('3A.authentication.7 what came of an action names no camera: who reads it may not see each', async (t) => {
  const { alerts, book, kept, rules, settle } = stage()
  const keep: Action = { type: 'preserve', beforeSeconds: 10, afterSeconds: 20 }
  const { id } = await book.add(wish({ type: 'button' }, [keep], { cameraIds: ['yard', 'door'] }))
  rules.press(id, 'ann')
  await settle()
  t.match(kept, [{ camera: 'yard' }, { camera: 'door' }])
  t.match(alerts, [{ results: [{ camera: null, state: 'done', sentence: 'Preserved 30 s.' }] }])
})

t.test('a target that hangs delays no other, and what waits for it is bounded', async (t) => {
  const { alerts, book, hanging, posted, rules, settle } = stage()
  hanging.set('slow', Promise.withResolvers())
  const { id } = await book.add(wish({ type: 'button' }, [hook('http://slow/a'), hook('http://fast/b')]))
  for (let at = 0; at < 4; at++) {
    rules.press(id, 'ann')
    await settle()
  }
  t.equal(posted.filter(({ url }) => url === 'http://fast/b').length, 4)
  t.same(
    alerts.map(({ results }) => results.map(({ state }) => state)),
    [...Array(3).fill(['waiting', 'done']), ['failed', 'done']],
  )
  t.match(alerts[3]?.results[0]?.sentence, /3 actions wait for this target already/)
  hanging.get('slow')?.resolve()
  await settle()
  t.ok(alerts.slice(0, 3).every(({ results }) => results[0]?.state === 'done'))
})

t.test('one action that fails is told with its reason, and the others run', async (t) => {
  const { alerts, book, done, rules, settle, trouble } = stage()
  const aim: Action = { type: 'ptz_aim', cameraId: 'yard', zoom: null, returnPreset: null, returnAfterSeconds: 60 }
  const { id } = await book.add(wish({ type: 'fault', codes: [] }, [aim, notify]))
  const happened = { type: 'fault', at: 5, camera: null, sentence: 'A disk is away.', by: null, facts: {} } as const
  rules.happened(happened, () => true)
  await settle()
  t.match(alerts[0], {
    ...{ by: null, sentence: 'A disk is away.' },
    results: [{ state: 'failed', sentence: /no place to look at/ }, { state: 'done' }],
  })
  rules.happened({ ...happened, camera: 'door' }, () => true)
  await settle()
  t.same(
    done,
    ['yard at 0 0 1 1 zoom null'],
    'what is at a camera is looked at, also where it has no place in the picture',
  )
  await t.rejects(book.add(wish({ type: 'button' }, [aim])), {
    code: 'bad_rule',
    message: /Action 1 .*no place to look/,
  })
  trouble.aim = 'YARD is not calibrated.'
  await t.rejects(book.add(wish({ type: 'button' }, [aim])), { code: 'bad_rule', message: /Action 1 .*not calibrated/ })
  await t.rejects(book.change(id, { armed: false, name: 'Day' }), { code: 'bad_rule' })
  t.match(await book.change(id, { armed: false }), { armed: false }, 'what cannot be done any more can be disarmed')
  await t.rejects(book.change(id, { armed: true }), { code: 'bad_rule' })
})

t.test('3A.action-rule a webhook keeps the secret of the n-th one unless another is said', async (t) => {
  const { book, disk } = stage()
  const { id } = await book.add(wish({ type: 'button' }, [hook('http://a/', 'one'), notify, hook('http://b/', 'two')]))
  const secrets = () => disk.rules[0]?.actions.flatMap((one) => (one.type === 'webhook' ? [one.secret] : []))
  const bare = (url: string, secret?: string | null) => ({ type: 'webhook' as const, url, secret })
  await book.change(id, { name: 'Day' })
  t.same(secrets(), ['one', 'two'])
  await book.change(id, { actions: [notify, bare('http://a:81/c'), bare('http://b/'), bare('http://d/')] })
  t.same(secrets(), ['one', 'two', null])
  await t.rejects(
    book.change(id, { actions: [notify, bare('http://a/'), bare('http://c/')] }),
    {
      code: 'bad_rule',
      message: /^Action 3 .webhook.: the saved secret belongs to b and is not used for another host/,
    },
    'another host could sign as if it were the first',
  )
  t.same(secrets(), ['one', 'two', null])
  await book.change(id, { actions: [bare('http://c/', null), bare('http://e/', 'three')] })
  t.same(secrets(), [null, 'three'])
  await book.change(id, { actions: [bare('http://f/'), bare('http://e/x')] })
  t.same(secrets(), [null, 'three'])
})

t.test('3A.action-rule arming for a time ends by itself, and a change is for good', async (t) => {
  const { book, clock, rules } = stage()
  const { id } = await book.add(wish({ type: 'button' }, [notify]))
  const arms: Action = { type: 'arm', armed: false, ruleIds: [id], minutes: 10 }
  const off = await book.add(wish({ type: 'button' }, [arms]))
  rules.press(off.id, 'ann')
  await new Promise((resolve) => setImmediate(resolve))
  t.match(book.require(id).temporary, { armed: false, until: clock.epochMs() + 600_000 })
  t.throws(() => rules.press(id, 'ann'), { code: 'rule_off' })
  clock.advance(600_000)
  t.equal(rules.isActive(book.require(id)), true)
  await book.arm([id], false, 10)
  await book.change(id, { armed: true })
  t.equal(book.require(id).temporary, null)
  await book.arm([id], false, 0)
  t.match(book.require(id), { armed: false, temporary: null })
  t.throws(() => rules.press('n0', 'ann'), { code: 'unknown_rule' })
})

t.test('3A.Errors rules that could never do what they say are refused', async (t) => {
  const { book } = stage()
  const out = { type: 'output', cameraId: 'yard', outputId: 'r2', state: 'on', seconds: 10 } as const
  for (const [action, message] of [
    [out, /YARD has no output r2/],
    [{ ...out, cameraId: 'gone' }, /there is no camera gone/],
    [{ ...notify, userIds: ['bob'] }, /there is no account bob/],
    [{ type: 'talk_message', cameraId: 'door', messageId: 'm', repeat: 1 }, /DOOR cannot speak/],
    [{ type: 'preserve', beforeSeconds: 0, afterSeconds: 0 }, /1 to 3600 are preserved/],
    [{ type: 'preserve', beforeSeconds: 1800, afterSeconds: 1801 }, /3601 seconds/],
    [{ type: 'preserve', beforeSeconds: 1, afterSeconds: 1 }, /Name the cameras/],
  ] as [Action, RegExp][])
    await t.rejects(book.add(wish({ type: 'button' }, [action])), { code: 'bad_rule', message })
  await t.rejects(book.add(wish({ type: 'button' }, [hook('ftp://x/')])), { code: 'bad_target' })
  await t.rejects(book.add(wish({ type: 'button' }, [notify], { cameraIds: ['gone'] })), { code: 'bad_rule' })
  for (let at = 0; at < 5; at++) await book.add(wish({ type: 'button' }, [notify]))
  await t.rejects(book.add(wish({ type: 'button' }, [notify])), { code: 'too_many_rules' })
  await book.remove(book.list()[0]?.id ?? '')
  t.equal(book.list().length, 4)
})

t.test('3A.authentication.7 a rule reaches as far as the rules that it arms', async (t) => {
  const rule = (id: string, more: Partial<Rule>) =>
    ({ ...wish({ type: 'button' }, []), id, temporary: null, ...more }) as Rule
  const out = { type: 'output', cameraId: 'yard', outputId: 'r1', state: 'on', seconds: 1 } as const
  const arms = (ids: string[]): Action => ({ type: 'arm', armed: true, ruleIds: ids, minutes: 0 })
  const one = rule('1', { actions: [out, arms(['2'])] })
  const two = rule('2', { trigger: { type: 'detection' }, cameraIds: ['door'], actions: [notify] })
  const every = rule('3', { trigger: { type: 'detection' }, actions: [notify] })
  t.same(reachOf(one, [one, two, every]), ['yard', 'door'])
  t.equal(reachOf(rule('4', { actions: [arms(['3'])] }), [two, every]), 'all')
  t.same(reachOf(rule('5', { actions: [notify] }), [two, every]), [])
})
