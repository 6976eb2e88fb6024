/** What one Modbus read costs: nothing is computed twice. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { fakeLine } from '#kit/test/line/fake-line.ts'
import { Bus } from '../../../core/bus/bus.ts'
import { busCounts } from '../../../core/bus/faults.ts'
import { createBusPoints } from '../../../core/bus/points.ts'
import { registerPoints } from '../../../core/modbus/points.ts'
import { createModbusRtu, type ModbusReply } from '../../../core/modbus/protocol.ts'
import { replyFrame } from '../../../wire/modbus-reply.ts'
import type { ModbusRequest } from '../../../wire/modbus-request.ts'
import { point } from '../points/points.ts'
import { whyNotOpen } from './line-of-others.ts'
import { settingsWith } from './modbus-line.ts'
import { modbusCodec } from './rtu.ts'

/** The same functions; each call of one that is in `counts` is counted there. */
function counting<Part extends object>(part: Part, counts: Record<string, number>): Part {
  const counted = Object.entries(part).map(([name, run]: [string, (...args: unknown[]) => unknown]) => [
    name,
    (...args: unknown[]) => {
      if (name in counts) counts[name] = (counts[name] ?? 0) + 1
      return run(...args)
    },
  ])
  return { ...part, ...Object.fromEntries(counted.filter(([name]) => String(name) in counts)) }
}

/** The functions of Modbus RTU and of its codec that compute a checksum or decode. */
function countedProtocol() {
  const counts = { seal: 0, reopen: 0, isWhole: 0, isFrameAlone: 0, replyFlaw: 0, openReply: 0 }
  const ofCodec = { frameOf: 0, valuesOf: 0 }
  const protocol = counting(createModbusRtu(counting(modbusCodec, ofCodec)), counts)
  return { counts, ofCodec, protocol }
}

t.test(
  'a read computes two checksums, one a frame, and decodes its answer once for caller, points and events',
  async (t) => {
    const clock = fakeClock()
    const line = fakeLine()
    const { counts, ofCodec, protocol } = countedProtocol()
    const settings = settingsWith()
    const decoded: unknown[] = []
    function publish(event: string, payload: unknown) {
      if (event === 'frame') decoded.push((payload as () => { decoded: unknown })().decoded)
    }
    const points = createBusPoints(
      { clock, port: '/dev/ttyTEST', publish: () => {} },
      settings,
      registerPoints({ mergeGap: 8, mergeRegisters: 125 }),
      [point('a', { address: 7 })],
    )
    const bus = new Bus<ModbusRequest, ModbusReply>({
      ...{ port: '/dev/ttyTEST', baud: 19_200, gapMs: 2, clock, settings, protocol, whyNotOpen, publish },
      counts: busCounts(),
      hooks: points.hooks,
    })
    bus.attach(line)
    await clock.run(settings.response_timeout_ms)
    const asked = { unitId: 1, fc: 3, address: 7, quantity: 1 }
    const answer = bus.ask(asked, { priority: 'operator' })
    await clock.run(10)
    line.arrive(replyFrame(asked, [42]), clock.monotonicMs() * 1000)
    await clock.run(1)
    t.same((await answer)?.values, [42])
    t.match(points.face.list(), [{ value: 42 }])
    t.match(decoded, [{ kind: 'request' }, { kind: 'reply', values: [42] }])
    t.same(counts, { seal: 1, reopen: 0, isWhole: 0, isFrameAlone: 0, replyFlaw: 1, openReply: 1 })
    t.same(ofCodec, { frameOf: 1, valuesOf: 1 }, 'built once and read once, by modbus-serial')
  },
)
