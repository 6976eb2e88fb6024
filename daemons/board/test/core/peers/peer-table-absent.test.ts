/** Tests of core/peers/peers.ts: boards that are gone stay listed as absent until somebody dismisses them. */
import t from 'tap'
import { heard, peerRig } from './peer-rig.ts'

t.test('B.peers a dead board stays listed, with the time it was last heard, until somebody dismisses it', async (t) => {
  const { answers, appear, changes, clock, table } = peerRig()
  appear(heard(2, { texts: { role: 'encoder', stream: '239.69.1.2:5004' } }))
  await clock.run(60_000)
  const [alive] = table.list()
  answers.clear()
  await clock.run(3 * 3_600_000)
  const [dead] = table.list()
  t.match(dead, { id: heard(2).id, name: 'Board 2', state: 'absent', address: '10.0.0.2', stream: '239.69.1.2:5004' })
  t.ok(dead && alive && dead.answeredAt - alive.answeredAt < 3000, 'it was heard last when it was switched off')
  t.equal(table.isFoundOrigin('http://10.0.0.2'), false)
  const before = changes()
  t.match(table.dismiss(heard(2).id), { name: 'Board 2' })
  t.same([table.list(), table.kept(), changes() - before], [[], [], 1])
  t.throws(() => table.dismiss(heard(2).id), { code: 'unknown_peer' })
})

t.test('a dismissed board is found again when it answers', async (t) => {
  const { answers, appear, clock, names, table } = peerRig()
  appear(heard(2))
  await clock.run(5000)
  t.throws(() => table.dismiss(heard(2).id), { code: 'peer_answers', message: /Switch it off before/ })
  answers.clear()
  await clock.run(20_000)
  table.dismiss(heard(2).id)
  await clock.run(60_000)
  appear(heard(2))
  await clock.run(1000)
  t.same(names(), ['Board 2'])
})

t.test('an absent board is there again as soon as it is announced, and after a while even without that', async (t) => {
  const { absent, answers, appear, asked, clock, names } = peerRig()
  appear(heard(2))
  await clock.run(5000)
  answers.clear()
  await clock.run(300_000)
  t.same(absent(), ['Board 2'])
  asked.length = 0
  await clock.run(300_000)
  t.ok(asked.length >= 9 && asked.length <= 10, `asked ${asked.length} times in five minutes`)
  appear(heard(2))
  await clock.run(1000)
  t.same(names(), ['Board 2'])
  answers.clear()
  await clock.run(60_000)
  answers.set('10.0.0.2:80', heard(2).id)
  await clock.run(33_000)
  t.same(names(), ['Board 2'], 'nothing of it was heard')
})

t.test('B.peers boards are remembered across a restart: awaited, and absent if they do not answer', async (t) => {
  const before = peerRig()
  for (const host of [2, 3]) before.appear(heard(host))
  await before.clock.run(5000)
  before.answers.delete('10.0.0.3:80')
  await before.clock.run(60_000)
  const [, dead] = before.table.list()
  const { absent, answers, clock, names, table } = peerRig({}, before.table.kept())
  t.same(
    table.list().map(({ name, state }) => [name, state]),
    [
      ['Board 2', 'awaited'],
      ['Board 3', 'awaited'],
    ],
  )
  t.equal(table.isFoundOrigin('http://10.0.0.2'), false, 'nothing is believed of it before it has answered')
  answers.set('10.0.0.2:80', heard(2).id)
  await clock.run(10_000)
  t.same([names(), absent()], [['Board 2'], ['Board 3']])
  t.match(table.list()[1], { answeredAt: dead?.answeredAt, heardAt: dead?.heardAt })
})

t.test(
  'the memory of absent boards is limited: the longest absent board of the machine with most is dropped',
  async (t) => {
    const limits = { absent_max: 8, per_sender: 4, max: 64 }
    const { absent, answers, appear, clock, table } = peerRig(limits)
    async function die(...services: ReturnType<typeof heard>[]): Promise<void> {
      for (const service of services) appear(service)
      await clock.run(5000)
      answers.clear()
      await clock.run(20_000)
    }
    for (const host of [2, 3]) await die(heard(host))
    // One machine that keeps answering under new names takes its own share of the memory and no more.
    for (let at = 0; at < 12; at++) {
      const texts = { name: `Stranger ${String(at).padStart(2, '0')}` }
      await die(heard(66, { id: `stranger-${at}._plantroom._tcp.local`, texts }))
    }
    t.same(absent(), ['Board 2', 'Board 3', 'Stranger 08', 'Stranger 09', 'Stranger 10', 'Stranger 11'])
    for (const host of [4, 5, 6, 7, 8]) await die(heard(host))
    t.same(absent(), [2, 3, 4, 5, 6, 7, 8].map((host) => `Board ${host}`).concat('Stranger 11'))
    await die(heard(9))
    t.same(absent(), [3, 4, 5, 6, 7, 8, 9].map((host) => `Board ${host}`).concat('Stranger 11'))
    t.equal(table.kept().length, 8)
  },
)

t.test('forged announcements are not remembered, and evict no board', async (t) => {
  const { absent, answers, appear, clock, table } = peerRig({ max: 32, absent_max: 4 })
  for (const host of [2, 3]) appear(heard(host))
  await clock.run(5000)
  answers.clear()
  await clock.run(30_000)
  for (let at = 0; at < 5000; at++) {
    const place = `10.${at % 250}.0.66`
    table.hear(heard(66, { id: `forged-${at}._plantroom._tcp.local`, reach: [place], from: place }))
    table.hear(heard(2, { reach: [place], from: place }))
    if (at % 50 === 0) await clock.run(200)
  }
  await clock.run(10_000)
  t.same(absent(), ['Board 2', 'Board 3'])
  t.equal(table.kept().length, 2)
})

t.test('absent boards do not delay boards that are there', async (t) => {
  const { answers, appear, clock, table } = peerRig({ max: 256, absent_max: 256 })
  for (let host = 1; host <= 200; host++) appear(heard(host))
  await clock.run(10_000)
  for (let host = 1; host <= 150; host++) answers.delete(`10.0.0.${host}:80`)
  await clock.run(60_000)
  const again = peerRig({ max: 256, absent_max: 256 }, table.kept())
  for (let host = 151; host <= 200; host++) again.appear(heard(host))
  await again.clock.run(8000)
  const alive = again.table.list().filter(({ state }) => state === 'alive')
  t.equal(alive.length, 50, 'those that announce themselves are asked first')
  const { length } = again.asked
  await again.clock.run(60_000)
  t.ok(again.asked.length - length < 2000, `${again.asked.length - length} questions in a minute`)
  for (const { answeredAt } of again.table.list().filter(({ state }) => state === 'alive'))
    t.ok(again.clock.epochMs() - answeredAt < 20_000)
})
