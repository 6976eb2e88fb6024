/** A receiver and a pipeline that plays it into a file, for tests of sound. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '#kit/test/until.ts'
import {
  type AudioClock,
  createAudioClock,
  type GstMessage,
  openPipeline,
  openReceiver,
  type Receiver,
} from '../index.ts'
import type { Pipeline } from '../pipeline.ts'
import type { ReceiverOptions } from '../receiver.ts'
import { compare, type Format, openFeed, packets, samplesOf } from './rtp-feed.ts'

export const PORT = 5004
/** How long packets are sent ahead of their time, so that machine load cannot make them late. */
export const LEAD_MS = 1000
/** Plays everything a stalled machine has missed, so that results do not depend on its speed. */
const ALL_OF_IT = `most-behind-ns=${60_000_000_000}`
/** Length of the element's fade-in. */
export const FADE_FRAMES = 240

/** The clock's frame this many milliseconds from now. */
export function frameIn(clock: AudioClock, ms: number): number {
  return Number(((clock.read().audioNs + BigInt(ms) * 1_000_000n) * 48n) / 1_000_000n)
}

/** Receives, by default, L24 stereo of one group on loopback from any sender, with 100 ms of link offset. */
export function receive(clock: AudioClock, group: string, options: Partial<ReceiverOptions> = {}): Receiver {
  return openReceiver({
    clock,
    sync: 'clock',
    paths: [{ group, port: PORT, interfaceAddress: '127.0.0.1', source: null }],
    encoding: 'L24',
    channels: 2,
    payloadType: 97,
    linkNs: 100_000_000n,
    mediaOffset: 0,
    concealPackets: 3,
    ringMs: 4000,
    receiveBufferBytes: 1 << 20,
    senderGoneMs: 60_000,
    realtimePriority: 0,
    ...options,
  })
}

/** A pipeline that plays into a file of S32LE. */
export interface Recording {
  pipeline: Pipeline
  /** Errors reported by elements. */
  errors: GstMessage[]
  /** Ends it. @returns the samples played, interleaved */
  stop(): Promise<Int32Array>
}

/** Starts playing at once. @param settings of the element, as in a pipeline description */
export async function recordFrom(clock: AudioClock, settings: string): Promise<Recording> {
  const folder = mkdtempSync(join(tmpdir(), 'plantroom-sound-'))
  const errors: GstMessage[] = []
  const pipeline = openPipeline(
    `plantroomrtpsrc name=in ${ALL_OF_IT} ${settings} ! filesink location=${folder}/sound`,
    {
      clock,
      realtimePriority: 0,
      onMessage: (message) => message.type === 'error' && errors.push(message),
    },
  )
  await pipeline.play()
  return {
    pipeline,
    errors,
    async stop() {
      await pipeline.close()
      const samples = samplesOf(join(folder, 'sound'))
      rmSync(folder, { recursive: true })
      return samples
    },
  }
}

/** Waits until everything due up to `ms` from now was played, however late. */
export async function playedFor({ pipeline }: Recording, clock: AudioClock, ms: number): Promise<void> {
  const untilNs = clock.read().monotonicNs + BigInt(Math.ceil(ms * 1e6))
  await sleep(ms)
  await until('it is played', () => BigInt(pipeline.get('in', 'due-ns') as number | bigint) > untilNs)
}

/** Waits until that frame is played with the given link offset, and a little beyond. */
export async function untilPlayed(playing: Recording, clock: AudioClock, frame: number, linkMs: number): Promise<void> {
  await playedFor(playing, clock, Math.max(0, (frame - frameIn(clock, 0)) / 48) + linkMs + 50)
}

/** How one stream is sent and received. */
export interface Hearing {
  group: string
  format: Format
  frames: number
  /** Turns the packets, in order, into those that are sent; default: unchanged. */
  fault?: (packets: Buffer[]) => Buffer[]
  options?: Partial<ReceiverOptions>
  /** Frames after which timestamps wrap at 2^32. */
  wrapAfter?: number
}

/** Sends a stream ahead of its time, so that machine load cannot make it late, and plays it to its end. */
export async function hear({ group, format, frames, fault = (all) => all, options = {}, wrapAfter }: Hearing) {
  const clock = createAudioClock()
  const recording = await recordFrom(clock, `channels=${format.channels}`)
  const feed = await openFeed(group, PORT)
  // From here on nothing is awaited until all is sent.
  const from = frameIn(clock, LEAD_MS)
  const offset = wrapAfter === undefined ? 0 : 2 ** 32 - ((from + wrapAfter) % 2 ** 32)
  const receiver = receive(clock, group, { ...format, mediaOffset: offset, ...options })
  recording.pipeline.set('in', 'receiver', receiver.id)
  const all = packets(from, frames / format.framesPerPacket, { ...format, offset })
  await feed.send(fault(all))
  await untilPlayed(recording, clock, from + frames, 100)
  const samples = await recording.stop()
  const result = { stats: receiver.stats(), arrivals: receiver.takeArrivals(), samples, from }
  feed.close()
  receiver.close()
  return { ...result, ...compare(samples, { from, count: frames, ...format }) }
}
