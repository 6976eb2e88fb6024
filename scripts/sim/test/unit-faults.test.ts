import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { hasGoodCrc, sealed } from '../../../daemons/gateway/wire/modbus-request.ts'
import { simulateModbusLine } from '../modbus-device.ts'
import { relayBoard } from '../relay-board.ts'
import { type UnitFaults, withFaults } from '../unit-faults.ts'

const READ = sealed([2, 1, 0, 0, 0, 8])
const REPLY = sealed([2, 1, 1, 0])

/** A relay board on a line in memory: what it says to a request, and after how many milliseconds. */
function lineWith(faults: UnitFaults, options: { seed?: number; baud?: number } = {}) {
  const clock = fakeClock()
  let hear: (bytes: Uint8Array) => void = () => {}
  const said: { atMs: number; bytes: Uint8Array }[] = []
  simulateModbusLine({
    clock,
    baud: options.baud,
    units: [withFaults({ unit: relayBoard(2), faults, clock, seed: options.seed ?? 1 })],
    duplex: {
      onBytes: (handler) => {
        hear = handler
      },
      write: (bytes) => said.push({ atMs: clock.monotonicMs(), bytes }),
    },
  })
  return {
    async ask(frame = READ) {
      said.length = 0
      const askedMs = clock.monotonicMs()
      hear(frame)
      await clock.run(1000)
      return said.map(({ atMs, bytes }) => ({ afterMs: atMs - askedMs, bytes }))
    },
  }
}

t.test('a unit in order answers at once', async (t) => {
  t.same(await lineWith({}).ask(), [{ afterMs: 0, bytes: REPLY }])
})

t.test('on a line with a speed, it answers after the time that both frames take', async (t) => {
  const [said] = await lineWith({}, { baud: 9600 }).ask()
  t.equal(said?.afterMs, Math.ceil((14 * 11 * 1000) / 9600))
})

t.test('a switch is thrown while it runs: dead, and alive again', async (t) => {
  const faults: UnitFaults = {}
  const { ask } = lineWith(faults)
  faults.isDead = true
  t.same(await ask(), [])
  faults.isDead = false
  t.equal((await ask()).length, 1)
})

t.test('a late unit answers after so many milliseconds', async (t) => {
  t.same(await lineWith({ late: { afterMs: 450, chance: 1 } }).ask(), [{ afterMs: 450, bytes: REPLY }])
})

t.test('a damaged answer has one bit other and a wrong checksum', async (t) => {
  const { ask } = lineWith({ damageChance: 1 })
  const wrong: unknown[] = []
  for (let turn = 0; turn < 100; turn++) {
    const [said] = await ask()
    const bits = [...(said?.bytes ?? [])].map((byte, at) => (byte ^ (REPLY[at] ?? 0)).toString(2).replaceAll('0', ''))
    if (bits.join('').length !== 1 || hasGoodCrc(said?.bytes ?? READ)) wrong.push(said)
  }
  t.same(wrong, [])
})

t.test('stray bytes come before the answer, one to five', async (t) => {
  const { ask } = lineWith({ strayChance: 1 })
  const lengths = new Set<number>()
  for (let turn = 0; turn < 100; turn++) {
    const bytes = (await ask())[0]?.bytes ?? new Uint8Array(0)
    lengths.add(bytes.length - REPLY.length)
    if (Buffer.compare(bytes.subarray(-REPLY.length), REPLY) !== 0) t.fail(`said ${bytes}`)
  }
  t.same([...lengths].sort(), [1, 2, 3, 4, 5])
})

t.test('chances are met as often as they say, by the same requests with the same seed', async (t) => {
  const run = async (seed: number) => {
    const { ask } = lineWith({ damageChance: 0.2 }, { seed })
    let text = ''
    for (let turn = 0; turn < 500; turn++) text += hasGoodCrc((await ask())[0]?.bytes ?? REPLY) ? '.' : 'x'
    return text
  }
  const first = await run(1)
  const hits = first.replaceAll('.', '').length
  t.ok(hits > 70 && hits < 130, `${hits} of 500`)
  t.equal(await run(1), first)
  t.not(await run(2), first)
})

t.test('an address answers with its exception, for one function or for all', async (t) => {
  const { ask } = lineWith({ exceptions: [{ address: 3, code: 4, fc: 1 }] })
  t.same((await ask())[0]?.bytes, sealed([2, 0x81, 4]))
  t.same((await ask(sealed([2, 1, 0, 4, 0, 4])))[0]?.bytes, REPLY)
  t.same((await ask(sealed([2, 2, 0, 0, 0, 8])))[0]?.bytes, sealed([2, 2, 1, 0]))
})

t.test('a unit that comes and goes is silent in the first part of each period', async (t) => {
  const { ask } = lineWith({ gone: { everyMs: 5000, forMs: 2000 } })
  const answered: number[] = []
  for (let turn = 0; turn < 10; turn++) answered.push((await ask()).length)
  t.same(answered, [0, 0, 1, 1, 1, 0, 0, 1, 1, 1])
})

t.test('a request whose coil is neither on nor off is refused as an illegal value', async (t) => {
  t.same((await lineWith({}).ask(sealed([2, 5, 0, 0, 0x12, 0x34])))[0]?.bytes, sealed([2, 0x85, 3]))
})
