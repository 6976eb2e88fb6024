/** The addresses that other machines reach this one by. */
import { networkInterfaces } from 'node:os'

/** Without loopback, where every machine is itself, and without link-local IPv6, which no page's address can hold. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
    .map(({ address }) => address)
}
