/** The name under which a daemon is found: its own on the whole network, the same at each start. */

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { interfacesNow } from '../own-addresses.ts'

/** What tells one daemon from another. */
export interface Identity {
  /** Of the machine; images that were copied may share it. */
  machineId: string
  /** Hardware addresses of its network cards, which copies do not share. */
  hardware: readonly string[]
  /** Two daemons of one machine have two. */
  stateFolder: string
}

/**
 * `board-4f0c1a2b9d`: the machine's id goes out as part of a digest only, since it is not to leave the machine.
 * @source machine-id(5), "should be considered confidential"
 */
export function instanceName(daemon: string, { machineId, hardware, stateFolder }: Identity): string {
  const digest = createHash('sha256').update(JSON.stringify(['plantroom', daemon, machineId, hardware, stateFolder]))
  return `${daemon}-${digest.digest('hex').slice(0, 10)}`
}

/** The identity of this machine and state folder. A machine without an id has its cards and folders. */
export function identityHere(stateFolder: string): Identity {
  return { machineId: machineIdHere(), hardware: hardwareHere(), stateFolder }
}

function machineIdHere(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw cause
  }
}

/** Cards alone: bridges and tunnels get new addresses at each start. */
function hardwareHere(): string[] {
  const cards = Object.entries(interfacesNow()).filter(([name]) => existsSync(`/sys/class/net/${name}/device`))
  return [...new Set(cards.flatMap(([, infos = []]) => infos.map(({ mac }) => mac)))].sort()
}
