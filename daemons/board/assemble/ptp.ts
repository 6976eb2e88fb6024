/** The clock of the roles encoder and decoder put together. */
import type { BoardConfig } from '../config.ts'
import type { AudioClock } from '../core/ptp/audio-clock.ts'
import type { Ptp } from '../core/ptp/ptp.ts'
import { createPtpClock } from '../core/ptp/ptp-clock.ts'
import type { RoleWorld } from '../core/role.ts'
import { chosenInterface, firstMac } from '../io/ptp/ptp-interface.ts'
import { createPtpProgram } from '../io/ptp/ptp-program.ts'

export interface PtpNeeds {
  config: BoardConfig['ptp']
  /** Of the streams; empty means the one with the default route. */
  audioInterface: string
  priority1: number
  clock: AudioClock
}

/** Adds the part `ptp`. What roles add before it is there when their clock runs. */
export function assemblePtp(
  world: Pick<RoleWorld, 'clock' | 'log' | 'parts' | 'stateFolder' | 'onChange'>,
  { audioInterface, clock: audio, config, priority1 }: PtpNeeds,
): Ptp {
  const { clock, log, onChange, parts, stateFolder: folder } = world
  const onWire = () => chosenInterface([config.interface, audioInterface])
  const program = config.enabled
    ? createPtpProgram({ clock, log, config, priority1, folder, interface: onWire })
    : undefined
  const mac = firstMac([audioInterface, config.interface])
  const { domain } = config
  const ptp = createPtpClock({ clock, log, audio, program, domain, priority1, limits: config, mac })
  ptp.onChange(onChange)
  parts.add({ name: 'ptp', start: () => ptp.start(), stop: () => ptp.stop() })
  return ptp
}
