/** A simulated variable-frequency drive with a fan on it. */
import type { Clock } from '#kit/clock.ts'
import { type SimulatedUnit, simulatedUnit } from './modbus-unit.ts'
import { type SimulatedRegister, type Span, wordsAt } from './register-map.ts'

const COMMAND = 0x2000
const SET_HZ = 0x2001
const TRIP = 0x2002
const SPANS: readonly Span[] = [
  { from: COMMAND, to: TRIP + 1 },
  { from: 0x2100, to: 0x210b },
]

const HZ_PER_S = 5
const RATED_HZ = 50
const RATED_VOLTS = 400
const RATED_AMPERES = 4.2
/** Fault code of a drive tripped over the bus. */
const EXTERNAL_FAULT = 49

/** The last command, and the frequency at that moment. */
interface Want {
  isRunning: boolean
  setHz: number
  fault: number
  /** Output frequency at the time of the last change, and that time. */
  fromHz: number
  sinceMs: number
}

/**
 * Holding registers of Delta Electronics drives, read with function 3, written with 6 and 16. 0x2000 command (1 stops,
 * 2 runs), 0x2001 requested frequency in hundredths, 0x2002 bit 0 trips it, bit 1 resets it. 0x2100 fault, 0x2101 state
 * (0 stopped, 1 stopping, 3 running), 0x2102 and 0x2103 requested and output frequency in hundredths, 0x2104 amperes in
 * tenths, 0x2105 and 0x2106 volts of the link and of the output in tenths. It ramps at 5 Hz per second; current grows
 * with the square of the speed, as with a fan.
 * @source Delta VFD-F series user manual, communication address 20xxH and 21xxH
 */
export function fanDrive(unitId: number, clock: Clock): SimulatedUnit {
  const startMs = clock.monotonicMs()
  let want: Want = { isRunning: true, setHz: 35, fault: 0, fromHz: 35, sinceMs: 0 }
  const ageMs = () => clock.monotonicMs() - startMs

  function change(next: Partial<Want>): void {
    const nowMs = ageMs()
    want = { ...want, fromHz: outputHz(want, nowMs), sinceMs: nowMs, ...next }
  }

  function obey(address: number, value: number): void {
    if (address === SET_HZ) change({ setHz: value / 100 })
    else if (address === TRIP && value & 1) change({ fault: EXTERNAL_FAULT, isRunning: false })
    else if (address === TRIP && value & 2) change({ fault: 0 })
    else if (address === COMMAND && (value & 3) === 1) change({ isRunning: false })
    else if (address === COMMAND && (value & 3) === 2) change({ isRunning: want.fault === 0 })
  }

  return simulatedUnit({
    unitId,
    holding: () => wordsAt(registersOf(want), SPANS, ageMs()),
    isWritable: (address) => address <= TRIP,
    wrote(_, address, values) {
      for (const [at, value] of values.entries()) obey(address + at, value)
    },
  })
}

function outputHz({ isRunning, setHz, fromHz, sinceMs }: Want, ageMs: number): number {
  const goalHz = isRunning ? setHz : 0
  const stepHz = ((ageMs - sinceMs) / 1000) * HZ_PER_S
  return goalHz > fromHz ? Math.min(goalHz, fromHz + stepHz) : Math.max(goalHz, fromHz - stepHz)
}

function registersOf(want: Want): SimulatedRegister[] {
  const hertz = (ageMs: number) => outputHz(want, ageMs)
  const state = (ageMs: number) => (want.isRunning ? 3 : hertz(ageMs) > 0 ? 1 : 0)
  return [
    { address: COMMAND, type: 'u16', value: want.isRunning ? 2 : 1 },
    { address: SET_HZ, type: 'u16', scale: 100, value: want.setHz },
    { address: 0x2100, type: 'u16', value: want.fault },
    { address: 0x2101, type: 'u16', value: state },
    { address: 0x2102, type: 'u16', scale: 100, value: want.setHz },
    { address: 0x2103, type: 'u16', scale: 100, value: hertz },
    { address: 0x2104, type: 'u16', scale: 10, value: (ageMs) => RATED_AMPERES * (hertz(ageMs) / RATED_HZ) ** 2 },
    { address: 0x2105, type: 'u16', scale: 10, value: RATED_VOLTS * Math.SQRT2 },
    { address: 0x2106, type: 'u16', scale: 10, value: (ageMs) => RATED_VOLTS * Math.min(1, hertz(ageMs) / RATED_HZ) },
  ]
}
