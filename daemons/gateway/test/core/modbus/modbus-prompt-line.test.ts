/** A line that sends at once and waits by itself: what the bus does on it is what it does on any other. */
import t from 'tap'
import { relayBoard } from '../../../../../scripts/sim/relay-board.ts'
import { sealed } from '../../../wire/modbus-request.ts'
import { modbusLine } from './modbus-line.ts'
import { modbusRtu } from './rtu.ts'

const prompt = { mostBytes: 256 }
const relays = { unitId: 2, fc: 1, address: 0, quantity: 8 }

t.test('a request is sent whole, counted and told once, whatever part of it the line takes at once', async (t) => {
  const units = [relayBoard(2)]
  const plain = await modbusLine({ units })
  await plain.askNow(relays)
  for (const prompt of [{ mostBytes: 8 }, { mostBytes: 5 }, { mostBytes: 0 }, { mostBytes: 8, isWired: true }]) {
    const on = await modbusLine({ units, prompt })
    t.match((await on.askNow(relays)).answer, { values: [0, 0, 0, 0, 0, 0, 0, 0] })
    t.same(on.line.written, plain.line.written, JSON.stringify(prompt))
    for (const name of ['requests', 'txFrames', 'replies']) t.equal(on.count(name), 1, name)
    t.same(
      on.frames.map(({ direction, hex }) => [direction, hex]),
      plain.frames.map(({ direction, hex }) => [direction, hex]),
    )
  }
})

t.test('a unit that does not answer times out by the end of its request', async (t) => {
  const on = await modbusLine({ prompt })
  const asked = on.ask(relays)
  await on.clock.run(1005)
  t.equal(asked.outcome?.fault?.code, 'modbus_timeout')
  t.equal(on.count('timeouts'), 1)
})

t.test('a request waits for silence, and what comes meanwhile puts it off', async (t) => {
  const on = await modbusLine({ units: [relayBoard(2)], prompt })
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
  const on = await modbusLine({ units: [relayBoard(2)], prompt })
  on.ask({ unitId: 0, fc: 5, address: 0, values: [1] })
  on.ask(relays)
  await on.clock.run(50)
  t.equal(on.line.written.length, 1)
  await on.clock.run(200)
  t.equal(on.line.written.length, 2)
  t.equal(on.count('broadcasts'), 1)
})

/** The line was just used, so that what is asked next waits for silence. */
async function inSilence() {
  const on = await modbusLine({ units: [relayBoard(2)], prompt })
  await on.askNow(relays)
  const sent = on.line.written.length
  return { ...on, sent: () => on.line.written.slice(sent).map((frame) => frame[1]) }
}

t.test('a byte that comes while a request waits for silence puts it off, and it still goes', async (t) => {
  const on = await inSilence()
  const asked = on.ask(relays)
  await on.clock.run(1)
  on.line.arrive(Uint8Array.of(0xff))
  await on.clock.run(2)
  t.same(on.sent(), [])
  await on.clock.run(300)
  t.same(on.sent(), [1])
  t.match(asked.outcome?.answer, { values: [0, 0, 0, 0, 0, 0, 0, 0] })
})

t.test('an operator who asks while a poll waits for silence goes first', async (t) => {
  const on = await inSilence()
  void on.adapter.asker.ask({ unitId: 2, fc: 1, address: 0, quantity: 8 }, { priority: 'poll' })
  on.ask({ unitId: 2, fc: 5, address: 0, values: [1] })
  await on.clock.run(50)
  t.same(on.sent(), [5, 1])
})

t.test('a request withdrawn while it waits for silence is not sent, and the next one is', async (t) => {
  const on = await inSilence()
  const owner = {}
  const left = on.adapter.asker.ask({ unitId: 2, fc: 1, address: 0, quantity: 8 }, { priority: 'poll', owner })
  on.adapter.asker.withdraw(owner)
  await t.rejects(left, { code: 'modbus_withdrawn' })
  await on.clock.run(50)
  t.same(on.sent(), [])
  await on.askNow(relays)
  t.same(on.sent(), [1])
})

t.test('a line that is closed while a request waits for silence sends nothing', async (t) => {
  const on = await inSilence()
  const asked = on.ask(relays)
  await on.adapter.detach()
  await on.clock.run(50)
  t.equal(asked.outcome?.fault?.code, 'line_closed')
  t.same(on.sent(), [])
})

t.test('a request that the line sent although it was the turn of another is owed, and sent again', async (t) => {
  const on = await modbusLine({ units: [relayBoard(2)], prompt, settings: { local_echo: 'absent' } })
  const write = modbusRtu.seal({ unitId: 2, fc: 5, address: 0, quantity: 1, values: [1] })
  const first = on.adapter.asker.exchange(write, { priority: 'operator' })
  const sent = modbusRtu.seal(relays)
  const second = on.adapter.asker.exchange(sent, { priority: 'poll', outBytes: sent.frame.length })
  await on.clock.run(5000)
  t.same((await first)?.values, [1])
  t.same((await second)?.values, [1, 0, 0, 0, 0, 0, 0, 0])
})

t.test('a request that the line has sent in its turn is not sent again, only the rest of it', async (t) => {
  for (const [outBytes, written] of [
    [8, 0],
    [5, 1],
  ] as const) {
    const on = await modbusLine({ prompt })
    const sent = modbusRtu.seal(relays)
    const asked = on.adapter.asker.exchange(sent, { priority: 'poll', outBytes })
    await on.clock.run(1)
    t.equal(on.line.written.length, written)
    on.line.arrive(sealed([2, 1, 1, 3]))
    t.same((await asked)?.values, [1, 1, 0, 0, 0, 0, 0, 0])
    t.equal(on.count('requests'), 1)
  }
})
