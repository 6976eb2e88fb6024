/** A line that sends at once and waits by itself: what the bus does on it is what it does on any other. */
import t from 'tap'
import { relayBoard } from '../../../../../scripts/sim/relay-board.ts'
import { modbusLine } from './modbus-line.ts'

const relays = { unitId: 2, fc: 1, address: 0, quantity: 8 }

t.test('a request is sent whole, counted and told once, whatever part of it the line takes at once', async (t) => {
  const units = [relayBoard(2)]
  const plain = await modbusLine({ units })
  await plain.askNow(relays)
  for (const promptBytes of [8, 5, 0]) {
    const on = await modbusLine({ units, promptBytes })
    t.match((await on.askNow(relays)).answer, { values: [0, 0, 0, 0, 0, 0, 0, 0] })
    t.same(on.line.written, plain.line.written, `${promptBytes} bytes at once`)
    for (const name of ['requests', 'txFrames', 'replies']) t.equal(on.count(name), 1, name)
    t.same(
      on.frames.map(({ direction, hex }) => [direction, hex]),
      plain.frames.map(({ direction, hex }) => [direction, hex]),
    )
  }
})

t.test('a unit that does not answer times out by the end of its request', async (t) => {
  const on = await modbusLine({ promptBytes: 256 })
  const asked = on.ask(relays)
  await on.clock.run(1005)
  t.equal(asked.outcome?.fault?.code, 'modbus_timeout')
  t.equal(on.count('timeouts'), 1)
})

t.test('a request waits for silence, and what comes meanwhile puts it off', async (t) => {
  const on = await modbusLine({ units: [relayBoard(2)], promptBytes: 256 })
  const babble = on.clock.every(1, () => on.line.arrive(Uint8Array.of(0xff)))
  await on.clock.run(2)
  on.ask(relays)
  await on.clock.run(40)
  t.equal(on.line.written.length, 0)
  babble.cancel()
  await on.clock.run(40)
  t.equal(on.line.written.length, 1)
})

t.test('a broadcast is sent, and the next request after the turnaround', async (t) => {
  const on = await modbusLine({ units: [relayBoard(2)], promptBytes: 256 })
  on.ask({ unitId: 0, fc: 5, address: 0, values: [1] })
  on.ask(relays)
  await on.clock.run(50)
  t.equal(on.line.written.length, 1)
  await on.clock.run(200)
  t.equal(on.line.written.length, 2)
  t.equal(on.count('broadcasts'), 1)
})
