import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import type { Json } from '../../../core/json.ts'
import { LiveState } from '../../../core/live/live-book.ts'
import { memoryPlan } from '../../../core/memory.ts'

function liveBook() {
  const clock = fakeClock(1_000_000)
  const live = new LiveState(clock, { fields: 4, fieldChars: 128, totalChars: 65_536 })
  const told: string[] = []
  const end = live.onChange((kind, id) => void told.push(`${kind} ${id}`))
  return { clock, live, told, end }
}

t.test('a zone that nobody has reported on is unknown', async (t) => {
  const { live } = liveBook()
  t.match(live.zone(1), { state: 'unknown' })
  t.strictSame(live.device(1), { state: 'unknown', ipAddress: null, lastSeenAt: null, error: null })
})

t.test('a report adds its values to the existing ones', async (t) => {
  const { live, told } = liveBook()
  t.equal(live.report({ zoneId: 1 }, { level: 40 }), 0)
  t.equal(live.report({ zoneId: 1 }, { mode: 'auto', state: 'on' }), 0)
  t.equal(JSON.stringify(live.zone(1)), '{"state":"on","level":40,"mode":"auto"}')
  t.strictSame(told, ['zone 1', 'zone 1'])
})

t.test('the same values again are not a change', async (t) => {
  const { live, told } = liveBook()
  live.report({ zoneId: 1 }, { level: 40, color: { h: 1 } })
  const revision = live.revision()
  live.report({ zoneId: 1 }, { level: 40, color: { h: 1 } })
  t.strictSame([live.revision(), told.length], [revision, 1])
  live.report({ zoneId: 1 }, { color: { h: 2 } })
  t.strictSame([live.revision(), told.length], [revision + 1, 2])
})

t.test('a lost device is offline, and its zones are unknown', async (t) => {
  const { live, told, clock } = liveBook()
  live.seen(5)
  live.report({ zoneId: 1 }, { level: 40 })
  live.lost(5, [1, 2], 'it hung up')
  t.match(live.device(5), { state: 'offline', error: 'it hung up', lastSeenAt: clock.epochMs() })
  t.equal(JSON.stringify(live.zone(1)), '{"state":"unknown"}')
  t.strictSame(told, ['device 5', 'zone 1', 'device 5', 'zone 1'])
  const revision = live.revision()
  live.lost(5, [1, 2], 'it hung up')
  t.strictSame([told.length, live.revision()], [4, revision], 'the same again is not a change')
  live.lost(5, [1, 2], 'it is gone')
  t.strictSame([told.length, live.revision()], [5, revision + 1])
})

t.test('seeing a device again notifies nobody, and is stored to the second', async (t) => {
  const { live, told, clock } = liveBook()
  live.seen(5)
  clock.advance(999)
  live.seen(5)
  t.equal(live.device(5).lastSeenAt, 1_000_000)
  clock.advance(1)
  live.seen(5)
  t.equal(live.device(5).lastSeenAt, 1_001_000)
  t.strictSame(told, ['device 5'])
})

t.test('values beyond the limits are left out and counted', async (t) => {
  const { live } = liveBook()
  const deep = JSON.parse('[[[[[[[[[1]]]]]]]]]')
  const left = live.report(
    { zoneId: 1 },
    { long: 'x'.repeat(129), deep, ['k'.repeat(129)]: 1, nan: Number.NaN, gone: undefined as never, fits: 1 },
  )
  t.equal(left, 5)
  t.equal(JSON.stringify(live.zone(1)), '{"state":"ok","fits":1}')
  t.equal(live.report({ zoneId: 1 }, { a: 1, b: 2, c: 3, fits: 2 }), 1)
  t.equal(JSON.stringify(live.zone(1)), '{"state":"ok","fits":2,"a":1,"b":2}')
})

t.test('a report without any valid value changes nothing', async (t) => {
  const { live, told } = liveBook()
  t.equal(live.report({ zoneId: 1 }, { long: 'x'.repeat(129) }), 1)
  t.equal(live.zone(1).state, 'unknown')
  t.strictSame([told, live.revision()], [[], 0])
})

t.test('names of members of Object are ordinary names', async (t) => {
  const { live } = liveBook()
  live.report({ zoneId: 1 }, JSON.parse('{"__proto__":{"level":9},"constructor":1}'))
  t.equal(JSON.stringify(live.zone(1)), '{"state":"ok","__proto__":{"level":9},"constructor":1}')
  t.equal(live.zone(1).level, undefined)
  t.equal(({} as Record<string, unknown>).level, undefined)
})

t.test('a reported value cannot be changed by its reporter or by a reader', async (t) => {
  const { live } = liveBook()
  const color = { h: 1 }
  live.report({ zoneId: 1 }, { color })
  color.h = 2
  t.strictSame(JSON.stringify(live.zone(1).color), '{"h":1}')
  t.throws(() => {
    ;(live.zone(1) as { state: string }).state = 'off'
  }, TypeError)
})

t.test('the address of a device is kept', async (t) => {
  const { live, told } = liveBook()
  t.equal(live.report({ deviceId: 5 }, { ip_address: '10.0.0.5', state: 'mine' }), 1)
  t.equal(live.device(5).ipAddress, '10.0.0.5')
  live.report({ deviceId: 5 }, { ip_address: '10.0.0.5' })
  t.strictSame(told, ['device 5'])
  t.equal(live.report({ deviceId: 5 }, { ip_address: 7 }), 1)
})

t.test('a forgotten zone is unknown, and that is published', async (t) => {
  const { live, told } = liveBook()
  live.seen(5)
  live.report({ zoneId: 1 }, { level: 1 })
  told.length = 0
  live.forget(5, [1])
  live.forget(5, [1])
  t.strictSame([live.device(5).state, live.zone(1).state], ['unknown', 'unknown'])
  t.strictSame(told, ['device 5', 'zone 1'])
})

t.test('a listener that has unsubscribed is not called any more', async (t) => {
  const { live, told, end } = liveBook()
  end()
  live.report({ zoneId: 1 }, { level: 1 })
  t.strictSame(told, [])
})

t.test('any name that a device chooses is only a name, and adds nothing else', async (t) => {
  const live = new LiveState(fakeClock(), { fields: 16, fieldChars: 128, totalChars: 65_536 })
  const patch = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1, "toString": "x"}')
  t.equal(live.report({ zoneId: 1 }, patch), 0, 'all are accepted')
  const zone = live.zone(1)
  t.same(Object.keys(zone).sort(), ['__proto__', 'constructor', 'state', 'toString'])
  t.notOk('admin' in zone)
  t.notOk('hasOwnProperty' in zone)
  t.equal(JSON.stringify(live.zone(1)), '{"state":"ok","__proto__":{"admin":true},"constructor":1,"toString":"x"}')
})

t.test('values of all zones together stay within their limit, and those of a lost device make room', async (t) => {
  const live = new LiveState(fakeClock(), { fields: 16, fieldChars: 100, totalChars: 380 })
  const text = 'x'.repeat(80)
  t.equal(live.report({ zoneId: 1 }, { first: text, second: text }), 0)
  t.equal(
    live.report({ zoneId: 2 }, { first: text, second: text }),
    1,
    'it is left out, as with the limits of one zone',
  )
  t.strictSame(Object.keys(live.zone(2)), ['state', 'first'])
  t.equal(live.report({ zoneId: 1 }, { first: 'y'.repeat(80) }), 0, 'a value that is not longer than before fits')
  t.equal(live.report({ zoneId: 1 }, { first: 'y' }), 0)
  t.equal(live.report({ zoneId: 2 }, { second: 'z'.repeat(70) }), 0, 'a shorter one has made room')
  live.lost(5, [1, 2], 'gone')
  for (const zoneId of [3, 4, 5]) t.equal(live.report({ zoneId }, { first: text }), 0)
  t.equal(live.report({ zoneId: 6 }, { first: text }), 1)
})

t.test('whatever devices report, their values take no more than the row says', async (t) => {
  const limits = { fields: 64, fieldChars: 4096, totalChars: 400_000 }
  const settings = { 'live.fields': 64, 'live.field_chars': 4096, 'live.total_chars': limits.totalChars }
  const many = <Value>(count: number, value: (at: number) => Value) =>
    Array.from({ length: count }, (_, at) => value(at))
  const kinds: Record<string, (at: number) => Json> = {
    'a text': (at) => `${at}`.padEnd(4000, 'ж'),
    'a short text': (at) => `v${at}`,
    'a figure': (at) => at + 0.5,
    'empty objects': () => many(200, () => ({})),
    'empty lists': () => many(200, () => []),
    'objects of a name of their own': (at) => many(40, (name) => ({ [`${at}-${name}`]: {} })),
    'objects that have a number as name': (at) => many(40, (name) => ({ [(at + name) % 1000]: 0 })),
    'names of every kind': (at) => Object.fromEntries(many(100, (name) => [`${at}-${name}`, null])),
  }
  for (const [title, saidOf] of Object.entries(kinds)) {
    let told = 0
    const bytes = await heapBytesOf(() => {
      const live = new LiveState(fakeClock(), limits)
      for (let at = 0, left = 0; left === 0; at++) {
        const patch = Object.fromEntries(many(60, (field) => [`f${field}`, saidOf(at * 60 + field)]))
        left = live.report({ zoneId: at }, JSON.parse(JSON.stringify(patch)))
        told = at
      }
      return live
    })
    const { allBytes } = rowOf(memoryPlan().rows, 'what devices and zones do', settings)
    t.ok(told > 0, `${title}: filled to the bound`)
    t.ok(bytes < allBytes, `${title}: ${bytes} bytes, of ${allBytes}, ${told} zones`)
  }
})
