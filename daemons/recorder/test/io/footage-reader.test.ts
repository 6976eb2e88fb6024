import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { rowOf } from '#kit/test/heap.ts'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import type { Cut } from '../../core/footage/footage.ts'
import { memoryPlan } from '../../core/memory.ts'
import { streamCut } from '../../io/footage-reader.ts'
import { scanMp4 } from '../../wire/mp4-read.ts'
import { writeFragment, writeHead } from '../../wire/mp4-write.ts'
import { withLengths } from '../../wire/pictures.ts'
import { h264Sets as sets } from '../parameter-sets.ts'

const work = stateFolderOf(t)
const facts = sets.codec.factsOf(sets.units)

/** A file of one group, of some pictures. */
function cutOf(name: string, pictures: readonly number[]): Cut & { path: string } {
  const path = join(work, name)
  const samples = pictures.map((bytes, at) => ({
    ...{ isKey: at === 0, durationTicks: 3600, offsetTicks: 0 },
    data: withLengths([new Uint8Array(bytes).fill(at + 1)]),
  }))
  const fragment = writeFragment({ sequence: 1, decodeTicks: 0, wallMs: 1_900_000_000_000, samples })
  const file = Buffer.concat([writeHead({ sets, facts, hiddenTicks: 0 }), fragment])
  writeFileSync(path, file)
  const { fragments, tracks } = scanMp4((offset, length) => file.subarray(offset, offset + length), file.length)
  const [place] = fragments
  if (!tracks || !place) throw new TypeError()
  const kept = { camera: 'c', startAt: 0, endAt: 0, bytes: file.length, fragments, path }
  const taken = [{ file: kept, place, decodeTicks: 0 }]
  return { path, tracks, hiddenTicks: 0, endTicks: Number.POSITIVE_INFINITY, fragments: taken }
}

t.test('a large group is played in pieces, of no more than its row says', async (t) => {
  const bytes = 8_000_000
  const settings = { 'playback.total_streams': 1, 'cameras.group_bytes': bytes }
  const none = { 'cameras.picture_bytes': 0, 'cameras.sound_bytes': 0 }
  const row = rowOf(memoryPlan().rows, 'footage that is played', { ...settings, ...none })
  // A head of many pictures, and pictures that are large.
  const tiny = Array.from({ length: 15_000 }, () => 8)
  const pieces: Buffer[] = []
  const longest = { head: 0, piece: 0 }
  for (const [name, pictures] of [
    ['large', [bytes / 2, bytes / 4, bytes / 4]],
    ['tiny', tiny],
  ] as const) {
    const cut = cutOf(name, pictures)
    pieces.length = 0
    for await (const piece of streamCut(cut, () => true)) pieces.push(piece)
    const played = Buffer.concat(pieces)
    const [first] = scanMp4((offset, length) => played.subarray(offset, offset + length), played.length).fragments
    t.equal(first?.durationTicks, pictures.length * 3600)
    t.equal(first?.length, cut.fragments[0]?.place.length)
    t.ok(played.equals(readFileSync(cut.path)), 'all of it')
    longest.head = Math.max(longest.head, pieces[1]?.length ?? 0)
    longest.piece = Math.max(longest.piece, ...pieces.slice(2).map(({ length }) => length))
  }
  const most = 2 * (longest.head + longest.piece)
  t.ok(most <= row.allBytes, `${most} bytes, of ${row.allBytes}`)
})

t.test('a file that ends early, or whose bytes are others by now, is told as gone', async (t) => {
  const whole = cutOf('cut', [1000, 1000])
  const read = async (cut: Cut) => {
    for await (const _ of streamCut(cut, () => true));
  }
  await read(whole)
  for (const damage of ['head', 'moof', 'end']) {
    const cut = cutOf(damage, [1000, 1000])
    const [{ place } = { place: undefined }] = cut.fragments
    if (!place) throw new TypeError()
    const bytes = Buffer.alloc(place.offset + place.length - (damage === 'end' ? 10 : 0), 0xff)
    if (damage === 'moof') bytes.fill(0)
    writeFileSync(cut.path, bytes)
    await t.rejects(read(cut), { code: 'footage_gone' }, damage)
  }
})
