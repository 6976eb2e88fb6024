import t from 'tap'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { createChannel, type LiveFragment, type LiveHead } from '../../../core/live/channel.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { scanMp4 } from '../../../wire/mp4-read.ts'
import type { ParameterSets } from '../../../wire/pictures.ts'
import { otherSets, picture, sets } from './pictures.ts'

const AT = 1_900_000_000_000

function stage(groupBytes = 10_000) {
  const state = { epoch: 0 }
  const channel = createChannel({ groupBytes, wall: { at: (ms) => AT + ms, epoch: () => state.epoch } })
  const add = (positionMs: number, isKey: boolean, more: { sets?: ParameterSets; bytes?: number } = {}) => {
    const shown = { ...picture(isKey, 0, more.bytes), sets: more.sets ?? sets }
    channel.picture(shown, { positionMs, isBreak: false })
  }
  return { add, channel, state }
}

type Channel = ReturnType<typeof stage>['channel']

/** One who watches, with everything that was shown. */
function watch(channel: Channel) {
  const heads: LiveHead[] = []
  const fragments: LiveFragment[] = []
  let isOver = false
  const leave = channel.watch({
    begin: (head) => heads.push(head),
    show: (fragment) => fragments.push(fragment),
    end: () => {
      isOver = true
    },
  })
  /** What a reader of the film finds in it. */
  const places = () => {
    const bytes = Buffer.concat([heads[0]?.bytes ?? new Uint8Array(), ...fragments.map((one) => one.bytes)])
    return scanMp4((offset, length) => bytes.subarray(offset, offset + length), bytes.length).fragments
  }
  return { fragments, heads, isOver: () => isOver, leave, places }
}

t.test('each picture is a fragment that begins where the last one ends, and says when it was taken', async (t) => {
  const { add, channel } = stage()
  const viewer = watch(channel)
  for (const [at, positionMs] of [0, 67, 133, 500, 567].entries()) add(positionMs, at === 0)
  const places = viewer.places()
  t.equal(places.length, 5)
  for (const [at, { decodeTicks, durationTicks }] of places.slice(0, -1).entries())
    t.equal(places[at + 1]?.decodeTicks, decodeTicks + durationTicks)
  t.same(
    places.map(({ wallMs }) => Math.round(wallMs - AT)),
    [0, 67, 133, 500, 567],
  )
  t.same(
    viewer.fragments.map(({ isKey }) => isKey),
    [true, false, false, false, false],
  )
  t.match(viewer.heads, [{ mime: 'video/mp4; codecs="avc1.64000c"', width: 320, height: 240, startAt: AT - 40 }])
})

t.test('who comes in the middle of a group is shown it from its key frame on, as the others were', async (t) => {
  const { add, channel } = stage()
  for (let at = 0; at < 5; at++) add(at * 100, at === 0)
  const first = watch(channel)
  add(500, false)
  const second = watch(channel)
  add(600, false)
  t.equal(second.fragments.length, 7)
  t.same(second.fragments, first.fragments)
  t.equal(second.heads[0], first.heads[0])
  t.equal(second.fragments[6], first.fragments[6], 'made once for both')
})

t.test('after the last has left, the next begins a film of its own with the group under way', async (t) => {
  const { add, channel } = stage()
  const first = watch(channel)
  for (let at = 0; at < 5; at++) add(at * 100, at === 0)
  first.leave()
  add(500, false)
  t.equal(first.fragments.length, 5)
  const second = watch(channel)
  t.equal(second.places().length, 6)
  t.equal(second.places()[0]?.decodeTicks, 0)
})

t.test('nothing is shown before the first key frame, nor after a loss before the next', async (t) => {
  const { add, channel } = stage()
  const viewer = watch(channel)
  add(0, false)
  t.equal(viewer.heads.length + viewer.fragments.length, 0)
  add(100, true)
  add(200, false)
  channel.lost()
  add(300, false)
  t.equal(watch(channel).fragments.length, 0)
  add(9000, true)
  t.equal(viewer.fragments.length, 3)
  t.equal(viewer.heads.length, 1)
  const { decodeTicks = 0, durationTicks = 0 } = viewer.places()[2] ?? {}
  t.equal(durationTicks, 9000, 'a hole is not a long picture')
  t.equal(decodeTicks + durationTicks, 8940 * 90)
})

t.test('a group that grows beyond its bound is not kept, and goes on for who saw its beginning', async (t) => {
  const { add, channel } = stage(1000)
  const viewer = watch(channel)
  for (let at = 0; at < 5; at++) add(at * 100, at === 0, { bytes: 300 })
  t.equal(viewer.fragments.length, 5)
  const late = watch(channel)
  add(500, false)
  t.same([late.heads.length, late.fragments.length], [1, 1])
  add(600, true)
  t.equal(late.fragments.length, 2)
})

t.test('other parameters and a wall clock that was followed give a new head, at a key frame', async (t) => {
  const { add, channel, state } = stage()
  const viewer = watch(channel)
  add(0, true)
  add(1000, true)
  add(2000, true, { sets: otherSets })
  state.epoch++
  add(3000, false)
  t.equal(viewer.heads.length, 2)
  add(4000, true, { sets: otherSets })
  t.same(
    viewer.heads.map(({ startAt }) => startAt - AT),
    [-40, 1960, 3960],
  )
})

t.test('the group of a camera takes no more than its row says, however small its pictures are', async (t) => {
  const groupBytes = 1_000_000
  const row = rowOf(memoryPlan().rows, 'the group of pictures', { 'cameras.max': 1, 'live.group_bytes': groupBytes })
  for (const bytes of [1, 5000]) {
    const before = await heldBytes()
    const { add, channel } = stage(groupBytes)
    const { leave } = watch(channel)
    for (let at = 0; at < Math.floor(groupBytes / (bytes + 512)); at++) add(at * 10, at === 0, { bytes })
    const held = (await heldBytes()) - before
    t.equal(channel.viewers().size, 1)
    t.ok(held < row.allBytes, `${held} bytes in pictures of ${bytes}, of ${row.allBytes}`)
    leave()
  }
})

/** A picture that can be told from others by its bytes. */
const named = (name: number, isKey: boolean, length = 10) => ({
  ...{ timestamp: 0, isKey, sets },
  units: [new Uint8Array(length).fill(name)],
})

t.test('the newest picture comes with all that it needs, from the last key frame on', async (t) => {
  const { channel } = stage()
  const wall = { at: (ms: number) => AT + 0.3 + ms, epoch: () => 0 }
  const { lost, newest, picture } = createChannel({ groupBytes: 10_000, wall })
  t.equal(channel.newest(), undefined)
  picture(named(1, false), { positionMs: 5, isBreak: false })
  t.equal(newest(), undefined, 'nothing can be decoded yet')
  picture(named(2, true), { positionMs: 10, isBreak: false })
  picture(named(3, false), { positionMs: 30, isBreak: false })
  picture(named(4, false), { positionMs: 20, isBreak: false })
  const names = () => newest()?.group.pictures.map(({ units: [unit] }) => unit?.[0])
  t.same(names(), [2, 3], 'the one that was decoded last is shown before')
  t.equal(newest()?.shownAt, AT + 30)
  picture(named(5, true), { positionMs: 40, isBreak: false })
  t.same(names(), [5])
  picture(named(6, false), { positionMs: 9000, isBreak: true })
  t.equal(newest(), undefined, 'behind a hole nothing fits to what was before')
  picture(named(7, true), { positionMs: 9100, isBreak: false })
  t.same(names(), [7])
  lost()
  t.equal(newest(), undefined)
})

t.test('the newest picture of a group of more bytes than are held stands still until the next key frame', async (t) => {
  const { channel } = stage(1100)
  const shown = () => channel.newest()?.shownAt
  channel.picture(named(1, true, 80), { positionMs: 1, isBreak: false })
  channel.picture(named(2, false, 40), { positionMs: 2, isBreak: false })
  t.equal(shown(), AT + 1)
  channel.picture(named(3, false, 1), { positionMs: 3, isBreak: false })
  t.equal(shown(), AT + 1, 'it would refer to what was left out')
  const late = watch(channel)
  t.equal(late.fragments.length, 0, 'who comes meanwhile waits too')
  channel.picture(named(4, true, 600), { positionMs: 4, isBreak: false })
  t.equal(shown(), undefined, 'a key frame that is too large')
  channel.picture(named(5, true, 5), { positionMs: 5, isBreak: false })
  t.equal(shown(), AT + 5)
})
