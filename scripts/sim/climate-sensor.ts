/** A simulated sensor of temperature and humidity. */
import type { Clock } from '#kit/clock.ts'
import { jitter, type Law, wave } from './laws.ts'
import { type SimulatedUnit, simulatedUnit } from './modbus-unit.ts'
import { type SimulatedRegister, type Span, wordsAt } from './register-map.ts'

const INPUT: readonly Span[] = [{ from: 1, to: 3 }]
const TEMPERATURE_CORRECTION = 0x0103
const HUMIDITY_CORRECTION = 0x0104

/**
 * Input registers of an XY-MD02, read with function 4: 1 temperature and 2 relative humidity, both in tenths, the first
 * signed. Holding registers: 0x0101 address, 0x0102 baud rate (0 is 9600), 0x0103 and 0x0104 corrections in tenths,
 * which apply at once.
 * @param seed a different seed gives a different room
 * @source XY-MD02 product sheet, Modbus registers
 */
export function climateSensor(unitId: number, clock: Clock, seed = unitId): SimulatedUnit {
  const startMs = clock.monotonicMs()
  const holding: number[] = []
  holding[0x0101] = unitId
  holding[0x0102] = 0
  holding[TEMPERATURE_CORRECTION] = 0
  holding[HUMIDITY_CORRECTION] = 0
  const { celsius, humidity } = roomClimate(seed)
  const corrected =
    (law: Law, address: number): Law =>
    (ageMs) =>
      law(ageMs) + signed(holding[address]) / 10
  const registers: SimulatedRegister[] = [
    { address: 1, type: 's16', scale: 10, value: corrected(celsius, TEMPERATURE_CORRECTION) },
    { address: 2, type: 'u16', scale: 10, value: corrected(humidity, HUMIDITY_CORRECTION) },
  ]
  return simulatedUnit({
    unitId,
    input: () => wordsAt(registers, INPUT, clock.monotonicMs() - startMs),
    holding,
  })
}

/** A room that warms up and cools down; warm air holds more water, so relative humidity moves the opposite way. */
function roomClimate(seed: number): { celsius: Law; humidity: Law } {
  const swing = wave(1, 240_000, seed % 7)
  const degrees = jitter(0.06, 2000, seed)
  const percent = jitter(0.3, 2000, seed + 1)
  return {
    celsius: (ageMs) => 21.4 + 1.6 * swing(ageMs) + degrees(ageMs),
    humidity: (ageMs) => 44 - 5 * swing(ageMs) + percent(ageMs),
  }
}

function signed(word = 0): number {
  return word >= 0x8000 ? word - 0x1_0000 : word
}
