/** What is said of the board's address. */
import type { NetworkRecord } from './network-record.ts'

/** One or two sentences for people. */
export function networkText({ state, address, why }: NetworkRecord): string {
  const fixed = address === null ? '' : `${address.ip}/${address.prefix}`
  if (state === 'unconfirmed')
    return `The board has the new address ${fixed} and waits to be reached there. Open http://${address?.ip}/; otherwise it goes back to DHCP.`
  if (state === 'static')
    return `The board keeps the address ${fixed}, ${address?.gw ? `gateway ${address.gw}` : 'without a gateway'}.`
  if (state === 'fallen_back')
    return `Nobody reached the board at ${fixed} in time, so it asks for an address by DHCP. Check address, mask and gateway, and save again.`
  if (state === 'refused')
    return `The machine did not take the network settings: ${why}. They are tried again after the next start.`
  return 'The board asks for its address by DHCP.'
}
