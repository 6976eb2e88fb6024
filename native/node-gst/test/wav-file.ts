/** WAV files with known samples. */

/** Sample of a frame: channels and nearby frames all differ, and the whole range is used. */
export function knownSample(frame: number, channel: number, bits: number): number {
  const span = 2 ** bits
  const value = (frame * 104_729 + channel * 7_919_317) % span
  return value < span / 2 ? value : value - span
}

/** A file of `frames` frames at 48 kHz, `bits` 16 or 24. @source RIFF WAVE, PCM */
export function knownWav(frames: number, channels: number, bits: number): Uint8Array {
  const frameBytes = (channels * bits) / 8
  const wav = Buffer.alloc(44 + frames * frameBytes)
  wav.write('RIFF')
  wav.writeUInt32LE(wav.length - 8, 4)
  wav.write('WAVEfmt ', 8)
  wav.writeUInt32LE(16, 16)
  wav.writeUInt16LE(1, 20)
  wav.writeUInt16LE(channels, 22)
  wav.writeUInt32LE(48_000, 24)
  wav.writeUInt32LE(48_000 * frameBytes, 28)
  wav.writeUInt16LE(frameBytes, 32)
  wav.writeUInt16LE(bits, 34)
  wav.write('data', 36)
  wav.writeUInt32LE(frames * frameBytes, 40)
  for (let frame = 0; frame < frames; frame++) {
    for (let channel = 0; channel < channels; channel++)
      wav.writeIntLE(knownSample(frame, channel, bits), 44 + frame * frameBytes + (channel * bits) / 8, bits / 8)
  }
  return wav
}
