import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type FakeLine, fakeLine, fakeOpener, plainLine } from '#kit/test/line/fake-line.ts'
import type { Adapter } from '../../../core/lines/adapter.ts'
import { Port } from '../../../core/lines/port.ts'

function fakeAdapter() {
  const seen: string[] = []
  const adapter: Adapter = {
    attach(line) {
      seen.push('attach')
      line.onBytes(() => {})
    },
    detach(fault) {
      seen.push(fault ? `detach ${fault.code}` : 'detach')
    },
    whyNoAction: () => '',
    counters: () => ({ rxFrames: 0 }),
  }
  return { adapter, seen }
}

function portOn(answers: (FakeLine | Fault)[], own: Partial<Adapter> = {}) {
  const clock = fakeClock()
  const events: unknown[] = []
  const { adapter: plain, seen } = fakeAdapter()
  const adapter = { ...plain, ...own }
  const opener = fakeOpener(() => answers.shift() ?? new Fault('line_absent', 'no such device'))
  const port = new Port({
    path: '/dev/ttyUSB0',
    line: plainLine,
    adapter,
    opener,
    clock,
    retry: { firstMs: 500, maxMs: 2000 },
    publish: (event, payload) => events.push({ event, payload }),
  })
  return { clock, events, opener, port, seen }
}

t.test('opens and says so', async (t) => {
  const { events, port } = portOn([fakeLine()])
  t.equal(await port.open(), 'open')
  t.match(events, [
    { event: 'port', payload: { state: 'opening', previous: 'closed' } },
    { event: 'port', payload: { state: 'open', previous: 'opening', fault: null } },
  ])
  t.same(port.life().unsupported, ['rs485'])
})

t.test('says why it is not open, and what to do', async (t) => {
  const busy = new Fault('line_busy', '/dev/ttyUSB0 is in use by process 12 (minicom).')
  const { clock, port } = portOn([new Fault('line_absent', 'no such device'), busy, fakeLine()])
  t.match(port.whyNotOpen(), { code: 'line_closed', message: /is closed: open it/ }, 'before its first try')
  const first = port.open()
  t.match(port.whyNotOpen(), { code: 'line_not_ready', message: /is being opened: ask again/ })
  t.equal(await first, 'absent')
  const unplugged = {
    code: 'line_absent',
    message: '/dev/ttyUSB0 is unplugged: plug the adapter in; it is opened again by itself.',
    details: { retryAfterMs: 1000 },
  }
  t.match(port.whyNotOpen(), unplugged)
  clock.advance(500)
  t.equal(port.life().state, 'opening')
  t.match(port.whyNotOpen(), unplugged, 'also while it is being looked for')
  await clock.run(0)
  t.match(port.whyNotOpen(), {
    code: 'line_not_ready',
    message: '/dev/ttyUSB0 is not open: /dev/ttyUSB0 is in use by process 12 (minicom). It is tried again by itself.',
  })
  await port.close()
  t.match(port.whyNotOpen(), { code: 'line_closed' })
})

t.test('waits longer and longer for an absent device, never longer than the bound', async (t) => {
  const { clock, opener, port } = portOn([])
  t.equal(await port.open(), 'absent')
  const waits: number[] = []
  for (let round = 0; round < 4; round++) {
    const nextTryAt = port.life().nextTryAt ?? 0
    waits.push(nextTryAt - clock.epochMs())
    await clock.run(nextTryAt - clock.epochMs())
  }
  t.same(waits, [500, 1000, 2000, 2000])
  t.equal(opener.opened, 5)
})

t.test('is absent since it was lost, however often it has been retried', async (t) => {
  const first = fakeLine()
  const { clock, port } = portOn([first, new Fault('line_absent', 'no such device'), fakeLine()])
  await port.open()
  await clock.run(1000)
  first.vanish()
  const lostAt = clock.epochMs()
  await clock.run(500)
  t.match(port.life(), { state: 'absent', stateSince: lostAt })
  await clock.run(1000)
  t.match(port.life(), { state: 'open', stateSince: lostAt + 1500 })
})

t.test('after a refused try it is absent only since the device was found missing', async (t) => {
  const { clock, port } = portOn([new Fault('line_busy', 'another program has it')])
  t.equal(await port.open(), 'failed')
  const failedAt = clock.epochMs()
  await clock.run(500)
  t.match(port.life(), { state: 'absent', stateSince: failedAt + 500 })
})

t.test('comes back on its own when an unplugged device is plugged in again', async (t) => {
  const first = fakeLine()
  const second = fakeLine()
  const { clock, port, seen } = portOn([first, new Fault('line_absent', 'no such device'), second])
  await port.open()
  first.vanish()
  t.match(port.life(), { state: 'absent', fault: { code: 'line_gone' } })
  await clock.run(500)
  t.equal(port.life().state, 'absent')
  await clock.run(1000)
  t.match(port.life(), { state: 'open', fault: null, nextTryAt: null })
  t.same(seen, ['attach', 'detach line_gone', 'attach'])
  t.equal(first.isClosed, true)
})

t.test('a port whose line is refused is failed, with the reason, and tries again', async (t) => {
  const { clock, port } = portOn([new Fault('line_busy', 'held by pid 7'), fakeLine()])
  t.equal(await port.open(), 'failed')
  t.match(port.life(), { fault: { code: 'line_busy', message: 'held by pid 7' } })
  await clock.run(500)
  t.equal(port.life().state, 'open')
})

t.test('a closed port stays closed', async (t) => {
  const { clock, opener, port } = portOn([])
  await port.open()
  await port.close()
  await clock.run(60_000)
  t.equal(opener.opened, 1)
  t.match(port.life(), { state: 'closed', fault: null, nextTryAt: null })
})

t.test('a line that opens after the port was closed is given back', async (t) => {
  const line = fakeLine()
  const { port } = portOn([line])
  const opening = port.open()
  await port.close()
  await opening
  t.equal(line.isClosed, true)
  t.equal(port.life().state, 'closed')
})

t.test('is closed only once the attempt to open it has released the line', async (t) => {
  const order: string[] = []
  const line = { ...fakeLine(), close: async () => void order.push('line given back') }
  const { port } = portOn([line])
  const opening = port.open()
  await port.close().then(() => order.push('closed'))
  await opening
  t.same(order, ['line given back', 'closed'])
})

t.test('an adapter that refuses the line leaves it free for the next try', async (t) => {
  const lines = [fakeLine(), fakeLine()]
  let isBroken = true
  const { clock, port } = portOn([...lines], {
    attach() {
      if (isBroken) throw new Error('cannot have it')
    },
  })
  t.equal(await port.open(), 'failed')
  t.equal(lines[0]?.isClosed, true)
  isBroken = false
  await clock.run(500)
  t.match(port.life(), { state: 'open', fault: null })
})

t.test('a fault of an adapter that releases a lost line is reported, and the line is closed anyway', async (t) => {
  const line = fakeLine()
  const { clock, events, port } = portOn([line], {
    detach: async () => Promise.reject(new Fault('line_gone', 'cannot let go')),
  })
  await port.open()
  line.vanish()
  await clock.run(0)
  t.equal(line.isClosed, true)
  t.match(events.at(-1), { event: 'error', payload: { code: 'line_gone', message: 'cannot let go' } })
})

t.test('counts every byte read and every byte the driver took', async (t) => {
  const line = fakeLine()
  const { port } = portOn([line])
  await port.open()
  line.arrive(Uint8Array.of(1, 2, 3))
  t.match(port.counters(), { rxBytes: 3, txBytes: 0, rxFrames: 0 })
  t.equal(port.driverCounts(), null)
})
