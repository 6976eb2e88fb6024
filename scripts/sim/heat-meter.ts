/** Simulated M-Bus meters of a house: heat, with the month before in a second telegram, and cold water. */
import type { Clock } from '#kit/clock.ts'
import { steadyLoad, swinging, together, wave } from './laws.ts'
import { type MeterFacts, type MeterFaults, type SimulatedMeter, simulatedMeter } from './mbus-meters.ts'

const HOUR_MS = 3_600_000
const HEAT = 0x04
const COLD_WATER = 0x16
/** More records follow in the next telegram. */
const MORE = 0x1f

/** A record of 32 bits. @param header its data and value information */
function record(header: readonly number[], value: number): number[] {
  const plain = Math.round(value)
  return [...header, plain & 0xff, (plain >> 8) & 0xff, (plain >> 16) & 0xff, (plain >> 24) & 0xff]
}

type Own = Pick<MeterFacts, 'address' | 'id'> & { clock: Clock; faults?: MeterFaults }

/** Energy in kWh, volume in litres, power in W, temperatures in a tenth of a degree; the second telegram: last month. */
export function heatMeter({ address, clock, faults, id }: Own): SimulatedMeter {
  const startMs = clock.monotonicMs()
  const seed = Number(id) % 97
  const watts = together(steadyLoad(6200), swinging(1800, 83_000, seed))
  const supply = wave(1.5, 61_000, seed)
  const facts: MeterFacts = {
    ...{ address, id, manufacturer: 'KAM', version: 8, medium: HEAT },
    telegrams() {
      const ageMs = clock.monotonicMs() - startMs
      const energy = 12_345 + seed + watts.total(ageMs) / (1000 * HOUR_MS)
      const now = [
        ...record([0x04, 0x06], energy),
        ...record([0x04, 0x13], 260_400 + ageMs / 100),
        ...record([0x04, 0x2b], watts.rate(ageMs)),
        ...record([0x04, 0x5a], 10 * (68 + supply(ageMs))),
        ...record([0x04, 0x5e], 10 * (41 + supply(ageMs) / 2)),
      ]
      return [Uint8Array.from([...now, MORE]), Uint8Array.from(record([0x44, 0x06], 11_800 + seed))]
    },
  }
  return simulatedMeter(facts, faults)
}

/** Volume in litres. */
export function waterMeter({ address, clock, faults, id }: Own): SimulatedMeter {
  const startMs = clock.monotonicMs()
  const facts: MeterFacts = {
    ...{ address, id, manufacturer: 'ACW', version: 0x14, medium: COLD_WATER },
    telegrams: () => [Uint8Array.from(record([0x04, 0x13], 84_200 + (clock.monotonicMs() - startMs) / 400))],
  }
  return simulatedMeter(facts, faults)
}
