/** The interfaces and addresses of this machine. */
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

/** One address that others can reach. */
export interface OwnAddress {
  interface: string
  address: string
  /** Bits of the network. */
  prefix: number
  family: 'IPv4' | 'IPv6'
}

let known: NodeJS.Dict<NetworkInterfaceInfo[]> = {}

/**
 * `os.networkInterfaces` that never throws: it takes a file descriptor, and a process that has none left is told what was
 * so when it last had one.
 */
export function interfacesNow(read = networkInterfaces): NodeJS.Dict<NetworkInterfaceInfo[]> {
  try {
    known = read()
  } catch {
    // Asked for again every few seconds by all who ask; there is nothing to do but to wait.
  }
  return known
}

/** All but loopback, by interface; cheap enough for every request. */
export function reachableAddresses(): OwnAddress[] {
  return Object.entries(interfacesNow()).flatMap(([name, list]) =>
    (list ?? [])
      .filter(({ internal }) => !internal)
      .map(({ address, family, cidr }) => ({ interface: name, address, prefix: Number(cidr?.split('/')[1]), family })),
  )
}
