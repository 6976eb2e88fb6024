/** Lists of addresses and networks that may connect: one text, as an installer types it. */
import { Fault } from '#kit/fault.ts'
import { isWithin, type Network, parseAddress, parseNetwork } from './address.ts'

/** Who may connect. */
export interface AllowList {
  /** @param remoteAddress of a peer, as its socket tells it; text that is no address is not allowed */
  allows(remoteAddress: string): boolean
}

/**
 * Reads addresses and CIDR blocks of both families, separated by commas or spaces: `10.20.4.0/24, fd00::7`. A list
 * without entries allows everybody. IPv4 in IPv6 (`::ffff:10.0.0.1`) is the IPv4 it stands for, here and of peers.
 * @param maxEntries more are refused
 * @throws Fault `bad_allow` that names the first entry that is neither, with what was probably meant
 */
export function parseAllowList(text: string, maxEntries: number): AllowList {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '')
  if (entries.length > maxEntries)
    throw new Fault('bad_allow', `holds ${entries.length} addresses and networks, expected at most ${maxEntries}`)
  const networks = entries.map(networkOfEntry)
  return {
    allows(remoteAddress) {
      if (networks.length === 0) return true
      const address = parseAddress(remoteAddress)
      return address !== undefined && networks.some((network) => isWithin(address, network))
    },
  }
}

function networkOfEntry(entry: string): Network {
  const network = parseNetwork(entry)
  if (network) return network
  const shown = JSON.stringify(entry.slice(0, 60))
  const hint = hasBitsBehind(entry) ? `has bits behind its prefix, expected the first address of the network` : NEITHER
  throw new Fault('bad_allow', `${shown} ${hint}`)
}

const NEITHER = 'is neither an address nor a network, expected such as 10.20.4.7, 10.20.4.0/24 or fd00::/64'

/** An address and a length that would do, were the address the first one of its network. */
function hasBitsBehind(entry: string): boolean {
  const [host = '', length = '', ...rest] = entry.split('/')
  const address = parseAddress(host)
  return address !== undefined && rest.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= address.length * 8
}
