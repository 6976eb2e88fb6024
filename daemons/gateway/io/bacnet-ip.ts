/** The UDP socket of BACnet/IP. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { Fault } from '#kit/pure/fault.ts'
import type { BacnetIpSocket, MstpWorld } from '../core/mstp/mstp.ts'

/** Datagrams that the kernel has not taken yet; further ones are dropped, as the network does. */
const MOST_UNSENT = 64

export const openBacnetIp: MstpWorld['openBacnetIp'] = async ({ broadcast, host, onDatagram, port }) => {
  const socket = createSocket('udp4')
  socket.on('message', (bytes, from) => onDatagram(bytes, { host: from.address, port: from.port }))
  const ended = new AbortController()
  try {
    socket.bind({ address: host, port, exclusive: true })
    await once(socket, 'listening', { signal: ended.signal })
    socket.setBroadcast(true)
  } catch (error) {
    socket.close()
    const why = error instanceof Error ? error.message : String(error)
    throw new Fault('bacnet_ip_refused', `UDP port ${port} of ${host} for BACnet/IP does not open: ${why}`)
  }
  // Of a socket that is bound nothing is wrong but what one datagram met, and that is lost anyway.
  socket.on('error', () => {})
  const send: BacnetIpSocket['sendTo'] = (peer, bytes) => {
    if (peer.port > 0 && socket.getSendQueueCount() < MOST_UNSENT) socket.send(bytes, peer.port, peer.host, () => {})
  }
  return {
    sendTo: send,
    sendToAll: (bytes) => send({ host: broadcast, port }, bytes),
    async close() {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}
