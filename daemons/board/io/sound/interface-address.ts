/** The address that packets of a stream come in and go out by. */
import type { NetworkInterfaceInfo } from 'node:os'
import { Fault } from '#kit/fault.ts'
import { interfacesNow } from '#kit/net/own-addresses.ts'
import { defaultInterface } from '../default-interface.ts'

/**
 * @param name of a network interface; empty is the one with the default route
 * @returns its first IPv4 address
 * @throws Fault `no_interface`
 */
export function interfaceAddress(
  name: string,
  list: NodeJS.Dict<NetworkInterfaceInfo[]> = interfacesNow(),
  fallback = defaultInterface,
): string {
  const chosen = name === '' ? fallback() : name
  if (chosen === undefined) throw new Fault('no_interface', 'This machine has no network: no stream can come or go.')
  const address = list[chosen]?.find(({ family }) => family === 'IPv4')?.address
  if (address === undefined)
    throw new Fault('no_interface', `The network interface ${chosen} has no IPv4 address: no stream can come or go.`)
  return address
}
