import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { FileWish, FootageFile } from '../../../core/ports.ts'
import { createGroups, type GroupLimits } from '../../../core/recording/groups.ts'
import { createStreamMemory } from '../../../core/recording/stream-memory.ts'
import { scanMp4 } from '../../../wire/mp4-read.ts'
import { type ParameterSets, withLengths } from '../../../wire/pictures.ts'
import { alaw, h264Sets as sets } from '../../parameter-sets.ts'

/** The same with another picture parameter set. */
const setsWith = (...pps: number[]): ParameterSets => ({
  codec: sets.codec,
  units: [...sets.units.slice(0, 1), Uint8Array.from(pps)],
})

function stage(limits: Partial<GroupLimits> = {}, memory = createStreamMemory(1e9)) {
  const files: { bytes: Uint8Array[]; isClosed: boolean }[] = []
  /** Bytes of the head of each fragment. */
  const made: number[] = []
  const state = { isFull: false, isBehind: false, epoch: 0, lost: 0 }
  const groups = createGroups({
    ...{ camera: 'c', memory },
    limits: { fileMs: 5000, groupBytes: 10_000, soundBytes: 100_000, filesPerMinute: 30, ...limits },
    wall: { at: (ms) => 1_900_000_000_000 + ms, epoch: () => state.epoch, aheadMs: () => 0 },
    onWritten: (isTaken) => void (isTaken || state.lost++),
    onFacts: () => {},
    store: {
      isReady: () => true,
      isBehind: () => state.isBehind,
      begin({ head }: FileWish): FootageFile {
        const file = { bytes: [head], isClosed: false }
        files.push(file)
        return {
          append({ pieces }) {
            if (!state.isFull) file.bytes.push(Buffer.concat(pieces))
            made.push(pieces[0]?.length ?? 0)
            return !state.isFull
          },
          close() {
            file.isClosed = true
          },
        }
      },
    },
  })
  const add = (
    positionMs: number,
    isKey: boolean,
    more: { sets?: ParameterSets; isBreak?: boolean; bytes?: number } = {},
  ) => {
    const data = withLengths([new Uint8Array(more.bytes ?? 100).fill(isKey ? 0x65 : 0x41)])
    const place = { positionMs, isBreak: more.isBreak ?? false }
    return groups.add({ timestamp: 0, data, isKey, sets: more.sets ?? sets }, place)
  }
  const fragments = (at: number) => {
    const bytes = Buffer.concat(files[at]?.bytes ?? [])
    return scanMp4((offset, length) => bytes.subarray(offset, offset + length), bytes.length).fragments
  }
  return { groups, add, files, fragments, made, state }
}

/** Pictures of ten a second, with a key frame each second. */
function second(add: ReturnType<typeof stage>['add'], fromMs: number): void {
  for (let at = 0; at < 10; at++) add(fromMs + at * 100, at === 0)
}

t.test('one fragment for each group, and a new file at the first key frame after its time', async (t) => {
  const { add, files, fragments, groups } = stage()
  for (let at = 0; at < 7; at++) second(add, at * 1000)
  groups.end()
  t.equal(files.length, 2)
  t.ok(files.every(({ isClosed }) => isClosed))
  const all = [...fragments(0), ...fragments(1)]
  t.match(
    all.map(({ durationTicks, isKey }) => ({ durationTicks, isKey })),
    Array.from({ length: 7 }, () => ({ durationTicks: 90_000, isKey: true })),
  )
  const times = all.map(({ wallMs }) => Math.round(wallMs - 1_900_000_000_000))
  t.same(times, [0, 1000, 2000, 3000, 4000, 5000, 6000], 'no hole and no overlap between the files')
})

t.test('a picture that begins within a tick of the last file is in the next', async (t) => {
  const { add, fragments, groups } = stage()
  // A key frame at 90,000.54 ticks: the group before it ends at 90,001.
  for (let at = 0; at < 16; at++) second(add, at * 1000.006)
  groups.end()
  t.same(
    [0, 1, 2, 3].map((at) => fragments(at).length),
    [5, 5, 5, 1],
  )
})

t.test('a camera that changes its parameters with each picture begins no more files than may', async (t) => {
  const { add, files, groups, state } = stage({ filesPerMinute: 13 })
  const change = (at: number) => add(at * 100, true, { sets: setsWith(0x68, at & 0xff, at >> 8) })
  const taken = Array.from({ length: 700 }, (_, at) => change(at)).filter((isRecorded) => isRecorded)
  groups.end()
  t.equal(files.length, 26, 'in a minute and ten seconds')
  t.equal(taken.length, 26)
  t.equal(state.lost, 700 - 26)
})

t.test('only what can be decoded counts as recorded', async (t) => {
  const { add } = stage()
  t.same([add(0, false), add(100, true), add(200, false)], [false, true, true])
})

t.test('nothing is written before the first key frame, nor after a loss before the next', async (t) => {
  const { add, files, fragments, groups } = stage()
  add(0, false)
  t.equal(files.length, 0)
  second(add, 1000)
  groups.lost()
  add(2000, false)
  second(add, 3000)
  groups.end()
  t.same([fragments(0).length, fragments(1).length, files.length], [1, 1, 2])
})

t.test('other parameter sets, a break and a wall clock that was followed begin a file', async (t) => {
  const { add, files, groups, state } = stage()
  second(add, 0)
  add(1000, true, { sets: setsWith(0x68, 1) })
  add(1500, true, { isBreak: true })
  state.epoch++
  add(2000, true)
  groups.end()
  t.equal(files.length, 4)
})

t.test('a break ends the last picture where what follows begins, at the latest', async (t) => {
  const { add, fragments, groups } = stage()
  add(0, true)
  add(1000, false)
  add(1100, true, { isBreak: true })
  groups.end()
  t.equal(fragments(0)[0]?.durationTicks, 99_000)
})

t.test('a group that grows beyond its bound is written in parts', async (t) => {
  const { add, fragments, groups } = stage({ groupBytes: 1000 })
  add(0, true, { bytes: 600 })
  for (let at = 1; at < 5; at++) add(at * 100, false, { bytes: 600 })
  groups.end()
  t.same(
    fragments(0).map(({ isKey }) => isKey),
    [true, false, false, false, false],
  )
})

t.test('what the disk does not take is a hole that shows: the file ends there', async (t) => {
  const { add, files, fragments, groups, state } = stage()
  second(add, 0)
  state.isFull = true
  second(add, 1000)
  state.isFull = false
  second(add, 2000)
  second(add, 3000)
  groups.end()
  t.same([fragments(0).length, fragments(1).length, files.length], [0, 3, 2])
  t.ok(files[0]?.isClosed)
})

t.test('pictures that are shown in another order than they are decoded keep their places', async (t) => {
  const { add, files, groups } = stage()
  for (const positionMs of [0, 300, 100, 200]) add(positionMs, positionMs === 0)
  groups.end()
  const fragment = Buffer.from(files[0]?.bytes[1] ?? [])
  const trun = fragment.indexOf('trun') + 4 + 12
  const offsets = [0, 1, 2, 3].map((at) => fragment.readInt32BE(trun + at * 16 + 12))
  t.same(offsets, [0, 18_000, -9000, -9000])
})

t.test(
  'pictures that are shown before the key frame they follow are part of its group, but not of its file',
  async (t) => {
    const { add, fragments, groups } = stage({ fileMs: 1000 })
    // As H.265 sends them: key frames at 0, 500, 1000 and 1500, each with one behind it that is shown 100 ms before.
    const recorded = [0, 200, 100, 300, 500, 400, 700, 600, 800, 1000, 900, 1200, 1100, 1300, 1500, 1400].map((at) =>
      add(at, at % 500 === 0),
    )
    groups.end()
    t.same(
      recorded.flatMap((isRecorded, at) => (isRecorded ? [] : [at])),
      [10],
      'the one that refers to the last file',
    )
    const times = [0, 1].flatMap((file) =>
      fragments(file).map(({ durationTicks, wallMs }) => [wallMs, durationTicks / 90]),
    )
    t.same(
      times.map(([wallMs = 0, ms]) => [Math.round(wallMs - 1_900_000_000_000), ms]),
      [
        [0, 400],
        [400, 600],
        [1000, 400],
        [1400, 200],
      ],
      'no hole and no overlap',
    )
  },
)

t.test('a file has sound once some has come, and what came late is at its own time', async (t) => {
  const { add, files, groups } = stage({ fileMs: 60_000 })
  const hear = (fromMs: number) => {
    for (let at = 0; at < 10; at++)
      groups.addSound({ timestamp: 0, ticks: 800, bytes: new Uint8Array(800) }, fromMs + at * 100)
  }
  groups.hear(alaw)
  second(add, 0)
  for (let at = 1; at < 5; at++) {
    second(add, at * 1000)
    // Half a second later than its pictures.
    hear(at * 1000 - 500)
  }
  groups.end()
  t.equal(files.length, 2, 'the first has none')
  const scanOf = (at: number) => {
    const bytes = Buffer.concat(files[at]?.bytes ?? [])
    return scanMp4((offset, length) => bytes.subarray(offset, offset + length), bytes.length)
  }
  t.equal(scanOf(0).tracks?.sound, undefined)
  t.match(scanOf(1).tracks?.sound, alaw)
  t.match(
    scanOf(1).fragments.map(({ decodeTicks, durationTicks, wallMs }) => [
      decodeTicks,
      durationTicks,
      Math.round(wallMs - 1_900_000_000_000),
    ]),
    [
      [90_000, 90_000, 2000],
      [180_000, 90_000, 3000],
      [270_000, 90_000, 4000],
    ],
  )
  const tfdt = (bytes: Uint8Array | undefined) => {
    const fragment = Buffer.from(bytes ?? [])
    const second = fragment.indexOf('tfdt', fragment.indexOf('tfdt') + 4)
    return Number(fragment.readBigUInt64BE(second + 8))
  }
  t.same(files[1]?.bytes.slice(1).map(tfdt), [0, 12_000, 20_000], 'half a second before the pictures')
})

t.test('where all cameras hold too much the group is written in parts, and no picture is lost or moved', async (t) => {
  const memory = createStreamMemory(4000)
  const { add, fragments, groups, state } = stage({}, memory)
  for (let at = 0; at < 3; at++) second(add, at * 1000)
  groups.end()
  t.equal(state.lost, 0)
  const parts = fragments(0)
  t.equal(parts.length, 9)
  t.equal(parts.filter(({ isKey }) => isKey).length, 3)
  let ticks = 0
  for (const { decodeTicks, durationTicks } of parts) {
    t.equal(decodeTicks, ticks)
    ticks += durationTicks
  }
  t.equal(ticks, 270_000)
})

t.test('a camera of tiny pictures fills its own group, and those of others stay whole', async (t) => {
  const tiny = (memory = createStreamMemory(1_000_000)) => {
    const camera = stage({ groupBytes: 1e9 }, memory)
    camera.add(0, true)
    for (let at = 1; at < 40_000; at++) camera.add(at, false, { bytes: 1 })
    return camera
  }
  const memory = createStreamMemory(1_000_000)
  const [usual, other] = [stage({}, memory), tiny(memory)]
  const written = other.files.reduce((sum, { bytes }) => sum + Buffer.concat(bytes).length, 0)
  const held = (await heapBytesOf(() => tiny())) - written
  t.ok(held > 0 && held < 1_000_000, `${held} bytes beside what was written`)
  for (let at = 0; at < 3; at++) second(usual.add, at * 1000)
  usual.groups.end()
  t.equal(usual.fragments(0).length, 3)
})

t.test('what is made for a fragment takes no more than its row says', async (t) => {
  const settings = { 'cameras.group_bytes': 100_000, 'cameras.picture_bytes': 50_000, 'cameras.sound_bytes': 100_000 }
  const row = rowOf(memoryPlan().rows, 'head and sound', settings)
  for (const bytes of [1, 20_000]) {
    const { add, groups, made } = stage({ groupBytes: 100_000 })
    add(0, true)
    for (let at = 1; at < 300; at++) add(at * 10, false, { bytes })
    groups.end()
    const most = Math.max(...made)
    t.ok(most > 0 && most < row.allBytes, `${most} bytes, of ${row.allBytes}`)
  }
})

t.test('while its disk is behind no file is begun, so that it may begin one once the disk has caught up', (t) => {
  const { add, files, state } = stage({ filesPerMinute: 3 })
  add(0, true)
  state.isFull = state.isBehind = true
  for (let atMs = 1000; atMs <= 20_000; atMs += 1000) add(atMs, true)
  t.equal(files.length, 1, 'its groups are lost')
  t.ok(state.lost >= 19)
  state.isFull = state.isBehind = false
  add(21_000, true)
  add(22_000, true)
  t.equal(files.length, 2)
  t.ok((files[1]?.bytes.length ?? 0) > 1)
  t.end()
})
