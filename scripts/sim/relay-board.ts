/** A simulated relay board. */
import { type SimulatedUnit, simulatedUnit } from './modbus-unit.ts'

/** Eight relays (coils 0..7), eight inputs that follow them, sixteen holding registers for timers and names. */
export function relayBoard(unitId: number): SimulatedUnit {
  const coils = new Array<number>(8).fill(0)
  return simulatedUnit({
    unitId,
    coils,
    discreteInputs: coils,
    holding: new Array<number>(16).fill(0),
    identity: ['Plantroom', 'SIM-RELAY-8', '1.0', 'https://example.com', 'Relay board'],
  })
}
