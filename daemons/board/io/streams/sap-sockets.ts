/** The sockets of SAP on one network interface. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { SAP_GROUPS, SAP_PORT } from '../../wire/streams/sap.ts'

/** Speaks to the groups of SAP. */
export interface SapSpeaker {
  send(bytes: Uint8Array): void
  /** Once what was given to `send` has gone out. */
  close(): void
}

/** What comes and what goes wrong. */
export interface SapEvents {
  /** @param from address that the packet came from */
  onPacket(bytes: Uint8Array, from: string): void
  /** The socket is of no use any more. */
  onTrouble(error: Error): void
}

/** Room for what comes while the daemon is busy: half a second of a flood. */
const RECEIVE_BYTES = 1 << 19

/**
 * @param address of the interface
 * @param ttl 1..255
 * @throws the system's error
 */
export async function openSapSpeaker(
  address: string,
  ttl: number,
  onTrouble: (error: Error) => void,
): Promise<SapSpeaker> {
  const socket = await opened(address, 0)
  try {
    socket.setMulticastInterface(address)
    socket.setMulticastTTL(ttl)
    // A decoder on this machine hears it too.
    socket.setMulticastLoopback(true)
  } catch (error) {
    socket.close()
    throw error
  }
  socket.on('error', onTrouble)
  let underWay = 0
  let isClosing = false
  const sent = (error: Error | null) => {
    underWay--
    if (isClosing && underWay === 0) socket.close()
    // Last, as whoever hears of it closes the speaker.
    else if (error && !isClosing) onTrouble(error)
  }
  return {
    send(bytes) {
      underWay += SAP_GROUPS.length
      for (const group of SAP_GROUPS) socket.send(bytes, SAP_PORT, group, sent)
    },
    close() {
      if (isClosing) return
      isClosing = true
      if (underWay === 0) socket.close()
    },
  }
}

/**
 * One socket for each group, bound to it: what is sent to this machine alone does not come in.
 * @param address of the interface
 * @throws the system's error
 */
export async function openSapListener(address: string, { onPacket, onTrouble }: SapEvents): Promise<{ close(): void }> {
  const sockets: Socket[] = []
  const close = () => {
    for (const socket of sockets.splice(0)) socket.close()
  }
  try {
    for (const group of SAP_GROUPS) {
      const socket = await opened(group, SAP_PORT)
      sockets.push(socket)
      socket.setRecvBufferSize(RECEIVE_BYTES)
      socket.addMembership(group, address)
      socket.on('message', (bytes, from) => onPacket(bytes, from.address))
      socket.on('error', onTrouble)
    }
  } catch (error) {
    close()
    throw error
  }
  return { close }
}

async function opened(address: string, port: number): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  try {
    socket.unref().bind({ address, port })
    await once(socket, 'listening')
  } catch (error) {
    // One that was not bound is still open, and it is tried again and again.
    socket.close()
    throw error
  }
  return socket
}
