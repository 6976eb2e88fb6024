import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { holds, holdsLater } from '#kit/test/holds.ts'
import type { DriverCommand } from '../../../core/drivers/driver.ts'
import { CommandQueue, CommandRoom, type Job } from '../../../core/drivers/session.ts'
import type { Json } from '../../../core/json.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { Row } from '../../../core/site/book.ts'

function queueOf(texts: readonly [string, Record<string, Json>?][], limits = {}) {
  const queue = new CommandQueue(
    fakeClock(),
    { queue: 64, waiters: 64, waitMs: 1000, ...limits },
    'device 1',
    new CommandRoom(1e6),
  )
  for (const [text, args = {}] of texts) void queue.add(commandOf(text, args)).catch(() => {})
  return queue
}

function commandOf(text: string, args: Record<string, Json>): DriverCommand {
  const [zone, verb = ''] = text.split(' ')
  return { zone: zone === 'whole' ? undefined : ({ id: Number(zone) } as Row), verb, args }
}

function drained(queue: CommandQueue): string[] {
  const texts: string[] = []
  for (let job = queue.take(); job; job = queue.take())
    texts.push(`${job.command.zone?.id ?? 'whole'} ${job.command.verb} ${JSON.stringify(job.command.args)}`)
  return texts
}

t.test('a command keeps its place when a newer one replaces it', async (t) => {
  const queue = queueOf([
    ['1 level', { level: 1 }],
    ['2 level', { level: 2 }],
    ['1 level', { level: 3 }],
  ])
  t.strictSame(drained(queue), ['1 level {"level":3}', '2 level {"level":2}'])
})

t.test('if another command for the zone follows it, it goes to the end: the newest request is sent last', async (t) => {
  const queue = queueOf([['1 level', { level: 1 }], ['1 off'], ['1 level', { level: 3 }]])
  t.strictSame(drained(queue), ['1 off {}', '1 level {"level":3}'])
})

t.test('a command for the whole device can touch the zone too', async (t) => {
  const queue = queueOf([['1 level', { level: 1 }], ['whole off'], ['1 level', { level: 3 }]])
  t.strictSame(drained(queue), ['whole off {}', '1 level {"level":3}'])
})

t.test('a command with fewer args than the older one does not replace it', async (t) => {
  const queue = queueOf([
    ['1 setpoint', { heat: 20 }],
    ['1 setpoint', { cool: 25 }],
  ])
  t.equal(queue.length, 2)
  t.equal(
    queueOf([
      ['1 setpoint', { heat: 20 }],
      ['1 setpoint', { heat: 21, cool: 25 }],
    ]).length,
    1,
  )
})

t.test('relative verbs, and commands for whole devices, are carried out one by one', async (t) => {
  t.equal(queueOf([['1 toggle'], ['1 toggle']]).length, 2)
  t.equal(
    queueOf([
      ['whole write', { register: 1 }],
      ['whole write', { register: 2 }],
    ]).length,
    2,
  )
  t.equal(queueOf([['whole on'], ['whole on']]).length, 2)
})

t.test('commands do not replace those of other zones or verbs', async (t) => {
  t.equal(queueOf([['1 on'], ['2 on'], ['1 off']]).length, 3)
})

t.test('a command that all callers have given up is not carried out', async (t) => {
  const clock = fakeClock()
  const queue = new CommandQueue(clock, { queue: 4, waiters: 4, waitMs: 1000 }, 'device 1', new CommandRoom(1e6))
  const first = queue.add(commandOf('1 level', { level: 1 }))
  first.catch(() => {})
  clock.advance(600)
  const second = queue.add(commandOf('1 level', { level: 2 }))
  second.catch(() => {})
  clock.advance(400)
  await t.rejects(first, { code: 'driver_timeout' })
  t.equal(queue.length, 1, 'the second caller still waits')
  clock.advance(600)
  await t.rejects(second, { code: 'driver_timeout' })
  t.strictSame([queue.length, clock.pending()], [0, 0])
})

t.test('each zone ends in the state that was requested last', async (t) => {
  const step = fc.tuple(
    fc.constantFrom('1', '2', 'whole'),
    fc.constantFrom('level', 'on', 'off'),
    fc.integer({ min: 0, max: 99 }),
  )
  const law = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
    const asked = steps.map(([zone, verb, n]): [string, Record<string, Json>] => [`${zone} ${verb}`, { n }])
    const done = drained(queueOf(asked)).map((text) => text.split(' '))
    const last = (lines: readonly (readonly string[])[], zone: string) =>
      lines.findLast(([each]) => each === zone || each === 'whole')?.join(' ')
    const wanted = asked.map(([text, args]) => [...text.split(' '), JSON.stringify(args)])
    return ['1', '2'].every((zone) => last(done, zone) === last(wanted, zone))
  })
  holds(t, law)
})

t.test('a verb in other case is the same verb, also for replacing and adding', async (t) => {
  const queue = queueOf([['1 Level', { level: 1 }], ['1 level', { level: 2 }], ['2 Toggle'], ['2 toggle']])
  t.strictSame(drained(queue), ['1 level {"level":2}', '2 Toggle {}', '2 toggle {}'])
})

/** Devices that share the limit on commands, each with the results of its commands. */
function devicesHere(mostChars: number) {
  const room = new CommandRoom(mostChars)
  const device = (name: string) => {
    const queue = new CommandQueue(fakeClock(), { queue: 64, waiters: 64, waitMs: 1000 }, name, room)
    const refused: string[] = []
    const ask = async (verb: string, chars: number) => {
      await queue
        .add(commandOf(`whole ${verb}`, { a: 'x'.repeat(chars) }))
        .catch(({ code }) => refused.push(`${verb} ${code}`))
    }
    return { queue, refused, ask }
  }
  return { room, one: device('one'), other: device('other') }
}

t.test('if all devices have too many commands, the device with most loses its newest', async (t) => {
  const { room, one, other } = devicesHere(12_000)
  for (const verb of ['a', 'b', 'c']) void one.ask(verb, 2000)
  void other.ask('d', 2000)
  t.same([one.queue.length, other.queue.length], [3, 1], 'filled to the bound')
  void other.ask('e', 2000)
  await Promise.resolve()
  t.same([one.queue.length, other.queue.length], [2, 2])
  await new Promise(setImmediate)
  t.same([one.refused, other.refused], [['c driver_queue_full'], []])
  t.ok(room.chars <= 12_000, String(room.chars))
})

t.test('a command under way counts until its device has finished it', async (t) => {
  const { room, one, other } = devicesHere(5000)
  void one.ask('a', 4000)
  const job = one.queue.take()
  void other.ask('b', 4000)
  await new Promise(setImmediate)
  t.same(other.refused, ['b driver_queue_full'])
  job?.resolve({})
  job?.reject(new Fault('driver_failed', 'settled twice'))
  t.equal(room.chars, 0)
  void other.ask('c', 4000)
  await new Promise(setImmediate)
  t.equal(other.queue.length, 1)
})

t.test('commands of all devices never hold more than their room, and all are counted', async (t) => {
  const step = fc.tuple(
    fc.constantFrom('one', 'other'),
    fc.constantFrom('add', 'take', 'done'),
    fc.integer({ min: 0, max: 3000 }),
  )
  await holdsLater(
    t,
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const here = devicesHere(8000)
      const underWay: Job[] = []
      for (const [which, what, size] of steps) {
        const { queue, ask } = here[which]
        const job = what === 'take' ? queue.take() : undefined
        if (job) underWay.push(job)
        if (what === 'add') void ask('x', size)
        if (what === 'done') underWay.shift()?.resolve({})
        if (here.room.chars > 8000) return false
      }
      for (const job of underWay) job.resolve({})
      for (const { queue } of [here.one, here.other]) queue.failAll(new Fault('driver_failed', 'closed'))
      return here.room.chars === 0
    }),
  )
})

t.test('commands with any args take no more memory than their row says', async (t) => {
  const chars = 500_000
  const many = <Value>(count: number, value: (at: number) => Value) =>
    Array.from({ length: count }, (_, at) => value(at))
  const kinds: Record<string, (at: number) => Record<string, Json>> = {
    'a level': (at) => ({ level: at + 0.5 }),
    'a long text': (at) => ({ text: `${at}`.padEnd(10_000, 'ж') }),
    'short texts': (at) => ({ list: many(500, (text) => `t${at}${text}`) }),
    'empty objects': () => ({ list: many(500, () => ({})) }),
    'objects of a name of their own': (at) => ({ list: many(200, (name) => ({ [`${at}-${name}`]: {} })) }),
    'a number as name': (at) => ({ [at % 1000]: 0 }),
    'names of every kind': (at) => Object.fromEntries(many(200, (name) => [`${at}-${name}`, null])),
  }
  for (const [title, argsOf] of Object.entries(kinds)) {
    let refused = 0
    const bytes = await heapBytesOf(async () => {
      refused = 0
      const room = new CommandRoom(chars)
      const queue = new CommandQueue(fakeClock(), { queue: 1e6, waiters: 64, waitMs: 1000 }, 'device 1', room)
      const asked: Promise<unknown>[] = []
      for (let at = 0; refused === 0; at++) {
        const { args } = JSON.parse(JSON.stringify({ args: argsOf(at) }))
        asked.push(queue.add(commandOf(`${at} do`, args)).catch(() => refused++))
        await Promise.resolve()
        await Promise.resolve()
      }
      return [queue, room, asked]
    })
    t.ok(refused > 0, 'filled to the bound')
    const { allBytes } = rowOf(memoryPlan().rows, 'commands on their way', { 'drivers.command_chars': chars })
    t.ok(bytes < allBytes, `${title}: ${bytes} bytes, of ${allBytes}`)
  }
})

t.test('a user who fills the queue gives way to others, and the house to nobody', async (t) => {
  const queue = queueOf([['1 toggle'], ['1 toggle']], { queue: 6 })
  const faults: string[] = []
  const add = (by: number) => {
    void queue.add({ ...commandOf(`${by} toggle`, {}), by }).catch((fault: Fault) => faults.push(`${by} ${fault.code}`))
  }
  for (let at = 0; at < 5; at++) add(7)
  for (let at = 0; at < 3; at++) add(8)
  await new Promise(setImmediate)
  t.strictSame(
    faults.toSorted(),
    ['7', '7', '7', '8'].map((by) => `${by} driver_queue_full`),
  )
  t.strictSame(drained(queue), [
    '1 toggle {}',
    '1 toggle {}',
    '7 toggle {}',
    '7 toggle {}',
    '8 toggle {}',
    '8 toggle {}',
  ])
})
