import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import type { Json } from '../../../core/json.ts'
import { createLive, readValue, shownOnPages, type ValueChange } from '../../../core/live/live-values.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createBook, type Row } from '../../../core/site/book.ts'

/** Device 5 has zone 1; each attribute is `[target, target id, name, value]`. */
function building(...attributes: readonly (readonly [string, number | null, string, Json])[]) {
  const clock = fakeClock(1_000_000)
  const book = createBook()
  book.put('device', { id: 5, name: 'Dimmer' })
  book.put('zone', { id: 1, name: 'Hall', device_id: 5 })
  book.put('zone', { id: 2, name: 'Loose', device_id: null })
  for (const [at, [system_target, target_id, name, value]] of attributes.entries())
    book.put('attribute', { id: at + 1, system_target, target_id, name, value, previous_value: null, changed_at: null })
  let left = 0
  const limits = { fields: 16, fieldChars: 256, totalChars: 4096 }
  const { live, values } = createLive({
    book,
    clock,
    limits,
    put: (row) => book.touch('attribute', row),
    leftOut: () => void left++,
  })
  const told: ValueChange[] = []
  const end = values.onChange((change) => void told.push(change))
  const attribute = (id: number) => book.row('attribute', id) as Row
  return { attribute, book, clock, end, left: () => left, live, told, values }
}

t.test('what a device says is in the row of the attribute, with what it was and when', async (t) => {
  const { attribute, clock, live, told } = building(['zone', 1, 'level', '39'])
  clock.advance(5)
  live.report({ zoneId: 1 }, { level: 40 })
  t.match(attribute(1), { value: '40', previous_value: '39', changed_at: 1_000_005 })
  live.report({ zoneId: 1 }, { level: { r: 1 } })
  t.match(attribute(1), { value: '{"r":1}', previous_value: '40' })
  t.match(
    told.filter(({ name }) => name === 'level'),
    [
      { attributeId: 1, target: 'zone', targetId: 1, value: 40, previous: 39, at: 1_000_005 },
      { attributeId: 1, value: { r: 1 }, previous: 40 },
    ],
  )
})

t.test('whoever hears of a change finds it in the row, in the live state and among the values', async (t) => {
  const { attribute, live, values } = building(['zone', 1, 'level', '39'])
  const seen: unknown[] = []
  const look = () => seen.push([attribute(1).value, live.zone(1).level, values.valueOf('zone', 1, 'level')?.value])
  values.onChange(({ name }) => void (name === 'level' && look()))
  live.onChange(look)
  live.report({ zoneId: 1 }, { level: 40 })
  t.strictSame(seen, [
    ['40', 40, 40],
    ['40', 40, 40],
  ])
})

t.test('a value without a row is told as well, and can be read', async (t) => {
  const { live, told, values } = building()
  live.report({ zoneId: 1 }, { level: 40 })
  live.report({ zoneId: 1 }, { level: 41 })
  live.report({ deviceId: 5 }, { temperature: 21.5 })
  t.match(told, [
    { name: 'state', value: 'ok', previous: null },
    { name: 'level', value: 40, previous: null },
    { name: 'level', value: 41, previous: 40 },
    { target: 'device', targetId: 5, name: 'temperature', value: 21.5 },
  ])
  t.ok(told.every(({ attributeId }) => attributeId === undefined))
  t.strictSame(values.valueOf('zone', 1, 'level'), { value: 41, at: null, isCurrent: true })
  t.equal(values.valueOf('device', 5, 'temperature')?.value, 21.5)
  t.equal(values.valueOf('zone', 1, 'nothing'), undefined)
})

t.test('the same value said again after a start changes nothing, and makes it current', async (t) => {
  const { attribute, live, told, values } = building(['zone', 1, 'level', '40'])
  t.strictSame(values.valueOf('zone', 1, 'level'), { value: 40, at: null, isCurrent: false })
  live.report({ zoneId: 1 }, { level: 40 })
  t.equal(attribute(1).changed_at, null)
  t.strictSame(
    told.map(({ name }) => name),
    ['state'],
  )
  t.equal(values.valueOf('zone', 1, 'level')?.isCurrent, true)
})

t.test('the values of a lost device stay, but are not current; its state is unknown', async (t) => {
  const { attribute, live, told, values } = building(['zone', 1, 'level', '1'], ['zone', 1, 'state', null])
  live.report({ zoneId: 1 }, { level: 40, state: 'on' })
  told.length = 0
  live.lost(5, [1], 'it hung up')
  t.match(attribute(1), { value: '40' })
  t.match(attribute(2), { value: 'unknown', previous_value: 'on' })
  t.strictSame(values.valueOf('zone', 1, 'level'), { value: 40, at: 1_000_000, isCurrent: false })
  t.match(told, [
    { target: 'device', name: 'state', value: 'offline', previous: 'unknown' },
    { target: 'device', name: 'error', value: 'it hung up' },
    { target: 'zone', name: 'state', value: 'unknown', previous: 'on' },
  ])
})

t.test('a value that the building sets itself is told like one of a device, and is current', async (t) => {
  const { attribute, told, values } = building(['zone', 1, 'mode', 'day'], ['controller', null, 'house', null])
  t.equal(values.isCurrent(attribute(1)), false)
  values.set(attribute(1), 'night')
  values.set(attribute(2), true)
  values.set(attribute(2), true)
  t.match(attribute(1), { value: 'night', previous_value: 'day' })
  t.match(told, [
    { attributeId: 1, value: 'night', previous: 'day' },
    { attributeId: 2, target: 'controller', targetId: null, value: true, previous: null },
  ])
  t.equal(told.length, 2)
  t.equal(values.isCurrent(attribute(1)), true)
})

t.test('a zone without a device has the values of its attributes', async (t) => {
  const { attribute, values } = building(['zone', 2, 'level', '7'])
  t.equal(values.isCurrent(attribute(1)), true)
})

t.test('attributes are found however many a target has, and as rows come and go', async (t) => {
  const many = Array.from({ length: 40 }, (_, n) => ['device', 5, `reading ${n}`, '0'] as const)
  const { attribute, book, live, values } = building(...many, ['zone', 1, 'level', '1'], ['zone', 1, 'level', '2'])
  live.report({ deviceId: 5 }, { 'reading 39': 5 })
  t.equal(attribute(40).value, '5')
  live.report({ zoneId: 1 }, { level: 9 })
  t.strictSame([attribute(41).value, attribute(42).value], ['9', '2'], 'the first of two')
  book.remove('attribute', 41)
  live.report({ zoneId: 1 }, { level: 8 })
  t.equal(attribute(42).value, '8')
  t.equal(values.valueOf('zone', 1, 'level')?.value, 8)
})

t.test('who has ended a subscription hears nothing more', async (t) => {
  const { end, live, told } = building()
  end()
  live.report({ zoneId: 1 }, { level: 40 })
  t.strictSame(told, [])
})

t.test('a text is read by the type of its attribute; without one, numbers and switches are', async (t) => {
  const cases: readonly (readonly [Json, Json, Json])[] = [
    ['40', null, 40],
    ['007', null, '007'],
    ['1e3', null, '1e3'],
    ['007', 'number', 7],
    ['40', 'text', '40'],
    ['true', null, true],
    ['on', null, 'on'],
    ['[1]', null, '[1]'],
    ['[1]', 'json', [1]],
    ['[1', 'json', '[1'],
    [null, 'number', null],
  ]
  for (const [value, type, read] of cases) t.strictSame(readValue({ id: 1, value, type }), read, `${value} ${type}`)
})

t.test('values of attributes, and those before, are bounded in all', async (t) => {
  const many = Array.from({ length: 12 }, (_, n) => ['zone', n, 'note', ''] as const)
  const { attribute, book, left, live } = building(...many)
  const text = (letter: string) => letter.repeat(200)
  for (const letter of ['a', 'b', 'c'])
    for (const [n] of many.entries()) {
      live.report({ zoneId: n }, { note: text(letter) })
      // A lost device frees what the live state has, but its attributes keep their last value.
      live.lost(5, [n], letter)
    }
  const chars = book
    .rows('attribute')
    .reduce((sum, row) => sum + String(row.value).length + String(row.previous_value).length, 0)
  t.ok(chars <= 4096, `${chars} characters`)
  t.ok(left() > 0)
  t.equal(attribute(1).value, text('c'))
  book.remove('attribute', 1)
  live.report({ zoneId: 11 }, { note: 'short' })
  t.equal(attribute(12).value, 'short')
})

t.test('the index of attributes takes no more than its row of the memory plan says', async (t) => {
  for (const each of [1, 5, 1000]) {
    const count = 20_000
    const many = Array.from(
      { length: count },
      (_, n) => ['zone', Math.floor(n / each), `reading ${n % each}`, '1'] as const,
    )
    const { book, clock } = building(...many)
    const limits = { fields: 16, fieldChars: 256, totalChars: 1e9 }
    const bytes = await heapBytesOf(() => {
      const made = createLive({ book, clock, limits, put() {}, leftOut() {} })
      for (const row of book.rows('attribute')) made.values.set(row, '1')
      return made
    })
    const { allBytes } = rowOf(memoryPlan().rows, 'where attributes are, and which are to be written', {
      'site.rows': count,
    })
    t.ok(bytes < allBytes, `${bytes} bytes, of ${allBytes}, ${each} of one zone`)
  }
})

t.test('pages hear of a change only where it shows: not of secure values, nor of values of a device', async (t) => {
  const { book, live, values } = building(['zone', 1, 'door_code', null])
  book.put('attribute', { ...(book.row('attribute', 1) as Row), secure: true })
  const heard: string[] = []
  const end = shownOnPages(live, values).onChange((kind, id) => void heard.push(`${kind} ${id}`))
  const heardOf = (change: () => void) => {
    change()
    return heard.splice(0)
  }
  t.strictSame(
    heardOf(() => live.report({ zoneId: 1 }, { level: 1, door_code: 'a' })),
    ['zone 1'],
  )
  t.strictSame(
    heardOf(() => live.report({ zoneId: 1 }, { door_code: 'b' })),
    [],
  )
  t.strictSame(
    heardOf(() => live.report({ zoneId: 1 }, { door_code: 'c', level: 2 })),
    ['zone 1'],
  )
  t.strictSame(
    heardOf(() => live.seen(5)),
    ['device 5'],
  )
  t.strictSame(
    heardOf(() => live.report({ deviceId: 5 }, { pin: 1 })),
    [],
  )
  t.strictSame(
    heardOf(() => live.lost(5, [1], 'it hung up')),
    ['device 5', 'zone 1'],
  )
  end()
  t.strictSame(
    heardOf(() => live.seen(5)),
    [],
  )
})

t.test('what was set in place of what a device says is known as such until the device says it again', async (t) => {
  const { attribute, live, values } = building(['zone', 1, 'volume', null], ['zone', 2, 'volume', null])
  live.report({ zoneId: 1 }, { volume: 90 })
  t.equal(values.isSet(1, 'volume'), false)
  values.set(attribute(1), 10)
  values.set(attribute(2), 10)
  t.strictSame([live.zone(1).volume, values.isSet(1, 'volume')], [10, true])
  live.report({ zoneId: 1 }, { mute: true })
  t.equal(values.isSet(1, 'volume'), true)
  live.report({ zoneId: 1 }, { volume: 90 })
  t.equal(values.isSet(1, 'volume'), false)
  t.equal(values.isSet(2, 'volume'), false, 'no device says it')
})
