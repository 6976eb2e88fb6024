/** Footage of a camera with masks: decoded, painted and coded anew, from the moment asked for on. */
import { Fault } from '#kit/pure/fault.ts'
import type { Mask } from '../../wire/mask.ts'
import { TICKS_PER_S, writeFragment, writeHead } from '../../wire/mp4-write.ts'
import { withLengths } from '../../wire/pictures.ts'
import type { Cut } from '../footage/footage.ts'
import type { CodedGroup, CodedPicture, PictureDecoder } from '../ports.ts'
import { checkLength, codedPictures } from './choice.ts'

interface FilmParts {
  camera: string
  cut: Cut
  /** Epoch milliseconds. */
  startAt: number
  endAt: number
  decoder: Pick<PictureDecoder, 'film'>
  /** The masks of now: those that are set meanwhile count from the next group on. @throws Fault if the camera is gone */
  masks(): readonly Mask[]
  /** @throws Fault `footage_gone` */
  bytesOf(file: Cut['fragments'][number]['file'], place: Cut['fragments'][number]['place']): Promise<Uint8Array>
  /** A longer group of pictures is not decoded. */
  mostBytes: number
  signal: AbortSignal
}

/** Yields an MP4 file in pieces. @throws Fault `picture_too_large`, and those of the decoder */
export async function* maskedFilm(parts: FilmParts): AsyncGenerator<Uint8Array> {
  const { cut, startAt } = parts
  const ticksAt = (ms: number) => Math.max(0, Math.round(((ms - startAt) * TICKS_PER_S) / 1000))
  let sequence = 0
  for (const group of groupsOf(cut)) {
    const made = await madeOf(group, parts)
    if (!made) continue
    const { film, untilMs } = made
    const { sets } = film
    if (sequence === 0) yield writeHead({ sets, facts: sets.codec.factsOf(sets.units), hiddenTicks: 0 })
    sequence++
    const shown = film.pictures.map(({ shownMs }) => ticksAt(shownMs))
    const samples = film.pictures.map(({ units }, at) => ({
      ...{ data: withLengths(units), isKey: at === 0, offsetTicks: 0 },
      durationTicks: Math.max(1, (shown[at + 1] ?? ticksAt(untilMs)) - (shown[at] ?? 0)),
    }))
    const [decodeTicks = 0] = shown
    yield writeFragment({ sequence, decodeTicks, wallMs: Math.max(startAt, film.pictures[0]?.shownMs ?? 0), samples })
  }
  if (sequence === 0) throw new Fault('no_footage', 'No footage is kept for that time.')
}

type Taken = Cut['fragments'][number]

/** A large group lies in parts. */
function groupsOf({ fragments }: Cut): Taken[][] {
  const groups: Taken[][] = []
  for (const one of fragments) {
    const last = groups.at(-1)
    if (last && !one.place.isKey && last[0]?.file === one.file) last.push(one)
    else groups.push([one])
  }
  return groups
}

async function madeOf(
  group: readonly Taken[],
  { bytesOf, camera, cut, decoder, endAt, masks, mostBytes, signal, startAt }: FilmParts,
): Promise<{ film: CodedGroup; untilMs: number } | undefined> {
  checkLength(
    group.map(({ place }) => place),
    mostBytes,
  )
  const pictures: CodedPicture[] = []
  for (const { file, place } of group) pictures.push(...codedPictures(await bytesOf(file, place), place))
  const shown = pictures.map(({ shownMs }) => shownMs)
  // What is shown at the moment asked for began before it, mostly.
  const fromMs = Math.max(...shown.filter((ms) => ms <= startAt), Math.min(...shown))
  const last = pictures.findLastIndex(({ shownMs }) => shownMs < endAt && shownMs >= fromMs)
  if (last < 0) return undefined
  const wanted = pictures.slice(0, last + 1)
  const film = await decoder.film(
    { camera, fromMs, masks: masks(), group: { sets: cut.tracks.sets, pictures: wanted } },
    signal,
  )
  const end = group.at(-1)?.place
  const groupEnd = end ? end.wallMs + (end.durationTicks * 1000) / TICKS_PER_S : endAt
  return { film, untilMs: Math.min(groupEnd, Math.max(endAt, ...shown.slice(0, last + 1))) }
}
