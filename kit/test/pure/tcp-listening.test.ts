import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createListening } from '../../pure/line.ts'

/** A port that can be opened while `isFree`. */
function portHere(isFree = true) {
  const clock = fakeClock()
  const port = { clock, isFree, opened: 0, closed: 0, tries: 0, faults: [] as string[] }
  const listening = createListening({
    clock,
    retry: { firstMs: 100, maxMs: 400 },
    onFault: ({ code }) => void port.faults.push(code),
    async open() {
      port.tries++
      if (!port.isFree) throw new Fault('tcp_port_taken', 'TCP port 502 is taken.')
      port.opened++
      return {
        async close() {
          port.closed++
        },
      }
    },
  })
  return { port, listening }
}

t.test('opens with its line and closes with it, every time', async (t) => {
  const { port, listening } = portHere()
  for (let times = 1; times <= 3; times++) {
    listening.start()
    await port.clock.run(1)
    t.match(port, { opened: times, closed: times - 1 })
    await listening.stop()
    t.match(port, { opened: times, closed: times })
  }
  t.equal(listening.fault, undefined)
})

t.test('a port that is taken is reported once, retried with growing waits, and opened when it is free', async (t) => {
  const { port, listening } = portHere(false)
  listening.start()
  await port.clock.run(0)
  t.match(listening.fault, {
    code: 'tcp_port_taken',
    message: 'TCP port 502 is taken. It is tried again, and opened by itself once it is free.',
  })
  await port.clock.run(100 + 200 + 400 + 400)
  t.equal(port.tries, 5)
  t.strictSame(port.faults, ['tcp_port_taken'])
  port.isFree = true
  await port.clock.run(400)
  t.equal(listening.fault, undefined)
  t.match(port, { opened: 1, tries: 6 })
  await port.clock.run(10_000)
  t.equal(port.tries, 6)
  await listening.stop()
})

t.test('is not retried once the line is closed, and its fault is gone with it', async (t) => {
  const { port, listening } = portHere(false)
  listening.start()
  await port.clock.run(50)
  await listening.stop()
  t.equal(listening.fault, undefined)
  t.equal(port.clock.pending(), 0)
  port.isFree = true
  await port.clock.run(10_000)
  t.equal(port.opened, 0)
})

t.test('a line that closes while the port is being opened leaves none open', async (t) => {
  const { port, listening } = portHere()
  listening.start()
  await listening.stop()
  t.equal(port.opened, port.closed)
  listening.start()
  await port.clock.run(1)
  const stopped = listening.stop()
  listening.start()
  await stopped
  await port.clock.run(1)
  t.equal(port.opened - port.closed, 1, 'the last request counts')
  await listening.stop()
  t.equal(port.opened, port.closed)
})

t.test('stopping without a start does nothing', async (t) => {
  const { port, listening } = portHere()
  await listening.stop()
  t.equal(port.tries, 0)
})
