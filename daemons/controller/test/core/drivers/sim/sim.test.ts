import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { DriverContext } from '../../../../core/drivers/driver.ts'
import { createSimDriver } from '../../../../core/drivers/sim/sim.ts'
import type { Json } from '../../../../core/json.ts'
import { LiveState } from '../../../../core/live/live-book.ts'
import type { Row } from '../../../../core/site/book.ts'

const ZONES = [
  { id: 1, type: 'light' },
  { id: 2, type: 'thermostat' },
] as unknown as Row[]

function stage(config: Record<string, Json> = {}) {
  const clock = fakeClock()
  const live = new LiveState(clock, { fields: 16, fieldChars: 64, totalChars: 65_536 })
  const context: DriverContext = {
    clock,
    chance: () => 0,
    log() {},
    hush() {},
    report: (target, patch) => void live.report(target, patch),
    online: () => live.seen(9),
    away() {},
    secret: () => null,
    sender: () => ({ async send() {} }),
    connect: () => Promise.reject(new Error('there is nothing to connect to')),
    connectBroker: () => Promise.reject(new Error('there is no broker')),
    request: () => Promise.reject(new Error('there is nothing to ask')),
  }
  const driver = createSimDriver()
  const device = { id: 9, config } as unknown as Row
  const open = () => driver.open(device, ZONES, context)
  const never = new AbortController().signal
  return { clock, live, open, never }
}

/** Title, verb, args, resulting values of the zone. */
const effects: [string, string, Record<string, Json>, Record<string, Json>][] = [
  ['on', 'on', {}, { state: 'on', on: true, level: 100 }],
  ['on with false', 'on', { on: false }, { state: 'off', on: false, level: 0 }],
  ['off', 'off', {}, { state: 'off', on: false }],
  ['a level', 'level', { level: 40 }, { state: 'on', on: true, level: 40 }],
  ['a level of nothing', 'level', { level: 0 }, { state: 'off', on: false, level: 0 }],
  ['toggle', 'toggle', {}, { on: true }],
  ['a verb with a value', 'mute', { mute: true }, { mute: true, level: 0 }],
  ['a verb without one', 'ring', {}, { state: 'ring' }],
  ['a verb like a name of Object', 'constructor', {}, { state: 'constructor' }],
]
for (const [title, verb, args, expected] of effects)
  t.test(`a simulated zone follows ${title}`, async (t) => {
    const { live, open, never } = stage()
    const session = await open()
    t.strictSame(await session.execute({ zone: ZONES[0], verb, args }, never), {})
    t.match({ ...live.zone(1) }, expected)
  })

t.test('zones report their state when they are opened, by their type', async (t) => {
  const { live, open } = stage()
  await open()
  t.equal(live.device(9).state, 'online')
  t.match({ ...live.zone(1) }, { state: 'off', level: 0 })
  t.match({ ...live.zone(2) }, { setpoint: 21, mode: 'auto' })
})

t.test('a setpoint is kept even while nobody is connected', async (t) => {
  const { live, open, never } = stage()
  const session = await open()
  await session.execute({ zone: ZONES[1], verb: 'setpoint', args: { setpoint: 23 } }, never)
  await session.close()
  live.forget(9, [1, 2])
  await open()
  t.match({ ...live.zone(2) }, { setpoint: 23, mode: 'auto' })
})

t.test('a command for the whole device applies to all of its zones', async (t) => {
  const { live, open, never } = stage()
  await (await open()).execute({ verb: 'off', args: {} }, never)
  t.match([live.zone(1).state, live.zone(2).state], ['off', 'off'])
})

t.test('a device set to be slow takes its time, and stops when aborted', async (t) => {
  const { clock, open, never } = stage({ delay_ms: 500 })
  const session = await open()
  let isDone = false
  const done = session.execute({ zone: ZONES[0], verb: 'on', args: {} }, never).then(() => {
    isDone = true
  })
  await clock.run(499)
  t.equal(isDone, false)
  await clock.run(1)
  await done
  const stopper = new AbortController()
  const stopped = session.execute({ zone: ZONES[0], verb: 'on', args: {} }, stopper.signal)
  stopper.abort(new Error('enough'))
  await t.rejects(stopped, { message: 'enough' })
})

t.test('a device set to fail fails, all verbs or those named', async (t) => {
  const all = await stage({ fail: true }).open()
  const never = new AbortController().signal
  await t.rejects(all.execute({ zone: ZONES[0], verb: 'on', args: {} }, never), { code: 'sim_failed' })
  const some = await stage({ fail: ['off'] }).open()
  await t.rejects(some.execute({ zone: ZONES[0], verb: 'off', args: {} }, never), { code: 'sim_failed' })
  t.strictSame(await some.execute({ zone: ZONES[0], verb: 'on', args: {} }, never), {})
})

t.test('a device set to be absent cannot be opened', async (t) => {
  await t.rejects(stage({ absent: true }).open(), { code: 'sim_absent' })
})

t.test('endless made-up verbs, or a large value, do not fill the memory', async (t) => {
  const { live, open, never } = stage()
  const session = await open()
  const send = (verb: string, value: Json) => session.execute({ zone: ZONES[0], verb, args: { [verb]: value } }, never)
  const failed = { code: 'sim_failed' }
  await t.rejects(send('text', 'x'.repeat(5000)), failed)
  // It starts with three values.
  for (let at = 3; at < 64; at++) await send(`verb${at}`, at)
  await t.rejects(send('verb64', 64), failed)
  await send('verb63', 'again')
  await session.close()
  live.forget(9, [1, 2])
  await open()
  t.match({ ...live.zone(1) }, { verb3: 3 })
  t.notOk('verb64' in live.zone(1))
  t.notOk('text' in live.zone(1))
})

t.test('zone states are kept for a limited number of devices, and for zones that still exist', async (t) => {
  const driver = createSimDriver(2)
  const told = new Map<number, unknown>()
  const context = {
    online() {},
    report: (target: { zoneId: number }, { level }: Record<string, Json>) => void told.set(target.zoneId, level),
  } as unknown as DriverContext
  const open = (id: number, zoneIds = [id]) =>
    driver.open(
      { id } as Row,
      zoneIds.map((zone) => ({ id: zone }) as Row),
      context,
    )
  const never = new AbortController().signal
  const levelAt = async (id: number, zoneIds?: number[]) => {
    await open(id, zoneIds)
    return told.get(id)
  }
  for (const id of [1, 2])
    await (await open(id)).execute({ zone: { id } as Row, verb: 'level', args: { level: 40 } }, never)
  t.equal(await levelAt(1), 40)
  await open(3)
  t.equal(await levelAt(1), 40, 'just opened')
  t.equal(await levelAt(2), 0, 'the one that was opened longest ago')
  await open(1, [7])
  t.equal(await levelAt(1), 0, 'its zone was different in between')
})

t.test('a counting simulated device changes one value of each zone with each poll, and says when', async (t) => {
  t.equal((await stage().open()).poll, undefined, 'others are not polled')
  const { clock, live, open, never } = stage({ counts: true })
  const session = await open()
  const told: number[] = []
  live.onChange((_kind, id) => told.push(id))
  for (let count = 1; count <= 6; count++) {
    clock.advance(1000)
    await session.poll?.(never)
  }
  t.same(told, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2], 'each poll is a change')
  const { level, temperature, humidity, position, volume, value } = live.zone(1)
  t.same(
    { level, temperature, humidity, position, volume },
    { level: 6, temperature: 2, humidity: 3, position: 4, volume: 5 },
  )
  t.equal(value, clock.epochMs())
})
