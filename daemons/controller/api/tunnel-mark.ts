/** Which calls the cloud tunnel brought: it marks them itself, and is believed where it connects from. */
import { isWithin, type Network, parseAddress, parseNetwork } from '#kit/net/address.ts'
import type { CallHeaders } from '../core/rules.ts'

/**
 * A mark makes a caller remote and gives nothing, so nobody gains by setting it; it cannot be taken off, as the tunnel
 * sets it on everything it brings.
 * @param by the keys of the table `tunnel`
 * @source document 1, Authentication 5
 */
export function createTunnelMark(by: {
  header: string
  peers: readonly string[]
}): (peer: string, headers: CallHeaders) => boolean {
  const networks = by.peers.map(parseNetwork).filter((network): network is Network => network !== undefined)
  return (peer, headers) => {
    if (headers[by.header] === undefined) return false
    const address = parseAddress(peer)
    return address !== undefined && networks.some((network) => isWithin(address, network))
  }
}
