/** The measurements of sound: each starts its own boards on loopback, without PTP, and ends them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fakeClock } from '#kit/clock-fake.ts'
import { residentMb } from '#kit/test/process-memory.ts'
import type { Owner } from '#kit/test/running-daemon.ts'
import { createHistory, HISTORY_SECONDS } from '../../daemons/board/core/sound/sound.ts'
import { startAudio, startDecoder, startEncoder } from '../../daemons/board/test/sound/audio-board.ts'
import { startCapture } from '../../daemons/board/test/sound/capture.ts'
import type { Comparison } from '../../daemons/board/test/sound/compare.ts'
import { compareFile } from '../../daemons/board/test/sound/compare-file.ts'
import { startPeer } from '../../daemons/board/test/sound/other-programs.ts'
import { countedPattern } from '../../daemons/board/test/sound/pattern.ts'
import { writeWav } from '../../daemons/board/test/sound/wav.ts'
import { meterCpu } from './figures.ts'

const PORT = 25_604
const NULL_SINK = 'audio.sink=null'
/** Enough for encoder and decoder to catch up: the samples are compared, not the machine's stalls. */
const LINK_MS = '500'
/** Time to start, join and fade in, and for the compiler to see the important paths. */
const SETTLED_MS = 5000

/** Percent of one core. */
export interface CpuShares {
  encoder: number
  decoder: number
  gstEncoder: number
  gstDecoder: number
}

/** One encoder and decoder with 2 channels L24, alongside the same pipelines under gst-launch-1.0. */
export async function measureCpu(t: Owner, seconds: number): Promise<CpuShares> {
  const [ours, theirs] = ['239.192.75.1', '239.192.75.2']
  const stream = { mcast: ours, port: PORT, channels: 2 }
  const encoder = await startEncoder(t, 'tone', { settings: stream })
  const decoder = await startAudio(t, {
    settings: { role: 'decoder', ...stream },
    sets: ['board.role=decoder', NULL_SINK],
  })
  const gstEncoder = startPeer(t, gstTone(theirs))
  const gstDecoder = startPeer(t, gstPlays(theirs))
  await sleep(SETTLED_MS)
  const meters = [encoder, decoder, gstEncoder, gstDecoder].map(({ pid }) => meterCpu(pid))
  await sleep(seconds * 1000)
  const [one = 0, two = 0, three = 0, four = 0] = meters.map((meter) => meter.end())
  const { body } = await decoder.get('/api/status')
  if (!body.decoder.playing) throw new Error(`the decoder does not play: ${JSON.stringify(body.decoder.checks)}`)
  for (const peer of [gstEncoder, gstDecoder]) await peer.stop()
  for (const board of [decoder, encoder]) await board.stop()
  return { encoder: one, decoder: two, gstEncoder: three, gstDecoder: four }
}

const LEVEL = 'level interval=50000000 post-messages=true'

function gstTone(group: string): string[] {
  const source = 'audiotestsrc is-live=true freq=997 ! audio/x-raw,format=F64LE,rate=48000,channels=2'
  const convert = 'audioconvert dithering=none noise-shaping=none ! audio/x-raw,format=S24BE'
  const pay = 'rtpL24pay min-ptime=1000000 max-ptime=1000000'
  const sink = `udpsink host=${group} port=${PORT} multicast-iface=lo auto-multicast=false processing-deadline=0 async=false`
  return ['gst-launch-1.0', '-q', ...`${source} ! ${LEVEL} ! ${convert} ! ${pay} ! ${sink}`.split(' ')]
}

function gstPlays(group: string): string[] {
  const caps = 'application/x-rtp,media=audio,clock-rate=48000,encoding-name=L24,channels=2'
  const source = `udpsrc multicast-iface=lo address=${group} port=${PORT} caps=${caps}`
  const rest = 'rtpjitterbuffer latency=10 ! rtpL24depay ! audioconvert ! audio/x-raw,format=S32LE'
  return ['gst-launch-1.0', '-q', ...`${source} ! ${rest} ! ${LEVEL} ! fakesink sync=true`.split(' ')]
}

/** Streams per core, from the cost of this many boards of each role together. */
export async function measureStreams(
  t: Owner,
  boards: number,
  seconds: number,
): Promise<{ encoders: number; decoders: number }> {
  const groups = Array.from({ length: boards }, (_, at) => `239.192.75.${10 + at}`)
  const settings = (mcast: string) => ({ mcast, port: PORT, channels: 2 })
  const start = async (mcast: string) => ({
    encoder: await startEncoder(t, 'tone', { settings: settings(mcast) }),
    decoder: await startAudio(t, {
      settings: { role: 'decoder', ...settings(mcast) },
      sets: ['board.role=decoder', NULL_SINK],
    }),
  })
  const pairs: Awaited<ReturnType<typeof start>>[] = []
  for (const group of groups) pairs.push(await start(group))
  await sleep(SETTLED_MS)
  const meters = pairs.map(({ encoder, decoder }) => [meterCpu(encoder.pid), meterCpu(decoder.pid)] as const)
  await sleep(seconds * 1000)
  const shares = meters.map(([encoder, decoder]) => [encoder.end(), decoder.end()] as const)
  for (const { encoder, decoder } of pairs) for (const board of [decoder, encoder]) await board.stop()
  const sumOf = (at: 0 | 1) => shares.reduce((sum, share) => sum + share[at], 0)
  return { encoders: (100 * boards) / sumOf(0), decoders: (100 * boards) / sumOf(1) }
}

/**
 * Intervals between packets on the wire, in us, by kernel timestamps: of an encoder, and of gst-launch-1.0 beside it.
 */
export interface Spacings {
  ours: number[]
  theirs: number[]
  realtime: boolean
}

export async function measureSpacing(t: Owner, seconds: number): Promise<Spacings> {
  const [ours, theirs] = ['239.192.75.3', '239.192.75.6']
  const encoder = await startEncoder(t, 'tone', { settings: { mcast: ours, port: PORT } })
  const peer = startPeer(t, gstTone(theirs))
  await sleep(SETTLED_MS)
  const path = join(mkdtempSync(join(tmpdir(), 'bench-audio-')), 'wire.pcapng')
  const capture = await startCapture(t, path, `udp port ${PORT}`)
  await sleep(seconds * 1000)
  await capture.stop()
  const rows = await capture.rows('udp', ['frame.time_epoch', 'ip.dst'])
  const { body } = await encoder.get('/api/status')
  await peer.stop()
  await encoder.stop()
  rmSync(join(path, '..'), { recursive: true })
  const spacings = (group: string) => {
    const instants = rows.filter(([, to]) => to === group).map(([instant]) => Number(instant) * 1e6)
    return instants.slice(1).map((instant, at) => instant - (instants[at] ?? 0))
  }
  return { ours: spacings(ours), theirs: spacings(theirs), realtime: body.encoder.realtime.granted }
}

/** Result of a long stream, and the memory growth of its boards. */
export interface LongRun {
  found: Comparison
  packets: number
  /** Resident memory in MB: after a minute, or a tenth of the run, and at its end. */
  memory: { role: 'encoder' | 'decoder'; early: number; end: number }[]
}

/**
 * Streams 8 channels of L24 from a file to a file and compares every sample; beside it eight times as many packets, for
 * memory.
 */
export async function measureWire(t: Owner, seconds: number): Promise<LongRun> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-audio-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const pattern = countedPattern(24, 8, 2 ** 16)
  const path = join(folder, 'known.wav')
  writeWav(path, { channels: 8, bits: 24, frames: pattern.period }, pattern.sample)
  const wide = { mcast: '239.192.75.4', port: PORT, channels: 8 }
  const decoder = await startDecoder(t, { settings: { ...wide, mcast: '' } })
  const encoder = await startEncoder(t, `file:${path}`, { settings: wide })
  const quick = { mcast: '239.192.75.5', port: PORT, channels: 1 }
  const many = [
    { role: 'encoder' as const, board: await startEncoder(t, 'tone', { settings: { ...quick, packet_ms: '0.125' } }) },
    {
      role: 'decoder' as const,
      board: await startAudio(t, { settings: { role: 'decoder', ...quick }, sets: ['board.role=decoder', NULL_SINK] }),
    },
  ]
  await decoder.route({ mcast: wide.mcast, port: String(PORT), link_ms: LINK_MS })
  const earlyS = Math.min(60, seconds / 10)
  await sleep(earlyS * 1000)
  const early = many.map(({ board }) => residentMb(board.pid))
  // Polls as an open page would.
  for (const endMs = performance.now() + (seconds - earlyS) * 1000; performance.now() < endMs; ) {
    for (const { board } of many) await board.get('/api/status')
    await sleep(1000)
  }
  const memory = many.map(({ role, board }, at) => ({ role, early: early[at] ?? 0, end: residentMb(board.pid) }))
  const { body } = (await many[1]?.board.get('/api/status')) ?? { body: undefined }
  for (const board of [decoder, encoder, ...many.map(({ board }) => board)]) await board.stop()
  return { found: compareFile(decoder.path, pattern), packets: body.decoder.counters.packets, memory }
}

/** Growth in bytes of the history of an hour during its third hour, on a fake clock. */
export function measureHistory(): number {
  const clock = fakeClock()
  const names = Array.from({ length: 16 }, (_, at) => `series_${at}`)
  const history = createHistory({ clock, names, seconds: HISTORY_SECONDS })
  const hour = () => {
    for (let second = 0; second < HISTORY_SECONDS; second += 1) {
      clock.advance(1000)
      history.add(Object.fromEntries(names.map((name, at) => [name, second * at])))
    }
    globalThis.gc?.()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  hour()
  const before = hour()
  return hour() - before
}
