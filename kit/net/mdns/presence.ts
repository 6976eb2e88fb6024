/** The presence of a daemon on the network, and its name there. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { hostname as machineName } from 'node:os'
import type { Clock } from '../../clock.ts'
import { type MdnsConfig, parseListen } from '../../config/tables.ts'
import type { Log } from '../../log.ts'
import { plainText } from '../../pure/text.ts'
import type { Part } from '../../run/parts.ts'
import { interfacesNow } from '../address.ts'
import { type Finding, fullName, Mdns, type MdnsCounts } from './mdns.ts'

// The name under which a daemon is found: its own on the whole network, the same at each start.

/** What tells one daemon from another. */
interface Identity {
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

/** What is announced of whom. */
interface PresenceOptions {
  clock: Clock
  log: Log
  config: { mdns: MdnsConfig; http: { listen: string } }
  stateFolder: string
  /** Name of the daemon. */
  daemon: string
  version: string
  /** Where HTTP listens; asked for once that is known. */
  port(): number
  /**
   * What it is called, and what it does; looked at again every now and then. `hostname` is that of the machine unless
   * given; `more` are texts that this kind of daemon alone has.
   */
  says(): { role: string; name: string; hostname?: string; more?: Readonly<Record<string, string>> }
  finding?: Finding
}

/** An announced daemon. */
interface Presence {
  part: Part
  /** Its full name, lower case, as others hear it, or would where nothing is announced; it may change once. */
  id(): string
  /** Asks who is there now. */
  ask(): void
  counts(): MdnsCounts
  /** Its address on the first interface in use; empty while there is none. */
  address(): string
}

/** Of a name, which has four bytes a sign at most; a text with its key has 255 bytes. @source RFC 6763, 6.1 */
const LONGEST_TEXT = 60

export function createPresence(options: PresenceOptions): Presence {
  const { clock, log, config, daemon, stateFolder, version, port, says, finding } = options
  const instance = instanceName(daemon, identityHere(stateFolder))
  const name = fullName(instance)
  const mdns = new Mdns({
    clock,
    log,
    config: config.mdns,
    listenHost: parseListen(config.http.listen).host,
    announcement() {
      const { role, name, hostname = machineName(), more } = says()
      const text = { role, name: plainText(name, LONGEST_TEXT), version, path: '/', ...more }
      return { instance, hostname, port: port(), text }
    },
    ...(finding ? { finding } : {}),
  })
  return {
    part: { name: 'mdns', start: () => mdns.start(), stop: () => mdns.stop() },
    id: () => mdns.id() ?? name,
    ask: () => mdns.askNow(),
    counts: () => mdns.counts(),
    address: () => mdns.address(),
  }
}
