/** A simulated relay board. */
import { type SimulatedUnit, simulatedUnit } from './modbus-unit.ts'

const RELAYS = 8
/** A write to this coil switches all of them. */
const ALL = 255
const ADDRESS = 0x4000
const VERSION = 0x8000

/**
 * Eight relays (coils 0..7), eight inputs that follow them, and coil 255 for all at once, as on a Waveshare Modbus RTU
 * Relay (D). It also identifies itself (function 43/14), which that board does not.
 * @source Waveshare wiki, Modbus RTU Relay (D), development protocol V2
 */
export function relayBoard(unitId: number): SimulatedUnit {
  const coils = new Array<number>(RELAYS).fill(0)
  const inputs = [...coils]
  coils[ALL] = 0
  const holding: number[] = []
  holding[ADDRESS] = unitId
  holding[VERSION] = 200
  return simulatedUnit({
    unitId,
    coils,
    discreteInputs: inputs,
    holding,
    isWritable: (address) => address === ADDRESS,
    wrote(table, address, [value = 0]) {
      if (table !== 'coils') return
      if (address === ALL) coils.fill(value, 0, RELAYS)
      inputs.splice(0, RELAYS, ...coils.slice(0, RELAYS))
    },
    identity: ['Plantroom', 'SIM-RELAY-8', '1.0', 'https://example.com', 'Relay board'],
  })
}
