/** The addresses that other machines reach this one by. */
import { reachableAddresses } from '#kit/net/own-addresses.ts'

/** Without loopback, where every machine is itself, and without link-local IPv6, which no page's address can hold. */
export function ownAddresses(): string[] {
  return reachableAddresses()
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('fe80:'))
}

/** Those of IPv4, each with the bits of its network. */
export function ownNetworks(): { address: string; prefix: number }[] {
  return reachableAddresses()
    .filter(({ family }) => family === 'IPv4')
    .map(({ address, prefix }) => ({ address, prefix }))
}
