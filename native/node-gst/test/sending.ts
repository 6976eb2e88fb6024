/** A sender and the pipeline that feeds it, for tests of what is sent. */
import type { Test } from 'tap'
import { createAudioClock, type GstMessage, openPipeline, openSender } from '../index.ts'
import type { SenderOptions } from '../sender.ts'

export const GROUP = '239.69.180.1'

export function pathTo(port: number, group = GROUP) {
  return { group, port, interfaceAddress: '127.0.0.1', ttl: 1, dscp: 34 }
}

/** A sender and its playing pipeline; both closed with the test. */
export async function sending(t: Test, source: string, options: Partial<SenderOptions> & Pick<SenderOptions, 'paths'>) {
  const clock = createAudioClock()
  const whole = { encoding: 'L24' as const, channels: 2, framesPerPacket: 48, payloadType: 97, ssrc: 0xdeadbeef }
  const sender = openSender({ clock, mostLateMs: 500, ...whole, ...options })
  const { encoding, channels } = { ...whole, ...options }
  const format = encoding === 'L16' ? 'S16BE' : 'S24BE'
  const caps = `audio/x-raw,format=${format},rate=48000,channels=${channels},layout=interleaved`
  const convert = 'audioconvert dithering=none noise-shaping=none'
  const messages: GstMessage[] = []
  const description = `${source} ! ${convert} ! ${caps} ! plantroomrtpsink name=out sender=${sender.id}`
  const onMessage = (message: GstMessage) => void messages.push(message)
  const pipeline = openPipeline(description, { clock, realtimePriority: 10, onMessage })
  t.teardown(async () => {
    await pipeline.close()
    sender.close()
  })
  await pipeline.play()
  return { clock, sender, pipeline, messages }
}

/** How long ago the audio clock passed this timestamp, in frames; negative: it has not yet. */
export function agoFrames(audioNs: bigint, timestamp: number): number {
  return Number(BigInt.asIntN(32, (audioNs * 6n) / 125_000n - BigInt(timestamp)))
}
