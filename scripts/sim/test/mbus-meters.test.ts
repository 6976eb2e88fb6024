/** Simulated meters: what they say to a master, alone and together. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { initFrame, isWholeFrame, readFrame, selectFrame } from '../../../daemons/gateway/wire/mbus/frames.ts'
import { secondaryBytes } from '../../../daemons/gateway/wire/mbus/identity.ts'
import { openTelegram } from '../../../daemons/gateway/wire/mbus/telegram.ts'
import { heatMeter, waterMeter } from '../heat-meter.ts'
import { type SimulatedMeter, simulateMbusLine } from '../mbus-meters.ts'

/** What the line says to each question. */
function lineOf(meters: readonly SimulatedMeter[], baud?: number) {
  const clock = fakeClock()
  const said: Uint8Array[] = []
  let hear: (bytes: Uint8Array) => void = () => {}
  const duplex = {
    onBytes(handler: (bytes: Uint8Array) => void) {
      hear = handler
    },
    write: (bytes: Uint8Array) => void said.push(bytes),
  }
  const stop = simulateMbusLine({ duplex, clock, meters, baud })
  async function ask(...pieces: Uint8Array[]): Promise<Uint8Array | undefined> {
    said.length = 0
    for (const piece of pieces) hear(piece)
    await clock.run(5000)
    return said[0]
  }
  return { ask, stop }
}

const clock = fakeClock()
const ACK = Uint8Array.of(0xe5)

t.test('a meter acknowledges a reset, and sends its telegrams one after the other', async (t) => {
  const { ask } = lineOf([heatMeter({ address: 1, id: '21314159', clock })], 2400)
  t.same(await ask(initFrame(1)), ACK)
  t.equal(await ask(initFrame(2)), undefined)
  const first = (await ask(readFrame(1, true))) ?? ACK
  t.match(openTelegram(first), { meter: { id: '21314159' }, hasMore: true, accessNumber: 0 })
  t.same(await ask(readFrame(1, true)), first, 'with the same frame count bit it repeats itself')
  t.match(openTelegram((await ask(readFrame(1, false))) ?? ACK), { hasMore: false, accessNumber: 1 })
  await ask(initFrame(1))
  t.match(openTelegram((await ask(readFrame(1, true))) ?? ACK), { hasMore: true, accessNumber: 2 })
  t.equal(await ask(initFrame(255)), undefined, 'a reset of all is not answered')
  t.same(await ask(initFrame(1).subarray(0, 2), initFrame(1).subarray(2)), ACK, 'in pieces too')
})

t.test('a meter is selected by its number, until another one is', async (t) => {
  const meters = ['40271828', '40271871'].map((id) => waterMeter({ address: 0, id, clock }))
  const { ask } = lineOf(meters)
  t.equal(await ask(readFrame(253, true)), undefined)
  t.same(await ask(selectFrame(secondaryBytes('40271828'))), ACK)
  t.match(openTelegram((await ask(readFrame(253, true))) ?? ACK), { meter: { id: '40271828' } })
  t.same(await ask(selectFrame(secondaryBytes('40271871'))), ACK)
  t.match(openTelegram((await ask(readFrame(253, true))) ?? ACK), { meter: { id: '40271871' } })
  t.same(await ask(initFrame(253)), ACK)
  t.equal(await ask(readFrame(253, true)), undefined)
})

t.test('meters that answer together are one acknowledgement, and data that is none', async (t) => {
  const meters = ['40271828', '12345671'].map((id) => waterMeter({ address: 0, id, clock }))
  const { ask } = lineOf(meters)
  t.same(await ask(initFrame(0)), ACK)
  t.notOk(isWholeFrame((await ask(readFrame(0, true))) ?? ACK))
})

t.test('a dead meter says nothing, and a line that is stopped neither', async (t) => {
  const faults = { isDead: true }
  const { ask, stop } = lineOf([waterMeter({ address: 3, id: '40271828', clock, faults })])
  t.equal(await ask(initFrame(3)), undefined)
  faults.isDead = false
  t.same(await ask(initFrame(3)), ACK)
  stop()
  t.equal(await ask(initFrame(3)), undefined)
})
