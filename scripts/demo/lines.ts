/** The buses of the demo: a healthy one, and one with all the faults of a real cellar. */
import { systemClock } from '#kit/clock.ts'
import { climateSensor } from '../sim/climate-sensor.ts'
import { SimulatedMaster } from '../sim/dnp3-master.ts'
import { energyMeter } from '../sim/energy-meter.ts'
import { fanDrive } from '../sim/fan-drive.ts'
import { heatMeter, waterMeter } from '../sim/heat-meter.ts'
import { simulateMbusLine } from '../sim/mbus-meters.ts'
import { simulateModbusLine } from '../sim/modbus-device.ts'
import { SimulatedRing } from '../sim/mstp-ring.ts'
import { relayBoard } from '../sim/relay-board.ts'
import type { Duplex } from '../sim/shared-line.ts'
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

/** What meters usually have. */
const MBUS_BAUD = 2400

/** Points of the flats: the heat of two of them by primary address, the water by the number on its meter. */
export const flatPoints: readonly object[] = [
  { name: 'Flat 1 heat', unitId: 1, record: 'energy', unit: 'kWh', scale: 0.001, decimals: 0, pollMs: 5000 },
  { name: 'Flat 1 power', unitId: 1, record: 'power', unit: 'kW', scale: 0.001, decimals: 2, pollMs: 5000 },
  { name: 'Flat 1 flow', unitId: 1, record: 'flow temperature', unit: '°C', decimals: 1, pollMs: 5000 },
  { name: 'Flat 2 heat', unitId: 2, record: 'energy', unit: 'kWh', scale: 0.001, decimals: 0, pollMs: 5000 },
  { name: 'Cold water', unitId: 40_271_828, record: 'volume', unit: 'm³', decimals: 3, pollMs: 5000 },
]

/** Heat meters of two flats (addresses 1 and 2) and the water meter, which has no address of its own. @returns stops them */
export function startFlats(duplex: Duplex): () => void {
  const clock = systemClock
  const meters = [
    heatMeter({ address: 1, id: '21314159', clock }),
    heatMeter({ address: 2, id: '21316022', clock }),
    waterMeter({ address: 0, id: '40271828', clock }),
  ]
  return simulateMbusLine({ duplex, clock, baud: MBUS_BAUD, meters })
}

/** Three controllers of rooms on an MS/TP ring; the last one postpones its replies. @returns stops them */
export function startTrunk(duplex: Duplex): () => void {
  const nodes = [
    { mac: 4, value: 21.5 },
    { mac: 7, value: 19 },
    { mac: 9, value: 23.25, manner: 'postponed' },
  ] as const
  const ring = new SimulatedRing({ duplex, nodes })
  return () => ring.stop()
}

/** A control room that asks for everything once, and for events every two seconds. @returns stops it */
export function startStation(duplex: Duplex): () => void {
  const master = new SimulatedMaster({ duplex })
  master.poll(2 * POLL_MS)
  return () => master.stop()
}
