/** Whether a machine has what a role needs, for whoever is to choose one. */
import { type RoleName, roleNames } from '../wire/role-name.ts'

/** What the roles need of a machine, as it is now. */
export interface RoleFacts {
  /** Serial lines that the system has. */
  serialLines: number
  hasUsb: boolean
  /** The kernel's side of USB/IP is loaded. */
  hasUsbipHost: boolean
  /** GStreamer with the plugins of sound, and ALSA's library. */
  hasSound: boolean
  /** Sound devices that play, and that record. */
  playing: number
  recording: number
}

/** One role on this machine. Nobody is kept from choosing it: what is missing may come later. */
export interface RoleFitness {
  role: RoleName
  can: boolean
  /** Why not, or what has to be known where it can, in one sentence; else empty. */
  text: string
}

/** Each role in the order in which they are offered. */
export function roleFitness(facts: RoleFacts): RoleFitness[] {
  return roleNames.map((role) => {
    const hindrance = WHY_NOT[role](facts)
    return { role, can: hindrance === '', text: hindrance || (TO_KNOW[role]?.(facts) ?? '') }
  })
}

function withoutSound({ hasSound }: RoleFacts): string {
  if (hasSound) return ''
  return 'Sound needs GStreamer: apt-get install gstreamer1.0-plugins-base gstreamer1.0-plugins-good linuxptp.'
}

const WHY_NOT: Readonly<Record<RoleName, (facts: RoleFacts) => string>> = {
  encoder: withoutSound,
  decoder: withoutSound,
  serial: ({ serialLines }) => (serialLines === 0 ? 'No serial line is there yet: plug an adapter in.' : ''),
  usbip({ hasUsb, hasUsbipHost }) {
    if (!hasUsb) return 'This system has no USB.'
    return hasUsbipHost ? '' : 'The kernel of this system has no usbip-host, so it cannot share USB.'
  },
}

/** What is said of a role though the machine has what it takes. */
const TO_KNOW: Partial<Record<RoleName, (facts: RoleFacts) => string>> = {
  encoder: ({ recording }) => (recording === 0 ? 'No sound card that records is there yet: plug one in.' : ''),
  decoder: ({ playing }) => (playing === 0 ? 'No sound card that plays is there yet: plug one in.' : ''),
}
