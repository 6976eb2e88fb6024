/** Tests of the element that keeps sound in step with a sound card. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAudioClock, openPipeline } from '../index.ts'
import { gstMissing } from './gst-here.ts'

const skip = gstMissing()
const RATE = 48_000
/** Frames by which the element is late. */
const DELAY = 32

/** Interleaved 24-bit samples in the upper bits of 32. */
function samplesOf(frames: number, channels: number, at: (frame: number, channel: number) => number): Int32Array {
  const samples = new Int32Array(frames * channels)
  for (let index = 0; index < samples.length; index++)
    samples[index] = Math.round(at(Math.floor(index / channels), index % channels) * 8_388_607) << 8
  return samples
}

const sine = (hz: number) => (frame: number) => 0.89 * Math.sin((2 * Math.PI * hz * frame) / RATE)

interface Run {
  channels?: number
  /** Set before the start. */
  ppm?: number
  /** Microseconds that each millisecond of sound takes; 0 for as fast as it goes. */
  paceUs?: number
  /** Called while it runs. */
  meanwhile?(set: (ppm: number) => void): Promise<void>
}

/** What the element makes of the samples, and what it says at the end. */
async function through(t: Test, samples: Int32Array, { channels = 1, ppm = 0, paceUs = 0, meanwhile }: Run) {
  const folder = t.testdir({})
  writeFileSync(join(folder, 'in'), samples)
  const caps = `audio/x-raw,format=S32LE,rate=${RATE},channels=${channels},layout=interleaved`
  const mask = channels > 2 ? ',channel-mask=(bitmask)0x0' : ''
  const ended = Promise.withResolvers<void>()
  const pipeline = openPipeline(
    `filesrc location=${join(folder, 'in')} blocksize=${48 * channels * 4} ! ${caps}${mask} ! identity sleep-time=${paceUs}
     ! plantroomdrift name=drift ppm=${ppm} ! filesink location=${join(folder, 'out')}`,
    {
      clock: createAudioClock(),
      realtimePriority: 0,
      onMessage(message) {
        if (message.type === 'eos') ended.resolve()
        if (message.type === 'error') ended.reject(new Error(message.message))
      },
    },
  )
  await pipeline.play()
  await meanwhile?.((now) => pipeline.set('drift', 'ppm', now))
  await ended.promise
  const said = { exact: pipeline.get('drift', 'exact'), ppm: Number(pipeline.get('drift', 'steered-ppm')) }
  await pipeline.close()
  const bytes = readFileSync(join(folder, 'out'))
  return { ...said, out: new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4) }
}

/** Distortion and noise against a sine of known frequency, in dB: what is left when the best such sine is taken away. */
function thdnDb(samples: Int32Array, hz: number): number {
  const sums = { cc: 0, cs: 0, ss: 0, xc: 0, xs: 0 }
  const angle = (2 * Math.PI * hz) / RATE
  samples.forEach((x, index) => {
    const [c, s] = [Math.cos(angle * index), Math.sin(angle * index)]
    sums.cc += c * c
    sums.cs += c * s
    sums.ss += s * s
    sums.xc += x * c
    sums.xs += x * s
  })
  const { cc, cs, ss, xc, xs } = sums
  const [a, b] = [(xc * ss - xs * cs) / (cc * ss - cs * cs), (xs * cc - xc * cs) / (cc * ss - cs * cs)]
  let rest = 0
  let whole = 0
  samples.forEach((x, index) => {
    const model = a * Math.cos(angle * index) + b * Math.sin(angle * index)
    rest += (x - model) ** 2
    whole += model ** 2
  })
  return 10 * Math.log10(rest / whole)
}

/** Largest sixth difference, in dB below full scale: a slow sine has nearly none, a jump anywhere has much. */
function roughnessDb(samples: Int32Array): number {
  let differences = Float64Array.from(samples)
  for (let order = 0; order < 6; order++) differences = differences.map((x, index) => x - (differences[index - 1] ?? x))
  // The sound begins behind the delay, with an edge.
  const most = differences.subarray(DELAY + 10).reduce((largest, x) => Math.max(largest, Math.abs(x)), 0)
  return 20 * Math.log10(most / 2 ** 31)
}

for (const channels of [1, 2, 8]) {
  t.test(`left alone, ${channels} channels pass bit for bit`, { skip }, async (t) => {
    const samples = samplesOf(RATE, channels, () => 2 * Math.random() - 1)
    const { out, exact, ppm } = await through(t, samples, { channels })
    t.equal(exact, true)
    t.equal(ppm, 0)
    t.equal(out.length, samples.length)
    const delay = DELAY * channels
    t.ok(Buffer.from(out.slice(delay).buffer).equals(Buffer.from(samples.slice(0, -delay).buffer)))
  })
}

for (const [hz, ppm] of [
  [997, 200],
  [997, -200],
  [997, 3.7],
  [10_007, 120],
  [19_001, -120],
] as const) {
  t.test(`${hz} Hz at ${ppm} ppm is as clean as 24 bits are`, { skip }, async (t) => {
    const { out, ppm: steered } = await through(t, samplesOf(3 * RATE, 1, sine(hz)), { ppm })
    t.ok(Math.abs(steered - ppm) < 1e-9, `${steered} ppm`)
    // It has come to its ratio within a second, and has that many frames fewer.
    const thdn = thdnDb(out.slice(-RATE), hz * (1 + ppm * 1e-6))
    t.comment(`${thdn.toFixed(1)} dB`)
    t.ok(thdn < -140, `${thdn} dB`)
    const fewer = 3 * RATE - out.length
    t.ok(Math.abs(fewer - 2.5 * RATE * ppm * 1e-6) < 6, `${fewer} frames fewer`)
  })
}

t.test(
  'steered this way and that while it plays, nothing clicks, and it comes to rest bit for bit',
  { skip },
  async (t) => {
    const samples = samplesOf(24 * RATE, 1, sine(300))
    const { out, exact } = await through(t, samples, {
      paceUs: 20,
      async meanwhile(set) {
        for (const ppm of [150, -150, 40, 0]) {
          set(ppm)
          await sleep(150)
        }
      },
    })
    t.ok(roughnessDb(out) < -98, `${roughnessDb(out)} dB`)
    t.ok(roughnessDb(samples) < -98, `${roughnessDb(samples)} dB before`)
    t.equal(exact, true)
    const tail = Buffer.from(out.slice(-RATE / 2).buffer)
    t.ok(Buffer.from(samples.slice(-RATE).buffer).includes(tail), 'the last half second is the input')
  },
)

t.test('a click would be seen', { skip }, async (t) => {
  const samples = samplesOf(RATE, 1, sine(300))
  samples[20_000] = (samples[20_000] ?? 0) + 2 ** 31 * 1e-5
  t.ok(roughnessDb(samples) > -98, `${roughnessDb(samples)} dB at -100 dB`)
})
