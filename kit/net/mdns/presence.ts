/** A daemon on the network as one of its parts: announced from when it listens until it stops. */
import { hostname as machineName } from 'node:os'
import type { Clock } from '#kit/clock.ts'
import { parseListen } from '#kit/config/listen.ts'
import type { MdnsConfig } from '#kit/config/mdns-table.ts'
import type { Log } from '#kit/log.ts'
import type { Part } from '#kit/run/parts.ts'
import { plainText } from '../../bytes/plain-text.ts'
import { identityHere, instanceName } from './instance-name.ts'
import { type Finding, fullName, Mdns, type MdnsCounts } from './mdns.ts'

/** What is announced of whom. */
export interface PresenceOptions {
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
export interface Presence {
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
