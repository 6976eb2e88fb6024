/** Which coded pictures have to be decoded to show one moment of footage. */
import { Fault } from '#kit/pure/fault.ts'
import type { FragmentPlace } from '../../wire/mp4-read.ts'
import { picturesOf } from '../../wire/mp4-samples.ts'
import { TICKS_PER_S } from '../../wire/mp4-write.ts'
import type { ParameterSets } from '../../wire/pictures.ts'
import type { CodedGroup, CodedPicture, KeptFile } from '../ports.ts'

interface ChoiceParts {
  /** Files of one camera around the moment, in order of time. */
  files: readonly KeptFile[]
  /** Epoch milliseconds. */
  at: number
  /** @throws Fault `footage_gone` */
  setsOf(file: KeptFile): Promise<ParameterSets>
  /** @throws Fault `footage_gone` */
  bytesOf(file: KeptFile, place: FragmentPlace): Promise<Uint8Array>
  /** A camera may never send another key frame: of more bytes nothing is decoded. */
  mostBytes: number
}

/** A picture of a camera, and what is decoded for it. */
export interface ChosenPicture {
  /** From a key frame up to the picture, in the order of decoding: the last one is what is wanted. */
  group: CodedGroup
  /** When it was taken, in whole milliseconds, as `availability` rounds them. */
  shownAt: number
}

/**
 * The last picture at or before a moment.
 * @throws Fault `no_footage` in a hole, `footage_gone`
 */
export async function pictureAt({ at, bytesOf, files, mostBytes, setsOf }: ChoiceParts): Promise<ChosenPicture> {
  const file = files.find((one) => Math.round(one.startAt) <= at && at < Math.round(one.endAt))
  const last = file?.fragments.findLastIndex(({ wallMs }) => Math.round(wallMs) <= at) ?? -1
  if (!file || last < 0) throw noFootage()
  let first = last
  // A large group lies in parts, and decoding begins with the part that has the key frame.
  while (first > 0 && !file.fragments[first]?.isKey) first--
  const places = file.fragments.slice(first, last + 1)
  checkLength(places, mostBytes)
  const pictures: CodedPicture[] = []
  for (const place of places) pictures.push(...codedPictures(await bytesOf(file, place), place))
  const wanted = lastShown(pictures, at)
  if (wanted < 0) throw noFootage()
  const shownAt = Math.round(pictures[wanted]?.shownMs ?? at)
  return { group: { sets: await setsOf(file), pictures: pictures.slice(0, wanted + 1) }, shownAt }
}

/** @returns the pictures of a group without those that no other refers to; the last one stays */
export function neededForLast({ pictures, sets: { codec } }: CodedGroup): CodedPicture[] {
  const uses = pictures.map(({ units }) => units.filter((unit) => codec.roleOf(unit) === 'slice').map(codec.useOf))
  const top = Math.max(0, ...uses.flat().map(({ layer }) => layer))
  const isNeeded = (at: number) =>
    uses[at]?.length === 0 || uses[at]?.some((use) => use.isReferredTo || use.layer < top)
  return pictures.filter((_, at) => at === pictures.length - 1 || isNeeded(at))
}

/** The pictures of a fragment, and when each is shown. @throws Fault `footage_gone` */
export function codedPictures(bytes: Uint8Array, { wallMs }: Pick<FragmentPlace, 'wallMs'>): CodedPicture[] {
  return picturesOf(bytes).map(({ shownTicks, units }) => ({
    units,
    shownMs: wallMs + (shownTicks * 1000) / TICKS_PER_S,
  }))
}

/** @throws Fault `picture_too_large` */
export function checkLength(places: readonly Pick<FragmentPlace, 'length'>[], mostBytes: number): void {
  const bytes = places.reduce((sum, { length }) => sum + length, 0)
  if (bytes > mostBytes)
    throw new Fault(
      'picture_too_large',
      `The group of pictures has ${bytes} bytes, and ${mostBytes} are decoded. Set a shorter key frame interval in the camera.`,
    )
}

/** @returns the place of the picture that is shown last at or before a moment; -1: none is */
function lastShown(pictures: readonly CodedPicture[], at: number): number {
  let found = -1
  for (const [place, { shownMs }] of pictures.entries())
    if (Math.round(shownMs) <= at && (found < 0 || shownMs > (pictures[found]?.shownMs ?? 0))) found = place
  return found
}

function noFootage(): Fault {
  return new Fault('no_footage', 'No footage is kept for that time. GET /api/cameras/{id}/availability says for which.')
}
