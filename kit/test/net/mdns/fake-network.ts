/** A fake network: machines with interfaces, and messages that reach everyone on the same wire at once. */
import type { NetworkInterfaceInfo } from 'node:os'
import type { Clock } from '#kit/clock.ts'
import { silentLog } from '../../../log.ts'
import { type Announcement, type Finding, Mdns, type MdnsWorld } from '../../../net/mdns/mdns.ts'
import type { Link, OpenSockets, SocketsOptions } from '../../../net/mdns/sockets.ts'

/** One message sent over a wire. */
export interface Heard {
  wire: string
  from: string
  bytes: Uint8Array
}

/** Interfaces by name; each is on the wire that its addresses name: `10.0.1.7` on `10.0.1`. */
export type Machine = Record<string, string[]>

/** The wires. */
export function fakeNetwork() {
  const listeners = new Set<SocketsOptions>()
  const heard: Heard[] = []

  function say(from: string, bytes: Uint8Array, port = 5353): void {
    const wire = wireOf(from)
    heard.push({ wire, from, bytes })
    for (const { links, onMessage } of [...listeners])
      if (links.some(({ address }) => wireOf(address) === wire)) onMessage(bytes, { address: from, port })
  }

  /** Dependencies of one machine; its interfaces may change at any time. */
  function worldOf(machine: Machine) {
    const openSockets: OpenSockets = async (options) => {
      listeners.add(options)
      return {
        send: (link: Link, bytes) => say(link.address, Uint8Array.from(bytes)),
        close: () => void listeners.delete(options),
      }
    }
    return { interfaces: () => interfacesOf(machine), openSockets, port: 5353, chance: () => 0 }
  }

  return { say, worldOf, heard, listeners }
}

export type FakeNetwork = ReturnType<typeof fakeNetwork>

/** Default settings. */
export const CONFIG = { enabled: true, interface: '', per_second: 40, recheck_ms: 2000 }

/** One daemon on a machine of the network. */
export function daemonOn(
  network: FakeNetwork,
  machine: Machine,
  clock: Clock,
  more: {
    finding?: Finding
    announcement?: Partial<Announcement>
    config?: Partial<typeof CONFIG>
    listenHost?: string
    world?: Partial<MdnsWorld>
  },
) {
  const { finding, announcement, config, listenHost = '0.0.0.0', world } = more
  const said: Announcement = {
    instance: 'board-0123456789',
    hostname: 'hall',
    port: 80,
    text: { role: 'serial', name: 'Hall', version: '1.0.0', path: '/' },
    ...announcement,
  }
  const mdns = new Mdns({
    clock,
    log: silentLog,
    config: { ...CONFIG, ...config },
    listenHost,
    announcement: () => said,
    ...(finding ? { finding } : {}),
    world: world ?? network.worldOf(machine),
  })
  return { mdns, said }
}

/** Lets promises and the next ticks run. */
export async function settle(times = 10): Promise<void> {
  for (let count = 0; count < times; count++) await new Promise((resolve) => setImmediate(resolve))
}

function wireOf(address: string): string {
  return address.split('.').slice(0, 3).join('.')
}

function interfacesOf(machine: Machine): Record<string, NetworkInterfaceInfo[]> {
  const infos = Object.entries(machine).map(([name, addresses]) => [name, addresses.map(infoOf)])
  return Object.fromEntries(infos) as Record<string, NetworkInterfaceInfo[]>
}

function infoOf(address: string): NetworkInterfaceInfo {
  const common = { address, mac: '02:00:00:00:00:01', internal: address.startsWith('127.') || address === '::1' }
  if (address.includes(':'))
    return { ...common, family: 'IPv6', netmask: 'ffff:ffff:ffff:ffff::', cidr: `${address}/64`, scopeid: 0 }
  return { ...common, family: 'IPv4', netmask: '255.255.255.0', cidr: `${address}/24` }
}
