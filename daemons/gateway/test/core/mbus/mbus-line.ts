/** An M-Bus port on a line in memory, with simulated meters at the far end. */
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { type FakeLine, fakeLine, fakeOpener, plainLine } from '#kit/test/line/fake-line.ts'
import {
  type MeterFacts,
  type MeterFaults,
  type SimulatedMeter,
  simulatedMeter,
  simulateMbusLine,
} from '../../../../../scripts/sim/mbus-meters.ts'
import { createBusDebts } from '../../../core/bus/transactions.ts'
import type { UnitPayload } from '../../../core/bus/units.ts'
import type { Adapter, AdapterContext } from '../../../core/lines/adapter.ts'
import { Port } from '../../../core/lines/port.ts'
import type { FramePayload } from '../../../core/lines/ports.ts'
import { mbusProtocol } from '../../../core/mbus/mbus.ts'
import type { MbusScanJob } from '../../../core/mbus/scan.ts'
import type { RecordPoint } from '../../../core/points/definition.ts'
import type { ValuePayload } from '../../../core/points/values.ts'
import { type MasterFrame, openMasterFrame } from '../../../wire/mbus/frames.ts'
import { act } from '../act.ts'

/** A volume in litres. */
export const volume = (litres: number) => Uint8Array.of(0x04, 0x13, litres & 0xff, (litres >> 8) & 0xff, 0, 0)

/** A water meter with one record of its volume. */
export function waterMeter(
  address: number,
  id: string,
  faults: MeterFaults = {},
  more: Partial<MeterFacts> = {},
): SimulatedMeter {
  const facts = {
    address,
    id,
    manufacturer: 'ACW',
    medium: 0x16,
    telegrams: () => [volume(Number(id) % 1000)],
    ...more,
  }
  return simulatedMeter(facts, faults)
}

export const point = (name: string, record: string, more: Partial<RecordPoint> = {}): RecordPoint => ({
  ...{ name, unitId: 5, record, scale: 1, offset: 0, unit: null, decimals: null, pollMs: 10_000, deadband: 0 },
  ...{ template: null, ...more },
})

interface MbusLineSetup {
  meters?: readonly SimulatedMeter[]
  settings?: object
  points?: readonly RecordPoint[]
  baud?: number
}

export interface MbusLine {
  adapter: Adapter
  clock: FakeClock
  line: FakeLine
  port: Port
  /** What was asked on the line, in order. */
  asked: MasterFrame[]
  frames: FramePayload[]
  told: { value: ValuePayload[]; unit: UnitPayload[]; error: { code: string; message: string }[] }
  /** Does the action and runs the clock until its outcome is there. */
  doNow(action: 'read' | 'init', body: object, gone?: AbortSignal): Promise<{ answer?: unknown; fault?: Fault }>
  /** Starts a scan and runs the clock until it is over. */
  scanNow(body: object): Promise<MbusScanJob>
  count(name: string): number
}

/** With every default of the schema. */
function settingsWith(settings: object): Record<string, unknown> {
  const defaults = Object.entries(mbusProtocol.settings.properties).flatMap(([key, schema]) =>
    'default' in schema ? [[key, (schema as { default: unknown }).default]] : [],
  )
  return { ...Object.fromEntries(defaults), ...settings }
}

/** A line that is open and settled. */
export async function mbusLine({
  baud = 2400,
  meters = [],
  points = [],
  settings = {},
}: MbusLineSetup = {}): Promise<MbusLine> {
  const clock = fakeClock()
  const line = fakeLine()
  const asked: MasterFrame[] = []
  const frames: FramePayload[] = []
  const told: MbusLine['told'] = { value: [], unit: [], error: [] }
  const context: AdapterContext = {
    port: '/dev/ttyTEST',
    lineSettings: { ...plainLine, baud },
    clock,
    whyNotOpen: () => port.whyNotOpen(),
    publish(event, payload) {
      const made = typeof payload === 'function' ? payload() : payload
      if (event === 'frame') frames.push(made)
      else if (event in told) told[event as keyof typeof told].push(made)
    },
  }
  const record = {
    ...{ path: context.port, protocol: 'mbus', line: context.lineSettings, settings: settingsWith(settings) },
    ...{ enabled: true, points: [...points], webhooks: [] },
  }
  const adapter = mbusProtocol.make(record, context, { mbusDebts: createBusDebts(clock) })
  const retry = { firstMs: 1000, maxMs: 1000 }
  const parts = { path: context.port, line: context.lineSettings, adapter, clock, retry, publish: context.publish }
  const port: Port = new Port({ ...parts, opener: fakeOpener(() => line) })
  connect(line, { clock, meters, asked })
  await port.open()
  await clock.run(2000)
  return {
    ...{ adapter, asked, clock, frames, line, port, told },
    async doNow(action, body, gone) {
      const outcome: { answer?: unknown; fault?: Fault } = {}
      act(adapter, action, body, gone).then(
        (answer) => Object.assign(outcome, { answer }),
        (fault: Fault) => Object.assign(outcome, { fault }),
      )
      for (let left = 6000; left > 0 && Object.keys(outcome).length === 0; left--) await clock.run(10)
      return outcome
    },
    async scanNow(body) {
      const scan = adapter.faces?.scan
      scan?.start(body)
      for (let left = 40_000; left > 0 && scan?.job().state === 'running'; left--) await clock.run(100)
      return scan?.job() as MbusScanJob
    },
    count: (name) => adapter.counters()[name] ?? Number.NaN,
  }
}

function connect(
  line: FakeLine,
  { asked, clock, meters }: { asked: MasterFrame[]; clock: FakeClock; meters: readonly SimulatedMeter[] },
): void {
  let hear: (bytes: Uint8Array) => void = () => {}
  const write = line.write.bind(line)
  line.write = async (bytes) => {
    await write(bytes)
    const request = openMasterFrame(bytes)
    if (request) asked.push(request)
    hear(bytes)
  }
  simulateMbusLine({
    clock,
    meters,
    baud: 2400,
    duplex: {
      onBytes(handler) {
        hear = handler
      },
      write: (bytes) => line.arrive(bytes, clock.monotonicMs() * 1000),
    },
  })
}
