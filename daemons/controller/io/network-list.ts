/** Networks of the settings `trusted_proxies` and `local_networks`. */
import { Fault } from '#kit/fault.ts'
import { isWithin, type Network, parseAddress, parseNetwork } from '#kit/net/address.ts'
import type { Addresses } from '../core/remoteness.ts'

/** Characters of an entry that a sentence says again. */
const LONGEST_QUOTED = 60

/** How addresses are read. */
export const addresses: Addresses = { parseAddress, parseNetwork, isWithin }

/**
 * Reads addresses and CIDR blocks of both families. An empty list holds nobody.
 * @param key the setting, for the sentence
 * @throws Fault `bad_network` that names the first entry which is neither
 */
export function networksOf(key: string, entries: readonly string[]): Network[] {
  return entries.map((entry) => {
    const network = parseNetwork(entry.trim())
    if (network !== undefined) return network
    const shown = JSON.stringify(entry.slice(0, LONGEST_QUOTED))
    throw new Fault('bad_network', `${key} has ${shown}, expected such as 10.20.4.7, 10.20.4.0/24 or fd00::/64`)
  })
}
