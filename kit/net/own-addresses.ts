/** The addresses of this machine. */
import { networkInterfaces } from 'node:os'

/** One address that others can reach. */
export interface OwnAddress {
  interface: string
  address: string
  /** Bits of the network. */
  prefix: number
  family: 'IPv4' | 'IPv6'
}

/** All but loopback, by interface; cheap enough for every request. */
export function reachableAddresses(): OwnAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([name, list]) =>
    (list ?? [])
      .filter(({ internal }) => !internal)
      .map(({ address, family, cidr }) => ({ interface: name, address, prefix: Number(cidr?.split('/')[1]), family })),
  )
}
