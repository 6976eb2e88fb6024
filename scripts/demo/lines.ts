/** The buses of the demo: a healthy one, and one with all the faults of a real cellar. */
import { systemClock } from '#kit/clock.ts'
import { climateSensor } from '../sim/climate-sensor.ts'
import { energyMeter } from '../sim/energy-meter.ts'
import { fanDrive } from '../sim/fan-drive.ts'
import { type Duplex, simulateModbusLine } from '../sim/modbus-device.ts'
import { relayBoard } from '../sim/relay-board.ts'
import { withFaults } from '../sim/unit-faults.ts'

const BAUD = 9600
/** Often enough to see values change. */
const POLL_MS = 1000

/** A unit for the gateway: its number, its template, and the prefix of its points' names. */
export interface DemoUnit {
  unitId: number
  template: string
  prefix: string
  pollMs: number
}

export const meterUnits: readonly DemoUnit[] = [
  { unitId: 1, template: 'eastron-sdm120', prefix: 'Plant room ', pollMs: POLL_MS },
  { unitId: 2, template: 'waveshare-relay-8', prefix: 'Lights ', pollMs: POLL_MS },
  { unitId: 3, template: 'xy-md02', prefix: 'Office ', pollMs: POLL_MS },
  { unitId: 4, template: 'delta-vfd-f', prefix: 'Fan ', pollMs: POLL_MS },
]

export const cellarUnits: readonly DemoUnit[] = [
  { unitId: 11, template: 'eastron-sdm120', prefix: 'Garage ', pollMs: POLL_MS },
  { unitId: 12, template: 'eastron-sdm120', prefix: 'Laundry ', pollMs: POLL_MS },
  { unitId: 13, template: 'xy-md02', prefix: 'Wine cellar ', pollMs: POLL_MS },
]

/** An energy meter (1), a relay board (2), a climate sensor (3) and a fan drive (4). @returns stops them */
export function startMeters(duplex: Duplex): () => void {
  const units = [energyMeter(1, systemClock), relayBoard(2), climateSensor(3, systemClock), fanDrive(4, systemClock)]
  return simulateModbusLine({ duplex, clock: systemClock, baud: BAUD, units })
}

/** A meter without power (11), one on a bad cable (12), a sensor that is often late (13). @returns stops them */
export function startCellar(duplex: Duplex): () => void {
  const clock = systemClock
  const units = [
    withFaults({ unit: energyMeter(11, clock), faults: { isDead: true }, clock, seed: 11 }),
    withFaults({ unit: energyMeter(12, clock), faults: { damageChance: 0.15, strayChance: 0.1 }, clock, seed: 12 }),
    withFaults({ unit: climateSensor(13, clock), faults: { late: { afterMs: 450, chance: 0.3 } }, clock, seed: 13 }),
  ]
  return simulateModbusLine({ duplex, clock, baud: BAUD, units })
}
