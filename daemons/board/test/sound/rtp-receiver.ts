/** Receives a group with a Node socket, and keeps every packet with its arrival time. */
import { createSocket } from 'node:dgram'
import type { Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { type Encoding, openRtp, type RtpPacket } from './rtp.ts'

export interface HeardPacket extends RtpPacket {
  /** From process.hrtime. */
  atNs: bigint
  from: string
}

export interface RunningReceiver {
  readonly packets: readonly HeardPacket[]
  /** Packets that were not RTP of this encoding, described in words. */
  readonly malformed: readonly string[]
  /** Resolves once this many packets have arrived. */
  heard(packets: number, limitMs?: number): Promise<void>
  /** Frames in the order of their timestamps; 0 where a packet is missing. */
  samples(channels: number): Int32Array
}

/** Joins on 127.0.0.1; ended with the test. */
export async function startReceiver(
  t: Test,
  { group, port, encoding }: { group: string; port: number; encoding: Encoding },
): Promise<RunningReceiver> {
  const packets: HeardPacket[] = []
  const malformed: string[] = []
  const socket = createSocket({ type: 'udp4', reuseAddr: true, recvBufferSize: 4 << 20 })
  socket.on('message', (bytes, { address }) => {
    const atNs = process.hrtime.bigint()
    try {
      packets.push({ ...openRtp(bytes, encoding), atNs, from: address })
    } catch (error) {
      malformed.push(error instanceof Error ? error.message : String(error))
    }
  })
  await new Promise<void>((resolve, reject) => socket.once('error', reject).bind(port, group, resolve))
  socket.addMembership(group, '127.0.0.1')
  t.teardown(() => void socket.close())
  return {
    packets,
    malformed,
    heard: (count, limitMs) => until(`${count} packets on ${group}:${port}`, () => packets.length >= count, limitMs),
    samples: (channels) => inOrder(packets, channels),
  }
}

function inOrder(packets: readonly HeardPacket[], channels: number): Int32Array {
  const first = packets[0]
  if (first === undefined) return new Int32Array()
  const placed = packets.map(({ timestamp, samples }) => ({ at: (timestamp - first.timestamp) | 0, samples }))
  const begin = placed.reduce((least, { at }) => Math.min(least, at), 0)
  const end = placed.reduce((most, { at, samples }) => Math.max(most, at + samples.length / channels), 0)
  const all = new Int32Array((end - begin) * channels)
  for (const { at, samples } of placed) all.set(samples, (at - begin) * channels)
  return all
}
