/** A simulated three-phase energy meter whose values move. */
import type { Clock } from '#kit/clock.ts'
import { type SimulatedUnit, simulatedUnit } from './modbus-unit.ts'

/** Registers up to the last one simulated. */
const REGISTERS = 344

const HOUR_MS = 3_600_000

/**
 * Input registers of an Eastron SDM630, read with function 4: f32, high word first.
 * 0 2 4 volts, 6 8 10 amperes, 12 14 16 watts per phase, 52 watts in all, 70 hertz, 72 and 342 kilowatt hours.
 * @source Eastron SDM630-Modbus V2, Modbus protocol, input registers
 */
export function energyMeter(unitId: number, clock: Clock): SimulatedUnit {
  const startMs = clock.monotonicMs()
  return simulatedUnit({
    unitId,
    identity: ['Plantroom', 'SIM-630', '1.0'],
    input: () => registersOf(clock.monotonicMs() - startMs),
  })
}

function registersOf(ageMs: number): number[] {
  const words = new Array<number>(REGISTERS).fill(0)
  const turn = ageMs / 10_000
  let totalWatts = 0
  for (const phase of [0, 1, 2]) {
    const volts = 230 + 2 * Math.sin(turn + phase)
    const amperes = 8 + 3 * Math.sin(turn / 3 + 2 * phase)
    totalWatts += volts * amperes
    put(words, 2 * phase, volts)
    put(words, 6 + 2 * phase, amperes)
    put(words, 12 + 2 * phase, volts * amperes)
  }
  const kilowattHours = 1234.5 + (5.5 * ageMs) / HOUR_MS
  put(words, 52, totalWatts)
  put(words, 70, 50 + 0.02 * Math.sin(turn * 2))
  put(words, 72, kilowattHours)
  put(words, 342, kilowattHours)
  return words
}

function put(words: number[], address: number, value: number): void {
  const view = new DataView(new ArrayBuffer(4))
  view.setFloat32(0, value)
  words[address] = view.getUint16(0)
  words[address + 1] = view.getUint16(2)
}
