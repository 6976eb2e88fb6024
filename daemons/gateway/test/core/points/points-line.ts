/** A Modbus port with points on a line in memory, made as the gateway makes it. */
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { fakeLine, plainLine } from '#kit/test/line/fake-line.ts'
import { type ModbusLineParts, simulateModbusLine } from '../../../../../scripts/sim/modbus-device.ts'
import type { SimulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { createBusDebts } from '../../../core/bus/transactions.ts'
import { requireFace } from '../../../core/lines/port-registry.ts'
import { modbusProtocol } from '../../../core/modbus/modbus.ts'
import type { ModbusSettings } from '../../../core/modbus/settings.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import type { ValuePayload } from '../../../core/points/values.ts'
import { whyNotOpen } from '../modbus/line-of-others.ts'
import { settingsWith } from '../modbus/modbus-line.ts'
import { modbusCodec } from '../modbus/rtu.ts'

export interface PointsLineSetup {
  points: PointDefinition[]
  units: SimulatedUnit[]
  settings?: Partial<ModbusSettings>
  baud?: number
  /** What units send instead of the plain reply. */
  say?: ModbusLineParts['say']
  onValue?(payload: ValuePayload): void
  /** A request was sent. */
  onSent?(frame: Uint8Array, atMs: number): void
}

/** The adapter as in a port, not attached yet. `onValue` gets the payload of each event `value`. */
export function pointsLine({ baud = 19_200, points, units, say, settings, onSent, onValue }: PointsLineSetup) {
  const clock: FakeClock = fakeClock()
  const line = fakeLine()
  const path = '/dev/ttyTEST'
  const adapter = modbusProtocol.make(
    {
      path,
      protocol: 'modbus-rtu',
      line: plainLine,
      settings: settingsWith(settings),
      enabled: true,
      points,
      webhooks: [],
    },
    {
      port: path,
      lineSettings: { ...plainLine, baud },
      whyNotOpen,
      clock,
      publish: (event, payload) => void (event === 'value' && onValue?.(payload as ValuePayload)),
    },
    {
      openModbusTcp: () => Promise.reject(new Error('not here')),
      retry: { firstMs: 1000, maxMs: 1000 },
      modbusCodec,
      modbusDebts: createBusDebts(clock),
      modbusIdentity: ['', '', ''],
    },
  )
  let hear: (bytes: Uint8Array) => void = () => {}
  line.write = async (bytes) => {
    onSent?.(bytes, clock.monotonicMs())
    hear(bytes)
  }
  simulateModbusLine({
    clock,
    units,
    say,
    duplex: {
      onBytes(handler) {
        hear = handler
      },
      write: (bytes) => line.arrive(bytes, clock.monotonicMs() * 1000),
    },
  })
  const face = requireFace({ path, adapter }, 'points')
  const one = (name: string) => face.list().find((view) => view.name === name)
  return { adapter, clock, face, line, one }
}
