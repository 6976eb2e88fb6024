/** Taking footage out: which moments are kept, and a span of them as one file. */
import { Fault } from '#kit/pure/fault.ts'
import type { FileTracks, FragmentPlace } from '../../wire/mp4-read.ts'
import { SOUND_LEAD_TICKS, TICKS_PER_S } from '../../wire/mp4-write.ts'
import { isSameSets } from '../../wire/pictures.ts'
import { isSameSound } from '../../wire/sound.ts'
import type { KeptFile } from '../ports.ts'

/** A stretch without a hole. Milliseconds since 1970. */
interface Range {
  start: number
  end: number
}

/** Files that follow each other without a hole differ by rounding at most. */
const SEAM_MS = 2

/**
 * Stretches of what is kept, cut to the span that was asked for.
 * @param spans in order of time
 */
export function rangesOf(spans: readonly { startAt: number; endAt: number }[], fromAt: number, toAt: number): Range[] {
  const ranges: Range[] = []
  for (const { endAt, startAt } of spans) {
    const last = ranges.at(-1)
    const [start, end] = [Math.max(startAt, fromAt), Math.min(endAt, toAt)]
    if (end <= start) continue
    if (last && start - last.end <= SEAM_MS) last.end = Math.max(last.end, end)
    else ranges.push({ start, end })
  }
  return ranges.map(({ end, start }) => ({ start: Math.round(start), end: Math.round(end) }))
}

/** A fragment that is taken out, and when it is decoded in the new file. */
interface TakenFragment {
  file: KeptFile
  place: FragmentPlace
  decodeTicks: number
}

/** How a span becomes one file. */
export interface Cut {
  /** What is decoded before the moment that was asked for. */
  hiddenTicks: number
  /** Where it ends, on the same line of time as the fragments. */
  endTicks: number
  fragments: readonly TakenFragment[]
  /** Of all of them. */
  tracks: FileTracks
}

interface CutParts {
  /** Files of one camera, in order of time. */
  files: readonly KeptFile[]
  startAt: number
  endAt: number
  tracksOf(file: KeptFile): Promise<FileTracks>
}

/**
 * Chooses the fragments of a span: from the key frame before its beginning. A hole stays one: what follows is timed as it
 * was. It ends where the parameter sets or the kind of sound change, since a file has them once.
 * @throws Fault `no_footage`
 */
export async function cutOf({ endAt, files, startAt, tracksOf }: CutParts): Promise<Cut> {
  const all = files.flatMap((file) => file.fragments.map((place) => ({ file, place })))
  const begin = all.findIndex(({ place }) => place.wallMs < endAt && endOf(place) > startAt)
  const end = all.findLastIndex(({ place }) => place.wallMs < endAt && endOf(place) > startAt) + 1
  const first = all[keyBefore(all, begin)]
  if (!first)
    throw new Fault(
      'no_footage',
      'No footage is kept for that time. GET /api/cameras/{id}/availability says for which.',
    )
  const { sets, sound: firstSound } = await tracksOf(first.file)
  let sound = firstSound
  const taken: { file: KeptFile; place: FragmentPlace }[] = []
  let present = first.file
  for (const one of all.slice(all.indexOf(first), end)) {
    if (one.file !== present) {
      const next = await tracksOf(one.file)
      // Sound may begin later than the pictures, or be switched off.
      if (!isSameSets(sets, next.sets) || (sound && next.sound && !isSameSound(sound, next.sound))) break
      sound ??= next.sound
    }
    present = one.file
    taken.push(one)
  }
  const lead = sound ? SOUND_LEAD_TICKS : 0
  const ticksOf = (at: number) => lead + Math.max(0, Math.round(((at - first.place.wallMs) * TICKS_PER_S) / 1000))
  const fragments = taken.map((one) => ({ ...one, decodeTicks: ticksOf(one.place.wallMs) }))
  return { tracks: { sets, sound }, fragments, hiddenTicks: ticksOf(startAt), endTicks: ticksOf(endAt) }
}

/** A part of a large group begins in the middle of it: decoding begins with the part that has the key frame. */
function keyBefore(all: readonly { file: KeptFile; place: FragmentPlace }[], begin: number): number {
  let at = begin
  while (at > 0 && !all[at]?.place.isKey && all[at - 1]?.file === all[at]?.file) at--
  return at
}

function endOf({ durationTicks, wallMs }: FragmentPlace): number {
  return wallMs + (durationTicks * 1000) / TICKS_PER_S
}
