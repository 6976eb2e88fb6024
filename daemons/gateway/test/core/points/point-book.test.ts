import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { registerPlanner, registerPoints } from '../../../core/modbus/points.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import { PointPoller } from '../../../core/points/polling.ts'
import { bookOf } from './point-fixtures.ts'
import { point } from './points.ts'

t.test('the table is replaced as a whole, on the line and in the saved settings', async (t) => {
  const { book, kept, table } = bookOf()
  const { points, polling } = await book.replace('bus', [point('a'), point('b', { address: 1 })])
  t.match(points, [
    { name: 'a', quality: 'unknown' },
    { name: 'b', quality: 'unknown' },
  ])
  t.equal(polling.overruns, 0)
  t.match(kept.get('bus'), [{ name: 'a' }, { name: 'b' }])
  t.equal(table.list().length, 2)
  t.equal(book.list('bus').points.length, 2)
})

t.test("a device is added by its template, with a prefix and an interval of the installer's", async (t) => {
  const { book, kept } = bookOf()
  await book.add('bus', { template: 'meter', unitId: 7 })
  await book.add('bus', { template: 'meter', unitId: 8, prefix: 'cellar ', pollMs: 500 })
  t.match(kept.get('bus'), [
    { name: 'volts', unitId: 7, template: 'meter', pollMs: 5000, unit: 'V' },
    { name: 'amperes', unitId: 7, address: 6 },
    { name: 'cellar volts', unitId: 8, pollMs: 500 },
    { name: 'cellar amperes', unitId: 8 },
  ])
  await t.rejects(book.add('bus', { template: 'meter', unitId: 9 }), {
    code: 'point_exists',
    message: /"volts" already; give the device a prefix/,
    details: { names: ['volts', 'amperes'] },
  })
  await t.rejects(book.add('bus', { template: 'metre', unitId: 9 }), { code: 'unknown_template' })
  const prefix = 'x'.repeat(58)
  await t.rejects(book.add('bus', { template: 'meter', unitId: 9, prefix }), {
    code: 'bad_fields',
    details: { fields: [{ field: 'prefix', message: /with "amperes"/ }] },
  })
  t.equal(kept.get('bus')?.length, 4)
})

t.test('one point is added in its place, and the others stay as they are', async (t) => {
  const { book, kept } = bookOf()
  await book.insert('bus', point('a'))
  await book.insert('bus', point('b', { address: 1 }))
  t.match(await book.insert('bus', point('c', { address: 2 }), 1), { name: 'c', quality: 'unknown' })
  await book.insert('bus', point('d', { address: 3 }), 99)
  t.match(kept.get('bus'), [{ name: 'a' }, { name: 'c' }, { name: 'b' }, { name: 'd' }])
  await t.rejects(book.insert('bus', point('a')), { code: 'point_exists', details: { names: ['a'] } })
  await t.rejects(book.insert('bus', point('e', { scale: 0 })), {
    code: 'bad_fields',
    details: { fields: [{ field: 'scale', message: /is 0/ }] },
  })
  t.equal(kept.get('bus')?.length, 4)
})

t.test('one point is changed, even its name, or removed', async (t) => {
  const { book, kept } = bookOf()
  await book.replace('bus', [point('a'), point('b', { address: 1 })])
  t.match(await book.change('bus', 'a', { name: 'c', scale: 0.5 }), { name: 'c', scale: 0.5, quality: 'unknown' })
  t.match(kept.get('bus'), [{ name: 'c', scale: 0.5, address: 0 }, { name: 'b' }])
  await t.rejects(book.change('bus', 'a', {}), { code: 'unknown_point' })
  await t.rejects(book.change('bus', 'c', { name: 'b' }), {
    code: 'point_exists',
    message: 'The port has a point "b" already; give this one another name.',
    details: { names: ['b'] },
  })
  await t.rejects(book.change('bus', 'c', { scale: 0 }), {
    code: 'bad_fields',
    details: { fields: [{ field: 'scale', message: /is 0/ }] },
  })
  await book.change('bus', 'c', { name: 'c', scale: 2 })
  t.match(kept.get('bus'), [{ name: 'c', scale: 2 }, { name: 'b' }])
  await book.remove('bus', 'c')
  t.match(kept.get('bus'), [{ name: 'b' }])
  await t.rejects(book.remove('bus', 'c'), { code: 'unknown_point' })
})

t.test('points beyond the limit of a port or of all ports are refused', async (t) => {
  const { book, kept } = bookOf({ limits: { max: 3, total: 4 } })
  const points = (count: number) => Array.from({ length: count }, (_, at) => point(`p${at}`, { address: at }))
  await t.rejects(book.replace('bus', points(4)), { code: 'too_many_points', message: /points\.max allows 3/ })
  await t.rejects(book.replace('bus', points(3)), {
    code: 'too_many_points',
    message: /5 points; points\.total allows 4/,
  })
  t.same(kept.get('bus'), [])
  await book.replace('bus', points(2))
  await book.replace('bus', points(2))
})

t.test('points with the longest names, texts and faults take no more than their row says', async (t) => {
  const total = 600
  const definition = (at: number, keys: Partial<PointDefinition>) => {
    const texts = { unit: 'u'.repeat(16), template: `${at}`.padEnd(64, 't') }
    return point(`${at}`.padEnd(64, 'ж'), { address: at * 100, pollMs: 1000 + at, ...texts, ...keys })
  }
  const numbers = (at: number) => definition(at, { noValue: Array.from({ length: 8 }, (_, digit) => `000${digit}`) })
  const texts = (at: number) => definition(at, { type: 'string', length: 125 })
  const limits = { mergeGap: 8, mergeRegisters: 125 }
  for (const [title, make, wordsOf] of [
    ['numbers', numbers, (at: number) => [at + 100]],
    ['no values', numbers, () => [1]],
    ['texts', texts, (at: number) => Array.from({ length: 125 }, (_, register) => 0x4141 + ((at + register) % 20))],
  ] as const) {
    const bytes = await heapBytesOf(async () => {
      const { book, kept, table } = bookOf({ limits: { max: total, total: total + 10 } })
      // As a request brings them: no strings are shared.
      const points = JSON.parse(JSON.stringify(Array.from({ length: total }, (_, at) => make(at))))
      await book.replace('bus', points)
      const poller = new PointPoller({
        clock: fakeClock(),
        planner: registerPlanner(limits),
        verdict: registerPoints(limits).verdict,
        rereadMs: 250,
        window: 16,
        onFailed() {},
      })
      poller.set(kept.get('bus') ?? [])
      poller.start({ ask: () => new Promise(() => {}) })
      for (let at = 0; at < total; at++) table.take({ unitId: 1, fc: 3, address: at * 100, values: wordsOf(at) }, at)
      return [book, kept, table, poller]
    })
    const row = rowOf(memoryPlan().rows, 'points and their values', { 'points.total': total })
    t.ok(bytes < row.allBytes, `${title}: ${bytes / total} bytes a point, of ${row.eachBytes}`)
  }
})

t.test('a table that could not be saved is not polled', async (t) => {
  const { book, table } = bookOf({ saving: () => Promise.reject(new Fault('store_write_failed', 'full')) })
  await t.rejects(book.replace('bus', [point('a')]), { code: 'store_write_failed' })
  t.same(table.list(), [])
})

t.test('a port without points says so, and so does one that does not exist', async (t) => {
  const { book, kept } = bookOf()
  t.throws(() => book.list('raw'), { code: 'wrong_protocol' })
  await t.rejects(book.replace('raw', [point('a')]), { code: 'wrong_protocol' })
  await t.rejects(book.add('raw', { template: 'meter', unitId: 1 }), { code: 'wrong_protocol' })
  t.same(kept.get('raw'), [])
  t.throws(() => book.list('nowhere'), { code: 'unknown_port' })
})
