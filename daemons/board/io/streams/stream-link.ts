/** The network interface that streams come and go by. */

import { chooseLinks, type Link } from '#kit/net/mdns/links.ts'
import { interfacesNow } from '#kit/net/own-addresses.ts'
import { defaultInterface } from '../default-interface.ts'

/**
 * @param wanted name of the interface; empty for the one with the default route, loopback where there is no other
 * @returns undefined while it has no IPv4 address
 */
export function streamLink(wanted: string): Link | undefined {
  return chooseLinks(interfacesNow(), wanted || (defaultInterface() ?? ''))[0]
}
