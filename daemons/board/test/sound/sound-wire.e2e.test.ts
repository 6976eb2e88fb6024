import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { noCapture } from '#kit/test/no-capture.ts'
import type { RunningBoard } from '../running-board.ts'
import { noSound, type RunningDecoder, startDecoder, startEncoder } from './audio-board.ts'
import { startCapture } from './capture.ts'
import { compare } from './compare.ts'
import { countedPattern, sinePattern } from './pattern.ts'
import { channelOf, fitTone } from './tone.ts'
import { writeWav } from './wav.ts'

const skip = noSound('tshark', 'dumpcap') || noCapture()
const RATE = 48_000
const PORT = 25_304
/** How long the streams play while they are recorded: three times the pattern, and as much as a tone is judged by. */
const PLAYED_S = 6
const CAPTURED_S = 4
/** Counters of a decoder that got every packet once, in order and in time. */
const NO_TROUBLE = { lost: 0, late: 0, duplicate: 0, reordered: 0, concealed: 0, glitches: 0 }
/** 5 ms. */
const FADE_FRAMES = 240

/** One encoder, one decoder, one stream. */
interface Pair {
  encoding: 'L16' | 'L24'
  channels: number
  packetMs: string
  /** A pattern of known samples, or 997 Hz of 24 bits at -1 dB of full scale. */
  plays: 'known' | 'sine'
}

const PAIRS: readonly Pair[] = [
  { encoding: 'L24', channels: 8, packetMs: '1', plays: 'known' },
  { encoding: 'L16', channels: 2, packetMs: '4', plays: 'known' },
  { encoding: 'L24', channels: 1, packetMs: '1', plays: 'sine' },
  { encoding: 'L16', channels: 1, packetMs: '0.25', plays: 'sine' },
]
/** Large, so that a machine busy with other tests does not cause silence: this test is only about exactness. */
const LINK_MS = 500
const LATE = 'audio.late_ms=400'

/** What tshark prints of each packet, in this order, followed by its length, instant and group. */
const FIELDS = ['rtp.seq', 'rtp.timestamp', 'rtp.p_type', 'ip.dsfield.dscp', 'ip.ttl', 'rtp.version', 'rtp.ssrc']

const groupOf = (at: number) => `239.192.72.${at + 1}`
const bitsOf = ({ encoding }: Pair) => (encoding === 'L16' ? 16 : 24)
const nameOf = ({ encoding, channels, packetMs }: Pair) => `${encoding}, ${channels} channels, ${packetMs} ms`
const patternOf = (pair: Pair) => countedPattern(bitsOf(pair), pair.channels, 2 ** 16)

async function startPair(t: Test, pair: Pair, at: number): Promise<[RunningDecoder, RunningBoard]> {
  const { encoding, channels, packetMs, plays } = pair
  const path = join(t.testdirName, `${at}.wav`)
  const pattern = patternOf(pair)
  const sine = sinePattern(24, channels, 997, 10 ** (-1 / 20))
  if (plays === 'known') writeWav(path, { channels, bits: pattern.bits, frames: pattern.period }, pattern.sample)
  if (plays === 'sine') writeWav(path, { channels, bits: 24, frames: RATE }, sine.sample)
  const stream = { mcast: groupOf(at), port: PORT, channels }
  const [decoder, encoder] = await Promise.all([
    startDecoder(t, { settings: { ...stream, mcast: '' } }),
    startEncoder(t, `file:${path}`, {
      settings: { ...stream, encoding, packet_ms: packetMs },
      sets: [LATE],
    }),
  ])
  await decoder.route({ mcast: stream.mcast, port: String(PORT), link_ms: String(LINK_MS), encoding })
  return [decoder, encoder]
}

t.test('AES67 the output equals the input', { skip }, async (t) => {
  t.testdir({})
  // One after another: eight boards that start at once slow each other down.
  const decoders: RunningDecoder[] = []
  const encoders: RunningBoard[] = []
  for (const [at, pair] of PAIRS.entries()) {
    const [decoder, encoder] = await startPair(t, pair, at)
    decoders.push(decoder)
    encoders.push(encoder)
  }
  const capture = await startCapture(t, join(t.testdirName, 'wire.pcapng'), `udp port ${PORT}`)
  await sleep(CAPTURED_S * 1000)
  await capture.stop()
  await sleep((PLAYED_S - CAPTURED_S) * 1000)
  const heard = await Promise.all(decoders.map((decoder) => decoder.get('/api/status')))
  // What was recorded is judged when nobody plays any more: eight boards take more than judging does.
  await Promise.all([...decoders, ...encoders].map((board) => board.stop()))

  for (const [at, pair] of PAIRS.entries()) {
    await t.test(`${nameOf(pair)}: ${pair.plays}`, async (t) => {
      const decoder = decoders[at]
      if (decoder === undefined) throw new Error('no such decoder')
      const { samples, channels } = decoder.recorded()
      t.equal(channels, pair.channels)
      if (pair.plays === 'known') judgeSamples(t, pair, samples)
      else judgeTone(t, pair, samples)
      t.match(heard[at]?.body.decoder.counters, NO_TROUBLE)
    })
  }

  await t.test('RFC 3550, AES67 6 and 7 tshark finds nothing wrong on the wire', async (t) => {
    t.same(await capture.rows('_ws.malformed || icmp', ['frame.number'], [PORT]), [])
    const rows = await capture.rows('rtp', [...FIELDS, 'udp.length', 'frame.time_epoch', 'ip.dst'], [PORT])
    for (const [at, pair] of PAIRS.entries()) {
      const own = rows.filter((row) => row[9] === groupOf(at))
      await t.test(nameOf(pair), async (t) => judgeWire(t, pair, own))
    }
  })
})

function judgeWire(t: Test, pair: Pair, rows: readonly (readonly string[])[]): void {
  const framesPerPacket = Number(pair.packetMs) * 48
  t.ok(rows.length > (CAPTURED_S - 1) * (RATE / framesPerPacket), `${rows.length} packets`)
  const all = (field: number) => [...new Set(rows.map((row) => row[field]))]
  t.equal(all(2).length, 1)
  t.ok(Number(all(2)[0]) >= 96 && Number(all(2)[0]) <= 127, `payload type ${all(2)[0]} is a dynamic one`)
  t.same(all(3), ['34'], 'AF41: AES67 6.2')
  t.equal(all(4).length, 1)
  t.ok(Number(all(4)[0]) >= 1, `TTL ${all(4)[0]}`)
  t.same(all(5), ['2'])
  t.equal(all(6).length, 1, 'one SSRC')
  const payloadBytes = (framesPerPacket * pair.channels * bitsOf(pair)) / 8
  t.same(all(7), [String(8 + 12 + payloadBytes)])
  const breaks = (field: number, step: number, modulus: number) =>
    rows.flatMap((row, at) => {
      const before = rows[at - 1]?.[field]
      const isNext = before === undefined || (Number(before) + step) % modulus === Number(row[field])
      return isNext ? [] : [`packet ${at}: ${row[field]} after ${before}`]
    })
  t.same(breaks(0, 1, 2 ** 16), [], 'sequence numbers follow each other')
  t.same(breaks(1, framesPerPacket, 2 ** 32), [], 'timestamps count frames')
  const instants = rows.map((row) => Number(row[8]))
  const meanMs = (((instants.at(-1) ?? 0) - (instants[0] ?? 0)) * 1000) / (rows.length - 1)
  t.ok(Math.abs(meanMs / Number(pair.packetMs) - 1) < 0.01, `a packet every ${meanMs.toFixed(4)} ms`)
}

function judgeSamples(t: Test, pair: Pair, recorded: Int32Array): void {
  const pattern = patternOf(pair)
  // The decoder's file has 24 bits: a sample of 16 is in the upper ones.
  const samples = pair.encoding === 'L16' ? recorded.map((sample) => sample >> 8) : recorded
  const found = compare(samples, pattern)
  // Where the sound fades in, the last steps of the fade differ only below the 16 bits.
  const faded = (found.begin?.recorded ?? 0) + FADE_FRAMES
  const inside = recorded.subarray(faded * pair.channels, found.end * pair.channels)
  if (pair.encoding === 'L16') t.ok(inside.every((sample) => (sample & 0xff) === 0))
  t.ok(found.frames > (PLAYED_S - 1) * RATE, `${found.frames} frames`)
  t.match(found, { equal: found.frames, wrong: 0, silent: 0, jumps: { length: 0 } }, JSON.stringify(found))
}

/** AES17 6.3.1, over the whole band. */
function judgeTone(t: Test, { encoding, channels }: Pair, recorded: Int32Array): void {
  const whole = Math.floor(recorded.length / channels)
  // The last seconds: the fade at the beginning is not a pure tone yet.
  const one = channelOf(recorded, channels, channels - 1, [whole - 4 * RATE, whole - RATE])
  const { level, thdNoiseDb, worst } = fitTone(one, 24, 997)
  t.ok(Math.abs(20 * Math.log10(level) + 1) < 0.001, `level ${level}`)
  t.ok(thdNoiseDb < (encoding === 'L24' ? -130 : -95), `${thdNoiseDb} dB, worst ${JSON.stringify(worst)}`)
}
