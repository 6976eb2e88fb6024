import t from 'tap'
import type { DriverContext, DriverSession } from '../../../core/drivers/driver.ts'
import { hostStage } from './host-stage.ts'

t.test('a device that cannot be opened is tried again after 1, 2, 4 ... 60 s', async (t) => {
  const triesMs: number[] = []
  const { clock, host, live } = hostStage({
    open: async (_device, context) => {
      triesMs.push(context.clock.monotonicMs())
      throw new Error('no route')
    },
  })
  host.refresh()
  await clock.run(250_000)
  const waits = triesMs.map((at, i) => at - (triesMs[i - 1] ?? 0))
  t.strictSame(waits, [0, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000])
  t.match(live.device(1), { state: 'offline', error: 'no route' })
})

t.test('with jitter a wait is at least half of it, and never shorter than the first', async (t) => {
  const triesMs: number[] = []
  const { clock, host } = hostStage({
    chance: () => 0.999999,
    open: async (_device, context) => {
      triesMs.push(context.clock.monotonicMs())
      throw new Error('no route')
    },
  })
  host.refresh()
  await clock.run(40_000)
  const waits = triesMs.map((at, i) => at - (triesMs[i - 1] ?? 0))
  t.strictSame(waits.slice(0, 6), [0, 1000, 1001, 2001, 4001, 8001])
})

t.test('a lost device fails its commands, its zones become unknown, and it is opened again', async (t) => {
  const { clock, live, underWay, opened, ask } = hostStage()
  const under = ask('1 on')
  const waits = ask('2 on')
  await clock.run(0)
  opened[0]?.context.report({ zoneId: 1 }, { level: 9 })
  opened[0]?.context.online(false, 'it hung up')
  await clock.run(0)
  t.strictSame([under.came, waits.came], Array(2).fill('driver_failed: device 1 is offline: it hung up'))
  t.equal(underWay[0]?.signal.aborted, true)
  t.equal(live.zone(1).state, 'unknown')
  t.match(live.device(1), { state: 'offline', error: 'it hung up' })
  t.strictSame([opened[0]?.isClosed, opened.length], [true, 1])
  await clock.run(1000)
  t.equal(opened.length, 2)
  opened[1]?.context.online(true)
  t.match(live.device(1), { state: 'online', error: null })
})

t.test('waits start again from the first once the device was there', async (t) => {
  const { clock, host, opened } = hostStage()
  host.refresh()
  await clock.run(0)
  for (const atMs of [1000, 2000]) {
    opened.at(-1)?.context.online(false)
    await clock.run(atMs)
  }
  t.equal(opened.length, 3, 'after 1 s and 2 s')
  opened.at(-1)?.context.online(true)
  opened.at(-1)?.context.online(false)
  await clock.run(1000)
  t.equal(opened.length, 4)
})

t.test(
  'while a device is away commands fail at once; after the first wait a command triggers the next try',
  async (t) => {
    let isAway = true
    const { clock, underWay, opened, ask } = hostStage({
      open: async () => {
        if (isAway) throw new Error('no route')
        return {}
      },
    })
    ask('1 on')
    await clock.run(1000)
    t.equal(opened.length, 2)
    const early = ask('1 on')
    await clock.run(999)
    t.equal(early.came, 'driver_failed: device 1 is offline: no route')
    t.equal(opened.length, 2, 'the next try is due in another second')
    isAway = false
    await clock.run(1)
    const asked = ask('1 on')
    await clock.run(0)
    t.equal(opened.length, 3)
    underWay[0]?.resolve()
    await clock.run(0)
    t.strictSame(asked.came, {})
  },
)

t.test('an opening that takes longer than 10 s is abandoned; its session is closed if it still opens', async (t) => {
  const arrive: (() => void)[] = []
  const { clock, host, opened, live, worlds } = hostStage({
    open: () => new Promise((resolve) => arrive.push(() => resolve({}))),
  })
  host.refresh()
  await clock.run(10_000)
  t.match(live.device(1), { state: 'offline', error: 'opening took longer than 10 s' })
  t.equal(worlds.open, 0)
  await clock.run(3000)
  t.equal(opened.length, 1, 'no second opening while one hangs')
  opened[0]?.context.online(true)
  t.equal(live.device(1).state, 'offline', 'it is no longer listened to')
  arrive[0]?.()
  await clock.run(0)
  t.equal(opened[0]?.isClosed, true)
  await clock.run(60_000)
  t.equal(opened.length, 2)
})

t.test('a session that opens too late can fail to close in any way', async (t) => {
  const closes = [
    () => {
      throw new Error('no such socket')
    },
    () => Promise.reject(new Error('no such socket')),
  ]
  const lost: unknown[] = []
  const hear = (error: unknown) => void lost.push(error)
  process.on('unhandledRejection', hear)
  t.teardown(() => process.off('unhandledRejection', hear))
  for (const close of closes) {
    const arrive: (() => void)[] = []
    let tries = 0
    const counted = () => {
      tries++
      return close()
    }
    const { clock, host } = hostStage({
      open: () => new Promise((resolve) => arrive.push(() => resolve({ close: counted }))),
    })
    host.refresh()
    await clock.run(10_000)
    arrive[0]?.()
    await clock.run(0)
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(tries, 1)
  }
  t.same(lost, [], 'and never brings down the controller')
})

t.test('a driver reports only for its own device and zones, and only while its session lasts', async (t) => {
  const zones = [
    { id: 1, device_id: 1 },
    { id: 9, device_id: 2 },
  ]
  const { clock, host, live, opened, worlds } = hostStage({ zones })
  host.refresh()
  await clock.run(0)
  const [far] = opened
  far?.context.report({ zoneId: 9 }, { level: 1 })
  far?.context.report({ deviceId: 2 }, { ip_address: '10.0.0.1' })
  t.strictSame([live.zone(9).state, live.device(2).ipAddress, worlds.said.length], ['unknown', null, 2])
  far?.context.report({ zoneId: 1 }, { level: 1 })
  t.equal(live.zone(1).level, 1)
  await host.close()
  far?.context.report({ zoneId: 1 }, { level: 2 })
  far?.context.online(true)
  t.strictSame([live.zone(1).state, live.device(1).state], ['unknown', 'unknown'])
})

t.test('a driver gets secrets on request, not with the row', async (t) => {
  const devices = [{ id: 1, driver: 'fake', password: 'hunter2', api_key: null, hash: 'no' }]
  const { clock, host, opened } = hostStage({ devices })
  host.refresh()
  await clock.run(0)
  const [far] = opened
  t.equal(far?.device.password, null)
  t.strictSame(
    [far?.context.secret('password'), far?.context.secret('api_key'), far?.context.secret('hash' as 'password')],
    ['hunter2', null, null],
  )
})

t.test('a device is polled when nothing waits, and again one interval after each poll', async (t) => {
  const pollsMs: number[] = []
  let letGo = () => {}
  const { clock, underWay, ask } = hostStage({
    devices: [{ id: 1, driver: 'fake', poll_ms: 10 }],
    open: async (_device, context) => ({
      poll: () => {
        pollsMs.push(context.clock.monotonicMs())
        return new Promise((resolve) => {
          letGo = resolve
        })
      },
    }),
  })
  ask('1 on')
  await clock.run(0)
  t.strictSame([underWay.length, pollsMs], [1, []], 'commands come first')
  underWay[0]?.resolve()
  await clock.run(50)
  t.strictSame(pollsMs, [0])
  const asked = ask('2 on')
  await clock.run(0)
  t.equal(underWay.length, 1, 'one under way')
  letGo()
  await clock.run(0)
  underWay[1]?.resolve()
  await clock.run(100)
  t.strictSame([asked.came, pollsMs], [{}, [0, 150]], 'not sooner than the minimum')
})

t.test('a poll that fails or is late is tried again, and does not lose the device', async (t) => {
  let polls = 0
  const { clock, host, opened } = hostStage({
    devices: [{ id: 1, driver: 'fake', poll_ms: 1000 }],
    open: async () => ({
      async poll(signal) {
        polls++
        if (polls === 1) throw new Error('no answer')
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    }),
  })
  host.refresh()
  await clock.run(1000)
  t.equal(polls, 2)
  await clock.run(6000)
  t.strictSame([polls, opened.length, host.view(1)?.state], [3, 1, 'busy'])
})

t.test('an answer that is too large is left out', async (t) => {
  const { clock, underWay, ask } = hostStage()
  const asked = ask('1 on')
  await clock.run(0)
  underWay[0]?.resolve({ answer: 'x'.repeat(101) })
  await clock.run(0)
  t.strictSame(asked.came, {})
})

t.test('a limited number of devices are opened at once, the others after them', async (t) => {
  const devices = [1, 2, 3, 4, 5].map((id) => ({ id, driver: 'fake' }))
  const arrive: (() => void)[] = []
  const { clock, host, opened } = hostStage({
    devices,
    open: () => new Promise((resolve) => arrive.push(() => resolve({}))),
  })
  host.refresh()
  await clock.run(0)
  t.equal(opened.length, 2)
  arrive[0]?.()
  await clock.run(0)
  t.equal(opened.length, 3)
  arrive[1]?.()
  arrive[2]?.()
  await clock.run(0)
  t.equal(opened.length, 5)
})

t.test(
  'a command and its lead are one turn: nothing comes between them, and a lead that fails ends both',
  async (t) => {
    const { book, clock, host, underWay } = hostStage()
    const zone = book.row('zone', 1)
    const lead = { verb: 'volume', args: { volume: 25 } }
    const came: string[] = []
    const execute = (verb: string, more: object = {}) =>
      host.execute(1, { zone, verb, args: {}, ...more }).then(
        () => came.push(verb),
        (fault) => came.push(`${verb}: ${fault.message}`),
      )
    void execute('route', { lead })
    void execute('stop')
    for (const text of ['1 volume {"volume":25}', '1 route {}', '1 stop {}']) {
      await clock.run(0)
      t.equal(underWay.at(-1)?.text, text)
      underWay.at(-1)?.resolve()
    }
    await clock.run(0)
    t.strictSame(came, ['route', 'stop'])
    void execute('route', { lead })
    await clock.run(0)
    underWay.at(-1)?.reject(new Error('it has no volume'))
    await clock.run(0)
    t.equal(underWay.length, 4, 'the route is not sent')
    t.equal(came.at(-1), 'route: device 1: it has no volume')
  },
)

t.test('a driver that fails in any of its functions loses its own device, and no other notices', async (t) => {
  const crash = () => {
    throw new Error('a mistake of the driver')
  }
  const done = (run: () => unknown) => ({
    execute: async () => {
      run()
      return {}
    },
  })
  const faults: Record<string, (context: DriverContext) => Partial<DriverSession>> = {
    open: crash,
    execute: () => ({ execute: crash }),
    poll: () => ({ poll: crash }),
    tell: () => ({ tell: crash }),
    close: () => ({ close: crash }),
    timer: ({ clock }) => done(() => clock.after(1, crash)),
    soon: ({ clock }) => done(() => clock.soon(crash)),
    every: ({ clock }) => done(() => clock.every(1, crash)),
    hang: () => ({ execute: () => new Promise(() => {}), close: () => new Promise(() => {}) }),
  }
  for (const [name, fault] of Object.entries(faults)) {
    const devices = [
      { id: 1, driver: 'fake', poll_ms: 1000 },
      { id: 2, driver: 'fake' },
    ]
    const zones = [
      { id: 1, device_id: 1 },
      { id: 2, device_id: 2 },
    ]
    const { ask, clock, host, live } = hostStage({
      ...{ devices, zones },
      open: async (device, context) =>
        device.id === 1 ? fault(context) : { execute: async () => ({ answer: 'well' }) },
    })
    const bad = ask('1 on')
    await clock.run(0)
    t.doesNotThrow(() => host.webhookOf(1)?.tell(new Uint8Array()), name)
    const good = ask('2 on', {}, 2)
    await clock.run(0)
    t.strictSame(good.came, { answer: 'well' }, name)
    await clock.run(10_000)
    t.ok(bad.came, `${name}: whoever asked is told`)
    if (name === 'timer' || name === 'soon' || name === 'every')
      t.match(live.device(1).error, /^its driver failed: a mistake of the driver$/, name)
    const again = ask('2 off', {}, 2)
    await clock.run(0)
    t.strictSame(again.came, { answer: 'well' }, name)
    const closing = host.close()
    await clock.run(10_000)
    await closing
  }
})
