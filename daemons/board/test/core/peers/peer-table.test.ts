/** Tests of core/peers/peers.ts. */
import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { heard, peerRig } from './peer-rig.ts'

t.test('B.peers a board is listed once it has answered under its own name', async (t) => {
  const { appear, clock, names, table } = peerRig()
  appear(heard(2))
  t.same(names(), [])
  await clock.run(1000)
  t.match(table.list(), [
    {
      ...{ name: 'Board 2', role: 'serial', host: 'b2.local', address: '10.0.0.2', port: 80, version: '1.2.3' },
      ...{ state: 'alive', stream: null, path: '/', heardAt: 1_900_000_000_000, answeredAt: 1_900_000_000_200 },
    },
  ])
})

t.test('B.peers a gateway is not a board, nor is anything that does not answer under its own name', async (t) => {
  const { answers, appear, clock, names, table } = peerRig()
  appear(heard(2, { texts: { role: 'gateway' } }))
  table.hear(heard(3))
  answers.set('10.0.0.4:80', 'board-99._plantroom._tcp.local')
  table.hear(heard(4))
  await clock.run(10_000)
  t.same(names(), [])
  t.same(table.counts().states, { new: 0, awaited: 0, alive: 0, unreachable: 0, absent: 0 })
})

t.test('B.peers a board that is switched off is shown as absent within 15 s', async (t) => {
  for (const afterMs of [0, 700, 1500, 2900]) {
    const { absent, answers, appear, clock, names, networkAsked, table } = peerRig()
    appear(heard(2))
    await clock.run(20_000 + afterMs)
    t.equal(table.counts().unanswered, 0)
    answers.clear()
    await clock.run(15_000)
    t.ok(table.counts().unanswered > 0)
    t.same(names(), [], `off ${afterMs} ms later`)
    t.same(absent(), ['Board 2'])
    t.ok(networkAsked() > 0, 'the network was asked for it')
  }
})

t.test('B.peers a board that is announced and does not answer stays as unreachable, for a while', async (t) => {
  const { announced, answers, appear, clock, table } = peerRig({ unreachable_ms: 60_000 })
  appear(heard(2))
  announced.add(heard(2))
  await clock.run(5000)
  answers.clear()
  await clock.run(25_000)
  t.same(
    table.list().map(({ state }) => state),
    ['unreachable'],
  )
  appear(heard(2))
  await clock.run(5000)
  t.same(
    table.list().map(({ state }) => state),
    ['alive'],
  )
  answers.clear()
  await clock.run(70_000)
  t.match(table.list(), [{ state: 'absent' }])
})

t.test('an unreachable board that is no longer announced is absent within 15 s', async (t) => {
  const { announced, answers, appear, clock, names } = peerRig()
  appear(heard(2))
  await clock.run(5000)
  answers.clear()
  announced.add(heard(2))
  await clock.run(60_000)
  t.same(names(), ['Board 2'])
  announced.clear()
  await clock.run(15_000)
  t.same(names(), [])
})

t.test('B.peers a board that dies just after it did not answer once is absent within 15 s', async (t) => {
  for (let aliveMs = 0; aliveMs <= 5000; aliveMs += 250) {
    const { announced, answers, appear, clock, names } = peerRig()
    appear(heard(2))
    await clock.run(5000)
    answers.clear()
    announced.add(heard(2))
    await clock.run(aliveMs)
    announced.clear()
    await clock.run(15_000)
    t.same(names(), [], `announced for ${aliveMs} ms more`)
  }
})

t.test('a board that answers stays even without announcements', async (t) => {
  const { appear, clock, names } = peerRig()
  appear(heard(2))
  await clock.run(600_000)
  t.same(names(), ['Board 2'])
})

t.test('B.peers a new name or role of a board is shown at once', async (t) => {
  const { appear, changes, clock, table } = peerRig()
  appear(heard(2))
  await clock.run(1000)
  const before = changes()
  appear(heard(2, { texts: { name: 'Cellar', role: 'decoder' } }))
  t.match(table.list(), [{ name: 'Cellar', role: 'decoder' }])
  t.equal(changes(), before + 1)
})

t.test('B.peers two boards of one name are two', async (t) => {
  const { appear, clock, names } = peerRig()
  appear(heard(2, { texts: { name: 'Hall' } }))
  appear(heard(3, { texts: { name: 'Hall' } }))
  await clock.run(1000)
  t.same(names(), ['Hall', 'Hall'])
})

t.test('boards are listed by name', async (t) => {
  const { appear, clock, names } = peerRig()
  for (const [host, name] of ['Hall', 'attic', 'Cellar'].entries()) appear(heard(host, { texts: { name } }))
  await clock.run(1000)
  t.same(names(), ['attic', 'Cellar', 'Hall'])
})

t.test('B.peers a board with another address is found there, and its old address is not asked for ever', async (t) => {
  const { answers, appear, clock, table } = peerRig()
  appear(heard(2))
  await clock.run(5000)
  answers.clear()
  const moved = heard(2, { reach: ['10.0.0.77'], from: '10.0.0.77' })
  appear(moved)
  await clock.run(6000)
  t.match(table.list(), [{ address: '10.0.0.77', state: 'alive' }])
})

t.test('a board whose address now belongs to another is not mistaken for it', async (t) => {
  const { answers, appear, clock, names } = peerRig()
  appear(heard(2))
  await clock.run(5000)
  answers.set('10.0.0.2:80', 'board-3._plantroom._tcp.local')
  await clock.run(15_000)
  t.same(names(), [])
})

t.test('B.peers a board on another port is found there', async (t) => {
  const { answers, appear, clock, table } = peerRig()
  appear(heard(2))
  await clock.run(5000)
  answers.clear()
  appear(heard(2, { port: 8080 }))
  await clock.run(6000)
  t.match(table.list(), [{ address: '10.0.0.2', port: 8080, state: 'alive' }])
})

t.test('of several addresses the one that answers is used', async (t) => {
  const { answers, clock, table } = peerRig()
  const many = heard(2, { from: '10.0.0.1', reach: ['10.20.0.1', '10.20.0.2', '10.20.0.3'] })
  answers.set('10.20.0.3:80', many.id)
  table.hear(many)
  await clock.run(20_000)
  t.match(table.list(), [{ address: '10.20.0.3' }])
})

t.test('a forged announcement in the name of a board neither changes nor hides it', async (t) => {
  const { appear, clock, table } = peerRig()
  appear(heard(2))
  await clock.run(5000)
  for (let count = 0; count < 100; count++) {
    const reach = ['10.0.0.66', '10.0.0.67', '10.0.0.68', '10.0.0.69']
    table.hear(heard(2, { reach, from: '10.0.0.66', port: 9100, texts: { name: 'Forged' } }))
    table.bidFarewell(heard(2).id)
    await clock.run(200)
    t.match(table.list(), [{ name: 'Board 2', address: '10.0.0.2', port: 80, state: 'alive' }])
  }
})

t.test('a board that says goodbye is asked, and is absent if it does not answer', async (t) => {
  const { answers, appear, clock, names, table } = peerRig({ poll_ms: 60_000 })
  appear(heard(2))
  await clock.run(5000)
  table.bidFarewell(heard(2).id)
  answers.clear()
  await clock.run(10_000)
  t.same(names(), [])
})

t.test(
  'B.authentication.2 pages of a found board may call: by its address or .local name, at its own port',
  async (t) => {
    const { appear, clock, table } = peerRig()
    appear(heard(2))
    appear(heard(3, { port: 8080 }))
    await clock.run(1000)
    for (const origin of ['http://10.0.0.2', 'http://b2.local', 'http://10.0.0.3:8080', 'http://b3.local:8080'])
      t.equal(table.isFoundOrigin(origin), true, origin)
    const strangers = [
      'http://10.0.0.3',
      'https://10.0.0.2',
      'http://10.0.0.2:81',
      'http://Board 2',
      'http://b2',
      'null',
      '',
    ]
    for (const origin of strangers) t.equal(table.isFoundOrigin(origin), false, origin)
  },
)

t.test('B.authentication.2 a place where nobody has answered for the board is not a found board', async (t) => {
  const { answers, appear, clock, table } = peerRig()
  table.hear(heard(5, { reach: ['10.0.0.5'], from: '10.0.0.66', host: 'intranet.local' }))
  answers.set('10.0.0.5:80', '')
  appear(heard(2))
  await clock.run(3000)
  t.equal(table.isFoundOrigin('http://10.0.0.5'), false)
  // A board that answers at its own address names another one.
  table.hear(heard(2, { reach: ['10.0.0.5'], host: 'intranet.local', port: 8081 }))
  for (let count = 0; count < 50; count++) {
    await clock.run(200)
    for (const origin of [
      'http://10.0.0.5',
      'http://10.0.0.5:8081',
      'http://intranet.local',
      'http://intranet.local:8081',
    ])
      t.equal(table.isFoundOrigin(origin), false, origin)
  }
})

t.test('B.authentication.2 pages of a board that no longer answers may no longer call', async (t) => {
  const { announced, answers, appear, clock, table } = peerRig()
  appear(heard(2))
  await clock.run(5000)
  answers.clear()
  announced.add(heard(2))
  await clock.run(12_000)
  t.match(table.list(), [{ state: 'unreachable' }])
  t.equal(table.isFoundOrigin('http://10.0.0.2'), false)
})

t.test('B.peers a hundred boards are found, watched with few questions at a time, and lost in time', async (t) => {
  const { answers, appear, asked, clock, names, under } = peerRig()
  for (let host = 1; host <= 100; host++) appear(heard(host))
  await clock.run(5000)
  t.equal(names().length, 100)
  asked.length = 0
  await clock.run(10_000)
  t.ok(asked.length >= 150 && asked.length <= 220, `${asked.length} questions in ten seconds`)
  for (let host = 1; host <= 100; host += 10) answers.delete(`10.0.0.${host}:80`)
  await clock.run(15_000)
  t.equal(names().length, 90)
  t.ok(under.most <= 16, `${under.most} at a time`)
})

t.test('no machine takes the room of others', async (t) => {
  const { appear, clock, names, table } = peerRig({ max: 64 })
  appear(heard(2))
  await clock.run(1000)
  for (let count = 0; count < 5000; count++) {
    const direct = { id: `forged-${count}._plantroom._tcp.local`, reach: ['10.0.0.66'], from: '10.0.0.66' }
    table.hear(heard(66, direct))
    table.hear(heard(66, { ...direct, id: `r${direct.id}`, reach: [`10.20.${count % 250}.1`] }))
    table.hear(
      heard(66, { ...direct, id: `s${direct.id}`, reach: [`10.1.${count % 250}.1`], from: `10.1.${count % 250}.1` }),
    )
  }
  const { new: unknown } = table.counts().states
  t.ok(unknown <= 64)
  t.ok(table.counts().refused > 5000)
  // As a board announces that has just started, and later because others ask.
  for (const afterMs of [0, 3000, 6000, 10_000]) {
    await clock.run(afterMs)
    appear(heard(3))
  }
  await clock.run(5000)
  t.same(names(), ['Board 2', 'Board 3'])
})

t.test('a board that answers keeps its place, whatever is announced from its address', async (t) => {
  const { appear, clock, names, table } = peerRig({ max: 4 })
  appear(heard(2))
  await clock.run(1000)
  for (const id of ['a', 'b', 'c']) table.hear(heard(2, { id: `${id}._plantroom._tcp.local` }))
  appear(heard(3))
  await clock.run(5000)
  t.same(names(), ['Board 2', 'Board 3'])
})

t.test('a full table of boards with the longest names fits the memory of its row', async (t) => {
  const bounds = { max: 256, per_sender: 256, absent_max: 128 }
  const bytes = await heapBytesOf(async () => {
    const rig = peerRig(bounds)
    const { answers, appear, clock, table } = rig
    for (let count = 0; count < 400; count++) {
      const reach = Array.from({ length: 4 }, (_, link) => `10.${link}.${count >> 8}.${count & 255}`)
      const text = { name: `${count} ${'ж'.repeat(60)}`, version: '1.2.3', path: `/${'p'.repeat(62)}`, role: 'encoder' }
      const names = { id: `${count}-${'i'.repeat(60)}._plantroom._tcp.local`, host: `${count}-${'h'.repeat(57)}.local` }
      const service = { ...heard(1), ...names, reach, from: reach[0] ?? '', text: new Map(Object.entries(text)) }
      appear(JSON.parse(JSON.stringify(service), (key, value) => (key === 'text' ? service.text : value)))
    }
    await clock.run(30_000)
    const { alive } = table.counts().states
    // Half of them leave, and are remembered; others come.
    for (const place of [...answers.keys()].slice(0, 128)) answers.delete(place)
    await clock.run(60_000)
    rig.asked.length = 0
    if (alive < 200) t.fail(`${alive} boards`)
    return [table, clock]
  })
  const row = rowOf(memoryPlan().rows, 'other boards', { 'peers.max': 256, 'peers.absent_max': 0 })
  t.ok(bytes < row.allBytes, `${bytes / 256} bytes a board, of ${row.eachBytes}`)
})

t.test('nothing runs once it is stopped', async (t) => {
  const { appear, asked, clock, table } = peerRig()
  appear(heard(2))
  await clock.run(1000)
  table.stop()
  asked.length = 0
  await clock.run(60_000)
  t.same(asked, [])
  t.same(table.list(), [])
})
