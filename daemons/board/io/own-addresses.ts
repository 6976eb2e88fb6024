/** The addresses that other machines reach this one by. */
import { reachableAddresses } from '#kit/net/own-addresses.ts'

/** Without loopback, where every machine is itself, and without link-local IPv6, which no page's address can hold. */
export function ownAddresses(): string[] {
  return reachableAddresses()
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('fe80:'))
}
