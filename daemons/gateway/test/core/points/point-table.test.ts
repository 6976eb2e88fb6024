import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { registerPoints } from '../../../core/modbus/points.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import { PointTable, type ValuePayload } from '../../../core/points/values.ts'
import { point } from './points.ts'

function tableOf(points: PointDefinition[], staleAfterMs?: number) {
  const clock = fakeClock()
  const told: ValuePayload[] = []
  const table = new PointTable({
    clock,
    protocol: registerPoints({ mergeGap: 8, mergeRegisters: 125 }),
    staleAfterMs,
    publish: (_event, payload) => void told.push(payload),
  })
  table.set(points)
  const take = (address: number, values: number[], fc = 3, unitId = 1) =>
    table.take({ unitId, fc, address, values }, clock.monotonicMs())
  const one = (name = 'a') => table.list().find((view) => view.name === name)
  return { clock, table, told, take, one }
}

const silent = new Fault('modbus_timeout', 'Unit 1 did not answer.')

t.test('a point that was never read has no value, and says so', async (t) => {
  const { one, told } = tableOf([point('a')])
  t.match(one(), {
    value: null,
    text: null,
    quality: 'unknown',
    ageMs: null,
    changedAt: null,
    readAt: null,
    fault: null,
  })
  t.same(told, [])
})

t.test('a read refreshes every point that it covers completely, and no other', async (t) => {
  const { clock, one, take, told } = tableOf([
    point('a', { address: 10, type: 'u32' }),
    point('b', { address: 12, scale: 0.1, unit: 'V', decimals: 1 }),
    point('half', { address: 13, type: 'u32' }),
    point('other function', { address: 10, fc: 4 }),
    point('other unit', { address: 10, unitId: 2 }),
  ])
  await clock.run(500)
  take(9, [9, 1, 2, 2300, 0])
  t.match(one('a'), { value: 65_538, quality: 'good', ageMs: 0 })
  t.match(one('b'), { value: 230, text: '230.0' })
  for (const name of ['half', 'other function', 'other unit']) t.equal(one(name)?.quality, 'unknown', name)
  t.same(
    told.map(({ name, value, previous, quality }) => [name, value, previous, quality]),
    [
      ['a', 65_538, null, 'good'],
      ['b', 230, null, 'good'],
    ],
  )
  const readAt = clock.epochMs()
  t.match(told[1], { text: '230.0', unit: 'V', unitId: 1, readAt })
  await clock.run(250)
  t.match(one('b'), { ageMs: 250, readAt, changedAt: readAt })
})

t.test('a value is published when it has moved by more than the deadband from the value published last', async (t) => {
  const { clock, one, take, told } = tableOf([point('a', { deadband: 5 })])
  take(0, [100])
  const changedAt = clock.epochMs()
  await clock.run(1000)
  for (const value of [103, 105, 95]) take(0, [value])
  t.equal(told.length, 1)
  t.match(one(), { value: 95, changedAt, readAt: changedAt + 1000 }, 'readers see the newest value anyway')
  take(0, [106])
  t.match(told[1], { value: 106, previous: 100 })
  t.equal(one()?.changedAt, changedAt + 1000)
})

t.test('without a deadband every change is published, and nothing else', async (t) => {
  const { take, told } = tableOf([point('a'), point('on', { fc: 1, type: 'bit' })])
  for (const value of [1, 1, 2, 2]) take(0, [value])
  for (const value of [0, 0, 1]) take(0, [value], 1)
  t.same(
    told.map(({ name, value }) => [name, value]),
    [
      ['a', 1],
      ['a', 2],
      ['on', false],
      ['on', true],
    ],
  )
})

t.test('a value is stale after three of its intervals, and good again with the next', async (t) => {
  const { clock, one, take, told } = tableOf([
    point('a', { pollMs: 1000 }),
    point('slow', { pollMs: 60_000, address: 1 }),
  ])
  take(0, [7, 8])
  await clock.run(2999)
  t.equal(one()?.quality, 'good')
  await clock.run(1)
  t.match(one(), { value: 7, quality: 'stale', ageMs: 3000 })
  t.match(told.at(-1), { name: 'a', value: 7, quality: 'stale', previous: 7 })
  t.equal(one('slow')?.quality, 'good')
  take(0, [7])
  t.match(told.at(-1), { name: 'a', quality: 'good' })
  await clock.run(180_000)
  t.equal(one('slow')?.quality, 'stale')
  t.equal(clock.pending(), 0, 'nothing is left to wait for')
})

t.test('a setting says when a value is stale', async (t) => {
  const { clock, one, take } = tableOf([point('a', { pollMs: 1000 })], 10_000)
  take(0, [7])
  await clock.run(9999)
  t.equal(one()?.quality, 'good')
  await clock.run(1)
  t.equal(one()?.quality, 'stale')
})

t.test('one timer waits for the first point that can become stale, however many there are', async (t) => {
  const points = Array.from({ length: 50 }, (_, at) => point(`p${at}`, { address: at, pollMs: 1000 + at }))
  const { clock, table, take } = tableOf(points)
  take(49, [1])
  take(
    0,
    points.map((_, at) => at),
  )
  t.equal(clock.pending(), 1)
  await clock.run(3000)
  t.same(
    table
      .list()
      .filter(({ quality }) => quality === 'stale')
      .map(({ name }) => name),
    ['p0'],
  )
  t.equal(clock.pending(), 1)
  table.close()
  t.equal(clock.pending(), 0)
})

t.test('when a unit is silent a value grows old and has the reason, and a point never read is bad', async (t) => {
  const points = [point('a'), point('never', { address: 5 })]
  const { clock, one, table, take, told } = tableOf(points)
  take(0, [7])
  await clock.run(1000)
  table.fail(points, 'unanswered', silent)
  t.match(one(), { value: 7, quality: 'good', fault: { code: 'modbus_timeout', message: silent.message } })
  t.match(one('never'), { value: null, quality: 'bad', fault: { code: 'modbus_timeout' } })
  t.match(told.at(-1), { name: 'never', value: null, quality: 'bad' })
  await clock.run(2000)
  t.match(one(), { value: 7, quality: 'stale', fault: { code: 'modbus_timeout' } })
  take(0, [8])
  t.match(one(), { value: 8, quality: 'good', fault: null })
})

t.test('a value that the unit refuses, or that is invalid, is gone at once', async (t) => {
  const points = [point('a'), point('f', { type: 'f32', address: 2 })]
  const { one, table, take, told } = tableOf(points)
  take(0, [7, 0, 0x3f80, 0])
  table.fail(points.slice(0, 1), 'refused', new Fault('modbus_exception', 'exception 2'))
  t.match(one(), { value: null, text: null, quality: 'bad', fault: { code: 'modbus_exception' } })
  t.match(told.at(-1), { name: 'a', value: null, quality: 'bad', previous: 7 })
  take(2, [0x7fc0, 0])
  t.match(one('f'), { value: null, quality: 'bad', fault: { code: 'point_no_value', message: /not a number/ } })
  t.equal(told.length, 4)
  take(2, [0x7fc0, 0])
  t.equal(told.length, 4, 'published once')
  take(2, [0x3f80, 0])
  t.match(told.at(-1), { name: 'f', value: 1, quality: 'good', previous: null })
})

t.test('no value of a lost line is good, and that is published at once', async (t) => {
  const { one, table, take, told } = tableOf([point('a'), point('b', { unitId: 2 })])
  take(0, [7])
  table.failAll(new Fault('line_gone', 'pulled'))
  t.match(one(), { value: 7, quality: 'stale', fault: { code: 'line_gone' } })
  t.match(told.slice(1), [
    { name: 'a', quality: 'stale' },
    { name: 'b', quality: 'bad' },
  ])
  t.equal(told.length, 3)
  t.match(one('b'), { quality: 'bad', fault: { code: 'line_gone' } })
})

t.test('points are replaced live: one that is read as before keeps its value, any other begins again', async (t) => {
  const { clock, one, table, take, told } = tableOf([
    point('a'),
    point('b', { address: 1 }),
    point('gone', { address: 2 }),
  ])
  take(0, [7, 8, 9])
  table.set([point('a', { unit: 'kWh', deadband: 3, pollMs: 500 }), point('b', { address: 1, scale: 0.1 })])
  t.match(one(), { value: 7, quality: 'good', unit: 'kWh' })
  t.match(one('b'), { value: null, quality: 'unknown' })
  t.equal(one('gone'), undefined)
  t.equal(told.length, 3)
  await clock.run(1500)
  t.equal(one()?.quality, 'stale', 'by its new interval')
})

t.test('a step of the wall clock changes no age', async (t) => {
  const { clock, one, take } = tableOf([point('a')])
  take(0, [7])
  clock.stepEpoch(3_600_000)
  await clock.run(100)
  t.match(one(), { ageMs: 100, quality: 'good' })
})
