/** Parts: order, deadlines, failures. */
import { t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createParts, type Part } from '#kit/run/parts.ts'

function setup() {
  const clock = fakeClock()
  const told: string[] = []
  const lines: string[] = []
  const log = createLog({ level: 'notice', journal: true, stream: { write: (line) => lines.push(line) } })
  const parts = createParts({ log, clock })
  const part = (name: string, more: Partial<Part> = {}): Part => ({
    name,
    start: () => void told.push(`${name} starts`),
    stop: () => void told.push(`${name} stops`),
    ...more,
  })
  return { clock, told, lines, parts, part }
}

const never = () => new Promise<void>(() => {})

t.test('starts in order and stops in reverse', async (t) => {
  const { parts, part, told } = setup()
  for (const name of ['a', 'b', 'c']) parts.add(part(name))
  await parts.start()
  await parts.stop()
  await parts.stop()
  t.same(told, ['a starts', 'b starts', 'c starts', 'c stops', 'b stops', 'a stops'])
})

t.test('stops what was started when a part fails to start, and starts no further', async (t) => {
  const { parts, part, told } = setup()
  parts.add(part('a'))
  const start = () => Promise.reject(new Error('EADDRINUSE'))
  parts.add(part('b', { start }))
  parts.add(part('c'))
  await t.rejects(parts.start(), { code: 'part_start_failed', message: 'b did not start: EADDRINUSE' })
  t.same(told, ['a starts', 'a stops'])
})

t.test('passes on a Fault of a part unchanged', async (t) => {
  const { parts, part } = setup()
  const start = () => {
    throw new Fault('line_busy', 'another has it')
  }
  parts.add(part('a', { start }))
  await t.rejects(parts.start(), { code: 'line_busy' })
})

t.test('gives up on a start that takes too long, and stops that part too', async (t) => {
  const { parts, part, told, clock } = setup()
  parts.add(part('slow', { start: never, startDeadlineMs: 100 }))
  const starting = t.rejects(parts.start(), { code: 'deadline_passed' })
  await clock.run(100)
  await starting
  t.same(told, ['slow stops'])
})

t.test('logs a stop that takes too long or fails, and continues', async (t) => {
  const { parts, part, told, clock, lines } = setup()
  parts.add(part('a'))
  parts.add(part('slow', { stop: never, stopDeadlineMs: 100 }))
  parts.add(part('bad', { stop: () => Promise.reject(new Error('no')) }))
  await parts.start()
  const stopping = parts.stop()
  await clock.run(99)
  t.notOk(told.includes('a stops'))
  await clock.run(1)
  await stopping
  t.ok(told.includes('a stops'))
  t.match(lines, [
    /part did not stop part=bad fault=no/,
    /part did not stop part=slow fault="deadline_passed: .* 100 ms/,
  ])
})

t.test('a stop during a start waits until the starting part has started', async (t) => {
  const { parts, part, told, clock } = setup()
  parts.add(part('a'))
  const start = () => new Promise<void>((resolve) => void clock.after(50, resolve))
  parts.add(part('b', { start }))
  parts.add(part('c'))
  const starting = t.rejects(parts.start(), { code: 'stopped_early' })
  await clock.run(10)
  const stopping = parts.stop()
  await clock.run(40)
  await Promise.all([starting, stopping])
  t.same(told, ['a starts', 'b stops', 'a stops'])
})

t.test('reports the first failure of an owned promise, also to a handler that comes later', async (t) => {
  const { parts } = setup()
  parts.own(Promise.reject(new Error('broken')), 'pump')
  parts.own(Promise.reject(new Error('broken too')), 'valve')
  await new Promise((resolve) => setImmediate(resolve))
  const faults: Fault[] = []
  parts.onFailure((fault) => faults.push(fault))
  t.match(faults, [{ code: 'part_failed', message: 'pump failed: broken' }])
  t.equal(faults.length, 1)
})

t.test('ignores failures caused by stopping', async (t) => {
  const { parts, part } = setup()
  const pump = Promise.withResolvers<void>()
  parts.add(part('pump', { stop: () => pump.reject(new Error('closed')) }))
  parts.own(pump.promise, 'pump')
  parts.onFailure(() => t.fail('a stop is no failure'))
  await parts.start()
  await parts.stop()
})
