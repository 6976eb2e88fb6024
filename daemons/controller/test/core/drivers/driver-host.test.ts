import t from 'tap'
import { hostStage } from './host-stage.ts'

t.test('a command reaches the driver, and its answer comes back', async (t) => {
  const { clock, host, underWay, ask, live } = hostStage()
  const asked = ask('1 level', { level: 40 })
  await clock.run(0)
  t.strictSame(
    underWay.map(({ text }) => text),
    ['1 level {"level":40}'],
  )
  underWay[0]?.resolve({ answer: 'OK' })
  await clock.run(0)
  t.strictSame(asked.came, { answer: 'OK' })
  t.equal(live.device(1).state, 'online', 'an answer proves that the device is there')
  t.match(host.view(1), { state: 'ready', done: 1, failed: 0 })
})

t.test('a device has one command at a time under way, and devices do not wait for each other', async (t) => {
  const devices = [
    { id: 1, driver: 'fake' },
    { id: 2, driver: 'fake' },
  ]
  const { clock, underWay, ask } = hostStage({ devices })
  ask('1 on')
  ask('2 on')
  ask('whole on', {}, 2)
  await clock.run(0)
  t.strictSame(
    underWay.map(({ text }) => text),
    ['1 on {}', 'whole on {}'],
  )
  underWay[0]?.resolve()
  await clock.run(0)
  t.equal(underWay[2]?.text, '2 on {}')
})

t.test('of waiting commands for one zone and verb the last wins, and all get its outcome', async (t) => {
  const { clock, host, underWay, ask } = hostStage()
  ask('1 on')
  await clock.run(0)
  const asked = [10, 20, 30].map((level) => ask('1 level', { level }))
  await clock.run(0)
  underWay[0]?.resolve()
  await clock.run(0)
  t.strictSame(
    underWay.map(({ text }) => text),
    ['1 on {}', '1 level {"level":30}'],
  )
  underWay[1]?.resolve({ answer: 30 })
  await clock.run(0)
  t.strictSame(
    asked.map(({ came }) => came),
    [{ answer: 30 }, { answer: 30 }, { answer: 30 }],
  )
  t.match(host.view(1), { coalesced: 2, done: 2 })
})

t.test('a command under way is not overtaken', async (t) => {
  const { clock, underWay, ask } = hostStage()
  ask('1 level', { level: 10 })
  await clock.run(0)
  ask('1 level', { level: 20 })
  await clock.run(0)
  t.equal(underWay.length, 1)
  underWay[0]?.resolve()
  await clock.run(0)
  t.equal(underWay[1]?.text, '1 level {"level":20}')
})

t.test("a driver's failure is reported with its message, and not with its code", async (t) => {
  const { clock, underWay, ask } = hostStage()
  const asked = ask('1 on')
  await clock.run(0)
  underWay[0]?.reject(Object.assign(new Error('lamp is broken'), { code: 'not_authorized' }))
  await clock.run(0)
  t.equal(asked.came, 'driver_failed: device 1: lamp is broken')
})

t.test('after 5 s a command is aborted and fails, and the next one follows once the driver has stopped', async (t) => {
  const { clock, host, underWay, ask } = hostStage()
  const first = ask('1 on')
  const second = ask('2 on')
  await clock.run(4999)
  t.equal(first.came, undefined)
  t.equal(underWay[0]?.signal.aborted, false)
  await clock.run(1)
  t.equal(first.came, 'driver_timeout: device 1 did not answer within 5 s')
  t.equal(underWay[0]?.signal.aborted, true)
  t.match(host.view(1), { state: 'stuck', timedOut: 1 })
  await clock.run(500)
  t.equal(underWay.length, 1, 'one under way')
  underWay[0]?.reject(new Error('aborted'))
  await clock.run(0)
  t.equal(underWay[1]?.text, '2 on {}')
  underWay[1]?.resolve()
  await clock.run(0)
  t.strictSame(second.came, {})
})

t.test('a driver that does not stop loses its session, and is opened again', async (t) => {
  const { clock, live, underWay, opened, ask } = hostStage()
  live.report({ zoneId: 1 }, { level: 5 })
  ask('1 on')
  const waits = ask('2 on')
  await clock.run(6000)
  t.match(waits.came, /^driver_failed: device 1 is offline: its driver does not let go/)
  t.equal(opened[0]?.isClosed, true)
  t.strictSame([live.device(1).state, live.zone(1).state], ['offline', 'unknown'])
  await clock.run(1000)
  t.equal(opened.length, 2)
  underWay[0]?.resolve()
  const again = ask('1 on')
  await clock.run(0)
  underWay[1]?.resolve({ answer: 1 })
  await clock.run(0)
  t.strictSame(again.came, { answer: 1 }, 'the late answer of the old session goes to nobody')
})

t.test('a command whose turn does not come fails, and is not carried out later', async (t) => {
  const { clock, underWay, ask } = hostStage({ limits: { waitMs: 3000 } })
  ask('1 on')
  const waits = ask('2 on')
  await clock.run(3000)
  t.equal(waits.came, 'driver_timeout: device 1 was busy: no turn within 3 s')
  underWay[0]?.resolve()
  await clock.run(0)
  t.equal(underWay.length, 1)
})

t.test('a full queue refuses commands, and so does a command with too many callers', async (t) => {
  const { clock, ask } = hostStage()
  ask('1 toggle')
  await clock.run(0)
  const waiting = [1, 2, 3, 4].map(() => ask('1 toggle'))
  const beyond = ask('1 toggle')
  await clock.run(0)
  t.equal(beyond.came, 'driver_queue_full: 4 commands wait for device 1 already')
  t.strictSame(
    waiting.map(({ came }) => came),
    [undefined, undefined, undefined, undefined],
  )
  const other = hostStage()
  other.ask('1 on')
  await other.clock.run(0)
  const callers = [1, 2, 3, 4].map((level) => other.ask('1 level', { level }))
  await other.clock.run(0)
  t.equal(callers[3]?.came, 'driver_queue_full: 3 callers wait for one command of device 1 already')
})

t.test('unknown devices, unknown drivers and disabled devices are named', async (t) => {
  const devices = [
    { id: 1, driver: 'other' },
    { id: 2, driver: 'fake', enabled: false },
    { id: 3, driver: '', transport: { kind: 'fake' } },
  ]
  const { clock, live, ask, opened } = hostStage({ devices })
  const asked = [1, 2, 9].map((id) => ask('1 on', {}, id))
  await clock.run(0)
  t.strictSame(
    asked.map(({ came }) => came),
    [
      'driver_unknown: device 1 has the driver "other", known are fake',
      'driver_failed: device 2 is disabled',
      'driver_unknown: there is no device 9',
    ],
  )
  t.match(live.device(1), { state: 'offline', error: /"other"/ })
  t.strictSame(
    opened.map(({ device }) => device.id),
    [3],
    'a device without a driver is driven by its transport',
  )
})

t.test('a device of an unknown driver is forgotten with its row', async (t) => {
  const { book, host, live } = hostStage({ devices: [{ id: 1, driver: 'other' }] })
  host.refresh()
  t.equal(live.device(1).state, 'offline')
  book.set('device', [])
  host.refresh()
  t.equal(live.device(1).state, 'unknown')
})

t.test('a device that changes is closed and then opened again', async (t) => {
  let closes = 0
  let letGo = () => {}
  const { clock, book, live, host, opened, ask, worlds } = hostStage({
    open: async () => ({
      close: () =>
        new Promise((resolve) => {
          closes++
          letGo = resolve
        }),
    }),
  })
  host.refresh()
  await clock.run(0)
  live.report({ zoneId: 1 }, { level: 5 })
  const under = ask('1 on')
  book.set('device', [{ id: 1, driver: 'fake', address: '2' }])
  host.refresh()
  await clock.run(0)
  t.equal(under.came, 'driver_failed: device 1 is being closed')
  t.strictSame([closes, opened.length, live.zone(1).state], [1, 1, 'unknown'], 'not before the old one is closed')
  const early = ask('1 on')
  letGo()
  await clock.run(0)
  t.strictSame([opened.length, opened[1]?.device.address, worlds.open], [2, '2', 1])
  t.equal(early.came, undefined, 'commands that came meanwhile wait for the new session')
})

t.test('a change that no driver uses keeps the session, and commands carry the new row', async (t) => {
  const { clock, book, host, opened, live } = hostStage()
  host.refresh()
  await clock.run(0)
  book.set('zone', [
    { id: 1, device_id: 1, icon: 'lamp', updated_at: 5, overrides: {} },
    { device_id: 1, id: 2 },
  ])
  host.refresh()
  await clock.run(0)
  t.equal(opened.length, 1)
  book.set('zone', [{ id: 1, device_id: 1, address: '7' }])
  live.report({ zoneId: 2 }, { level: 1 })
  host.refresh()
  await clock.run(0)
  t.equal(opened.length, 2, 'a change of address counts')
  t.equal(live.zone(2).state, 'unknown', 'a zone that is gone is forgotten')
})

t.test('a device that is removed or disabled is closed', async (t) => {
  for (const device of [[], [{ id: 1, driver: 'fake', enabled: false }]]) {
    const { clock, book, host, opened, worlds } = hostStage()
    host.refresh()
    await clock.run(0)
    book.set('device', device)
    host.refresh()
    await clock.run(0)
    t.strictSame([opened[0]?.isClosed, worlds.open, host.view(1)], [true, 0, undefined])
  }
})

t.test('close ends everything within its limits, and later commands fail', async (t) => {
  const { clock, host, ask, worlds } = hostStage({ open: async () => ({ close: () => new Promise(() => {}) }) })
  const under = ask('1 on')
  const waits = ask('2 on')
  await clock.run(0)
  let isClosed = false
  void host.close().then(() => {
    isClosed = true
  })
  await clock.run(0)
  t.strictSame([under.came, waits.came], Array(2).fill('driver_failed: device 1 is being closed'))
  await clock.run(1999)
  t.equal(isClosed, false)
  await clock.run(1)
  t.strictSame([isClosed, worlds.open, clock.pending()], [true, 0, 0])
  const after = ask('1 on')
  await clock.run(0)
  t.equal(after.came, 'driver_failed: the drivers are being closed')
})

t.test('close does not wait for openings, and closes sessions that still open', async (t) => {
  let arrive = () => {}
  const { clock, host, opened, worlds } = hostStage({
    open: () =>
      new Promise((resolve) => {
        arrive = () => resolve({})
      }),
  })
  host.refresh()
  await clock.run(0)
  let isClosed = false
  void host.close().then(() => {
    isClosed = true
  })
  await clock.run(0)
  t.strictSame([isClosed, worlds.open, clock.pending()], [true, 0, 0])
  arrive()
  await clock.run(0)
  t.equal(opened[0]?.isClosed, true)
})
