/**
 * Files of sound that people have: WAV, made into what a camera's loudspeaker takes.
 * @source Multimedia Programming Interface and Data Specifications 1.0 (IBM and Microsoft, 1991), RIFF and WAVE;
 *   mmreg.h, WAVEFORMATEXTENSIBLE
 */
import { Fault } from '#kit/pure/fault.ts'
import { decodeG711 } from './g711.ts'

/** Samples a second of what cameras are sent. @source RFC 3551, 4.5.14 */
export const SPEECH_RATE = 8000

const MOST_CHANNELS = 8
const MOST_RATE = 192_000
/** Of a file: those of programs have some ten. */
const MOST_CHUNKS = 1000

/** A file that was understood; nothing of its samples is read yet. */
export interface Wav {
  rate: number
  /** How long it plays, in seconds. */
  seconds: number
  /** Sample `at` of all channels as one, -1..1; 0 outside. */
  sampleAt(at: number): number
}

/**
 * @param bytes of the whole file; they stay as they are while it is read
 * @throws Fault `bad_sound`
 */
export function readWav(bytes: Uint8Array): Wav {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (nameAt(bytes, 0) !== 'RIFF' || nameAt(bytes, 8) !== 'WAVE')
    throw bad('it does not begin as a WAV file. Save the sound as WAV, and give it again')
  const format = chunkOf(bytes, view, 'fmt ')
  const data = chunkOf(bytes, view, 'data')
  if (!format || format.length < 16 || !data) throw bad('it has no format or no samples')
  const channels = view.getUint16(format.begin + 2, true)
  const rate = view.getUint32(format.begin + 4, true)
  const bits = view.getUint16(format.begin + 14, true)
  const tag = view.getUint16(format.begin, true)
  // The first two bytes of the sub-format are the tag that it extends.
  const kind = tag === 0xff_fe && format.length >= 40 ? view.getUint16(format.begin + 24, true) : tag
  if (channels < 1 || channels > MOST_CHANNELS) throw bad(`it has ${channels} channels, expected 1 to ${MOST_CHANNELS}`)
  if (rate < SPEECH_RATE || rate > MOST_RATE)
    throw bad(`it has ${rate} samples a second, expected ${SPEECH_RATE} to ${MOST_RATE}`)
  const read = READERS.get(`${kind}/${bits}`)
  if (!read) throw bad(`its samples are of format ${kind} with ${bits} bits, expected PCM of 8, 16, 24 or 32 bits`)
  const frameBytes = (channels * bits) / 8
  const frames = Math.floor(data.length / frameBytes)
  const sampleAt = (at: number) => {
    if (at < 0 || at >= frames) return 0
    let sum = 0
    for (let channel = 0; channel < channels; channel++)
      sum += read(view, data.begin + at * frameBytes + (channel * bits) / 8)
    return sum / channels
  }
  return { rate, seconds: frames / rate, sampleAt }
}

const g711 = (law: 'PCMA' | 'PCMU') => {
  const table = decodeG711(
    Uint8Array.from({ length: 256 }, (_, at) => at),
    law,
  )
  return (view: DataView, at: number) => (table[view.getUint8(at)] ?? 0) / 32_768
}

/** By format and bits of a sample. */
const READERS: ReadonlyMap<string, (view: DataView, at: number) => number> = new Map([
  ['1/8', (view, at) => (view.getUint8(at) - 128) / 128],
  ['1/16', (view, at) => view.getInt16(at, true) / 32_768],
  ['1/24', (view, at) => (view.getUint8(at) + view.getInt16(at + 1, true) * 256) / 8_388_608],
  ['1/32', (view, at) => view.getInt32(at, true) / 2_147_483_648],
  ['3/32', (view, at) => finite(view.getFloat32(at, true))],
  ['6/8', g711('PCMA')],
  ['7/8', g711('PCMU')],
])

function finite(sample: number): number {
  return Number.isFinite(sample) ? Math.max(-1, Math.min(1, sample)) : 0
}

function nameAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4))
}

/** What a program could not know when it wrote the head, such as one that writes into a pipe, ends with the file. */
function chunkOf(bytes: Uint8Array, view: DataView, name: string): { begin: number; length: number } | undefined {
  for (let at = 12, seen = 0; at + 8 <= bytes.length; seen++) {
    if (seen === MOST_CHUNKS) throw bad(`it has more than ${MOST_CHUNKS} chunks`)
    const length = view.getUint32(at + 4, true)
    const begin = at + 8
    if (nameAt(bytes, at) === name) return { begin, length: Math.min(length, bytes.length - begin) }
    at = begin + length + (length & 1)
  }
  return undefined
}

/** A WAV file of samples at 8000 a second. @source as `readWav` */
export function writeWav(samples: Int16Array): Uint8Array {
  const bytes = new Uint8Array(44 + 2 * samples.length)
  const view = new DataView(bytes.buffer)
  const name = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at)
  name(0, 'RIFF')
  view.setUint32(4, bytes.length - 8, true)
  name(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, SPEECH_RATE, true)
  view.setUint32(28, 2 * SPEECH_RATE, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  name(36, 'data')
  view.setUint32(40, 2 * samples.length, true)
  for (const [at, sample] of samples.entries()) view.setInt16(44 + 2 * at, sample, true)
  return bytes
}

/** Zero crossings of the low-pass on each side: beyond 60 dB of what would be mirrored is gone. */
const CROSSINGS = 16
/** Steps of its table between two of them. */
const STEPS = 256

/** Samples that are made at once. */
const PIECE = 400

/**
 * The sound at 8000 samples a second, of others what is below 3.6 kHz, a twentieth of a second at a time: whoever goes through it lets others work between.
 * @source J. O. Smith, Digital Audio Resampling (2002): a windowed sinc, read from a table
 */
export function* speechOf({ rate, sampleAt, seconds }: Wav): Generator<Int16Array<ArrayBuffer>> {
  const table = lowPass()
  const total = Math.floor(seconds * SPEECH_RATE)
  // Crossings of the low-pass for each sample of the file.
  const pace = (2 * 3600) / rate
  const reach = Math.ceil(CROSSINGS / pace)
  for (let first = 0; first < total; first += PIECE) {
    const piece = new Int16Array(Math.min(PIECE, total - first))
    if (rate === SPEECH_RATE) {
      for (let n = 0; n < piece.length; n++) piece[n] = clamped(sampleAt(first + n))
      yield piece
      continue
    }
    const placeOf = (n: number) => ((first + n) * rate) / SPEECH_RATE
    // Each sample of the file is read once, and not for each that comes of it.
    const begin = Math.floor(placeOf(0)) - reach + 1
    const length = Math.floor(placeOf(piece.length - 1)) + reach + 1 - begin
    const around = Float32Array.from({ length }, (_, at) => sampleAt(begin + at))
    for (let n = 0; n < piece.length; n++) {
      const place = placeOf(n)
      const middle = Math.floor(place)
      let sum = 0
      for (let at = middle - reach + 1; at <= middle + reach; at++)
        sum += (around[at - begin] ?? 0) * (table[Math.round(Math.abs(at - place) * pace * STEPS)] ?? 0)
      piece[n] = clamped(sum * pace)
    }
    yield piece
  }
}

function clamped(sample: number): number {
  return Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768)))
}

/** sin(pi x) / (pi x) under a Blackman window, for x from 0 to `CROSSINGS`. */
function lowPass(): Float64Array {
  return Float64Array.from({ length: CROSSINGS * STEPS }, (_, step) => {
    const x = step / STEPS
    const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)
    const angle = (Math.PI * x) / CROSSINGS
    return sinc * (0.42 + 0.5 * Math.cos(angle) + 0.08 * Math.cos(2 * angle))
  })
}

function bad(seen: string): Fault {
  return new Fault('bad_sound', `This sound cannot be taken: ${seen}.`)
}
