/** Whether a sender is in a network of this board, or beyond a router. */
import { isInNetwork, parseIpv4 } from '../../../wire/addresses.ts'

/** One address of this board. */
export interface OwnNetwork {
  address: string
  /** Bits of its network. */
  prefix: number
}

/**
 * @param sender null while nobody is heard: it is taken to be near, as most are
 * @param own all addresses of this board; IPv6 ones are left out
 */
export function isInLocalSegment(sender: string | null, own: readonly OwnNetwork[]): boolean {
  const address = sender === null ? undefined : parseIpv4(sender)
  if (address === undefined) return true
  const [first, second] = [address >>> 24, (address >>> 16) & 0xff]
  // This very machine, and addresses that no router passes on (RFC 3927, 7).
  if (first === 127 || (first === 169 && second === 254)) return true
  return own.some(({ address: text, prefix }) => {
    const mine = parseIpv4(text)
    return mine !== undefined && isInNetwork(address, mine, prefix)
  })
}
