/** Sends RTP to one or two groups from a Node socket, with faults made on purpose. */
import { createSocket, type Socket } from 'node:dgram'
import type { Test } from 'tap'
import { type Fault, noFault } from './faults.ts'
import { type Encoding, rtpBytes } from './rtp.ts'

/** Destination, source address, and faults on the way. */
export interface SendTo {
  group: string
  port: number
  /** Default 127.0.0.1. */
  from?: string
  fault?: Fault
}

export interface SenderOptions {
  to: readonly SendTo[]
  encoding: Encoding
  channels: number
  sample(frame: number, channel: number): number
  /** Default 48. */
  framesPerPacket?: number
  payloadType?: number
  ssrc?: number
  /** RTP timestamp of the first frame; default: from the machine's clock, as `localmac` senders do. */
  timestamp?: number
  sequence?: number
  /** First frame of the pattern. */
  firstFrame?: number
  /** Rate of its clock relative to the machine's. */
  ppm?: number
}

export interface RunningSender {
  /** Timestamp of the first packet. */
  timestamp: number
  /** Packets due so far, sent or lost on purpose. */
  sent(): number
  /** Resolves once `packets` packets were due. */
  after(packets: number): Promise<void>
  /** Ends it, and drops delayed packets. */
  stop(): Promise<void>
}

/** Present RTP timestamp of a stream whose media clock is the machine's time of day. */
export function timestampOfNow(): number {
  const nowNs = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6))
  return Number(((nowNs * 48_000n) / 1_000_000_000n) & 0xffff_ffffn)
}

const RATE = 48_000

/** Starts at once; ended with the test. Packets that Node sends late are sent anyway. */
export async function startSender(t: Test, options: SenderOptions): Promise<RunningSender> {
  const { framesPerPacket = 48, ppm = 0, to } = options
  const outs = await Promise.all(to.map((one) => openOut(one)))
  const packetMs = (framesPerPacket / RATE) * 1000 * (1 - ppm / 1e6)
  const timestamp = options.timestamp ?? timestampOfNow()
  const startMs = performance.now()
  const packetBytes = packetMaker({ ...options, timestamp })
  let next = 0
  let timer: NodeJS.Timeout | undefined
  const waiting: { packets: number; resolve: () => void }[] = []
  const late = new Set<NodeJS.Timeout>()

  function turn(): void {
    for (; startMs + next * packetMs <= performance.now(); next += 1) {
      const bytes = packetBytes(next)
      for (const out of outs) for (const ms of out.fault(next)) sendAfter(out, bytes, ms)
    }
    for (const { packets, resolve } of waiting) if (next >= packets) resolve()
    timer = setTimeout(turn, 1)
  }
  function sendAfter(out: Out, bytes: Buffer, ms: number): void {
    if (ms < 0.5) {
      out.send(bytes)
      return
    }
    const waits = setTimeout(() => {
      late.delete(waits)
      out.send(bytes)
    }, ms)
    late.add(waits)
  }
  async function stop(): Promise<void> {
    clearTimeout(timer)
    for (const waits of late) clearTimeout(waits)
    await Promise.all(outs.splice(0).map((out) => out.close()))
  }
  t.teardown(stop)
  turn()
  return {
    timestamp,
    sent: () => next,
    after: (packets) => new Promise((resolve) => waiting.push({ packets, resolve })),
    stop,
  }
}

/** Makes packet `n` as bytes. */
function packetMaker(options: SenderOptions & { timestamp: number }): (packet: number) => Buffer {
  const { framesPerPacket = 48, payloadType = 97, ssrc = 0x504c_524d, sequence = 0, firstFrame = 0 } = options
  const { channels, encoding, timestamp, sample } = options
  return (packet) => {
    const samples = new Int32Array(framesPerPacket * channels)
    for (let frame = 0; frame < framesPerPacket; frame += 1)
      for (let channel = 0; channel < channels; channel += 1)
        samples[frame * channels + channel] = sample(firstFrame + packet * framesPerPacket + frame, channel)
    const head = { payloadType, marker: false, sequence: sequence + packet, ssrc }
    return rtpBytes({ ...head, timestamp: timestamp + packet * framesPerPacket, samples }, encoding)
  }
}

interface Out {
  fault: Fault
  send(bytes: Buffer): void
  close(): Promise<void>
}

async function openOut({ group, port, from = '127.0.0.1', fault = noFault }: SendTo): Promise<Out> {
  const socket: Socket = createSocket('udp4')
  await new Promise<void>((resolve, reject) => socket.once('error', reject).bind(0, from, resolve))
  socket.setMulticastInterface(from)
  socket.setMulticastLoopback(true)
  return {
    fault,
    send: (bytes) => socket.send(bytes, port, group),
    close: () => new Promise((resolve) => void socket.close(resolve)),
  }
}
