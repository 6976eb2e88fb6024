/** Sound that waits for the fragment with the pictures of its moment. */
import { SOUND_LEAD_TICKS, type SoundRun, TICKS_PER_S } from '../../wire/mp4-write.ts'
import type { SoundFrame } from '../../wire/sound.ts'

/** The line of time of a file, and how far its sound is. */
interface SoundPlace {
  /** Where its time begins, on the recorder's monotonic clock. */
  zeroMs: number
  rate: number
  /** Behind the last sound of the file, in ticks of its rate. */
  endTicks: number
}

/** What the sound of a fragment may lie between. */
interface Stretch {
  /** Of its first picture. */
  fromMs: number
  /** Of the first of the next fragment. */
  toMs: number
}

/** Beside its bytes. */
const FRAME_BYTES = 384

/** What a frame takes while it is held. */
export function soundBytesOf({ bytes }: SoundFrame): number {
  return bytes.length + FRAME_BYTES
}

export const SOUND_LEAD_MS = (SOUND_LEAD_TICKS * 1000) / TICKS_PER_S

/** @param mostBytes beyond, the oldest is forgotten */
export function createHeldSound(mostBytes: number) {
  let held: { frame: SoundFrame; positionMs: number }[] = []
  let bytes = 0

  return {
    add(frame: SoundFrame, positionMs: number): void {
      held.push({ frame, positionMs })
      bytes += soundBytesOf(frame)
      let forgotten = 0
      for (const oldest of held) {
        if (bytes <= mostBytes) break
        bytes -= soundBytesOf(oldest.frame)
        forgotten++
      }
      if (forgotten > 0) held.splice(0, forgotten)
    },
    /**
     * Takes the sound of a fragment. Frames follow each other as they were heard: one that would begin before the last
     * ended is moved by up to half of it, else left out, and where some are missing the one before lasts.
     */
    take(place: SoundPlace, { fromMs, toMs }: Stretch): SoundRun | undefined {
      const taken: { bytes: Uint8Array; ticks: number }[] = []
      for (const { frame, positionMs } of held) {
        if (positionMs < fromMs - SOUND_LEAD_MS || positionMs >= toMs) continue
        const ticks = Math.round(((positionMs - place.zeroMs) * place.rate) / 1000)
        if (ticks < place.endTicks - frame.ticks / 2) continue
        const begin = Math.max(ticks, place.endTicks)
        taken.push({ bytes: frame.bytes, ticks: begin })
        place.endTicks = begin + frame.ticks
      }
      held = held.filter(({ positionMs }) => positionMs >= toMs)
      bytes = held.reduce((sum, { frame }) => sum + soundBytesOf(frame), 0)
      const [first] = taken
      const frames = taken.map(({ bytes, ticks }, at) => ({
        bytes,
        durationTicks: (taken[at + 1]?.ticks ?? place.endTicks) - ticks,
      }))
      return first && { decodeTicks: first.ticks, frames }
    },
    forget(): void {
      held = []
      bytes = 0
    },
  }
}
