/** The interfaces over which daemons find each other. */
import type { NetworkInterfaceInfo } from 'node:os'
import { isWithin, masked, type Network, parseAddress } from '../address.ts'

/** One interface that is used. */
export interface Link {
  /** `eth0` */
  name: string
  /** Its IPv4 address with which the group is joined and messages are sent. */
  address: string
  /** Every address of it that is announced, IPv4 first. */
  addresses: readonly string[]
  /** The IPv4 networks that are reached over it without a router. */
  networks: readonly Network[]
}

/** Linux lets a socket join twenty groups at most (igmp_max_memberships); nobody has that many wires. */
const MOST_LINKS = 16
/** A message stays below what a packet carries. */
const MOST_ADDRESSES = 8

/** What the system tells of its interfaces: `os.networkInterfaces`. */
export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>

/**
 * The interfaces to use: all that have an IPv4 address; the loopback one where there is no other, so that the daemons
 * of a machine without a network find each other.
 * @param wanted name or address of the only one to use; empty for all. Of one that is named by an address, no other
 *   address is announced: a server may listen on that one alone
 */
export function chooseLinks(interfaces: Interfaces, wanted: string): Link[] {
  const links: { link: Link; isInternal: boolean }[] = []
  for (const [name, infos = []] of Object.entries(interfaces)) {
    if (wanted !== '' && wanted !== name && !infos.some(({ address }) => address === wanted)) continue
    const v4 = infos.filter(({ family }) => family === 'IPv4')
    const joined = v4.find(({ address }) => address === wanted) ?? v4[0]
    if (!joined) continue
    const all = [...v4, ...infos.filter(({ family }) => family === 'IPv6')].map(({ address }) => address)
    const addresses = all.includes(wanted) ? [wanted] : all.slice(0, MOST_ADDRESSES)
    const networks = v4.map(networkOf).filter((network) => network !== undefined)
    links.push({ link: { name, address: joined.address, addresses, networks }, isInternal: joined.internal })
  }
  const outer = links.filter(({ isInternal }) => !isInternal)
  return (outer.length > 0 ? outer : links).slice(0, MOST_LINKS).map(({ link }) => link)
}

/** The link over which an IPv4 address is reached without a router. @source RFC 6762, 11 */
export function linkOf(links: readonly Link[], address: string): Link | undefined {
  const bytes = parseAddress(address)
  return bytes && links.find(({ networks }) => networks.some((network) => isWithin(bytes, network)))
}

/** Whether two choices are the same: what was joined, and what is announced. */
export function areSameLinks(one: readonly Link[], other: readonly Link[]): boolean {
  return JSON.stringify(one.map(keyOf)) === JSON.stringify(other.map(keyOf))
}

function keyOf({ name, address, addresses, networks }: Link): unknown {
  return [name, address, addresses, networks.map(({ prefix }) => prefix)]
}

function networkOf({ address, cidr }: NetworkInterfaceInfo): Network | undefined {
  const bytes = parseAddress(address)
  const prefix = Number(cidr?.split('/')[1] ?? 32)
  return bytes && { address: masked(bytes, prefix), prefix }
}
