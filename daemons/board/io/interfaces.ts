/** The network interfaces and addresses of this machine, and which of them streams and clock use. */
import { existsSync, readFileSync } from 'node:fs'
import type { NetworkInterfaceInfo } from 'node:os'
import { interfacesNow, reachableAddresses } from '#kit/net/address.ts'
import { chooseLinks, type Link } from '#kit/net/mdns/sockets.ts'
import { Fault } from '#kit/pure/fault.ts'

/**
 * The interface with the default route, else the first with an address that others can reach; undefined if there is
 * none.
 */
export function defaultInterface(routes = '/proc/net/route'): string | undefined {
  return interfaceOfRoutes(textOf(routes)) ?? firstInterface()
}

/**
 * The interface of the default route with the lowest metric.
 * @param text /proc/net/route: name, destination, gateway, flags, two counts, metric, mask, ... in columns
 * @source proc(5); linux/net/ipv4/fib_trie.c, fib_route_seq_show
 */
export function interfaceOfRoutes(text: string): string | undefined {
  const rows = text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
  const defaults = rows.filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
  defaults.sort((one, other) => Number(one[6]) - Number(other[6]))
  return defaults[0]?.[0]
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // a kernel without /proc: use the first interface
  }
}

function firstInterface(): string | undefined {
  const names = Object.entries(interfacesNow())
  return names.find(([, addresses]) => addresses?.some(({ internal }) => !internal))?.[0]
}

// The addresses by which other machines reach this one.

/** Without loopback, and without link-local IPv6, which no page's address can hold. */
export function ownAddresses(): string[] {
  return reachableAddresses()
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('fe80:'))
}

/** The IPv4 addresses, each with its prefix length. */
export function ownNetworks(): { address: string; prefix: number }[] {
  return reachableAddresses()
    .filter(({ family }) => family === 'IPv4')
    .map(({ address, prefix }) => ({ address, prefix }))
}

// The interface of streams.

/**
 * The link used by streams.
 * @param wanted name of the interface; empty for the one with the default route, loopback if there is no other
 * @returns undefined if it has no IPv4 address
 */
export function streamLink(wanted: string): Link | undefined {
  return chooseLinks(interfacesNow(), wanted || (defaultInterface() ?? ''))[0]
}

/**
 * The address used by a stream's packets.
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

/**
 * @param names as configured, the most specific first; empty ones are skipped
 * @returns the first configured name, else the interface with the default route; undefined without a default route
 */
export function chosenInterface(names: readonly string[], fallback = defaultInterface): string | undefined {
  return names.find((name) => name !== '') ?? fallback()
}

export function isInterfaceThere(name: string, folder = '/sys/class/net'): boolean {
  return existsSync(`${folder}/${name}`)
}

const NO_MAC = '00-00-00-00-00-00'

/** @returns in SDP notation, `00-1D-C1-12-34-56`; zeros if it has none. @source RFC 7273, 4.4 */
export function macOf(name: string | undefined, folder = '/sys/class/net'): string {
  try {
    const text = readFileSync(`${folder}/${name}/address`, 'utf8').trim()
    if (/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(text)) return text.replaceAll(':', '-').toUpperCase()
  } catch {
    // A missing interface has no address: zeros identify no other machine.
  }
  return NO_MAC
}

/**
 * A board may start before its network does: looks for an address until there is one, then keeps it.
 * @param names as for `chosenInterface`
 */
export function firstMac(
  names: readonly string[],
  fallback = defaultInterface,
  folder = '/sys/class/net',
): () => string {
  let mac = NO_MAC
  return () => {
    if (mac === NO_MAC) mac = macOf(chosenInterface(names, fallback), folder)
    return mac
  }
}
