import t from 'tap'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { createChannel, type LiveFragment, type LiveHead } from '../../../core/live/channel.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createStreamMemory } from '../../../core/recording/stream-memory.ts'
import { scanMp4 } from '../../../wire/mp4-read.ts'
import { LENGTH_BYTES, type ParameterSets, withLengths } from '../../../wire/pictures.ts'
import { type SoundFormat, soundFormat } from '../../../wire/sound.ts'
import { alaw } from '../../parameter-sets.ts'
import { otherSets, picture, sets } from './pictures.ts'

const AT = 1_900_000_000_000

function stage(groupBytes = 10_000, memory = createStreamMemory(1e9)) {
  const state = { epoch: 0 }
  const channel = createChannel({ groupBytes, memory, wall: { at: (ms) => AT + ms, epoch: () => state.epoch } })
  const add = (positionMs: number, isKey: boolean, more: { sets?: ParameterSets; bytes?: number } = {}) => {
    const shown = { ...picture(isKey, 0, more.bytes), sets: more.sets ?? sets }
    channel.picture(shown, { positionMs, isBreak: false })
  }
  return { add, channel, state }
}

type Channel = ReturnType<typeof stage>['channel']

/** One who watches, with everything that was shown. */
function watch(channel: Channel, isHearing = false) {
  const heads: LiveHead[] = []
  const sounds: Uint8Array[] = []
  const fragments: LiveFragment[] = []
  let isOver = false
  const leave = channel.watch({
    isHearing,
    begin: (head) => heads.push(head),
    show: (fragment) => fragments.push(fragment),
    hear: (bytes) => sounds.push(bytes),
    end: () => {
      isOver = true
    },
  })
  /** What a reader of the film finds in it. */
  const places = () => {
    const bytes = Buffer.concat([heads[0]?.bytes ?? new Uint8Array(), ...fragments.map((one) => one.bytes)])
    return scanMp4((offset, length) => bytes.subarray(offset, offset + length), bytes.length).fragments
  }
  /** Of each fragment of sound when it begins and how long it lasts, in ms; and its last byte. */
  const heard = (format = aac) => sounds.map((bytes) => placeOf(Buffer.from(bytes), format))
  return { fragments, heads, heard, isOver: () => isOver, leave, places, sounds }
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

/** 16 kHz, one channel: 64 ms a frame. */
const aac = soundFormat('mp4a', 16_000, Uint8Array.of(0x14, 0x08)) as SoundFormat
const frame = (name: number, bytes = 10) => ({ timestamp: 0, ticks: 1024, bytes: new Uint8Array(bytes).fill(name) })

function placeOf(bytes: Buffer, { rate }: SoundFormat) {
  const [tfdt, trun] = [bytes.indexOf('tfdt'), bytes.indexOf('trun')]
  const ms = (ticks: number) => Math.round((ticks * 1000) / rate)
  const beginMs = ms(Number(bytes.readBigUInt64BE(tfdt + 8)))
  return { beginMs, lastsMs: ms(bytes.readUInt32BE(trun + 16)), name: bytes.at(-1) }
}

t.test('who wants the sound is sent each frame at its own time, and who does not is sent none', async (t) => {
  const { add, channel } = stage()
  channel.hear(aac)
  const [hearing, seeing] = [watch(channel, true), watch(channel)]
  channel.sound(frame(1), -60)
  add(0, true)
  for (const [name, positionMs] of [
    [2, -50],
    [3, -20],
    [4, 44],
    [5, 107.9],
    [6, 172.1],
    [7, 400],
    [8, 410],
    [9, 464],
  ] as const)
    channel.sound(frame(name), positionMs)
  t.same(
    hearing.heard().map(({ beginMs, name }) => [name, beginMs]),
    [
      [3, 20],
      [4, 84],
      [5, 148],
      [6, 212],
      [7, 440],
      [9, 504],
    ],
    'what lies before the film or before what was heard is left out, and a hole stays one',
  )
  t.same([...new Set(hearing.heard().map(({ lastsMs }) => lastsMs))], [64])
  t.match(hearing.heads, [{ mime: 'video/mp4; codecs="avc1.64000c, mp4a.40.2"', startAt: AT - 40 }])
  t.match(seeing.heads, [{ mime: 'video/mp4; codecs="avc1.64000c"', startAt: AT - 40 }])
  t.equal(seeing.sounds.length, 0)
  t.same(seeing.fragments, hearing.fragments)
})

t.test('who comes in the middle of a group hears it from its beginning on, as the others did', async (t) => {
  const { add, channel } = stage()
  channel.hear(aac)
  add(0, true)
  channel.sound(frame(1), 0)
  watch(channel)
  channel.sound(frame(2), 64)
  add(67, false)
  const first = watch(channel, true)
  channel.sound(frame(3), 128)
  const second = watch(channel, true)
  t.same(
    second.heard().map(({ name }) => name),
    [1, 2, 3],
  )
  t.same(second.sounds, first.sounds)
  first.leave()
  second.leave()
  channel.sound(frame(4), 192)
  t.same(
    watch(channel, true)
      .heard()
      .map(({ name }) => name),
    [1, 2, 3, 4],
  )
})

t.test('where no sound comes any more the film goes on without, and with it again once some comes', async (t) => {
  const { add, channel } = stage()
  channel.hear(aac)
  const [hearing, seeing] = [watch(channel, true), watch(channel)]
  const second = (at: number, isHeard: boolean) => {
    add(at * 1000, true)
    if (isHeard) channel.sound(frame(at), at * 1000)
  }
  for (const at of [0, 1, 2]) second(at, at < 2)
  t.equal(hearing.heads.length, 1)
  for (const at of [3, 4, 5, 6]) second(at, at === 5)
  const codecs = hearing.heads.map(({ mime }) => mime.includes('mp4a'))
  t.same(codecs, [true, false, true])
  t.equal(seeing.heads.length, 1, 'nothing changes for who hears none')
  t.same(new Set(hearing.heads.map(({ startAt }) => startAt)), new Set([AT - 40]))
  const never = stage()
  never.channel.hear(aac)
  const waiting = watch(never.channel, true)
  for (const at of [0, 1, 2, 3]) never.add(at * 1000, true)
  t.same(
    waiting.heads.map(({ mime }) => mime.includes('mp4a')),
    [true, false],
  )
})

t.test(
  'G.711 is left out, since no browser takes it piece by piece, and a session without sound has none',
  async (t) => {
    const { add, channel } = stage()
    for (const format of [alaw, undefined, aac, undefined]) {
      channel.hear(format)
      add(0, true)
      channel.sound(frame(1), 0)
      const viewer = watch(channel, true)
      t.equal(viewer.heads[0]?.mime.includes('mp4a'), format === aac)
      t.equal(viewer.sounds.length, format === aac ? 1 : 0)
      viewer.leave()
    }
  },
)

t.test('a group takes no more than is counted of it, however small its pictures and sound are', async (t) => {
  const heldAtMost = 1_000_000
  const row = rowOf(memoryPlan().rows, 'pictures of all cameras', { 'cameras.held_bytes': heldAtMost })
  for (const bytes of [1, 5000]) {
    const before = await heldBytes()
    const { add, channel } = stage(1e9, createStreamMemory(heldAtMost))
    channel.hear(aac)
    const { leave } = watch(channel)
    const { leave: leaveToo } = watch(channel, true)
    // Their fragments count too.
    const most = Math.floor(heldAtMost / 2 / (LENGTH_BYTES + bytes + 768 + bytes + 384))
    for (let at = 0; at < most; at++) {
      add(at * 64, at === 0, { bytes })
      channel.sound(frame(1, bytes), at * 64)
    }
    const held = (await heldBytes()) - before
    t.equal(channel.viewers().size, 2)
    t.equal(channel.newest()?.group.pictures.length, most, 'nothing was given up')
    t.ok(held < row.allBytes, `${held} bytes in pictures of ${bytes}, of ${row.allBytes}`)
    leave()
    leaveToo()
  }
})

t.test('where all cameras hold too much the key frame stays, and who watches goes on', async (t) => {
  const memory = createStreamMemory(10_000)
  const { add, channel } = stage(1e9, memory)
  const viewer = watch(channel)
  for (let at = 0; at < 20; at++) add(at * 100, at === 0)
  t.equal(viewer.fragments.length, 20)
  t.equal(channel.newest()?.shownAt, AT, 'what is shown stands still')
  t.equal(watch(channel).fragments.length, 0, 'who comes then waits for the next key frame')
  add(2000, true)
  t.equal(channel.newest()?.shownAt, AT + 2000)
  const other = memory.holder(() => other.hold(0))
  const most = memory.holder(() => most.hold(2000))
  for (const holder of [most, other]) holder.hold(4900)
  t.equal(channel.newest()?.shownAt, AT + 2000, 'others hold more')
})

t.test('sound counts and is given up with its pictures, and who hears it goes on', async (t) => {
  const memory = createStreamMemory(10_000)
  const { add, channel } = stage(1e9, memory)
  channel.hear(aac)
  const viewer = watch(channel, true)
  add(0, true)
  for (let at = 0; at < 20; at++) channel.sound(frame(at, 100), at * 64)
  t.equal(viewer.sounds.length, 20)
  t.equal(channel.newest()?.shownAt, AT, 'the key frame stays')
  const late = watch(channel, true)
  t.same([late.fragments.length, late.sounds.length], [0, 0], 'who comes then waits for the next key frame')
  const other = memory.holder(() => other.hold(0))
  t.ok(other.hold(8000), 'nothing of the sound is held any more')
  add(2000, true)
  channel.sound(frame(1), 2000)
  t.equal(late.sounds.length, 1)
})

/** A picture that can be told from others by its bytes. */
const named = (name: number, isKey: boolean, length = 10) => ({
  ...{ timestamp: 0, isKey, sets },
  data: withLengths([new Uint8Array(length).fill(name)]),
})

t.test('the newest picture comes with all that it needs, from the last key frame on', async (t) => {
  const { channel } = stage()
  const wall = { at: (ms: number) => AT + 0.3 + ms, epoch: () => 0 }
  const { lost, newest, picture } = createChannel({ groupBytes: 10_000, memory: createStreamMemory(1e9), wall })
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
