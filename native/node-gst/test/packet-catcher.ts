/** Receives the RTP packets of a group on loopback. */
import { createSocket } from 'node:dgram'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

/** One parsed packet. @source RFC 3550 5.1 */
export interface CaughtPacket {
  firstByte: number
  hasMarker: boolean
  payloadType: number
  sequence: number
  timestamp: number
  ssrc: number
  payload: Buffer
}

/** Listens at once on a free port; ended with the test. */
export async function catchPackets(t: Test, group: string) {
  const socket = createSocket({ type: 'udp4', reuseAddr: true, recvBufferSize: 1 << 20 })
  const packets: CaughtPacket[] = []
  socket.on('message', (bytes) => {
    packets.push({
      firstByte: bytes.readUInt8(0),
      hasMarker: bytes.readUInt8(1) >= 128,
      payloadType: bytes.readUInt8(1) % 128,
      sequence: bytes.readUInt16BE(2),
      timestamp: bytes.readUInt32BE(4),
      ssrc: bytes.readUInt32BE(8),
      payload: bytes.subarray(12),
    })
  })
  t.teardown(() => socket.close())
  await new Promise<void>((resolve) => socket.bind(0, group, resolve))
  socket.addMembership(group, '127.0.0.1')
  const { port } = socket.address()

  /** Waits until this many have arrived, three seconds at most. */
  async function until(count: number): Promise<void> {
    for (let tries = 0; tries < 300 && packets.length < count; tries++) await sleep(10)
  }
  return { port, packets, until }
}
