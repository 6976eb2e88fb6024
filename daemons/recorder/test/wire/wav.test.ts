/** Sound for cameras' loudspeakers: WAV files read, made slower, and as G.711. */
import fc from 'fast-check'
import { t } from 'tap'
import { decodeG711, encodeG711, type Law } from '../../wire/g711.ts'
import { readWav, SPEECH_RATE, speechOf, writeWav } from '../../wire/wav.ts'

/** A head for samples of any format. */
function wavOf(samples: Uint8Array, about: { kind: number; bits: number; rate: number; channels: number }): Uint8Array {
  const bytes = new Uint8Array(44 + samples.length)
  bytes.set(writeWav(new Int16Array(0)))
  const view = new DataView(bytes.buffer)
  view.setUint16(20, about.kind, true)
  view.setUint16(22, about.channels, true)
  view.setUint32(24, about.rate, true)
  view.setUint16(34, about.bits, true)
  view.setUint32(40, samples.length, true)
  bytes.set(samples, 44)
  return bytes
}

const joined = (wav: Uint8Array) => [...speechOf(readWav(wav))].flatMap((piece) => [...piece])

/** A tone of 16 bits. */
const tone = (hz: number, rate: number, seconds: number) =>
  Int16Array.from({ length: rate * seconds }, (_, n) => Math.round(16_000 * Math.sin((2 * Math.PI * hz * n) / rate)))
const bytesOf = (samples: Int16Array) => new Uint8Array(samples.buffer)

/** Loudness of a middle second. */
const loudness = (samples: readonly number[]) => {
  const middle = samples.slice(2000, 6000)
  return Math.sqrt(middle.reduce((sum, one) => sum + one * one, 0) / middle.length)
}

t.test(
  'G.711: what a law makes of a sample is within half of its step, and stays when it is coded again',
  async (t) => {
    for (const law of ['PCMA', 'PCMU'] as Law[])
      for (let sample = -32_000; sample <= 32_000; sample += 7) {
        const [byte = 0] = encodeG711(Int16Array.of(sample), law)
        const [back = 0] = decodeG711(Uint8Array.of(byte), law)
        const off = Math.abs(back - sample)
        if (off > Math.max(16, (Math.abs(sample) + 132) / 31)) t.fail(`${law}: ${sample} became ${back}`)
        // Mu-law has a zero above and one below.
        if (back !== 0 && encodeG711(Int16Array.of(back), law)[0] !== byte) t.fail(`${law}: ${back} is coded anew`)
      }
  },
)

t.test('G.711: silence, the loudest and the tables of the standard', async (t) => {
  t.same([...encodeG711(Int16Array.of(0, 32_767, -32_768), 'PCMA')], [0xd5, 0xaa, 0x2a])
  t.same([...encodeG711(Int16Array.of(0, 32_767, -32_768), 'PCMU')], [0xff, 0x80, 0x00])
  // Decoder output values y(1), y(32), y(128) of table 1a, in units of 1/4096 of full scale; y(128) of table 2a in 1/8192.
  t.same([...decodeG711(Uint8Array.of(0xd5, 0xd5 ^ 0x1f, 0xaa), 'PCMA')], [8, 504, 32_256])
  t.same([...decodeG711(Uint8Array.of(0xff, 0x80), 'PCMU')], [0, 32_124])
})

t.test('a WAV file of any usual format is the same sound at 8000 samples a second', async (t) => {
  const samples = tone(440, 8000, 1)
  const expected = loudness([...samples])
  const formats: [string, Uint8Array][] = [
    ['16 bits at 8 kHz', writeWav(samples)],
    ['16 bits at 44.1 kHz', wavOf(bytesOf(tone(440, 44_100, 1)), { kind: 1, bits: 16, rate: 44_100, channels: 1 })],
    [
      '24 bits',
      wavOf(Uint8Array.from([...samples].flatMap((one) => [0, one & 0xff, (one >> 8) & 0xff])), {
        kind: 1,
        bits: 24,
        rate: 8000,
        channels: 1,
      }),
    ],
    [
      '32 bits',
      wavOf(new Uint8Array(Int32Array.from(samples, (one) => one * 65_536).buffer), {
        kind: 1,
        bits: 32,
        rate: 8000,
        channels: 1,
      }),
    ],
    [
      'floating',
      wavOf(new Uint8Array(Float32Array.from(samples, (one) => one / 32_768).buffer), {
        kind: 3,
        bits: 32,
        rate: 8000,
        channels: 1,
      }),
    ],
    [
      '8 bits',
      wavOf(
        Uint8Array.from(samples, (one) => (one >> 8) + 128),
        { kind: 1, bits: 8, rate: 8000, channels: 1 },
      ),
    ],
    ['A-law', wavOf(encodeG711(samples, 'PCMA'), { kind: 6, bits: 8, rate: 8000, channels: 1 })],
    ['mu-law', wavOf(encodeG711(samples, 'PCMU'), { kind: 7, bits: 8, rate: 8000, channels: 1 })],
    [
      'two channels',
      wavOf(bytesOf(Int16Array.from(samples.length ? [...samples].flatMap((one) => [one, one]) : [])), {
        kind: 1,
        bits: 16,
        rate: 8000,
        channels: 2,
      }),
    ],
  ]
  for (const [name, wav] of formats) {
    const speech = joined(wav)
    t.equal(speech.length, SPEECH_RATE, name)
    const off = loudness(speech) / expected
    t.ok(off > 0.98 && off < 1.02, `${name}: as loud (${off.toFixed(3)})`)
  }
})

t.test('what cannot be heard at 8000 samples a second is taken out, not mirrored into what can', async (t) => {
  const high = joined(wavOf(bytesOf(tone(5500, 48_000, 1)), { kind: 1, bits: 16, rate: 48_000, channels: 1 }))
  t.ok(loudness(high) < 16, `5.5 kHz is gone: ${loudness(high).toFixed(1)} of 11,300`)
})

t.test('a file holds up others for a moment only, however many samples, channels and chunks it has', async (t) => {
  let reads = 0
  const most = { ...{ rate: 192_000, seconds: 1 }, sampleAt: () => ++reads % 2 }
  let samples = 0
  for (const piece of speechOf(most)) {
    samples += piece.length
    t.ok(reads <= 20_000, `${reads} frames of up to 8 channels are read at once`)
    reads = 0
  }
  t.equal(samples, SPEECH_RATE)
  const sound = wavOf(bytesOf(tone(440, 8000, 1)), { kind: 1, bits: 16, rate: 8000, channels: 1 })
  const before = new Uint8Array(12 + 8 * 100_000 + sound.length - 12)
  before.set(sound.subarray(0, 12))
  before.set(sound.subarray(12), 12 + 8 * 100_000)
  t.throws(() => readWav(before), { code: 'bad_sound', message: /chunks/ })
})

t.test('what is no WAV file is refused with a sentence that says what to do, and nothing else happens', async (t) => {
  const good = writeWav(tone(440, 8000, 1))
  for (const bad of [new Uint8Array(0), new TextEncoder().encode('ID3 is an MP3, not a WAV'), good.subarray(0, 30)])
    t.throws(() => readWav(bad), { code: 'bad_sound' })
  t.throws(
    () => readWav(wavOf(new Uint8Array(8), { kind: 2, bits: 4, rate: 8000, channels: 1 })),
    /format 2 with 4 bits/,
  )
  t.throws(
    () => readWav(wavOf(new Uint8Array(8), { kind: 1, bits: 16, rate: 4000, channels: 1 })),
    /4000 samples a second/,
  )
  t.throws(() => readWav(wavOf(new Uint8Array(8), { kind: 1, bits: 16, rate: 8000, channels: 0 })), /0 channels/)
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 12 }), fc.nat(200), (changes, length) => {
      const bytes = good.slice(0, 44 + length)
      for (const [at, byte] of changes) bytes[at] = byte
      try {
        const wav = readWav(bytes)
        return wav.seconds <= bytes.length / SPEECH_RATE && [...speechOf(wav)].every((piece) => piece.length > 0)
      } catch (fault) {
        return (fault as { code: string }).code === 'bad_sound'
      }
    }),
    { numRuns: 2000 },
  )
})
