import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { DEFAULT_QUEUE, LineQueue, type LineQueueLimits } from '#kit/line/line-queue.ts'
import { MOST_WRITES } from '#kit/pure/memory-plan.ts'
import { lineBytes } from '../../pure/memory-plan.ts'
import { heapBytesOf } from '../heap.ts'

/** A queue whose driver takes a piece when the test says so. */
function queueHere(limits: Partial<LineQueueLimits> = {}) {
  const clock = fakeClock()
  const offered: { bytes: Uint8Array; take(): void; fail(fault: Error): void }[] = []
  const told: string[] = []
  let mostRead = 0
  const queue = new LineQueue({
    clock,
    limits: { ...DEFAULT_QUEUE, ...limits },
    write: (bytes) => new Promise((take, fail) => offered.push({ bytes, take, fail })),
    onBusy: (isBusy) => void told.push(isBusy ? 'busy' : 'free'),
    onMostRead(most) {
      mostRead = most
    },
  })
  const written: Uint8Array[] = []
  /** The driver takes the next piece. */
  async function take(): Promise<boolean> {
    const piece = offered.shift()
    if (!piece) return false
    written.push(piece.bytes)
    piece.take()
    await clock.run(0)
    return true
  }
  async function takeAll(): Promise<string> {
    while (await take());
    return Buffer.concat(written.splice(0)).toString()
  }
  const join = (address: string) => {
    const rests: boolean[] = []
    const sender = queue.join(address, { onRest: (isResting) => void rests.push(isResting) })
    return Object.assign(sender, { rests, send: (text: string) => sender.write(Buffer.from(text)) })
  }
  const send = (text: string) => queue.write(Buffer.from(text))
  return { clock, queue, offered, told, take, takeAll, join, send, mostRead: () => mostRead }
}

t.test('addresses take turns, each write is sent whole, and the order of an address is kept', async (t) => {
  const { join, send, takeAll, told } = queueHere()
  const [a, other, b] = [join('a'), join('a'), join('b')]
  const [long] = [a.send('1'.repeat(3000)), a.send('[a2]'), other.send('[a3]'), b.send('[b1]'), b.send('[b2]')]
  const own = send('[own]')
  const line = await takeAll()
  t.equal(line.slice(0, 3000), '1'.repeat(3000))
  t.equal(line.slice(3000), '[own][b1][a2][b2][a3]')
  t.equal(await long, 3000)
  await own
  t.same(told, ['busy', 'free'])
})

t.test('no more is read of an address than its share, in bytes and in time, whoever else is there', async (t) => {
  const { queue, join, take, takeAll, mostRead } = queueHere({ queueBytes: 60_000, queueMs: 5000 })
  queue.setSpeed(960)
  t.equal(mostRead(), 4800, 'what the line sends in 5 s')
  const greedy = join('a')
  void greedy.send('x'.repeat(2400))
  t.same(greedy.rests, [])
  void greedy.send('x'.repeat(2400))
  t.same(greedy.rests, [true])
  const [other, neighbour] = [join('b'), join('a')]
  t.equal(mostRead(), 2400)
  t.same(other.rests, [], 'a client with nothing waiting is read')
  t.same(neighbour.rests, [true], 'its address has enough waiting')
  void other.send('y'.repeat(1200))
  t.same(other.rests, [true], 'the line has enough')
  await take()
  await takeAll()
  t.same(
    [greedy.rests, neighbour.rests, other.rests].map((rests) => rests.at(-1)),
    [false, false, false],
  )
  queue.setSpeed(1_000_000)
  t.equal(mostRead(), 30_000)
  queue.setSpeed(5)
  t.equal(mostRead(), 1024, 'never less than a message')
})

t.test(
  'bytes left by a client that ended are sent up to a limit and a time, those of one cut off are not',
  async (t) => {
    const { clock, join, offered, takeAll } = queueHere({ leftBytes: 3000, leftMs: 1000 })
    const [done, cut, late] = [join('a'), join('b'), join('c')]
    const sent = [done.send('a'.repeat(1500)), cut.send('b'.repeat(1500)), late.send('c'.repeat(1500))]
    done.leave(true)
    cut.leave(false)
    late.leave(true)
    t.equal(done.heldBytes + late.heldBytes, 3000)
    t.equal(await takeAll(), 'a'.repeat(1500) + 'c'.repeat(1500))
    t.same(await Promise.all(sent), [1500, 0, 1500])
    const again = join('a')
    const slow = again.send('x'.repeat(5000))
    again.leave(true)
    t.equal(again.heldBytes, 3000)
    clock.advance(1000)
    t.equal(again.heldBytes, 1024, 'the piece that the driver is being given')
    t.equal(offered.length, 1)
    t.equal(await takeAll(), 'x'.repeat(1024))
    t.equal(await slow, 1024)
  },
)

t.test('if clients that ended have left too much, the address that left most loses bytes', async (t) => {
  const { join, takeAll, send } = queueHere({ leftBytes: 5000 })
  const own = send('o')
  const greedy = [join('a'), join('a'), join('a')].map((one) => ({ one, sent: one.send('a'.repeat(1500)) }))
  const other = join('b')
  const kept = other.send('[b]'.repeat(500))
  for (const { one } of greedy) one.leave(true)
  other.leave(true)
  t.equal((await takeAll()).replaceAll('a', ''), `o${'[b]'.repeat(500)}`)
  t.equal(await kept, 1500)
  t.same(await Promise.all(greedy.map(({ sent }) => sent)), [1500, 1500, 500])
  await own
})

t.test('thousands of clients that come, leave and come again leave no more than the limit', async (t) => {
  const { queue, join, takeAll } = queueHere({ leftBytes: 4096 })
  queue.setSpeed(960)
  let promised = 0
  const taken: Promise<number>[] = []
  for (let times = 0; times < 3000; times++) {
    const one = join(`10.0.0.${times % 200}`)
    taken.push(one.send('x'.repeat(1000)))
    promised += 1000
    one.leave(true)
  }
  const operator = queue.write(Buffer.from('!'))
  const line = await takeAll()
  await operator
  const written = (await Promise.all(taken)).reduce((sum, count) => sum + count, 0)
  t.equal(line.length, written + 1)
  t.ok(written <= 4096 + 1024, `${written} of ${promised} bytes`)
  t.ok(line.indexOf('!') <= 5000)
})

t.test('flushed writes fail, a write that the driver refuses fails alone, and the rest continues', async (t) => {
  const { queue, join, offered, takeAll, send, clock } = queueHere()
  const one = join('a')
  const [refused, flushed] = [one.send('1'), one.send('2')]
  queue.drop(() => new Error('thrown away'))
  await t.rejects(flushed, /thrown away/)
  offered.shift()?.fail(new Error('the driver says no'))
  await t.rejects(refused, /says no/)
  await clock.run(0)
  const after = send('3')
  t.equal(await takeAll(), '3')
  await after
  t.equal(one.heldBytes, 0)
})

t.test('it waits for the present writes, and not for later ones', async (t) => {
  const { send, take, queue, clock } = queueHere()
  const first = send('x')
  const told: string[] = []
  const settled = queue.settled().then(() => told.push('settled'))
  const second = send('y').then(() => told.push('y'))
  await clock.run(0)
  t.same(told, [])
  await take()
  await Promise.all([first, settled])
  t.same(told, ['settled'])
  await take()
  await second
})

t.test('clients that send byte by byte are read up to a number of writes, and continue later', async (t) => {
  const { join, take, takeAll } = queueHere()
  const [one, other] = [join('a'), join('b')]
  const sent: Promise<number>[] = []
  for (const sender of [one, other])
    while (sender.rests.at(-1) !== true && sent.length < 10_000) sent.push(sender.send('x'))
  t.ok(sent.length < MOST_WRITES, `${sent.length} writes`)
  for (let times = 0; times < sent.length / 2; times++) await take()
  t.same([one.rests.at(-1), other.rests.at(-1)], [false, false])
  await takeAll()
  t.same(new Set(await Promise.all(sent)), new Set([1]))
})

t.test('a line whose clients send byte by byte, leave and come again fits the memory of its row', async (t) => {
  const limits = { queueBytes: 65_536, leftBytes: 65_536 }
  let [waiting, left] = [0, 0]
  const bytes = await heapBytesOf(async () => {
    const { queue, join } = queueHere(limits)
    const held: unknown[] = [queue]
    left = waiting = 0
    for (let times = 0; times < 300; times++) {
      const gone = join(`10.1.${times >> 8}.${times & 255}`)
      for (let byte = 0; byte < 3; byte++, left++) void gone.write(Buffer.alloc(1)).then(() => left--)
      gone.leave(true)
    }
    // A client without its writes has a row of its own.
    const sender = join('10.0.0.1')
    for (; sender.rests.at(-1) !== true && waiting < 10_000; waiting++) held.push(sender.write(Buffer.alloc(1)))
    await new Promise(setImmediate)
    return held
  })
  t.ok(left <= MOST_WRITES + 1, `${left} writes of clients that have left`)
  t.ok(waiting <= MOST_WRITES, `${waiting} writes of the one that is there`)
  const settings = new Map(Object.entries({ 'x.queue_bytes': limits.queueBytes, 'x.left_bytes': limits.leftBytes }))
  const most = lineBytes((name) => settings.get(name) ?? Number.NaN, 'x')
  t.ok(bytes < most, `${bytes} bytes of ${most}`)
})

t.test(
  'filled with single bytes and whole reads, of many present clients and many that left, it fits the row of a line',
  async (t) => {
    const { queueBytes, leftBytes } = DEFAULT_QUEUE
    const settings: Record<string, number> = { 'raw_tcp.queue_bytes': queueBytes, 'raw_tcp.left_bytes': leftBytes }
    const most = lineBytes((name) => settings[name] ?? Number.NaN, 'raw_tcp')
    const bytes = await heapBytesOf(() => {
      const clock = fakeClock()
      const write = () => new Promise<void>(() => {})
      const queue = new LineQueue({ clock, limits: DEFAULT_QUEUE, write, onBusy() {}, onMostRead() {} })
      /** Behaves like one client: it pauses when told to, and gets the result of each write. */
      const join = (address: string) => {
        const state = { isResting: false }
        const sender = queue.join(address, {
          onRest(isResting) {
            state.isResting = isResting
          },
        })
        const send = (length: number) =>
          void sender.write(new Uint8Array(length)).then(
            (written) => written === length,
            () => sender.leave(false),
          )
        return { state, send, leave: () => sender.leave(true) }
      }
      for (let at = 0; at < 1000; at++) {
        const left = join(`10.0.${at >> 8}.${at & 255}`)
        left.send(at < 200 ? 32_768 : 1)
        left.leave()
      }
      for (let at = 0; at < 64; at++) {
        const present = join(`10.1.0.${at}`)
        for (let times = 0; times < 1000 && !present.state.isResting; times++) present.send(1)
      }
      const large = join('10.2.0.0')
      for (let times = 0; times < 2; times++) large.send(queueBytes / 2)
      return [clock, queue]
    })
    t.ok(bytes < most, `${bytes} of ${most} bytes`)
  },
)
