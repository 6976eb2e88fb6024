/** A simulated single-phase energy meter that measures a small plant room. */
import type { Clock } from '#kit/clock.ts'
import { type Flow, jitter, type Law, steadyLoad, swinging, switched, together, wave } from './laws.ts'
import { type SimulatedUnit, simulatedUnit } from './modbus-unit.ts'
import { type SimulatedRegister, type Span, wordsAt } from './register-map.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Watt milliseconds in a kilowatt hour. */
const KILOWATT_HOUR = 1000 * HOUR_MS

const NOMINAL_VOLTS = 230

/** Forty values of two registers. */
const MOST_WORDS = 80
/** Addresses between the values read 0, since masters read a whole range in one request. */
const SPANS: readonly Span[] = [
  { from: 0, to: 96 },
  { from: 256, to: 266 },
  { from: 342, to: 346 },
]

/** The measured quantities over time. */
export interface Load {
  watts: Flow
  /** Reactive power. */
  vars: Flow
  volts: Law
  hertz: Law
}

/** Controls, two pumps, and a compressor that runs every minute and a half. */
export function plantRoomLoad(seed: number): Load {
  const phase = seed % 7
  const compressor = { periodMs: 90_000, share: 0.6 }
  const watts = together(steadyLoad(265), swinging(18, 37_000, phase), switched(1450, compressor))
  const vars = together(steadyLoad(60), swinging(4, 23_000, phase), switched(520, compressor))
  const ripple = wave(1.4, 61_000, phase)
  const digit = jitter(0.3, 500, seed)
  const sway = wave(0.018, 47_000, phase)
  const flicker = jitter(0.004, 500, seed + 1)
  return {
    watts,
    vars,
    // The voltage drops slightly under load.
    volts: (ageMs) => 230.6 + ripple(ageMs) + digit(ageMs) - watts.rate(ageMs) / 2500,
    hertz: (ageMs) => 50 + sway(ageMs) + flicker(ageMs),
  }
}

/**
 * Input registers of an Eastron SDM120, read with function 4: f32, high word first, at most 40 values per request.
 * Volts, amperes, watts, power factor and the counters belong to the same load. Holding registers have the factory
 * settings; function 16 changes them, which as on the real meter has no effect before a restart.
 * @param seed a different seed gives a different meter in a different room
 * @source Eastron SDM120Modbus, Modbus protocol implementation, input registers; gaps that read 0: ESPHome's sdm_meter
 *   takes registers 0..79 in one request
 */
export function energyMeter(unitId: number, clock: Clock, seed = unitId): SimulatedUnit {
  const startMs = clock.monotonicMs()
  const input = registersOf(plantRoomLoad(seed), 1234.5 + 17 * seed)
  return simulatedUnit({
    unitId,
    identity: ['Plantroom', 'SIM-120', '1.0'],
    input: () => wordsAt(input, SPANS, clock.monotonicMs() - startMs),
    holding: wordsAt(holdingRegisters(unitId), [], 0),
    maxWords: MOST_WORDS,
  })
}

function registersOf({ watts, vars, volts, hertz }: Load, startKilowattHours: number): SimulatedRegister[] {
  const apparent: Law = (ageMs) => Math.hypot(watts.rate(ageMs), vars.rate(ageMs))
  const amperes: Law = (ageMs) => apparent(ageMs) / volts(ageMs)
  const energy = (flow: Flow, before: number): Law => {
    return (ageMs) => before + Math.floor((flow.total(ageMs) / KILOWATT_HOUR) * 1000) / 1000
  }
  const kilowattHours = energy(watts, startKilowattHours)
  const kilovarHours = energy(vars, startKilowattHours / 4)
  const demand = demandOf(meanOf(watts))
  const current = demandOf((minute) => Math.hypot(meanOf(watts)(minute), meanOf(vars)(minute)) / NOMINAL_VOLTS)
  const f32 = (address: number, value: number | Law): SimulatedRegister => ({ address, type: 'f32', value })
  return [
    f32(0, volts),
    f32(6, amperes),
    f32(12, watts.rate),
    f32(18, apparent),
    f32(24, vars.rate),
    f32(30, (ageMs) => watts.rate(ageMs) / apparent(ageMs)),
    f32(36, (ageMs) => (Math.atan2(vars.rate(ageMs), watts.rate(ageMs)) * 180) / Math.PI),
    f32(70, hertz),
    f32(72, kilowattHours),
    f32(74, 0),
    f32(76, kilovarHours),
    f32(78, 0),
    f32(84, demand.now),
    f32(86, demand.most),
    f32(88, demand.now),
    f32(90, demand.most),
    f32(92, 0),
    f32(94, 0),
    f32(258, current.now),
    f32(264, current.most),
    f32(342, kilowattHours),
    f32(344, kilovarHours),
  ]
}

/** Mean over the hour before a full minute; nothing flowed before the start. */
function meanOf(flow: Flow): (minute: number) => number {
  return (minute) => {
    const endMs = minute * MINUTE_MS
    return (flow.total(endMs) - flow.total(Math.max(0, endMs - HOUR_MS))) / HOUR_MS
  }
}

/** Demand at the last full minute, and the highest so far. */
function demandOf(meanAt: (minute: number) => number): { now: Law; most: Law } {
  let seen = 0
  let highest = 0
  return {
    now: (ageMs) => meanAt(Math.floor(ageMs / MINUTE_MS)),
    most(ageMs) {
      for (; seen < Math.floor(ageMs / MINUTE_MS); seen++) highest = Math.max(highest, meanAt(seen + 1))
      return highest
    },
  }
}

/** @source the same, holding registers: pulse width, parity and stop bits, address, baud rate (2 is 9600) */
function holdingRegisters(unitId: number): SimulatedRegister[] {
  const f32 = (address: number, value: number): SimulatedRegister => ({ address, type: 'f32', value })
  return [f32(12, 100), f32(18, 0), f32(20, unitId), f32(28, 2)]
}
