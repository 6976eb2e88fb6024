/** The sockets of multicast DNS: one that hears, and one for each link that speaks. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Link } from './links.ts'

/** @source RFC 6762, 3 */
const GROUP = '224.0.0.251'

/** Open sockets. */
export interface MulticastSockets {
  /** Links that could not be joined are told to `onTrouble` and left out. */
  send(link: Link, bytes: Uint8Array): void
  close(): void
}

/** What is opened. */
export interface SocketsOptions {
  links: readonly Link[]
  /** 5353, but for tests. */
  port: number
  onMessage(bytes: Uint8Array, from: { address: string; port: number }): void
  /** Something on a link does not work; what is sent there is lost. */
  onTrouble(link: Link | undefined, error: Error): void
}

/** Opens the sockets. @throws the system's error where the port cannot be shared */
export type OpenSockets = (options: SocketsOptions) => Promise<MulticastSockets>

/**
 * The one that hears is bound to the group, so that datagrams sent to this machine alone, from anywhere, do not come in.
 * Those that speak are connected to the group: they hear nothing, take no datagram away from another responder on this
 * machine, and each keeps its interface, which one socket for all would have to change before each message.
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
