/** Packets of known sound, sent over loopback multicast, and the comparison of an output file with them. */

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Packet format of a stream. */
export interface Format {
  encoding: 'L16' | 'L24'
  channels: number
  framesPerPacket: number
}

/** The sound: every frame and channel has a distinct sample, of 24 or 16 bits. */
export function sampleOf(frame: number, channel: number, encoding: Format['encoding']): number {
  const mixed = Math.imul((frame % 2 ** 32) ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(channel + 1, 0xc2b2ae35)
  const spread = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  return encoding === 'L24' ? spread >> 8 : spread >> 16
}

/** A header without contributors, extension or padding, and the payload. */
export interface Packet {
  sequence: number
  timestamp: number
  ssrc?: number
  payloadType?: number
  payload: Buffer
}

/** @source RFC 3550 5.1 */
export function rtp({ sequence, timestamp, ssrc = 1, payloadType = 97, payload }: Packet): Buffer {
  const header = Buffer.alloc(12)
  header[0] = 0x80
  header[1] = payloadType
  header.writeUInt16BE(sequence & 0xffff, 2)
  header.writeUInt32BE(timestamp >>> 0, 4)
  header.writeUInt32BE(ssrc >>> 0, 8)
  return Buffer.concat([header, payload])
}

/** Contents of the packets. */
export interface Stream extends Format {
  ssrc?: number
  /** Added to timestamps. */
  offset?: number
  /** A sample as an integer of the wire's bits; default: `sampleOf`. */
  sound?: typeof sampleOf
}

/** Samples of `framesPerPacket` frames, starting at `frame`, as on the wire. */
function payloadOf(frame: number, { encoding, channels, framesPerPacket, sound = sampleOf }: Stream): Buffer {
  const bytes = encoding === 'L24' ? 3 : 2
  const payload = Buffer.alloc(framesPerPacket * channels * bytes)
  let at = 0
  for (let index = 0; index < framesPerPacket; index++)
    for (let channel = 0; channel < channels; channel++) {
      payload.writeIntBE(sound(frame + index, channel, encoding), at, bytes)
      at += bytes
    }
  return payload
}

/** `count` packets, starting at `frame`, in order. The RTP timestamp is the frame plus `offset`. */
export function packets(frame: number, count: number, format: Stream): Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const first = frame + index * format.framesPerPacket
    const timestamp = (first + (format.offset ?? 0)) % 2 ** 32
    const { ssrc = 1 } = format
    return rtp({ sequence: 65_500 + index, timestamp, ssrc, payload: payloadOf(first, format) })
  })
}

/** Sends to a group from an address of 127.0.0.0/8. */
export interface Feed {
  send(datagrams: readonly Buffer[]): Promise<void>
  close(): void
}

/** Datagrams sent before the receiver gets time to read them: the capacity of its socket. */
const AT_ONCE = 400

export async function openFeed(group: string, port: number, from = '127.0.0.1'): Promise<Feed> {
  const socket: Socket = createSocket('udp4')
  socket.bind(0, from)
  await once(socket, 'listening')
  socket.setMulticastInterface(from)
  return {
    async send(datagrams) {
      for (let from = 0; from < datagrams.length; from += AT_ONCE) {
        for (const datagram of datagrams.slice(from, from + AT_ONCE)) socket.send(datagram, port, group)
        await sleep(1)
      }
    },
    close: () => void socket.close(),
  }
}

/** The interleaved samples of a file of S32LE, with the wire's 24 bits at the top of each. */
export function samplesOf(file: string): Int32Array {
  const bytes = readFileSync(file)
  return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + (bytes.length & ~3)))
}

/** The output value of a sample. */
export function outputOf(frame: number, channel: number, encoding: Format['encoding']): number {
  return sampleOf(frame, channel, encoding) << (encoding === 'L24' ? 8 : 16)
}

/** Comparison of an output's frames with those sent. */
export interface Comparison {
  /** Sent frames found in the output at their place, sample by sample. */
  equal: number
  /** Sent frames with something else in their place; 0 is the first one. */
  different: number[]
  /** Position of the first one in the output. */
  start: number
}

/** The frames sent: `count`, starting at `from`. */
export interface Sent extends Format {
  from: number
  count: number
}

/** Positions of sent frames in the output: number of frames by the position of the first one. */
export function placesOf(output: Int32Array, { from, count, encoding, channels }: Sent): Map<number, number> {
  const sent = new Map<number, number>()
  for (let index = 0; index < count; index++) sent.set(outputOf(from + index, 0, encoding), index)
  const places = new Map<number, number>()
  for (let at = 0; at < output.length / channels; at++) {
    const index = sent.get(output[at * channels] ?? 0)
    if (index !== undefined) places.set(at - index, (places.get(at - index) ?? 0) + 1)
  }
  return places
}

/** Finds where most of the sent frames are in the output, and compares them all. */
export function compare(output: Int32Array, sent: Sent): Comparison {
  const { from, count, encoding, channels } = sent
  const [start] = [...placesOf(output, sent)].sort((a, b) => b[1] - a[1])[0] ?? [0]
  const different: number[] = []
  for (let index = 0; index < count; index++) {
    const isEqual = Array.from({ length: channels }).every(
      (_, channel) => output[(start + index) * channels + channel] === outputOf(from + index, channel, encoding),
    )
    if (!isEqual) different.push(index)
  }
  return { equal: count - different.length, different, start }
}

/** One channel of an interleaved output. */
export function channelOf(output: Int32Array, channels: number, channel: number): Int32Array {
  return output.filter((_, at) => at % channels === channel)
}

/** The largest change of slope between samples, 1 is full scale: a click has one, a fade has not. */
export function sharpest(sound: Int32Array): number {
  let most = 0
  for (let at = 2; at < sound.length; at++) {
    const [a = 0, b = 0, c = 0] = sound.subarray(at - 2, at + 1)
    most = Math.max(most, Math.abs(a - 2 * b + c) / 2 ** 31)
  }
  return most
}
