/** A line that is closed, lost or stuck in the middle of a transaction. */
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { modbusLine } from './modbus-line.ts'

const read = { unitId: 5, fc: 3, address: 0, quantity: 1 }

function counting() {
  let turn = 0
  return [simulatedUnit({ unitId: 5, input: () => [turn++], holding: [1] })]
}

t.test(
  'a device lost mid-transaction fails the request under way and those that wait, with the loss as reason',
  async (t) => {
    const { adapter, ask, clock } = await modbusLine({ units: counting(), say: () => [] })
    const asked = [ask(read), ask(read)]
    await clock.run(50)
    await adapter.detach(new Fault('line_gone', 'the device is gone'))
    await clock.run(1)
    t.strictSame(
      asked.map(({ outcome }) => outcome?.fault?.code),
      ['line_gone', 'line_gone'],
    )
    await clock.run(60_000)
    t.equal(clock.pending(), 0, 'nothing is left running')
  },
)

t.test('a port closed while a request waits fails it with line_closed, and the next request too', async (t) => {
  const { adapter, ask, clock } = await modbusLine({ units: counting(), say: () => [] })
  const asked = ask(read)
  await clock.run(50)
  await adapter.detach()
  const later = ask(read)
  await clock.run(1)
  t.equal(asked.outcome?.fault?.code, 'line_closed')
  t.equal(later.outcome?.fault?.code, 'line_closed')
})

t.test('a write under way when its port is closed may have been carried out, a waiting one was not', async (t) => {
  const { adapter, ask, clock } = await modbusLine({ units: counting(), say: () => [] })
  const write = { unitId: 5, fc: 6, address: 0, values: [1] }
  const [out, waits] = [ask(write), ask(write)]
  await clock.run(50)
  await adapter.detach()
  await clock.run(1)
  t.match(out.outcome?.fault, {
    code: 'line_closed',
    message: /may have been carried out/,
    details: { mayBeOut: true },
  })
  t.match(waits.outcome?.fault, { code: 'line_closed', message: /was closed\.$/ })
  t.notOk(waits.outcome?.fault?.details?.mayBeOut)
})

t.test('the answer to a request under way when the line was lost is late once the line is back', async (t) => {
  const { adapter, ask, clock, count, line } = await modbusLine({
    units: counting(),
    say: (bytes) => [{ afterMs: count('requests') === 1 ? 600 : 1, bytes }],
  })
  const body = { ...read, fc: 4 }
  ask(body)
  await clock.run(50)
  await adapter.detach(new Fault('line_gone', 'the device is gone'))
  adapter.attach(line)
  const second = ask(body)
  await clock.run(2000)
  t.strictSame(second.outcome?.answer?.values, [1])
  t.equal(count('lateReplies'), 1)
})

t.test(
  'late-replies: a unit that was being asked when the line closed is held for response timeout and quarantine',
  async (t) => {
    const { adapter, ask, clock, line } = await modbusLine({
      units: counting(),
      say: (bytes) => [{ afterMs: 1250, bytes }],
    })
    ask({ ...read, fc: 4 })
    await clock.run(10)
    await adapter.detach()
    adapter.attach(line)
    const second = ask({ ...read, fc: 4 })
    await clock.run(1260)
    t.equal(second.outcome, undefined, 'the answer to the earlier request goes to nobody')
    await clock.run(2000)
    t.not(second.outcome?.answer?.values[0], 0)
  },
)

t.test('nothing is sent for one response timeout after opening: another program may have asked before', async (t) => {
  const { adapter, ask, clock, line } = await modbusLine({ units: counting() })
  await adapter.detach()
  adapter.attach(line)
  ask(read)
  await clock.run(299)
  t.equal(line.written.length, 0)
  await clock.run(10)
  t.equal(line.written.length, 1)
})

t.test('a driver that does not take the bytes is a modbus_send_timeout, and its queue is discarded', async (t) => {
  const { ask, clock, count, line } = await modbusLine({ units: counting() })
  let flushed = 0
  line.write = () => new Promise(() => {})
  line.flush = async () => {
    flushed++
  }
  const asked = ask(read)
  await clock.run(1100)
  t.equal(asked.outcome?.fault?.code, 'modbus_send_timeout')
  t.equal(flushed, 1)
  t.equal(count('unitsHeld'), 1, 'part of the request may have gone out')
})

t.test('a write that the driver refuses fails with the error of the driver, not with a timeout', async (t) => {
  const { askNow, line } = await modbusLine({ units: counting() })
  line.write = async () => {
    throw new Fault('line_write_failed', 'write: EIO')
  }
  t.equal((await askNow(read)).fault?.code, 'line_write_failed')
})

t.test('a reply that arrives before the driver reports the end of sending is accepted', async (t) => {
  const { askNow, line } = await modbusLine({ units: counting() })
  const drained = new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
  line.drain = () => drained
  t.strictSame((await askNow(read)).answer?.values, [1])
})

t.test('the second copy of an answer is not taken for the answer to the next request', async (t) => {
  const { ask, clock, count } = await modbusLine({
    units: counting(),
    say: (bytes) =>
      count('requests') === 1
        ? [
            { afterMs: 1, bytes },
            { afterMs: 0, bytes },
          ]
        : [{ afterMs: 1, bytes }],
  })
  const body = { ...read, fc: 4 }
  const asked = [ask(body), ask(body)]
  await clock.run(500)
  t.strictSame(asked[0]?.outcome?.answer?.values, [0])
  t.strictSame(asked[1]?.outcome?.answer?.values, [1])
  t.equal(count('copies'), 1)
})
