/** Links on which mDNS is used, and its sockets. */

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { NetworkInterfaceInfo } from 'node:os'
import { isWithin, masked, type Network, parseAddress } from '../address.ts'

// The interfaces over which daemons find each other.

/** One interface in use. */
export interface Link {
  /** `eth0` */
  name: string
  /** The IPv4 address used to join the group and send messages. */
  address: string
  /** Its announced addresses, IPv4 first. */
  addresses: readonly string[]
  /** The IPv4 networks reached over it without a router. */
  networks: readonly Network[]
}

/** Linux lets a socket join twenty groups at most (igmp_max_memberships); no machine has that many networks. */
const MOST_LINKS = 16
/** Keeps a message within one packet. */
const MOST_ADDRESSES = 8

/** The system's list of interfaces: `os.networkInterfaces`. */
export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>

/**
 * The interfaces to use: all that have an IPv4 address; loopback only if there is no other, so that the daemons of a
 * machine without a network find each other.
 * @param wanted name or address of the only one to use; empty for all. If given by address, no other address is
 * announced: a server may listen on that one alone
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

/** Whether two choices are the same in what is joined and announced. */
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

/** @source RFC 6762, 3 */
const GROUP = '224.0.0.251'

/** Open sockets. */
interface MulticastSockets {
  /** Links that could not be joined are reported to `onTrouble` and skipped. */
  send(link: Link, bytes: Uint8Array): void
  close(): void
}

/** What to open. */
export interface SocketsOptions {
  links: readonly Link[]
  /** 5353, except in tests. */
  port: number
  onMessage(bytes: Uint8Array, from: { address: string; port: number }): void
  /** Something on a link does not work; what is sent there is lost. */
  onTrouble(link: Link | undefined, error: Error): void
}

/** Opens the sockets. @throws the system's error if the port cannot be shared */
export type OpenSockets = (options: SocketsOptions) => Promise<MulticastSockets>

/**
 * The receiving socket is bound to the group, so that unicast datagrams to this machine never come in. The sending
 * sockets are connected to the group: they receive nothing, take no datagram from another responder on this machine,
 * and each keeps its interface, which a single shared socket would have to change before each message.
 */
export const openMulticast: OpenSockets = async ({ links, port, onMessage, onTrouble }) => {
  const open = new Set<Socket>()
  const speakers = new Map<Link, Socket>()

  async function opened(link: Link | undefined, address: string): Promise<Socket> {
    const socket = createSocket({ type: 'udp4', reuseAddr: true })
    open.add(socket)
    socket.unref().bind({ port, address })
    await once(socket, 'listening')
    socket.on('error', (error) => onTrouble(link, error))
    return socket
  }

  async function join(listener: Socket, link: Link): Promise<void> {
    listener.addMembership(GROUP, link.address)
    const speaker = await opened(link, '0.0.0.0')
    speaker.setMulticastInterface(link.address)
    speaker.setMulticastTTL(255)
    speaker.setMulticastLoopback(true)
    speaker.connect(port, GROUP)
    await once(speaker, 'connect')
    speakers.set(link, speaker)
  }

  function close(): void {
    for (const socket of open) socket.close()
    open.clear()
    speakers.clear()
  }

  try {
    const listener = await opened(undefined, GROUP)
    listener.on('message', (bytes, { address, port: fromPort }) => onMessage(bytes, { address, port: fromPort }))
    for (const link of links) await join(listener, link).catch((error: Error) => onTrouble(link, error))
  } catch (error) {
    close()
    throw error
  }
  return {
    send(link, bytes) {
      speakers.get(link)?.send(bytes, (error) => {
        if (error) onTrouble(link, error)
      })
    },
    close,
  }
}
