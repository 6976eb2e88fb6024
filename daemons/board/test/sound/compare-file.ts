/** Compares a recording larger than memory, piece by piece. */
import { closeSync, openSync, readSync } from 'node:fs'
import { type Comparison, createComparing } from './compare.ts'
import type { Pattern } from './pattern.ts'

const HEAD_BYTES = 4096
const SAMPLE_BYTES = 3
const PIECE_FRAMES = 48_000

/** @param path a WAV file of 24 bits with the pattern's channels; its header may lack the length */
export function compareFile(path: string, pattern: Pattern): Comparison {
  const file = openSync(path, 'r')
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    readSync(file, head, 0, HEAD_BYTES, 0)
    const data = head.indexOf('data', 12, 'latin1')
    if (head.toString('latin1', 0, 4) !== 'RIFF' || data < 0) throw new Error(`${path} is not a WAV file`)
    const comparing = createComparing(pattern)
    const piece = Buffer.alloc(PIECE_FRAMES * pattern.channels * SAMPLE_BYTES)
    for (let place = data + 8; ; place += piece.length) {
      const bytes = readSync(file, piece, 0, piece.length, place)
      const frames = Math.floor(bytes / SAMPLE_BYTES / pattern.channels)
      const samples = new Int32Array(frames * pattern.channels)
      for (let at = 0; at < samples.length; at += 1) samples[at] = piece.readIntLE(at * SAMPLE_BYTES, SAMPLE_BYTES)
      comparing.take(samples)
      if (bytes < piece.length) return comparing.end()
    }
  } finally {
    closeSync(file)
  }
}
