/** Taking footage out: which moments are kept, and a span of them as one file. */
import { Fault } from '#kit/pure/fault.ts'
import type { FragmentPlace } from '../../wire/mp4-read.ts'
import { TICKS_PER_S } from '../../wire/mp4-write.ts'
import { isSameSets, type ParameterSets } from '../../wire/pictures.ts'
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
  fragments: readonly TakenFragment[]
  /** Of all of them. */
  sets: ParameterSets
}

interface CutParts {
  /** Files of one camera, in order of time. */
  files: readonly KeptFile[]
  startAt: number
  endAt: number
  setsOf(file: KeptFile): Promise<ParameterSets>
}

/**
 * Chooses the fragments of a span: from the key frame before its beginning. A hole stays one: what follows is timed as it
 * was. It ends where the parameter sets change, since a file has them once.
 * @throws Fault `no_footage`
 */
export async function cutOf({ endAt, files, setsOf, startAt }: CutParts): Promise<Cut> {
  const all = files.flatMap((file) => file.fragments.map((place) => ({ file, place })))
  const begin = all.findIndex(({ place }) => place.wallMs < endAt && endOf(place) > startAt)
  const end = all.findLastIndex(({ place }) => place.wallMs < endAt && endOf(place) > startAt) + 1
  const first = all[keyBefore(all, begin)]
  if (!first)
    throw new Fault(
      'no_footage',
      'No footage is kept for that time. GET /api/cameras/{id}/availability says for which.',
    )
  const sets = await setsOf(first.file)
  const taken: { file: KeptFile; place: FragmentPlace }[] = []
  let present = first.file
  for (const one of all.slice(all.indexOf(first), end)) {
    if (one.file !== present && !isSameSets(sets, await setsOf(one.file))) break
    present = one.file
    taken.push(one)
  }
  const zeroAt = first.place.wallMs
  const ticksOf = (ms: number) => Math.max(0, Math.round((ms * TICKS_PER_S) / 1000))
  const fragments = taken.map((one) => ({ ...one, decodeTicks: ticksOf(one.place.wallMs - zeroAt) }))
  return { sets, fragments, hiddenTicks: ticksOf(startAt - zeroAt) }
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
