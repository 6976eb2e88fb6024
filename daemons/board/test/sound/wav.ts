/** Reads and writes WAV files with integer samples. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

export interface Sound {
  rate: number
  channels: number
  bits: 16 | 24 | 32
  /** Interleaved, signed, as wide as `bits`. */
  samples: Int32Array
}

/**
 * Reads one, even while it is being written and its header has no length yet.
 * @throws Error if it is not a WAV of 16, 24 or 32 bits
 */
export function readWav(path: string): Sound {
  const bytes = readFileSync(path)
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE')
    throw new Error(`${path} is not a WAV file: ${bytes.length} bytes`)
  let at = 12
  let format: Omit<Sound, 'samples'> | undefined
  while (at + 8 <= bytes.length) {
    const name = bytes.toString('latin1', at, at + 4)
    const size = bytes.readUInt32LE(at + 4)
    const body = at + 8
    if (name === 'fmt ') format = formatOf(bytes.subarray(body, body + size))
    if (name === 'data' && format !== undefined) {
      const isOpen = size === 0 || body + size > bytes.length
      return { ...format, samples: samplesOf(bytes.subarray(body, isOpen ? bytes.length : body + size), format.bits) }
    }
    at = body + size + (size % 2)
  }
  throw new Error(`${path} has no sound`)
}

function formatOf(bytes: Buffer): Omit<Sound, 'samples'> {
  const bits = bytes.readUInt16LE(14)
  if (bits !== 16 && bits !== 24 && bits !== 32) throw new Error(`${bits} bits are not read here`)
  return { channels: bytes.readUInt16LE(2), rate: bytes.readUInt32LE(4), bits }
}

function samplesOf(bytes: Buffer, bits: number): Int32Array {
  const width = bits / 8
  const samples = new Int32Array(Math.floor(bytes.length / width))
  for (let at = 0; at < samples.length; at += 1) samples[at] = bytes.readIntLE(at * width, width)
  return samples
}

/** Frames per write: with eight channels 1.5 MiB. */
const CHUNK_FRAMES = 65_536

/** Writes a WAV of 48 kHz, piece by piece. @param sampleOf by frame and channel */
export function writeWav(
  path: string,
  { channels, bits, frames }: { channels: number; bits: 16 | 24; frames: number },
  sampleOf: (frame: number, channel: number) => number,
): void {
  const width = bits / 8
  const frameBytes = channels * width
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + frames * frameBytes, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(channels, 22)
  head.writeUInt32LE(48_000, 24)
  head.writeUInt32LE(48_000 * frameBytes, 28)
  head.writeUInt16LE(frameBytes, 32)
  head.writeUInt16LE(bits, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(frames * frameBytes, 40)
  const file = openSync(path, 'w')
  try {
    writeSync(file, head)
    for (let from = 0; from < frames; from += CHUNK_FRAMES) {
      const count = Math.min(CHUNK_FRAMES, frames - from)
      const bytes = Buffer.allocUnsafe(count * frameBytes)
      for (let frame = 0; frame < count; frame += 1)
        for (let channel = 0; channel < channels; channel += 1)
          bytes.writeIntLE(sampleOf(from + frame, channel), frame * frameBytes + channel * width, width)
      writeSync(file, bytes)
    }
  } finally {
    closeSync(file)
  }
}
