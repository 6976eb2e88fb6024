/** Tests of core/triggers/triggers.ts: what starts macros, how often, and where a loop ends. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Json } from '../../../core/json.ts'
import { LiveState } from '../../../core/live/live-book.ts'
import type { HouseCause } from '../../../core/macros/house-runs.ts'
import { createBook, type Row } from '../../../core/site/book.ts'
import { createDeviceFeed, type TriggerLimits, Triggers, triggerFlaw } from '../../../core/triggers/triggers.ts'

const LIMITS: TriggerLimits = { most: 50, perMinute: 10, depth: 8, longestMs: 3_600_000 }
const SECRET = 'sixteen letters!'

function stage(rows: Record<string, Json>[], values: Record<number, string | null> = {}, limits = LIMITS) {
  const clock = fakeClock()
  const book = createBook()
  const put = (id: number, columns: object) => book.put('trigger', { id, macro_id: 1, ...columns } as Row)
  rows.forEach((row, at) => void put(at + 1, row))
  book.put('attribute', { id: 5, name: 'level' } as unknown as Row)
  book.put('device', { id: 2, name: 'Amp' } as unknown as Row)
  const known = new Map(Object.entries(values).map(([id, value]) => [Number(id), value]))
  const started: HouseCause[] = []
  const refused: string[] = []
  const hear = {
    attribute: (_: number, __: number) => {},
    device: (_: number, __: string, ___: Record<string, Json>) => {},
  }
  const triggers = new Triggers({
    ...{ book, clock, limits },
    attributes: {
      read: (id) => (known.has(id) ? { value: known.get(id) ?? null, isSecret: id === 6 } : undefined),
      onChange(listener) {
        hear.attribute = listener
        return () => {
          hear.attribute = () => {}
        }
      },
    },
    devices: {
      onEvent(listener) {
        hear.device = listener
        return () => {
          hear.device = () => {}
        }
      },
    },
    runs: {
      start: (cause) => void started.push(cause),
      refuse: (_, sentence, __, times) => void refused.push(`${times} ${sentence}`),
    },
  })
  triggers.start()
  const set = (id: number, value: string | null, chain = 0) => {
    known.set(id, value)
    hear.attribute(id, chain)
  }
  return { clock, hear, put, refused, set, started, triggers }
}

const hot = (more: Json = {}): Record<string, Json> => ({
  kind: 'attribute',
  attribute_id: 5,
  condition: { op: '>', value: 26, ...(more as object) },
})

t.test('without a condition every change of an attribute starts the macro, and nothing else does', async (t) => {
  const { set, started } = stage([{ kind: 'attribute', attribute_id: 5 }], { 5: '1' })
  set(5, '1')
  set(6, '9')
  set(5, '2')
  set(5, null)
  t.match(started, [
    { row: { id: 1 }, event: { attribute: 'level', value: '2', previous_value: '1' } },
    { event: { value: null, previous_value: '2' } },
  ])
})

t.test('with a condition it starts when that comes to hold, and again after it was over', async (t) => {
  const { set, started } = stage([hot({ hysteresis: 2 })], { 5: '20' })
  for (const value of ['27', '28', '25', '27', '24', '26.5']) set(5, value)
  t.same(
    started.map(({ event }) => event.value),
    ['27', '26.5'],
  )
})

t.test('what held at the start is nothing new', async (t) => {
  const { set, started } = stage([hot()], { 5: '30' })
  set(5, '31')
  t.equal(started.length, 0)
  set(5, '20')
  set(5, '30')
  t.equal(started.length, 1)
})

t.test('with for_ms it has to hold for so long, from the start of the controller too', async (t) => {
  const { clock, set, started } = stage([hot({ for_ms: 60_000 })], { 5: '30' })
  clock.advance(59_000)
  set(5, '20')
  set(5, '30')
  clock.advance(59_000)
  set(5, '31')
  t.equal(started.length, 0)
  clock.advance(1000)
  t.match(started, [{ event: { value: '31' } }])
  clock.advance(600_000)
  t.equal(started.length, 1)
  set(5, '20')
  set(5, '30')
  clock.advance(60_000)
  t.equal(started.length, 2)
})

t.test('a device that is lost or comes back starts the macros of that event', async (t) => {
  const of = (event: string, device_id = 2) => ({ kind: 'device', device_id, event })
  const { hear, started } = stage([of('offline'), of('online'), of('offline', 3)])
  hear.device(2, 'offline', { error: 'no answer' })
  t.match(started, [{ row: { id: 1 }, event: { device: 'Amp', event: 'offline', error: 'no answer' } }])
  hear.device(2, 'online', {})
  t.equal(started[1]?.row.id, 2)
  t.equal(started.length, 2)
})

t.test('a webhook is found by its name and its id, and starts with the fields of its body', async (t) => {
  const { started, triggers } = stage([
    { name: 'Bell', kind: 'webhook', secret: SECRET },
    { name: 'Off', kind: 'webhook', secret: SECRET, enabled: false },
    { name: 'Short', kind: 'webhook', secret: 'short' },
    { name: 'Level', kind: 'attribute', attribute_id: 5 },
  ])
  t.same(triggers.hook('Bell'), { id: 1, secret: SECRET })
  t.same(triggers.hook('1'), { id: 1, secret: SECRET })
  for (const name of ['bell', 'Off', '2', 'Short', 'Level', '4', '']) t.equal(triggers.hook(name), undefined, name)
  t.equal(triggers.called(1, { who: 'postman' }), undefined)
  t.match(started, [{ event: { who: 'postman' } }])
})

t.test(
  'one trigger starts its macro so often within a minute; the rest is refused, and told once a minute',
  async (t) => {
    const { clock, refused, set, started } = stage([{ kind: 'attribute', attribute_id: 5 }], { 5: '0' })
    for (let n = 1; n <= 25; n++) set(5, String(n))
    t.equal(started.length, 10)
    t.same(refused, ['1 it started its macro 10 times within a minute already'])
    clock.advance(60_000)
    t.same(refused.slice(1), ['14 it started its macro 10 times within a minute already'])
    set(5, 'again')
    t.equal(started.length, 11)
  },
)

t.test('macros that set off one another end at the depth', async (t) => {
  const { refused, set, started } = stage(
    [{ kind: 'attribute', attribute_id: 5 }],
    { 5: '0' },
    { ...LIMITS, perMinute: 99 },
  )
  // Each macro changes the attribute anew, with the chain of its run.
  for (let n = 1; n < 20; n++) {
    const chain = started.at(-1)?.chain ?? 0
    const before = started.length
    set(5, `${n}`, chain)
    if (started.length === before) break
  }
  t.equal(started.length, 8)
  t.match(refused, ['1 8 runs have led to one another by triggers already, so this may be a loop'])
})

t.test('the value of a secret attribute is handed on as such', async (t) => {
  const { set, started } = stage([{ kind: 'attribute', attribute_id: 6 }], { 6: 'a' })
  set(6, 'b')
  t.match(started, [{ secret: ['value', 'previous_value'] }])
})

t.test('a changed trigger begins anew, one that is renamed goes on, and one that is gone does nothing', async (t) => {
  const { clock, put, set, started, triggers } = stage([hot({ for_ms: 1000 }), hot({ for_ms: 1000 })], { 5: '20' })
  set(5, '30')
  put(1, { ...hot({ for_ms: 1000 }), name: 'Renamed' })
  put(2, { ...hot({ for_ms: 5000 }) })
  triggers.refresh()
  clock.advance(1000)
  t.match(started, [{ row: { id: 1, name: 'Renamed' } }])
  put(2, { ...hot({ for_ms: 5000 }), enabled: false })
  triggers.refresh()
  clock.advance(60_000)
  t.equal(started.length, 1)
  triggers.stop()
  t.equal(clock.pending(), 0)
  set(5, '99')
})

t.test('one that cannot be watched, and one too many, say why', async (t) => {
  const { triggers } = stage([{ kind: 'attribute' }, hot(), hot()], {}, { ...LIMITS, most: 1 })
  t.match(
    triggers.list().map(({ flaw }) => flaw),
    [/^attribute_id is missing/, null, /^only 1 triggers/],
  )
  const flawOf = (columns: object) => triggerFlaw({ id: 1, ...columns } as Row, 1000)
  t.match(flawOf({ kind: 'device', device_id: 1 }), /^event is missing/)
  for (const event of ['Online', 'onlin', 'button'])
    t.match(flawOf({ kind: 'device', device_id: 1, event }), /^event is none of offline, online/)
  t.equal(flawOf({ kind: 'device', device_id: 1, event: 'online' }), undefined)
  t.match(flawOf({ kind: 'webhook', secret: null }), /16 characters/)
  t.match(flawOf({ kind: 'clock' }), /kind is none/)
})

t.test('a device is heard of when it is lost and when it comes back, not when it is first looked for', async (t) => {
  const live = new LiveState(fakeClock(), { fields: 8, fieldChars: 64, totalChars: 65_536 })
  const heard: string[] = []
  const end = createDeviceFeed(live).onEvent((id, event, { error }) => void heard.push(`${id} ${event} ${error}`))
  live.seen(2)
  live.lost(2, [], 'no answer')
  live.lost(2, [], 'still none')
  live.seen(2)
  live.forget(2, [])
  live.lost(2, [], 'new, and not there')
  end()
  live.seen(2)
  t.same(heard, ['2 offline no answer', '2 online null', '2 offline new, and not there'])
})

t.test('digits that name a webhook are its id, whatever another is called', async (t) => {
  const { triggers } = stage([
    { kind: 'webhook', secret: SECRET, name: '2' },
    { kind: 'webhook', secret: `${SECRET} of two`, name: 'bell' },
  ])
  t.strictSame(triggers.hook('2'), { id: 2, secret: `${SECRET} of two` })
  t.strictSame(triggers.hook('1'), { id: 1, secret: SECRET })
  t.strictSame(triggers.hook('bell')?.id, 2)
  for (const named of ['Bell', '02', '', ' 2', '3']) t.equal(triggers.hook(named), undefined, named)
})
